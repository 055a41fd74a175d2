"""A bare TCP server with torch kernels: what a user writes in an afternoon.

With ``limit``, the same bytes are answered from a fixed buffer without any table: the limit of a
request and a reply over a raw socket.
"""

from __future__ import annotations

import collections
import contextlib
import multiprocessing
import socket
import struct
from collections.abc import Iterator
from multiprocessing.connection import Connection

import numpy as np
import torch

from bench.peers.torch_store import TorchStore
from bench.workload import Shape

HEADER = struct.Struct("<BI")  # operation, number of keys
PULL, PUSH = 0, 1


def _receive_into(connection: socket.socket, array: np.ndarray) -> bool:
    view = memoryview(array).cast("B")
    while view:
        count = connection.recv_into(view)
        if count == 0:
            return False
        view = view[count:]
    return True


def _serve(ready: Connection, shape: Shape, limit: bool) -> None:
    listener = socket.create_server(("127.0.0.1", 0))
    store = None if limit else TorchStore(shape.rows, shape.dim)
    ready.send(listener.getsockname()[1])
    connection, _ = listener.accept()
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    header = np.empty(HEADER.size, np.uint8)
    keys = np.empty(shape.batch, np.int64)
    gradients = np.empty((shape.batch, shape.dim), np.float32)
    fixed = np.zeros((shape.batch, shape.dim), np.float32)
    while _receive_into(connection, header):
        operation, count = HEADER.unpack(header.tobytes())
        _receive_into(connection, keys[:count])
        if operation == PULL:
            rows = (
                fixed[:count]
                if store is None
                else store.pull(torch.from_numpy(keys[:count])).numpy()
            )
            connection.sendall(memoryview(rows).cast("B"))
        else:
            _receive_into(connection, gradients[:count])
            if store is not None:
                store.push(torch.from_numpy(keys[:count]), torch.from_numpy(gradients[:count]))
            connection.sendall(b"\0")


class _Pending:
    def __init__(self, peer: BareTcpPeer) -> None:
        self._peer = peer

    def result(self) -> np.ndarray:
        return self._peer.take()


class BareTcpPeer:
    """One connection; replies come in the order of their requests."""

    def __init__(self, port: int, shape: Shape) -> None:
        self._connection = socket.create_connection(("127.0.0.1", port))
        self._connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._shape = shape
        self._waiting: collections.deque[int] = collections.deque()
        self._acknowledged = np.empty(1, np.uint8)

    def pull_async(self, keys: np.ndarray) -> _Pending:
        self._connection.sendall(HEADER.pack(PULL, len(keys)) + keys.tobytes())
        self._waiting.append(len(keys))
        return _Pending(self)

    def take(self) -> np.ndarray:
        """The next reply: (n, dim)."""
        rows = np.empty((self._waiting.popleft(), self._shape.dim), np.float32)
        _receive_into(self._connection, rows)
        return rows

    def pull(self, keys: np.ndarray) -> np.ndarray:
        return self.pull_async(keys).result()

    def push(self, keys: np.ndarray, gradients: np.ndarray) -> None:
        self._connection.sendall(HEADER.pack(PUSH, len(keys)) + keys.tobytes())
        self._connection.sendall(memoryview(gradients).cast("B"))
        _receive_into(self._connection, self._acknowledged)


@contextlib.contextmanager
def connect(shape: Shape, option: str) -> Iterator[BareTcpPeer]:
    """``option``: ``limit`` for the table-less limit."""
    here, there = multiprocessing.Pipe()
    server = multiprocessing.get_context("spawn").Process(
        target=_serve, args=(there, shape, option == "limit"), daemon=True
    )
    server.start()
    there.close()  # so that a server that dies ends the wait for its port
    try:
        yield BareTcpPeer(here.recv(), shape)
    finally:
        server.kill()
        server.join(30)
