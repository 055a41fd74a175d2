"""A step that finds no room in flight: nothing was sent, and nothing is lost."""

import numpy as np
import pytest
import torch
from test_interrupt import frozen, interrupted

import hotrow
from hotrow.testing import LocalCluster
from hotrow.torch import EmbeddingBag, SparseOptimizer


def _model(client):
    """One table with gradients of two keys that wait for a step."""
    table = client.create_table("t", 1, optimizer=hotrow.Sgd(lr=1.0), durability="memory")
    bag = EmbeddingBag(None, 1, mode="sum", table=table)
    optimizer = SparseOptimizer(bag)
    bag(torch.tensor([1, 2]), torch.tensor([0])).sum().backward()
    return table, optimizer


def _take_all_room(client):
    """Give a push that has all bytes that may be in flight, once it is called."""
    wide = client.create_table("wide", 4096, optimizer=hotrow.Sgd(lr=1.0), durability="memory")
    rows = 2**28 // (4096 * 4)
    gradients = np.ones((rows, 4096), np.float32)
    return lambda: wide.push_async(np.arange(rows), gradients)


def test_a_step_that_finds_no_room_in_an_outage_keeps_its_gradients():
    with LocalCluster(1) as cluster:
        client = cluster.connect(recovery_timeout=0.3)
        _, optimizer = _model(client)
        take_all_room = _take_all_room(client)
        cluster.kill(0)
        taking = take_all_room()
        with pytest.raises(hotrow.Overloaded, match="nothing was sent") as raised:
            optimizer.step()
        assert raised.value.shard is None
        assert cluster.addresses[0] in str(raised.value)
        assert "flush()" in raised.value.hint
        assert (optimizer.step_count, optimizer.pending_squared_norm()) == (0, 2.0)
        with pytest.raises(hotrow.Unavailable, match="1 pushes are still pending") as raised:
            client.flush()
        assert raised.value.shard == 0
        assert not taking.done()
        with pytest.raises(hotrow.SessionLost, match=cluster.addresses[0]):
            client.close()


def test_a_step_that_is_interrupted_while_it_waits_for_room_keeps_its_gradients():
    with LocalCluster(1, config={"tiers": {"hot_budget": "512MiB"}}) as cluster:
        client = cluster.connect()
        table, optimizer = _model(client)
        take_all_room = _take_all_room(client)
        with frozen(cluster):
            taking = take_all_room()
            assert isinstance(interrupted(optimizer.step), hotrow.Overloaded)
            assert (optimizer.step_count, optimizer.pending_squared_norm()) == (0, 2.0)
        taking.result()
        before = table.pull([1, 2])
        optimizer.step()
        assert optimizer.step_count == 1
        assert table.pull([1, 2]).tolist() == (before - 1.0).tolist()
