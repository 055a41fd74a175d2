"""Several worker processes on several shards: no push is lost, none is applied twice."""

import subprocess
import sys
from collections import Counter
from pathlib import Path

import integer_worker
import numpy as np
import oracle

import hotrow

WORKERS, STEPS = 4, 40


def expected_counts() -> Counter[int]:
    counts: Counter[int] = Counter()
    for rank in range(WORKERS):
        for step in range(STEPS):
            counts.update(integer_worker.step_keys(rank, step).reshape(-1).tolist())
    return counts


def test_three_shards_and_four_workers_apply_every_push_once(clusters, connected, name):
    table = connected(3).create_table(
        name, 4, optimizer=hotrow.Sgd(lr=1.0), initializer=hotrow.Zeros()
    )
    script = str(Path(integer_worker.__file__))
    addresses = ",".join(clusters(3).addresses)
    workers = [
        subprocess.Popen([sys.executable, script, addresses, name, str(rank), str(STEPS)])
        for rank in range(WORKERS)
    ]
    try:
        assert [worker.wait(240) for worker in workers] == [0] * WORKERS
    finally:
        for worker in workers:
            worker.kill()
            worker.wait(30)
    rows = oracle.stored(table)
    counts = expected_counts()
    assert rows.keys() == counts.keys()
    assert all((rows[key] == -count).all() for key, count in counts.items())
    assert counts[0] >= WORKERS * STEPS
    assert (table.pull([0]) == -counts[0]).all()


def test_keys_are_spread_over_all_shards(clusters, connected, name):
    table = connected(3).create_table(name, 1, optimizer=hotrow.Sgd(lr=1.0))
    keys = np.arange(6000)
    table.push(keys, np.ones((6000, 1)))
    partitions = (hotrow.mix_key(keys, table=name) >> np.uint64(58)).astype(int)
    owners = partitions * 3 // 64
    assert np.bincount(owners).min() > 1700
    assert table.size() == 6000
