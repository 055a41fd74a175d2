"""Hotrow: one shard server process, one client, every promise of the tree as it is built."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import hotrow
import numpy as np
from hotrow.testing import LocalCluster

from bench.peers.worker import Shape

FILL = 65536


class HotrowPeer:
    """The table interface under the common names."""

    def __init__(self, table: hotrow.Table) -> None:
        self.pull = table.pull
        self.pull_async = table.pull_async
        self.push = table.push


@contextlib.contextmanager
def connect(shape: Shape, option: str) -> Iterator[HotrowPeer]:
    """Start a shard that stores all rows. ``option``: ``unix`` for a Unix socket, else TCP."""
    config = {"unix": "/tmp/hotrow-bench.sock"} if option == "unix" else {}
    with LocalCluster(shards=1, config=config) as cluster:
        address = cluster.addresses[0]
        mapped = {address: "unix:/tmp/hotrow-bench.sock"} if option == "unix" else None
        with hotrow.connect([address], address_map=mapped) as client:
            table = client.create_table("bench", dim=shape.dim, optimizer=hotrow.Adagrad(lr=0.05))
            for start in range(0, shape.rows, FILL):
                keys = np.arange(start, min(start + FILL, shape.rows), dtype=np.int64)
                table.push(keys, np.full((len(keys), shape.dim), 0.01, np.float32))
            yield HotrowPeer(table)
