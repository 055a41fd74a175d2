"""Faults that were found with several workers once: clipping and DistributedDataParallel."""

import json
import math
import subprocess
import sys
from pathlib import Path

import pytest

import hotrow
from hotrow.testing import LocalCluster

WORKER = Path(__file__).with_name("distributed_worker.py")


def test_two_workers_clip_by_the_same_factor_and_ddp_leaves_the_bag_alone(tmp_path):
    with LocalCluster(1) as cluster:
        table = cluster.connect().create_table(
            "clip",
            1,
            optimizer=hotrow.Sgd(lr=1.0),
            initializer=hotrow.Zeros(),
            durability="memory",
        )
        command = [sys.executable, WORKER, cluster.addresses[0]]
        workers = [
            subprocess.Popen(
                [*command, str(rank), str(tmp_path / "store")], stdout=subprocess.PIPE, text=True
            )
            for rank in range(2)
        ]
        try:
            answers = [worker.communicate(timeout=120)[0] for worker in workers]
        finally:
            for worker in workers:
                worker.kill()
                worker.wait()
        assert [worker.returncode for worker in workers] == [0, 0]
        results = [json.loads(answer.splitlines()[-1]) for answer in answers]
        # Half of 2 and half of 6 are pushed; the dense gradient is 3 on both.
        norm = math.sqrt(3**2 + 1**2 + 3**2)
        assert [result["squared"] for result in results] == [1.0, 9.0]
        for result in results:
            assert result["norm"] == pytest.approx(norm)
            assert result["dense"] == pytest.approx(3 / norm, rel=1e-5)
            assert result["passes"] == 3
        moved = table.pull([0, 1])[:, 0]
        assert moved.tolist() == pytest.approx([-1 / norm, -3 / norm], rel=1e-5)
