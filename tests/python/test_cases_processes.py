"""Public cases about many workers, large messages and processes that come and go."""

from __future__ import annotations

import copy
import multiprocessing
import pickle
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest
import torch
from counting_worker import PUSHES, push_often

import hotrow
from hotrow.testing import LocalCluster
from hotrow.torch import EmbeddingBag, SparseOptimizer

WORKERS = 8
# 8,000 times float32(0.001) off 0, each result rounded to float32.
SUM_OF_STEPS = np.float32(-7.999603)


def counted_tables(client: hotrow.Client, name: str) -> list[hotrow.Table]:
    rules = {"sgd": hotrow.Sgd(lr=0.001), "adagrad": hotrow.Adagrad(lr=0.001)}
    return [
        client.create_table(
            f"{name}.{rule}",
            1,
            optimizer=optimizer,
            initializer=hotrow.Zeros(),
            durability="memory",
        )
        for rule, optimizer in rules.items()
    ]


def check_counts(tables: list[hotrow.Table]) -> None:
    sgd, adagrad = tables
    assert sgd.pull([42])[0, 0] == SUM_OF_STEPS
    (_, _, state), *more = adagrad.scan(state=True)
    assert not more
    assert state["sum"].tolist() == [[WORKERS * PUSHES]]


def test_case_29_threads_that_share_a_client_lose_no_update(client, name) -> None:
    tables = counted_tables(client, name)
    for table in tables:
        threads = [threading.Thread(target=push_often, args=(table,)) for _ in range(WORKERS)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    check_counts(tables)


def test_case_29_processes_lose_no_update(client, clusters, name) -> None:
    tables = counted_tables(client, name)
    program = Path(__file__).with_name("counting_worker.py")
    command = [sys.executable, program, ",".join(clusters(2).addresses)]
    command += [table.name for table in tables]
    workers = [subprocess.Popen(command) for _ in range(WORKERS)]
    for worker in workers:
        assert worker.wait(240) == 0
    check_counts(tables)


@pytest.mark.parametrize(("divisor", "moved"), [(1.0, -2.0), (2.0, -1.0)])
def test_case_29_two_mean_losses_are_twice_one_unless_they_are_averaged(
    make_table, divisor, moved
) -> None:
    table = make_table(1)
    for _ in range(2):  # two workers, each with the mean loss of its half of the batch
        bag = EmbeddingBag(None, 1, mode="sum", table=table)
        optimizer = SparseOptimizer(bag)
        (bag(torch.tensor([[5], [5]])).mean() / divisor).backward()
        optimizer.step()
    assert table.pull([5])[0, 0] == moved


def mixed(keys: np.ndarray, dim: int) -> np.ndarray:
    """Different values in every place, exact in float32."""
    columns = np.arange(dim, dtype=np.int64)
    return ((keys[:, None] * 31 + columns * 7) % 1021).astype(np.float32)


@pytest.mark.parametrize("count", [65536, 65535, 65537])
def test_case_37_messages_of_4_mib_and_a_row_less_or_more(make_table, count) -> None:
    table = make_table(16)
    keys = np.arange(count)
    rows = mixed(keys, 16)
    counts = table.push(keys, -rows)
    assert counts.rows_created == count
    assert np.array_equal(table.pull(keys), rows)


def test_case_37_a_million_rows_of_64_both_ways(client, name) -> None:
    with LocalCluster(2, config={"tiers": {"hot_budget": "1GiB"}}) as cluster:
        table = cluster.connect(timeout=120).create_table(
            name, 64, optimizer=hotrow.Sgd(lr=1.0), initializer=hotrow.Zeros(), durability="memory"
        )
        keys = np.arange(1_000_000)
        rows = mixed(keys, 64)
        assert table.push(keys, -rows).rows_created == len(keys)
        assert np.array_equal(table.pull(keys), rows)
        assert table.size() == len(keys)


def test_case_39_eight_servers_and_three_keys() -> None:
    with LocalCluster(8) as cluster:
        client = cluster.connect()
        table = client.create_table(
            "t", 2, optimizer=hotrow.Sgd(lr=1.0), initializer=hotrow.Zeros(), durability="memory"
        )
        table.push([1, 2, 3], np.ones((3, 2), np.float32))
        assert table.pull([1, 2, 3]).tolist() == [[-1.0, -1.0]] * 3
        assert table.size() == 3
        assert sum(len(keys) for keys, _ in table.scan()) == 3


def test_case_39_an_idle_client_goes_on(clusters, name) -> None:
    with clusters(1).connect(keepalive=1.0, timeout=10) as client:
        table = client.create_table(name, 2, optimizer=hotrow.Sgd(lr=1.0), durability="memory")
        table.push([1], np.ones((1, 2), np.float32))
        deadline = time.monotonic() + 11
        while time.monotonic() < deadline:  # ten signs of life are asked for meanwhile
            assert clusters(1).is_running(0)
            time.sleep(0.2)
        table.push([1], np.ones((1, 2), np.float32))
        assert table.size() == 1
        assert "too_many_pings" not in clusters(1).log(0)


def test_case_39_models_can_be_copied_pickled_and_spawned(client, make_table, clusters) -> None:
    table = make_table(2)
    model = torch.nn.Sequential(EmbeddingBag(None, 2, mode="sum", table=table))
    expected = model(torch.tensor([[1, 2]]))
    for copied in (copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        assert torch.equal(copied(torch.tensor([[1, 2]])), expected)
    context = multiprocessing.get_context("spawn")
    worker = context.Process(target=use_a_model, args=(model, expected.detach()))
    worker.start()
    worker.join(120)
    assert worker.exitcode == 0


def use_a_model(model: torch.nn.Module, expected: torch.Tensor) -> None:
    assert torch.equal(model(torch.tensor([[1, 2]])).detach(), expected)


def test_case_39_a_server_that_is_down_is_said_in_time() -> None:
    with LocalCluster(2) as cluster:
        client = cluster.connect(timeout=1.0)
        table = client.create_table("t", 2, optimizer=hotrow.Sgd(lr=1.0), durability="memory")
        keys = np.arange(100)
        cluster.kill(1)
        begin = time.monotonic()
        with pytest.raises(hotrow.Unavailable):
            table.pull(keys)
        with pytest.raises(hotrow.Unavailable):
            hotrow.connect(cluster.addresses[1], timeout=1.0)
        assert time.monotonic() - begin < 10


def test_case_39_a_server_ends_soon_after_sigterm_and_answers_open_calls() -> None:
    with LocalCluster(1) as cluster:
        client = cluster.connect(timeout=5.0)
        table = client.create_table("t", 64, optimizer=hotrow.Sgd(lr=1.0), durability="memory")
        stopped = threading.Event()
        errors: list[hotrow.Error] = []

        def pull() -> None:
            while not stopped.is_set():
                try:
                    table.pull(np.arange(4096))
                except hotrow.Error as error:
                    errors.append(error)
                    return

        puller = threading.Thread(target=pull)
        puller.start()
        begin = time.monotonic()
        assert cluster.stop(0) == 0
        assert time.monotonic() - begin < 10
        puller.join(30)
        stopped.set()
        assert isinstance(errors[0], hotrow.Unavailable)
