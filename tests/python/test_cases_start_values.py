"""Reported faults of start values (case 28): they depend on seed, table and key only."""

import threading
from collections.abc import Callable

import numpy as np
import pytest

import hotrow
from hotrow.testing import LocalCluster

KEYS = np.concatenate([np.arange(997), [-1, 2**63 - 1, -(2**63)]])
OPTIONS = {"optimizer": hotrow.Sgd(lr=1.0), "initializer": hotrow.Uniform(-0.5, 0.25), "seed": 28}
# Of a table that its server forgot: a client from before the restart may also hear of the restart.
REFUSED = (hotrow.NotFound, hotrow.SessionLost)


def at_once(*works: Callable[[], None]) -> None:
    """Run all of them in threads that start together, and pass on what fails."""
    barrier = threading.Barrier(len(works), timeout=60)
    failures: list[BaseException] = []

    def run(work: Callable[[], None]) -> None:
        try:
            barrier.wait()
            work()
        except BaseException as failure:
            failures.append(failure)

    threads = [threading.Thread(target=run, args=(work,), daemon=True) for work in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    assert not any(thread.is_alive() for thread in threads)
    if failures:
        raise failures[0]


def test_case_28_start_values_depend_on_seed_table_and_key_only(connected, name):
    pulled = []
    for shards in (1, 2, 3, 4):
        table = connected(shards).create_table(name, 8, **OPTIONS)
        forward = table.pull(KEYS)
        assert np.array_equal(table.pull(KEYS[::-1])[::-1], forward)
        table.push(KEYS, np.zeros((KEYS.size, 8), np.float32))
        assert table.pull(KEYS).tobytes() == forward.tobytes()
        pulled.append(forward.tobytes())
    assert len(set(pulled)) == 1
    assert np.unique(forward, axis=0).shape[0] == KEYS.size
    assert forward.min() >= -0.5
    assert forward.max() < 0.25
    assert forward.mean() == pytest.approx(-0.125, abs=0.02)


def test_case_28_another_seed_or_table_gives_other_values(make_table):
    first = make_table(4, initializer=hotrow.Normal(), seed=1)
    for other in (
        make_table(4, initializer=hotrow.Normal(), seed=2),
        make_table(4, initializer=hotrow.Normal(), seed=1),
    ):
        assert (first.pull(np.arange(9)) != other.pull(np.arange(9))).all()


def test_case_28_two_clients_at_once_pull_the_same_values(clusters, connected, name):
    connected(4).create_table(name, 8, **OPTIONS)
    expected = connected(4).table(name).pull(KEYS)
    addresses = clusters(4).addresses
    with hotrow.connect(addresses) as first, hotrow.connect(addresses) as second:
        pulled = {}

        def pull(client: hotrow.Client, order: int) -> None:
            pulled[order] = client.table(name).pull(KEYS[::order])[::order]

        at_once(lambda: pull(first, 1), lambda: pull(second, -1))
    assert pulled[1].tobytes() == pulled[-1].tobytes() == expected.tobytes()


def test_case_28_two_clients_racing_to_create_a_row_see_the_same_one(clusters, connected, name):
    table = connected(4).create_table(name, 8, **OPTIONS)
    addresses = clusters(4).addresses
    with hotrow.connect(addresses) as first, hotrow.connect(addresses) as second:
        tables = [client.table(name) for client in (first, second)]
        for key in range(50):
            start = table.pull([key])
            created = []

            def push(mine: hotrow.Table, key=key, created=created) -> None:
                created.append(mine.push([key], np.ones((1, 8), np.float32)).rows_created)

            at_once(*(lambda mine=mine: push(mine) for mine in tables))
            assert sorted(created) == [0, 1]
            one = np.float32(1)
            for mine in tables:
                assert mine.pull([key]).tobytes() == (start - one - one).tobytes()


def test_case_28_a_restarted_server_never_makes_up_rows_of_a_table_it_forgot():
    with LocalCluster(2) as cluster, cluster.connect() as client, cluster.connect() as reader:
        table = client.create_table("t", 8, **OPTIONS)
        start = table.pull(KEYS)
        table.push(KEYS, np.ones((KEYS.size, 8), np.float32))
        seen = reader.table("t")
        assert not np.array_equal(seen.pull(KEYS), start)
        for shard in range(2):
            cluster.kill(shard)
            cluster.start(shard)
        with cluster.connect() as later:
            for error, pull in (
                (REFUSED, lambda: table.pull(KEYS)),
                (REFUSED, lambda: table.pull_async(KEYS).result()),
                (REFUSED, lambda: seen.pull(KEYS)),
                (REFUSED, lambda: seen.pull_async(KEYS).result()),
                (hotrow.NotFound, lambda: later.table("t")),
            ):
                with pytest.raises(error):
                    pull()
            # Created again with the same seed, it starts from the same values.
            again = later.create_table("t", 8, **OPTIONS)
            assert again.pull(KEYS).tobytes() == start.tobytes()
