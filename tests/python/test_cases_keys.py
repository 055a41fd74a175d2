"""Reported faults of ids: outside the range, strings, floats (cases 15, 18, 19)."""

import csv
import itertools
import json
import os
import subprocess
import sys

import adult
import numpy as np
import pytest
import torch
from bags import bag_of, counting_table, tensor

import hotrow
from hotrow.torch import Embedding

CLASHING_IN_32_BITS = ["54327_154596532770814A573", "28155_1527495221357429108"]


def test_case_15_a_bounded_module_refuses_ids_and_offsets_outside(make_table):
    table = counting_table(make_table, 5, num_embeddings=5)
    bag = bag_of(table)
    assert bag(tensor([4]), tensor([0])).tolist() == [[4, 40]]
    for key in (5, -1):
        with pytest.raises(RuntimeError, match=str(key)):
            bag(tensor([key]), tensor([0]))
        with pytest.raises(IndexError, match=str(key)):
            Embedding(5, 2, table=table)(tensor([key]))
    for offsets in ([-3], [0, -3], [1], [0, 2]):
        with pytest.raises(RuntimeError, match="offset"):
            bag(tensor([4]), tensor(offsets))


def test_case_15_an_open_module_takes_any_id(make_table):
    table = make_table(2, initializer=hotrow.Uniform(-1, 1), seed=15)
    bag = bag_of(table)
    for key in (4, 5, -1):
        assert bag(tensor([key]), tensor([0])).tolist() == table.pull([key]).tolist()
    with pytest.raises(RuntimeError, match="offset"):
        bag(tensor([4]), tensor([-3]))


def test_case_15_modules_of_neighbouring_tables_do_not_share_rows(make_table):
    tables = [make_table(2, num_embeddings=3) for _ in range(2)]
    for number, table in enumerate(tables):
        table.upsert([0, 1, 2], np.full((3, 2), number + 1.0))
    first, second = (bag_of(table) for table in tables)
    for bag, key in itertools.product((first, second), (3, -1)):
        with pytest.raises(hotrow.KeyRange, match=str(key)):
            bag(tensor([0, key]), tensor([0]))
    assert first(tensor([0, 1, 2]), tensor([0])).tolist() == [[3, 3]]
    assert second(tensor([0, 1, 2]), tensor([0])).tolist() == [[6, 6]]


def test_case_15_a_bounded_table_refuses_keys_outside(make_table):
    table = make_table(2, num_embeddings=5)
    assert table.pull([0, 4]).shape == (2, 2)
    for key in (5, -1, 2**63 - 1):
        for call in (
            lambda key=key: table.pull([key]),
            lambda key=key: table.push([0, key], np.zeros((2, 2))),
            lambda key=key: table.upsert([key], np.zeros((1, 2))),
            lambda key=key: table.remove([key]),
            lambda key=key: table.pull_async([key]).result(),
        ):
            with pytest.raises(hotrow.KeyRange, match=str(key)) as caught:
                call()
            assert isinstance(caught.value, IndexError)
            assert isinstance(caught.value, RuntimeError)
            assert caught.value.table == table.name
    assert table.size() == 0


def test_case_15_neighbouring_tables_do_not_share_rows(make_table):
    first = make_table(2, num_embeddings=3)
    second = make_table(2, num_embeddings=3)
    first.upsert([0, 1, 2], np.full((3, 2), 1.0))
    second.upsert([0, 1, 2], np.full((3, 2), 2.0))
    with pytest.raises(hotrow.KeyRange):
        first.pull([3])
    assert (first.pull([0, 1, 2]) == 1).all()
    assert (second.pull([0, 1, 2]) == 2).all()


def test_case_18_real_ids_stay_apart():
    first, second = hotrow.hash_strings("id", CLASHING_IN_32_BITS).tolist()
    assert first != second


def test_case_18_feature_and_value_do_not_run_together():
    assert hotrow.hash_strings("ab", ["c"])[0] != hotrow.hash_strings("a", ["bc"])[0]
    assert hotrow.hash_strings("a", ["x"])[0] != hotrow.hash_strings("b", ["x"])[0]


def hex_ids(count: int) -> list[str]:
    """Strings of 32 hexadecimal digits, half of them with the top bit set."""
    rng = np.random.default_rng(18)
    return [bytes(row).hex() for row in rng.integers(0, 256, (count, 16), np.uint8)]


def test_case_18_hex_ids_do_not_collide():
    ids = hex_ids(100_000)
    keys = hotrow.hash_strings("device", ids)
    assert np.unique(keys).size == len(set(ids))
    assert (keys < 0).any()


def test_case_18_keys_are_the_same_in_every_process():
    ids = [*CLASHING_IN_32_BITS, *hex_ids(200)]
    assert sum(int(text[0], 16) >= 8 for text in ids[2:]) > 50
    expected = hotrow.hash_strings("country", ids).tolist()
    code = (
        "import hotrow, json, sys;"
        "print(hotrow.hash_strings('country', json.load(sys.stdin)).tolist())"
    )
    for seed in ("0", "1", "random"):
        printed = subprocess.run(
            [sys.executable, "-c", code],
            **{"input": json.dumps(ids), "env": {**os.environ, "PYTHONHASHSEED": seed}},
            **{"capture_output": True, "text": True, "check": True, "timeout": 120},
        ).stdout
        assert json.loads(printed) == expected, seed


def test_case_18_the_workclass_of_adult_keeps_its_nine_values(adult_csv):
    with adult_csv.open() as file:
        rows = [row for row in csv.reader(file, skipinitialspace=True) if row]
    values = [row[adult.COLUMNS.index("workclass")] for row in rows]
    keys = hotrow.hash_strings("workclass", values)
    assert keys.shape == (32_561,)
    assert len(set(zip(values, keys.tolist(), strict=True))) == 9
    assert np.unique(keys).size == len(set(values)) == 9
    private = hotrow.hash_strings("workclass", ["Private"])[0]
    assert np.count_nonzero(keys == private) == 22_696


@pytest.mark.parametrize(
    "keys",
    [
        torch.tensor([16777217], dtype=torch.float32),
        torch.tensor([9007199254740993], dtype=torch.float64),
        torch.tensor([float("nan")]),
        torch.tensor([1.0, float("nan"), 3.0], dtype=torch.float64),
        torch.tensor([1], dtype=torch.float16),
        torch.tensor([True]),
        torch.tensor([1], dtype=torch.uint8),
        torch.tensor([1], dtype=torch.int16),
        torch.tensor([1]).to(torch.uint64),
    ],
    ids=repr,
)
def test_case_19_modules_refuse_what_is_not_int64_or_int32(make_table, keys):
    table = counting_table(make_table, 5)
    dtype = str(keys.dtype).removeprefix("torch.")
    before = table.stats()["rows_pulled"]
    for call in (
        lambda: bag_of(table)(keys, tensor([0])),
        lambda: bag_of(table)(keys[None]),
        lambda: Embedding(None, 2, table=table)(keys),
    ):
        with pytest.raises(RuntimeError, match=f"int64 or int32, not {dtype}"):
            call()
    assert table.stats()["rows_pulled"] == before


def test_case_19_offsets_that_are_floats_are_refused_and_integer_types_mix(make_table):
    bag = bag_of(counting_table(make_table, 5))
    with pytest.raises(RuntimeError, match="int64"):
        bag(tensor([1]), torch.zeros(1))
    for first, second in itertools.product((torch.int32, torch.int64), repeat=2):
        assert bag(tensor([1, 2], first), tensor([0, 1], second)).tolist() == [[1, 10], [2, 20]]


@pytest.mark.parametrize(
    "bad",
    [
        np.array([16777217], np.float32),
        np.array([9007199254740993], np.float64),
        np.array([np.nan]),
        np.array([True]),
        np.array([1], np.int16),
    ],
    ids=repr,
)
def test_case_19_calls_refuse_keys_that_are_not_integers(make_table, bad):
    table = make_table(2)
    for call in (
        lambda: table.pull(bad),
        lambda: table.push(bad, np.zeros((1, 2))),
        lambda: table.upsert(bad, np.zeros((1, 2))),
        lambda: table.remove(bad),
    ):
        with pytest.raises(hotrow.InvalidArgument, match=bad.dtype.name):
            call()


def test_case_19_all_integer_types_name_the_same_row(make_table):
    table = make_table(2)
    table.push(np.array([3], np.int32), [[1.0, 2.0]])
    for keys in (
        np.array([3]),
        np.array([3], np.uint64),
        torch.tensor([3]),
        torch.tensor([3]).int(),
        torch.tensor([3]).to(torch.uint64),
    ):
        assert np.asarray(table.pull(keys)).tolist() == [[-1.0, -2.0]]
