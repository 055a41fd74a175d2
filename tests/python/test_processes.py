"""Clients in other processes: pickle, copy, fork, and servers that are gone."""

import copy
import multiprocessing
import os
import pickle
import socket
import time

import numpy as np
import oracle
import pytest
import torch

import hotrow
from hotrow.testing import LocalCluster
from hotrow.torch import Embedding, EmbeddingBag, SparseOptimizer


def pull_in_child(table: hotrow.Table, pipe) -> None:
    """Run in a spawned process."""
    pipe.send(table.pull([1, 2]).tolist())
    table.client.close()


def test_pickle_keeps_address_and_table_and_connects_lazily(make_table):
    table = oracle.filled_table(make_table, oracle.values_of(np.arange(9), 3))
    again = pickle.loads(pickle.dumps(table))
    assert again.client._native is None
    assert "not opened" in repr(again)
    assert np.array_equal(again.pull(np.arange(9)), table.pull(np.arange(9)))
    assert pickle.loads(pickle.dumps(table)).client is again.client
    again.client.close()


@pytest.mark.parametrize("cls", [EmbeddingBag, Embedding])
def test_a_pickled_module_goes_on_with_its_table(make_table, cls):
    table = oracle.filled_table(make_table, oracle.values_of(np.arange(9), 3))
    module = cls(None, 3, padding_idx=2, table=table)
    keys = torch.tensor([[1, 2, 3]])
    module(keys).sum().backward()
    again = pickle.loads(pickle.dumps(module))
    assert again.pending.parts() == []
    assert len(module.pending.parts()) == 1
    assert torch.equal(again(keys), module(keys))
    again(keys).sum().backward()
    before = table.pull([1])
    SparseOptimizer(again).step()
    assert not np.array_equal(table.pull([1]), before)
    again.table.client.close()


def test_deepcopy_shares_table_and_client_but_not_gradients(make_table):
    bag = EmbeddingBag(None, 2, mode="sum", table=make_table(2))
    bag(torch.tensor([[1]])).sum().backward()
    again = copy.deepcopy(bag)
    assert again.table is bag.table
    assert again.pending.parts() == []
    assert again.anchor is not bag.anchor
    assert torch.equal(again(torch.tensor([[1]])), bag(torch.tensor([[1]])))


def test_a_spawned_process_gets_a_working_table(make_table):
    table = oracle.filled_table(make_table, oracle.values_of(np.arange(3), 2))
    context = multiprocessing.get_context("spawn")
    receiving, sending = context.Pipe(duplex=False)
    child = context.Process(target=pull_in_child, args=(table, sending))
    child.start()
    assert receiving.poll(60)
    assert receiving.recv() == table.pull([1, 2]).tolist()
    child.join(60)
    assert child.exitcode == 0


def in_forked_child(act) -> str:
    """Run `act` in a forked child and return what it printed about the exception."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            act()
            text = "no error"
        except BaseException as error:
            text = f"{type(error).__name__}: {error}"
        os.write(writing, text.encode())
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        os.set_blocking(pipe.fileno(), False)
        deadline = time.monotonic() + 30
        text = b""
        while os.waitpid(child, os.WNOHANG) == (0, 0):
            if time.monotonic() > deadline:
                os.kill(child, 9)
                os.waitpid(child, 0)
                pytest.fail("the forked child hung")
            time.sleep(0.01)
        text += pipe.read() or b""
    return text.decode()


@pytest.mark.parametrize(
    "act",
    [
        lambda table: table.pull([1]),
        lambda table: table.push([1], [[1.0, 1.0]]),
        lambda table: table.size(),
        lambda table: table.client.tables(),
        lambda table: table.client.flush(),
    ],
    ids=["pull", "push", "size", "tables", "flush"],
)
def test_a_forked_child_gets_an_error_that_names_fork(make_table, act):
    table = make_table(2)
    table.push([1], [[1.0, 1.0]])
    text = in_forked_child(lambda: act(table))
    assert text.startswith("ForkedProcess")
    assert "fork" in text
    assert table.pull([1]).tolist() == [[-1.0, -1.0]]


def test_a_forked_child_may_close(make_table):
    table = make_table(2)
    assert in_forked_child(table.client.close) == "no error"
    assert table.pull([1]).tolist() == [[0.0, 0.0]]


def test_nobody_listens_is_unavailable_within_the_timeout():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        start = time.monotonic()
        with pytest.raises((hotrow.Unavailable, hotrow.DeadlineExceeded)) as caught:
            hotrow.connect(address, timeout=1.0)
        assert time.monotonic() - start < 10
        assert isinstance(caught.value, OSError)


def test_a_closed_client_says_so(clusters, make_table):
    client = hotrow.connect(clusters(2).addresses)
    table = client.table(make_table(2).name)
    client.close()
    client.close()
    with pytest.raises(hotrow.ClientClosed):
        table.pull([1])


def test_a_killed_shard_is_named_within_the_timeout():
    with LocalCluster(2) as cluster:
        client = cluster.connect(timeout=2.0)
        table = client.create_table("t", 1, optimizer=hotrow.Sgd(lr=1.0))
        table.push(np.arange(100), np.ones((100, 1)))
        cluster.kill(1)
        start = time.monotonic()
        with pytest.raises((hotrow.Unavailable, hotrow.DeadlineExceeded)) as caught:
            table.pull(np.arange(100))
        assert time.monotonic() - start < 10
        assert caught.value.shard == 1 or "shard 1" in str(caught.value)
        states = client.status()
        assert [bool(shard["error"]) for shard in states] == [False, True]


def test_a_restarted_shard_has_lost_its_memory_and_the_session_says_so():
    with LocalCluster(1) as cluster:
        client = cluster.connect(timeout=10.0)
        table = client.create_table("t", 1, optimizer=hotrow.Sgd(lr=1.0))
        table.push([1], [[1.0]])
        cluster.kill(0)
        cluster.start(0)
        with pytest.raises(hotrow.SessionLost):
            table.push([1], [[1.0]])
