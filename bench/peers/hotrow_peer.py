"""Hotrow: one shard server process, one client, every promise of the tree as it is built."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Iterator
from typing import Any

import numpy as np

import hotrow
from bench.workload import Shape
from hotrow.testing import LocalCluster

FILL = 65536


class HotrowPeer:
    """The table interface under the common names."""

    def __init__(self, table: hotrow.Table) -> None:
        self.pull = table.pull
        self.pull_async = table.pull_async
        self.push = table.push


def _budget_mib(shape: Shape) -> int:
    """Room for all rows with their Adagrad state, twice over: the store grows by doubling."""
    return 64 + (shape.rows * (8 * shape.dim + 64) * 2 >> 20)


@contextlib.contextmanager
def connect(shape: Shape, option: str) -> Iterator[HotrowPeer]:
    """Start a shard that stores all rows. ``option``: ``unix`` for a Unix socket, else TCP."""
    with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as running:
        socket = f"{folder}/shard.sock"
        config: dict[str, Any] = {"tiers": {"hot_budget": f"{_budget_mib(shape)}MiB"}}
        if option == "unix":
            config["unix"] = socket
        cluster = running.enter_context(LocalCluster(shards=1, config=config))
        address = cluster.addresses[0]
        mapped = {address: f"unix:{socket}"} if option == "unix" else None
        with hotrow.connect([address], address_map=mapped) as client:
            table = client.create_table("bench", dim=shape.dim, optimizer=hotrow.Adagrad(lr=0.05))
            for start in range(0, shape.rows, FILL):
                keys = np.arange(start, min(start + FILL, shape.rows), dtype=np.int64)
                table.push(keys, np.full((len(keys), shape.dim), 0.01, np.float32))
            yield HotrowPeer(table)
