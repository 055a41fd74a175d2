"""Faults that were found in the client once: futures, closing, forks, numbers of users."""

import gc
import pickle
import threading
import time

import numpy as np
import pytest

import hotrow
from hotrow.client import Client
from hotrow.futures import NOT_YET, Future
from hotrow.testing import LocalCluster


class Arriving:
    """A native result that comes right after the first wait for it ran out."""

    def __init__(self) -> None:
        self.waits = 0

    def ready(self) -> bool:
        return self.waits > 0

    def raise_outage(self) -> None:
        """Nothing is away."""

    def take(self, _native: object, _timeout: float) -> object:
        self.waits += 1
        return NOT_YET if self.waits == 1 else "rows"


def test_a_result_that_arrives_as_the_wait_ends_is_not_lost():
    native = Arriving()
    future = Future(native, native.take, 1.0, "item")
    with pytest.raises(hotrow.DeadlineExceeded, match=r"table 'item': .* not there yet"):
        future.result(timeout=0.0)
    assert future.done()
    assert future.result() == "rows"
    assert future.result() == "rows"
    assert native.waits == 2


def test_a_timeout_counts_while_another_thread_waits():
    native = Arriving()
    arrived = threading.Event()

    def take(_native: object, _timeout: float) -> str:
        arrived.wait(30)
        return "rows"

    future = Future(native, take, 60.0, "item")
    other = threading.Thread(target=future.result)
    other.start()
    start = time.monotonic()
    try:
        with pytest.raises(hotrow.DeadlineExceeded):
            future.result(timeout=0.05)
        assert time.monotonic() - start < 10
    finally:
        arrived.set()
        other.join()
    assert future.result(timeout=0.0) == "rows"


def test_a_call_that_gave_up_answers_the_same_for_ever():
    with LocalCluster(1) as cluster:
        client = cluster.connect(timeout=0.3)
        table = client.create_table("t", 1, optimizer=hotrow.Sgd(), durability="memory")
        cluster.kill(0)
        future = table.pull_async([1])
        with pytest.raises(hotrow.Error) as first:
            future.result(timeout=30)
        assert future.done()
        with pytest.raises(hotrow.Error) as second:
            future.result(timeout=30)
        assert second.value is first.value


def test_rank_and_world_size_reach_the_native_client(monkeypatch):
    seen = []

    class Native:
        @staticmethod
        def connect(*arguments: object) -> object:
            seen.append(arguments[-1])
            return object()

    monkeypatch.setattr("hotrow.client._native", Native)
    client = hotrow.connect("127.0.0.1:1", job="j", rank=np.int64(3), world_size=4)
    client._process = 0  # there is nothing to close
    assert seen == [("j", 3, 4)]
    for rank, world_size in ((4, 4), (0, 0), (True, 2), (0.0, 1), (0, 2**32)):
        with pytest.raises(hotrow.InvalidArgument):
            hotrow.connect("127.0.0.1:1", rank=rank, world_size=world_size)


def test_a_dropped_client_warns_of_what_it_could_not_deliver():
    with LocalCluster(1) as cluster:
        client = cluster.connect(timeout=0.5)
        table = client.create_table("t", 1, optimizer=hotrow.Sgd(), durability="memory")
        cluster.kill(0)
        table.push_async([1], np.ones((1, 1), np.float32))
        others = []
        running = threading.Event()

        def count() -> None:
            while not running.is_set():
                others.append(time.monotonic())
                running.wait(0.01)

        thread = threading.Thread(target=count)
        thread.start()
        start = time.monotonic()
        with pytest.warns(RuntimeWarning, match="dropped.*pushes"):
            del client, table
            gc.collect()
        end = time.monotonic()
        running.set()
        thread.join()
        assert end - start > 0.3  # it waited for the push, and others ran meanwhile
        assert sum(start < moment < end for moment in others) > 3


def test_a_client_that_connects_after_a_fork_can_be_closed(client):
    lazy = Client(client._options)
    lazy._process -= 1  # as if made by the parent, before it had connected
    lazy.tables()
    lazy.close()
    with pytest.raises(hotrow.ClientClosed):
        lazy.tables()


def test_unpickling_does_not_give_a_closed_client(client):
    first = pickle.loads(pickle.dumps(client))
    first.tables()
    first.close()
    second = pickle.loads(pickle.dumps(client))
    assert isinstance(second.tables(), list)
    second.close()


def test_a_client_closed_before_its_first_use_stays_closed(client):
    lazy = Client(client._options)
    lazy.close()
    with pytest.raises(hotrow.ClientClosed):
        lazy.tables()


@pytest.mark.parametrize(
    "initializer",
    [hotrow.Uniform(-0.05, 0.05), hotrow.Normal(0.1, 0.3), hotrow.Constant(0.1)],
)
def test_an_initializer_comes_back_equal_from_the_servers(client, name, initializer):
    table = client.create_table(
        name, 1, optimizer=hotrow.Sgd(), initializer=initializer, durability="memory"
    )
    assert client.table(name).initializer == initializer
    assert table.gradient_bound == 1e15


def test_optimizers_take_numbers_of_numpy():
    tenth = np.float32(0.1)
    assert hotrow.Sgd(lr=tenth) == hotrow.Sgd(lr=0.1)
    assert hotrow.Adam(lr=np.float64(0.1), betas=(tenth, tenth)) == hotrow.Adam(0.1, (0.1, 0.1))
    assert hotrow.Uniform(-tenth, tenth) == hotrow.Uniform(-0.1, 0.1)
    for wrong in (np.float32("nan"), "0.1", None, True, -1.0):
        with pytest.raises(hotrow.InvalidArgument):
            hotrow.Sgd(lr=wrong)


def test_masked_arrays_are_refused(make_table):
    table = make_table(1)
    keys = np.ma.array([1, 2], mask=[False, True])
    gradients = np.ma.array([[1.0], [2.0]], mask=[[False], [True]])
    for call in (
        lambda: table.pull(keys),
        lambda: table.push(keys, np.ones((2, 1))),
        lambda: table.push([1, 2], gradients),
        lambda: table.upsert([1, 2], gradients),
    ):
        with pytest.raises(hotrow.InvalidArgument, match="masked"):
            call()
    assert table.size() == 0


def test_memory_to_fill_is_never_converted(make_table):
    table = make_table(1)
    keys = np.array([1], np.uint64)
    with pytest.raises(TypeError):
        table.native.pull(keys, np.empty((1, 1), np.float64), True, None)
    pending = table.native.pull_async(keys, True, None)
    with pytest.raises(TypeError):
        pending.wait(30.0, np.empty((1, 1), np.float64))
