"""Tables through the client: pull, push and the rest, against real servers."""

import threading

import numpy as np
import oracle
import pytest
import torch

import hotrow

EXTREMES = np.array([0, 1, -1, -2, 2**63 - 1, -(2**63)])


@pytest.mark.parametrize("size", [0, 1, 31, 32, 33, 20_000])
def test_pull_gives_what_upsert_wrote(make_table, size):
    table = make_table(5)
    keys = np.arange(size) * 7919 - size
    rows = oracle.values_of(keys, 5)
    table.upsert(keys, rows)
    assert np.array_equal(table.pull(keys), rows)
    assert table.size() == size


def test_every_64_bit_key_is_ordinary(make_table):
    table = make_table(3)
    table.push(EXTREMES, oracle.values_of(EXTREMES, 3))
    assert np.array_equal(table.pull(EXTREMES), -oracle.values_of(EXTREMES, 3))
    unsigned = EXTREMES.view(np.uint64)
    assert np.array_equal(table.pull(unsigned), table.pull(EXTREMES))
    assert sorted(oracle.stored(table)) == sorted(EXTREMES.tolist())


def test_rows_are_of_the_kind_and_shape_of_the_keys(make_table):
    table = make_table(4)
    keys = np.arange(24).reshape(2, 3, 4)
    assert table.pull(keys).shape == (2, 3, 4, 4)
    rows = table.pull(torch.from_numpy(keys))
    assert isinstance(rows, torch.Tensor)
    assert rows.dtype == torch.float32
    assert tuple(rows.shape) == (2, 3, 4, 4)
    assert table.pull(np.int64(3)[None][0]).shape == (4,)
    assert table.pull([1, 2]).shape == (2, 4)


def test_strided_keys_and_gradients_are_understood(make_table):
    table = make_table(2)
    keys = np.arange(20)[::2]
    gradients = oracle.values_of(np.arange(20), 4)[::2, ::2]
    table.push(keys, gradients)
    assert np.array_equal(table.pull(torch.arange(20)[::2]).numpy(), -gradients)
    table.push(torch.arange(20)[1::2], torch.from_numpy(gradients).t().contiguous().t())
    assert np.array_equal(table.pull(keys + 1), -gradients)


def test_a_pull_creates_nothing(make_table):
    table = make_table(2, initializer=hotrow.Uniform(-1, 1), seed=3)
    table.pull(np.arange(1000))
    assert table.size() == 0
    assert list(table.scan()) == []


def test_a_push_creates_rows_from_their_initial_value(make_table):
    table = make_table(2, initializer=hotrow.Normal(0, 1), seed=3)
    start = table.pull(EXTREMES)
    counts = table.push(EXTREMES, np.ones((6, 2), np.float32))
    assert counts == hotrow.PushCounts(rows_updated=0, rows_created=6)
    assert np.array_equal(table.pull(EXTREMES), start - np.float32(1))
    assert table.push(EXTREMES, np.ones((6, 2))) == hotrow.PushCounts(6, 0)


def test_a_wrong_shape_names_expected_and_got(make_table):
    table = make_table(3)
    with pytest.raises(hotrow.InvalidArgument, match=r"\(2, 3\).*not \(2, 4\)"):
        table.push([1, 2], np.zeros((2, 4)))
    with pytest.raises(hotrow.InvalidArgument, match=r"not \(3,\)"):
        table.upsert([1], np.zeros(3))
    assert table.size() == 0


def test_adam_takes_its_bias_correction_from_the_step(make_table):
    gradients = [1.0, 2.0, 3.0, -4.0, 5.0, 0.5]
    table = make_table(1, optimizer=hotrow.Adam(lr=0.1))
    for gradient in gradients:
        table.push([1], [[gradient]])
    assert table.pull([1])[0, 0] == pytest.approx(-0.388322, abs=2e-6)
    explicit = make_table(1, optimizer=hotrow.Adam(lr=0.1))
    for step, gradient in enumerate(gradients, 1):
        explicit.push([1], [[gradient]], step=step)
    assert explicit.pull([1]).tobytes() == table.pull([1]).tobytes()


def test_the_step_goes_on_with_a_new_client(client, clusters, make_table):
    table = make_table(1, optimizer=hotrow.Adam(lr=0.1))
    for gradient in (1.0, 2.0, 3.0):
        table.push([1], [[gradient]])
    assert table.pull([1])[0, 0] == pytest.approx(-0.292318, abs=2e-6)
    with hotrow.connect(clusters(2).addresses) as later:
        again = later.table(table.name)
        for gradient in (-4.0, 5.0, 0.5):
            again.push([1], [[gradient]])
    assert table.pull([1])[0, 0] == pytest.approx(-0.388322, abs=2e-6)


def test_the_learning_rate_travels_with_the_push(make_table):
    table = make_table(1, optimizer=hotrow.Sgd(lr=0.5))
    table.push([1], [[1.0]])
    table.push([1], [[1.0]], lr=0.25)
    table.push([1], [[1.0]], lr=0.0)
    assert table.pull([1])[0, 0] == -0.75


@pytest.mark.parametrize("option", [{"lr": -1.0}, {"lr": np.nan}, {"step": 0}, {"step": 1.5}])
def test_impossible_push_options_are_refused(make_table, option):
    table = make_table(1)
    with pytest.raises(hotrow.InvalidArgument):
        table.push([1], [[1.0]], **option)
    assert table.size() == 0


def test_asynchronous_calls_give_the_same_results(make_table):
    table = make_table(3)
    keys = np.arange(100).reshape(20, 5)
    pushes = [table.push_async(keys, oracle.values_of(keys, 3)) for _ in range(4)]
    assert sorted(push.result(10).rows_updated for push in pushes) == [0, 100, 100, 100]
    pulls = [table.pull_async(keys) for _ in range(4)]
    expected = table.pull(keys)
    for pull in pulls:
        assert np.array_equal(pull.result(timeout=10), expected)
        assert pull.done()
        assert np.array_equal(pull.result(), expected)
    assert isinstance(table.pull_async(torch.arange(3)).result(), torch.Tensor)


def test_arrays_may_change_once_push_async_has_returned(make_table):
    table = make_table(64)
    keys = np.arange(20_000)
    gradients = np.ones((20_000, 64), np.float32)
    future = table.push_async(keys, gradients)
    gradients[:] = 99.0
    keys[:] = -1
    future.result(30)
    assert (table.pull(np.arange(20_000)) == -1.0).all()


@pytest.mark.parametrize("batch", [1, 7, 65536])
def test_scan_visits_every_row_once(make_table, batch):
    table = make_table(3)
    keys = np.arange(200) - 100
    table.push(keys, oracle.values_of(keys, 3))
    seen = [key for part, _ in table.scan(batch) for key in part.tolist()]
    assert sorted(seen) == keys.tolist()
    assert all(len(part) <= batch for part, _ in table.scan(batch))
    rows = oracle.stored(table)
    assert all(np.array_equal(rows[key], -oracle.values_of(key, 3)) for key in keys.tolist())


def test_a_scan_may_be_left_early(make_table):
    table = make_table(1)
    table.push(np.arange(1000), np.ones((1000, 1)))
    before = threading.active_count()
    for _ in table.scan(batch=1):
        break
    assert threading.active_count() <= before
    assert table.size() == 1000


def test_scan_names_the_state_as_torch_does(make_table):
    names = {hotrow.Sgd: [], hotrow.Adagrad: ["sum"], hotrow.Adam: ["exp_avg", "exp_avg_sq"]}
    for optimizer, expected in names.items():
        table = make_table(3, optimizer=optimizer())
        table.push([1, 2], np.ones((2, 3)))
        for keys, _, state in table.scan(state=True):
            assert list(state) == expected
            assert all(array.shape == (len(keys), 3) for array in state.values())


def test_upsert_starts_the_state_afresh(make_table):
    table = make_table(1, optimizer=hotrow.Adagrad(lr=0.1))
    table.push([1], [[4.0]])
    table.upsert([1], [[1.0]])
    _, rows, state = next(table.scan(state=True))
    assert rows.tolist() == [[1.0]]
    assert state["sum"].tolist() == [[0.0]]


def test_remove_forgets_rows_and_their_state(make_table):
    table = make_table(1, optimizer=hotrow.Adagrad(lr=0.1), initializer=hotrow.Constant(1.0))
    table.push([1, 2], [[4.0], [4.0]])
    assert table.remove([1, 3]) == 1
    assert table.size() == 1
    assert table.pull([1]).tolist() == [[1.0]]
    table.push([1], [[4.0]])
    assert table.pull([1]).tolist() == table.pull([2]).tolist()


def test_statistics_count(make_table):
    table = make_table(2)
    table.push([1, 2, 2], np.ones((3, 2)))
    table.pull([1, 9])
    stats = table.stats()
    assert stats["name"] == table.name
    assert stats["rows"] == 2
    assert stats["rows_created"] == 2
    assert stats["rows_pulled_initial"] == 1


def test_tables_are_opened_listed_and_dropped(client, make_table):
    table = make_table(2, optimizer=hotrow.Adam(lr=0.1), seed=5, num_embeddings=10)
    opened = client.table(table.name)
    assert opened.dim == 2
    assert opened.optimizer == hotrow.Adam(lr=0.1)
    assert opened.initializer == hotrow.Zeros()
    assert (opened.seed, opened.num_embeddings) == (5, 10)
    assert table.name in [listed.name for listed in client.tables()]
    table.push([1, 2], np.ones((2, 2)))
    assert client.drop_table(table.name) == 2
    with pytest.raises(hotrow.NotFound) as caught:
        client.table(table.name)
    assert isinstance(caught.value, LookupError)
    assert table.name not in [listed.name for listed in client.tables()]


def test_an_existing_table_is_not_created_again(client, name):
    options = {"dim": 2, "optimizer": hotrow.Sgd(lr=0.1)}
    client.create_table(name, **options)
    with pytest.raises(hotrow.AlreadyExists):
        client.create_table(name, **options)
    client.create_table(name, **options, exist_ok=True)
    for change in ({"dim": 3}, {"optimizer": hotrow.Sgd(lr=0.2)}, {"seed": 1}):
        with pytest.raises(hotrow.SchemaMismatch) as caught:
            client.create_table(name, **{**options, **change}, exist_ok=True)
        assert isinstance(caught.value, ValueError)


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("dtype", "float16"),
        ("dtype", torch.bfloat16),
        ("durability", "process"),
        ("durability", "disk"),
    ],
)
def test_table_options_of_later_versions_are_refused(client, name, option, value):
    with pytest.raises(hotrow.Unimplemented, match="not offered"):
        client.create_table(name, 2, optimizer=hotrow.Sgd(), **{option: value})
    with pytest.raises(hotrow.NotFound):
        client.table(name)


@pytest.mark.parametrize(
    "option",
    [
        {"dim": 0}, {"dim": 65537}, {"dim": 2.0}, {"dim": True}, {"seed": -1}, {"seed": 2**64},
        {"num_embeddings": 0}, {"num_embeddings": -5}, {"optimizer": "sgd"}, {"initializer": 0.5},
        {"gradient_bound": 0.0}, {"gradient_bound": float("inf")}, {"durability": "eternal"},
        {"name": ""}, {"name": "a b"}, {"name": "x" * 129}, {"name": 5},
    ],
    ids=repr,
)  # fmt: skip
def test_impossible_table_options_are_refused(client, name, option):
    options = {"name": name, "dim": 2, "optimizer": hotrow.Sgd(), **option}
    with pytest.raises(hotrow.InvalidArgument):
        client.create_table(**options)


def test_tables_in_memory_say_so_once(client, name, monkeypatch):
    monkeypatch.setattr("hotrow.durability._warned", False)
    with pytest.warns(hotrow.DurabilityWarning, match="memory") as caught:
        table = client.create_table(name, 2, optimizer=hotrow.Sgd())
        client.create_table(name, 2, optimizer=hotrow.Sgd(), exist_ok=True)
    assert len(caught) == 1
    assert "durability='memory'" in repr(table)


def test_threads_share_a_client(make_table):
    table = make_table(1, optimizer=hotrow.Sgd(lr=1.0))

    def work() -> None:
        for _ in range(50):
            table.push([42], [[1.0]])

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert table.pull([42]).tolist() == [[-200.0]]


def test_a_table_that_fills_memory_names_the_refused_keys():
    config = {"tiers": {"hot_budget": "4MiB"}}
    with hotrow.testing.LocalCluster(1, config=config) as cluster, cluster.connect() as client:
        table = client.create_table(
            "big", 64, optimizer=hotrow.Sgd(lr=1.0), initializer=hotrow.Zeros()
        )
        table.push(np.arange(100), np.ones((100, 64)))
        keys = np.arange(40_000)
        with pytest.raises(hotrow.CapacityFull) as caught:
            table.push(keys, np.ones((40_000, 64)))
        refused = caught.value.refused_keys
        assert 0 < refused.size < 40_000
        assert caught.value.table == "big"
        kept = np.setdiff1d(keys, refused)
        assert np.isin(np.arange(100), kept).all()
        assert table.size() == kept.size
        assert (table.pull(refused) == 0).all()
        assert (table.pull(np.arange(100)) == -2).all()
        assert (table.pull(kept[kept >= 100]) == -1).all()
