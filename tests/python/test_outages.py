"""A shard that is away: calls wait for it for `recovery_timeout`, then say what is away."""

import math
import time

import numpy as np
import pytest
import torch

import hotrow
from hotrow.testing import LocalCluster
from hotrow.torch import EmbeddingBag, SparseOptimizer


def test_calls_end_as_unavailable_after_recovery_timeout():
    with LocalCluster(2) as cluster:
        client = cluster.connect(timeout=60.0, recovery_timeout=0.5)
        table = client.create_table("t", 1, optimizer=hotrow.Sgd(lr=1.0), durability="memory")
        keys = np.arange(100)  # of both shards
        cluster.kill(1)
        began = time.monotonic()
        with pytest.raises(hotrow.Unavailable, match="recovery_timeout") as raised:
            table.pull(keys)
        assert raised.value.shard == 1
        assert cluster.addresses[1] in str(raised.value)
        assert raised.value.hint
        with pytest.raises(hotrow.Unavailable, match="still pending") as raised:
            table.push(keys, np.ones((100, 1)))
        assert raised.value.shard == 1
        with pytest.raises(hotrow.Unavailable, match="1 pushes are still pending"):
            client.flush()
        assert time.monotonic() - began < 30.0
        with pytest.raises(hotrow.SessionLost, match="1 pushes"):
            client.close()


def test_a_step_that_waits_too_long_is_counted_and_not_repeated():
    with LocalCluster(1) as cluster:
        client = cluster.connect(timeout=60.0, recovery_timeout=0.3)
        table = client.create_table("t", 1, optimizer=hotrow.Sgd(lr=1.0), durability="memory")
        bag = EmbeddingBag(None, 1, mode="sum", table=table)
        optimizer = SparseOptimizer(bag)
        bag(torch.tensor([1]), torch.tensor([0])).sum().backward()
        cluster.kill(0)
        with pytest.raises(hotrow.Unavailable, match="Do not push the same gradients again"):
            optimizer.step()
        assert optimizer.step_count == 1
        assert bag.pending.parts() == []
        with pytest.raises(hotrow.SessionLost):
            client.close()


@pytest.mark.parametrize("seconds", [0, -1.0, math.nan, math.inf, "1", None, True])
def test_a_recovery_timeout_that_is_no_time_is_refused(seconds):
    with pytest.raises(hotrow.InvalidArgument, match="recovery_timeout"):
        hotrow.connect("127.0.0.1:1", recovery_timeout=seconds)


def test_the_result_of_a_push_is_not_waited_for_longer_either():
    with LocalCluster(1) as cluster:
        client = cluster.connect(recovery_timeout=0.3)
        table = client.create_table("t", 1, optimizer=hotrow.Sgd(lr=1.0), durability="memory")
        cluster.kill(0)
        future = table.push_async(np.arange(3), np.ones((3, 1)))
        began = time.monotonic()
        for _ in range(2):
            with pytest.raises(hotrow.Unavailable, match="still pending"):
                future.result()
        assert time.monotonic() - began < 20.0
        assert not future.done()
