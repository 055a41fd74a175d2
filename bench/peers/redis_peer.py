"""Redis: one hash per table, HMGET to pull, HMSET to write back.

The store behind several published embedding servers.

Redis has no optimizer: its ``push`` writes finished rows, without Adagrad, and is reported as such.
"""

from __future__ import annotations

import contextlib
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator

import numpy as np

from bench.workload import Shape

FILL = 8192


class RedisPeer:
    """A pipelined client that speaks RESP itself: faster than the stock Python client."""

    def __init__(self, path: str, shape: Shape) -> None:
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.connect(path)
        self._reader = self._socket.makefile("rb", buffering=1 << 20)
        self._shape = shape

    def _send(self, command: bytes, fields: list[bytes]) -> None:
        parts = [b"*%d\r\n$%d\r\n%s\r\n$5\r\ntable\r\n" % (len(fields) + 2, len(command), command)]
        parts += [b"$%d\r\n%s\r\n" % (len(field), field) for field in fields]
        self._socket.sendall(b"".join(parts))

    def pull(self, keys: np.ndarray) -> np.ndarray:
        self._send(b"HMGET", [key.tobytes() for key in keys])
        count = int(self._reader.readline()[1:])
        rows = np.empty((count, self._shape.dim), np.float32)
        for row in rows:
            size = int(self._reader.readline()[1:])
            row[:] = np.frombuffer(self._reader.read(size + 2), np.float32, self._shape.dim)
        return rows

    def pull_async(self, keys: np.ndarray) -> np.ndarray:
        raise NotImplementedError

    def push(self, keys: np.ndarray, gradients: np.ndarray) -> None:
        fields: list[bytes] = []
        for key, row in zip(keys, gradients, strict=True):
            fields += (key.tobytes(), row.tobytes())
        self._send(b"HMSET", fields)
        answer = self._reader.readline()
        if not answer.startswith(b"+OK"):
            raise RuntimeError(answer.decode())


@contextlib.contextmanager
def connect(shape: Shape, option: str) -> Iterator[RedisPeer]:
    """A server of its own on a Unix socket, without persistence. ``option`` is not used."""
    binary = shutil.which("redis-server")
    if binary is None:
        raise RuntimeError("redis-server is not installed (Debian package redis-server)")
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/redis.sock"
        settings = {"port": "0", "unixsocket": path, "save": "", "appendonly": "no", "dir": folder}
        options = [word for name, value in settings.items() for word in (f"--{name}", value)]
        server = subprocess.Popen([binary, *options], stdout=subprocess.PIPE, text=True)
        try:
            assert server.stdout is not None
            for line in server.stdout:
                if "eady to accept connections" in line:
                    break
            yield _filled(RedisPeer(path, shape), shape)
        finally:
            server.kill()
            server.wait(30)


def _filled(peer: RedisPeer, shape: Shape) -> RedisPeer:
    rows = np.zeros((FILL, shape.dim), np.float32)
    for start in range(0, shape.rows, FILL):
        keys = np.arange(start, min(start + FILL, shape.rows), dtype=np.int64)
        peer.push(keys, rows[: len(keys)])
    return peer
