"""hotrow.data: readers tell files apart and say what they cannot read; figures are exact."""

import gzip
from pathlib import Path

import numpy as np
import pytest

import hotrow
from hotrow import data
from hotrow.data.dataset import keys_of_column

ADULT = """\
39, State-gov, 77516, Bachelors, 13, Never-married, 2174, 40, United-States, <=50K
50, Self-emp-not-inc, 83311, Bachelors, 13, Married, 0, 13, United-States, <=50K
38, Private, 215646, HS-grad, 9, Divorced, 0, 40, ?, >50K
53, ?, 234721, 11th, 7, Married, 0, 40, Cuba, <=50K
28, Private, 338409, Masters, 14, Married, 14084, 40, Cuba, >50K
"""


def write(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.write_text(text)
    return path


def key(feature: str, value: str) -> int:
    return int(hotrow.hash_strings(feature, [value])[0])


def test_auc_counts_pairs():
    draws = np.random.default_rng(3)
    labels = (draws.random(200) < 0.3).astype(np.float32)
    scores = np.round(draws.random(200), 1)  # many ties
    positives, negatives = scores[labels == 1], scores[labels == 0]
    wins = (positives[:, None] > negatives[None]).sum()
    ties = (positives[:, None] == negatives[None]).sum()
    expected = (wins + ties / 2) / (len(positives) * len(negatives))
    assert data.auc(labels, scores) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize(
    ("labels", "scores", "expected"),
    [
        ([0, 0, 1, 1], [1, 2, 3, 4], 1.0),
        ([1, 1, 0, 0], [1, 2, 3, 4], 0.0),
        ([0, 1, 0, 1], [5, 5, 5, 5], 0.5),
        ([0, 1, 1], [1, 1, 2], 0.75),
        ([0, 1], [-np.inf, np.inf], 1.0),
    ],
)
def test_auc_of_worked_examples(labels, scores, expected):
    assert data.auc(np.array(labels), np.array(scores)) == expected


@pytest.mark.parametrize("labels", [[1, 1], [0, 0], []])
def test_auc_of_one_class_is_not_defined(labels):
    assert np.isnan(data.auc(np.array(labels), np.zeros(len(labels))))


def test_auc_is_exact_for_more_examples_than_a_float32_counts():
    size = 1 << 16
    labels = np.zeros(2 * size)
    labels[size:] = 1
    assert data.auc(labels, np.arange(2 * size)) == 1.0


@pytest.mark.parametrize(
    ("labels", "scores", "message"),
    [
        ([0, 1], [1.0, np.nan], "not a number"),
        ([0, 1], [1.0], "1-D and alike"),
        ([0, 2], [1.0, 2.0], "0 or 1"),
    ],
)
def test_bad_predictions_are_refused(labels, scores, message):
    for figure in (data.auc, data.logloss):
        with pytest.raises(ValueError, match=message):
            figure(np.array(labels), np.array(scores))


def test_logloss_of_worked_examples():
    assert data.logloss(np.array([0, 1]), np.zeros(2)) == pytest.approx(np.log(2))
    logits = np.array([2.0, -1.0, 0.5])
    labels = np.array([1.0, 0.0, 1.0])
    probabilities = 1 / (1 + np.exp(-logits))
    expected = -np.mean(labels * np.log(probabilities) + (1 - labels) * np.log(1 - probabilities))
    assert data.logloss(labels, logits) == pytest.approx(expected)
    assert data.logloss(np.array([0.0]), np.array([1000.0])) == pytest.approx(1000.0)


def small_log(**changes):
    options = {"rows": 4000, "cardinalities": (5, 100, 3000), "seed": 11} | changes
    return data.synthetic_click_log(data.ClickLogOptions(**options))


def test_a_click_log_depends_on_its_options_alone():
    first, again, other = small_log(), small_log(), small_log(seed=12)
    for name in ("labels", "dense", "keys", "true_logits"):
        assert np.array_equal(getattr(first, name), getattr(again, name))
        assert not np.array_equal(getattr(first, name), getattr(other, name))


def test_a_click_log_is_skewed_and_has_the_asked_rate():
    log = small_log(rows=40_000, click_rate=0.3)
    assert log.labels.mean() == pytest.approx(0.3, abs=0.01)
    _, counts = np.unique(log.keys[:, 2], return_counts=True)
    assert counts.max() > 30 * np.median(counts)
    uniform = small_log(rows=40_000, zipf_exponent=0.0)
    _, counts = np.unique(uniform.keys[:, 2], return_counts=True)
    assert counts.max() < 4 * np.median(counts)


def test_no_prediction_beats_the_true_logits():
    log = small_log(rows=40_000)
    best = data.auc(log.labels, log.true_logits)
    assert 0.6 < best < 0.95
    draws = np.random.default_rng(5)
    noisy = log.true_logits + draws.normal(0, 0.7, len(log))
    assert data.auc(log.labels, noisy) < best - 0.005
    assert data.logloss(log.labels, noisy) > data.logloss(log.labels, log.true_logits) + 0.005


@pytest.mark.parametrize(
    "changes",
    [{"rows": 0}, {"cardinalities": ()}, {"cardinalities": (3, 0)}, {"click_rate": 1.0}],
)
def test_an_impossible_click_log_is_refused(changes):
    with pytest.raises(ValueError, match=r"must|needs"):
        data.ClickLogOptions(**changes)


@pytest.mark.parametrize("rows", [1, 31, 32, 33])
def test_a_click_log_of_any_size(rows):
    log = small_log(rows=rows)
    assert log.keys.shape == (rows, 3)
    assert log.dense.shape == (rows, 4)


def test_equal_values_of_two_features_have_two_keys():
    left, right = (keys_of_column(name, np.array(["a", "b", "a"])) for name in ("x", "y"))
    assert left.tolist() == [key("x", "a"), key("x", "b"), key("x", "a")]
    assert not set(left.tolist()) & set(right.tolist())


def test_every_fifth_example_is_for_the_test():
    log = small_log(rows=33)
    train, test = log.split()
    assert (len(train), len(test)) == (26, 7)
    assert np.array_equal(test.keys, log.keys[::5])
    assert np.array_equal(test.true_logits, log.true_logits[::5])
    with pytest.raises(ValueError, match="at least 2"):
        log.split(test_every=1)


def test_dense_columns_are_scaled_by_the_training_part_only():
    log = small_log(rows=1000)
    log.dense[::5] += 100.0  # in the test part alone
    train, test = log.split()
    assert np.allclose(train.dense.mean(axis=0), 0, atol=1e-5)
    assert np.allclose(train.dense.std(axis=0), 1, atol=1e-4)
    assert test.dense.mean() > 50


def test_a_scaler_takes_long_tails_by_logarithm_and_fills_gaps():
    values = np.array([[0, 1], [1, 2], [10, np.nan], [1000, 4], [-1000, 3], [5, 5]], np.float32)
    scaler = data.Scaler.fit(values)
    assert scaler.use_log.tolist() == [True, False]
    scaled = scaler.apply(values)
    assert scaled[2, 1] == 0
    assert scaled[3, 0] - scaler.apply(np.zeros((1, 2)))[0, 0] == pytest.approx(
        np.log1p(1000) / scaler.deviation[0], rel=1e-5
    )


def test_a_scaler_stands_constant_and_empty_columns():
    values = np.array([[7, np.nan], [7, np.nan]], np.float32)
    assert data.Scaler.fit(values).apply(values).tolist() == [[0, 0], [0, 0]]


def test_adult_without_a_header(tmp_path):
    dataset = data.load(write(tmp_path, "adult.data", ADULT))
    assert dataset.labels.tolist() == [0, 0, 1, 0, 1]
    assert dataset.dense_names == ("c0", "c2", "c4", "c6", "c7")
    assert dataset.feature_names == ("c1", "c3", "c5", "c8")
    assert dataset.dense[:, 0].tolist() == [39, 50, 38, 53, 28]
    assert dataset.keys[0, 1] == key("c3", "Bachelors")
    assert dataset.keys[2, 3] == key("c8", "?")
    assert "label: c9" in dataset.notes
    assert any("2 missing" in note for note in dataset.notes)


@pytest.mark.parametrize("name", ["label", "Click", "TARGET"])
def test_the_label_column_is_found_by_name(tmp_path, name):
    text = f"site_id,{name},price,country\n1,0,2.5,de\n2,1,,fr\n1,1,3.5,de\n"
    dataset = data.load(write(tmp_path, "clicks.csv", text))
    assert dataset.labels.tolist() == [0, 1, 1]
    assert dataset.feature_names == ("site_id", "country")
    assert dataset.keys[0, 0] == key("site_id", "1")
    assert np.isnan(dataset.dense[1, 0])


def test_the_label_column_can_be_named(tmp_path):
    path = write(tmp_path, "a.csv", "paid,who,width\nyes,a,1\nno,b,2\nyes,c,3\n")
    with pytest.raises(ValueError, match=r"--label: paid, who, width"):
        data.load(path)
    dataset = data.load(path, label="paid")
    assert dataset.labels.tolist() == [1, 0, 1]
    assert dataset.dense_names == ("width",)
    with pytest.raises(ValueError, match="no column 'x'"):
        data.load(path, label="x")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("label,a\n0,x\n1,y\n2,z\n", "3 values"),
        ("label,a\n5,x\n5,y\n", "one value only"),
        ("label,a\n1,x\n,y\n", "missing values"),
        ("label,a\n1,2\n0,3\n", "no column of categories"),
        ("label,click,a\n1,0,x\n0,1,y\n", "more than one label column"),
        ("label,a\n", "no examples"),
        ("justone\n1\n", "one column only"),
        ("\n", "first line is empty"),
    ],
)
def test_what_cannot_be_read_is_said(tmp_path, text, message):
    with pytest.raises(ValueError, match=message):
        data.load(write(tmp_path, "a.csv", text))


def test_a_missing_file_and_a_folder_are_said(tmp_path):
    with pytest.raises(FileNotFoundError, match="no such file"):
        data.load(tmp_path / "absent.csv")
    with pytest.raises(ValueError, match="folder"):
        data.load(tmp_path)


def test_columns_that_say_nothing_are_left_out(tmp_path):
    lines = "".join(f"{i % 2},row{i},same,{i % 7}x\n" for i in range(1200))
    dataset = data.load(write(tmp_path, "a.csv", "label,name,constant,group\n" + lines))
    assert dataset.feature_names == ("group",)
    assert any("name, constant" in note or "constant" in note for note in dataset.notes)


def test_only_the_first_rows_are_read(tmp_path):
    text = "label,a\n" + "".join(f"{i % 2},v{i % 5}\n" for i in range(100))
    path = write(tmp_path, "a.csv", text)
    assert len(data.load(path, rows=33)) == 33
    assert len(data.load(path, rows=1000)) == 100


def test_compressed_and_quoted_files_are_read(tmp_path):
    path = tmp_path / "a.csv.gz"
    with gzip.open(path, "wt") as file:
        file.write('label,a\n1,"x, y"\n0,z\n')
    dataset = data.load(path)
    assert dataset.keys[0, 0] == key("a", "x, y")


def criteo_line(label: int, first_count: str, first_category: str) -> str:
    counts = [first_count, *(str(number) for number in range(2, 14))]
    categories = [first_category, *(f"{number:08x}" for number in range(2, 27))]
    return "\t".join([str(label), *counts, *categories]) + "\n"


def test_criteo(tmp_path):
    text = (
        criteo_line(0, "", "68fd1e64") + criteo_line(1, "-2", "") + criteo_line(0, "7", "68fd1e64")
    )
    dataset = data.load(write(tmp_path, "train.txt", text))
    assert dataset.labels.tolist() == [0, 1, 0]
    assert dataset.dense.shape == (3, 13)
    assert dataset.keys.shape == (3, 26)
    assert np.isnan(dataset.dense[0, 0])
    assert dataset.dense[1:, 0].tolist() == [-2, 7]
    assert dataset.keys[0, 0] == key("C1", "68fd1e64")
    assert dataset.keys[1, 0] == key("C1", "")
    assert dataset.keys[0, 25] == key("C26", "0000001a")


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("u.data", "196\t242\t3\t881250949\n186\t302\t4\t891717742\n22\t377\t5\t878887116\n"),
        ("ratings.dat", "196::242::3::881250949\n186::302::4::891717742\n22::377::5::878887116\n"),
        (
            "ratings.csv",
            "userId,movieId,rating,timestamp\n"
            "196,242,3.5,881250949\n186,302,4.0,891717742\n22,377,5.0,878887116\n",
        ),
    ],
)
def test_movielens(tmp_path, name, text):
    dataset = data.load(write(tmp_path, name, text))
    assert dataset.labels.tolist() == [0, 1, 1]
    assert dataset.feature_names == ("user", "movie", "hour", "weekday")
    assert dataset.dense.shape == (3, 0)
    assert dataset.keys[0].tolist() == [
        key("user", "196"),
        key("movie", "242"),
        key("hour", "15"),  # 4 December 1997, 15:55:49 UTC, a Thursday
        key("weekday", "3"),
    ]


def test_a_rating_that_is_missing_is_said(tmp_path):
    path = write(tmp_path, "ratings.csv", "userId,movieId,rating\n1,2,4\n1,3,\n")
    with pytest.raises(ValueError, match="example 1 has no rating"):
        data.load(path)


def test_parquet(tmp_path):
    pa = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    path = tmp_path / "a.parquet"
    columns = {
        "click": [True, False, True],
        "item_id": [2**53 + 1, None, 7],
        "user_id": [2**60 + 1, 2**60 + 2, -1],
        "price": [1.5, None, 2.5],
        "country": ["de", None, "fr"],
    }
    parquet.write_table(pa.table(columns), path)
    dataset = data.load(path)
    assert dataset.labels.tolist() == [1, 0, 1]
    assert dataset.feature_names == ("item_id", "user_id", "country")
    assert dataset.keys[:, 1].tolist() == [
        key("user_id", str(value)) for value in columns["user_id"]
    ]
    assert dataset.keys[1, 2] == key("country", "")
    assert dataset.keys[2, 0] == key("item_id", "7")
    assert np.isnan(dataset.dense[1, 0])
    assert len(data.load(path, rows=2)) == 2
