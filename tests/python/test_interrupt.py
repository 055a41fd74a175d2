"""Ctrl-C ends every call that waits for a server, within a second and with the reason as cause."""

from __future__ import annotations

import os
import signal
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

import hotrow
from hotrow.testing import LocalCluster

PATIENCE_S = 60.0  # of the calls: far more than a test waits
SOON_S = 5.0


@pytest.fixture
def cluster() -> Iterator[LocalCluster]:
    with LocalCluster(1) as own:
        yield own


def _wait_until_stopped(pid: int) -> None:
    """Wait for the last thread: until then the server may still answer."""
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline:
        threads = Path(f"/proc/{pid}/task").iterdir()
        if all(
            (thread / "stat").read_text().rsplit(")")[-1].split()[0] == "T" for thread in threads
        ):
            return
        time.sleep(0.001)
    pytest.fail("the server did not stop")


@contextmanager
def frozen(cluster: LocalCluster) -> Iterator[None]:
    """Stop the server's process without ending it: calls wait."""
    os.kill(cluster.pid(0), signal.SIGSTOP)
    _wait_until_stopped(cluster.pid(0))
    try:
        yield
    finally:
        os.kill(cluster.pid(0), signal.SIGCONT)


def interrupted(call: Callable[[], object], within_s: float = SOON_S) -> BaseException | None:
    """Run `call`, press Ctrl-C after a moment, and return the cause of the KeyboardInterrupt."""
    timer = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT))
    begin = time.monotonic()
    timer.start()
    try:
        with pytest.raises(KeyboardInterrupt) as caught:
            call()
    finally:
        timer.cancel()
    assert time.monotonic() - begin < within_s
    return caught.value.__cause__


def simple_table(client: hotrow.Client, name: str) -> hotrow.Table:
    return client.create_table(name, 2, optimizer=hotrow.Sgd(lr=1.0), durability="memory")


def test_a_pull_is_dropped_and_the_client_goes_on(cluster: LocalCluster) -> None:
    client = cluster.connect(timeout=PATIENCE_S)
    table = simple_table(client, "t")
    before = table.pull([1, 2])
    with frozen(cluster):
        cause = interrupted(lambda: table.pull([1, 2]))
        assert isinstance(cause, hotrow.DeadlineExceeded)
    assert np.array_equal(table.pull([1, 2]), before)


def test_a_push_stays_pending_and_is_applied_once(cluster: LocalCluster) -> None:
    client = cluster.connect(timeout=PATIENCE_S)
    table = simple_table(client, "t")
    before = table.pull([1])
    with frozen(cluster):
        cause = interrupted(lambda: table.push([1], np.ones((1, 2), np.float32)))
        assert "still pending" in str(cause)
        assert isinstance(interrupted(client.flush), hotrow.DeadlineExceeded)
    client.flush()
    assert np.array_equal(table.pull([1]), before - 1)


def test_a_future_keeps_its_result(cluster: LocalCluster) -> None:
    client = cluster.connect(timeout=PATIENCE_S)
    table = simple_table(client, "t")
    with frozen(cluster):
        future = table.push_async([1], np.ones((1, 2), np.float32))
        interrupted(lambda: future.result(PATIENCE_S))
    assert future.result(PATIENCE_S).rows_created == 1


def test_questions_to_all_shards_are_cancelled(cluster: LocalCluster) -> None:
    client = cluster.connect(timeout=PATIENCE_S)
    table = simple_table(client, "t")
    with frozen(cluster):
        for question in (table.size, client.tables, client.status):
            interrupted(question)
        interrupted(lambda: client.table("t"))
    assert table.size() == 0


def test_connect_ends_between_two_attempts() -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{unused.getsockname()[1]}"
        cause = interrupted(lambda: hotrow.connect(address, timeout=PATIENCE_S))
    assert isinstance(cause, hotrow.Unavailable)


def test_close_gives_up_and_says_what(cluster: LocalCluster) -> None:
    client = cluster.connect(timeout=PATIENCE_S)
    table = simple_table(client, "t")
    with frozen(cluster):
        table.push_async([1], np.ones((1, 2), np.float32))
        assert isinstance(interrupted(client.close), hotrow.SessionLost)


def test_a_handler_of_the_program_is_run_and_its_exception_raised(cluster: LocalCluster) -> None:
    class Preempted(Exception):
        pass

    def handler(number: int, frame: object) -> None:
        raise Preempted

    client = cluster.connect(timeout=PATIENCE_S)
    table = simple_table(client, "t")
    old = signal.signal(signal.SIGUSR1, handler)
    timer = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGUSR1))
    try:
        with frozen(cluster), pytest.raises(Preempted):
            timer.start()
            table.pull([1])
    finally:
        timer.cancel()
        signal.signal(signal.SIGUSR1, old)
