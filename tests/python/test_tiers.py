"""Tables larger than memory: rows on disk are the rows that memory would hold."""

import numpy as np
import pytest

import hotrow
from hotrow.testing import LocalCluster

pytestmark = pytest.mark.filterwarnings("ignore::hotrow.DurabilityWarning")

SMALL = {"tiers": {"hot_budget": "1MiB", "disk_budget": "1GiB"}, "strands": 1}
DIM = 16


def keys_of(count: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).permutation(np.arange(count, dtype=np.int64) * 7919 - 999)


def gradients_of(count: int, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(count, DIM)).astype(np.float32)


def train(table: hotrow.client.Table, rounds: int = 3, count: int = 40_000) -> None:
    for seed in range(rounds):
        keys = keys_of(count, seed)
        for begin in range(0, count, 4096):
            some = keys[begin : begin + 4096]
            table.push(some, gradients_of(len(some), 1000 * seed + begin))


def scanned(table: hotrow.client.Table) -> dict[int, tuple[bytes, ...]]:
    rows: dict[int, tuple[bytes, ...]] = {}
    for keys, weights, state in table.scan(batch=1000, state=True):
        arrays = [weights, *(state[name] for name in sorted(state))]
        for i, key in enumerate(keys.tolist()):
            assert key not in rows, "a row came twice"
            rows[key] = tuple(array[i].tobytes() for array in arrays)
    return rows


@pytest.mark.parametrize(
    "optimizer",
    [hotrow.Sgd(0.1), hotrow.Adagrad(0.1), hotrow.Adam(0.01)],
    ids=lambda o: type(o).__name__,
)
def test_rows_and_state_are_those_of_memory(optimizer):
    results = []
    for config in (SMALL, {"strands": 1}):
        with LocalCluster(shards=2, config=config) as cluster, cluster.connect() as client:
            table = client.create_table("t", DIM, optimizer=optimizer, seed=3)
            train(table)
            assert table.size() == 40_000
            results.append((table.pull(keys_of(41_000)), scanned(table), table.stats()))
    (small_rows, small_scan, small), (rows, scan, large) = results
    np.testing.assert_array_equal(small_rows, rows)
    assert small_scan == scan
    assert small["evictions"] > 40_000, "rows had to leave memory"
    assert small["promotions"] > 40_000
    assert list(small["tiers"]) == ["hot", "cold"]
    assert small["tiers"]["hot"]["used_bytes"] <= 2 * 2**20
    assert small["tiers"]["cold"]["rows_pulled"] > 0
    assert list(large["tiers"]) == ["hot"]
    assert large["evictions"] == 0


def test_a_clean_stop_brings_back_rows_and_state():
    with (
        LocalCluster(shards=2, config=SMALL) as cluster,
        LocalCluster(shards=2, config={"strands": 1}) as whole,
        whole.connect() as other,
    ):
        reference = other.create_table("t", DIM, optimizer=hotrow.Adagrad(0.1), seed=3)
        train(reference, rounds=2, count=10_000)
        with cluster.connect() as client:
            train(client.create_table("t", DIM, optimizer=hotrow.Adagrad(0.1), seed=3), 1, 10_000)
        for shard in (0, 1):
            cluster.stop(shard)
        for shard in (0, 1):
            cluster.start(shard)
        with cluster.connect() as client:
            table = client.table("t")
            assert table.size() == 10_000
            keys = keys_of(10_000, 1)
            for begin in range(0, 10_000, 4096):
                some = keys[begin : begin + 4096]
                table.push(some, gradients_of(len(some), 1000 + begin))
            assert scanned(table) == scanned(reference)


def test_a_read_only_pull_moves_nothing():
    with LocalCluster(shards=1, config=SMALL) as cluster, cluster.connect() as client:
        table = client.create_table("t", DIM, optimizer=hotrow.Sgd(0.1))
        train(table, rounds=1)
        before = table.stats()
        from hotrow.torch import EmbeddingBag

        torch = pytest.importorskip("torch")
        bag = EmbeddingBag(None, DIM, mode="sum", table="t", client=client)
        bag.eval()
        with torch.no_grad():
            bag(torch.from_numpy(keys_of(40_000)[:4000]).reshape(1, -1))
        after = table.stats()
        assert after["rows_pulled"] == before["rows_pulled"] + 4000
        assert after["tiers"]["cold"]["rows_pulled"] > before["tiers"]["cold"]["rows_pulled"]
        assert after["promotions"] == before["promotions"]
        assert after["evictions"] == before["evictions"]


def test_policies_of_eviction_are_of_the_table():
    policies = {"lru": None, "lfu": hotrow.Lfu(0.999), "none": hotrow.NoEviction()}
    with LocalCluster(shards=1, config=SMALL) as cluster, cluster.connect() as client:
        for name, policy in policies.items():
            client.create_table(name, DIM, optimizer=hotrow.Sgd(0.1), eviction=policy)
            assert client.table(name).eviction == (policy or hotrow.Lru())
        for name in ("lru", "lfu"):
            train(client.table(name), rounds=1)
            assert client.table(name).stats()["evictions"] > 0
        with pytest.raises(hotrow.CapacityFull):
            train(client.table("none"), rounds=1)
        assert client.table("none").stats()["evictions"] == 0
        with pytest.raises(hotrow.SchemaMismatch, match="eviction"):
            client.create_table(
                "lfu", DIM, optimizer=hotrow.Sgd(0.1), eviction=hotrow.Lfu(0.5), exist_ok=True
            )


@pytest.mark.parametrize("decay", [0.0, -1.0, 1.5, float("nan")])
def test_a_decay_out_of_range_is_refused(decay):
    with pytest.raises(hotrow.InvalidArgument):
        hotrow.Lfu(decay)


def test_something_else_than_a_policy_is_refused():
    with (
        LocalCluster(shards=1) as cluster,
        cluster.connect() as client,
        pytest.raises(hotrow.InvalidArgument, match="eviction"),
    ):
        client.create_table("t", DIM, optimizer=hotrow.Sgd(0.1), eviction="lru")


def test_a_kill_brings_back_what_was_flushed_and_the_log_says_so():
    with LocalCluster(shards=1, config=SMALL) as cluster:
        with cluster.connect() as client:
            train(client.create_table("t", DIM, optimizer=hotrow.Sgd(0.1)), rounds=1)
            cluster.kill(0)
        cluster.start(0)
        with cluster.connect() as client:
            assert client.table("t").size() <= 40_000
        assert "did not end cleanly" in cluster.log(0)


def test_a_server_without_a_disk_budget_does_not_ignore_rows_on_disk(tmp_path):
    with LocalCluster(shards=1, data_dir=tmp_path, config=SMALL) as cluster:
        cluster.stop(0)
    with pytest.raises(hotrow.Unavailable, match="holds rows on disk"):
        LocalCluster(shards=1, data_dir=tmp_path)
