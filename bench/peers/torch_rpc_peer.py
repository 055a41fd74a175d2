"""torch.distributed.rpc: as it comes (through shared memory on one host), or forced to TCP."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import socket
from collections.abc import Iterator
from typing import Any

import numpy as np
import torch
import torch.distributed.rpc as rpc

from bench.peers.torch_store import TorchStore
from bench.workload import Shape

_STORE: list[TorchStore] = []  # of the serving process: rpc calls module functions


def make_store(rows: int, dim: int) -> int:
    """Runs on the server."""
    _STORE.append(TorchStore(rows, dim))
    return 0


def remote_pull(keys: torch.Tensor) -> torch.Tensor:
    """Runs on the server."""
    return _STORE[0].pull(keys)


def remote_push(keys: torch.Tensor, gradients: torch.Tensor) -> int:
    """Runs on the server."""
    return _STORE[0].push(keys, gradients)


def _join(rank: int, port: int, tcp_only: bool) -> None:
    os.environ["MASTER_ADDR"] = "127.0.0.1"
    os.environ["MASTER_PORT"] = str(port)
    options = rpc.TensorPipeRpcBackendOptions(
        rpc_timeout=120, **({"_transports": ["uv"], "_channels": ["basic"]} if tcp_only else {})
    )
    rpc.init_rpc(("client", "server")[rank], rank=rank, world_size=2, rpc_backend_options=options)


def _serve(port: int, tcp_only: bool) -> None:
    _join(1, port, tcp_only)
    rpc.shutdown()


class _Result:
    def __init__(self, future: Any) -> None:
        self._future = future

    def result(self) -> torch.Tensor:
        return self._future.wait()


class TorchRpcPeer:
    """Calls of one client."""

    def pull(self, keys: np.ndarray) -> torch.Tensor:
        return rpc.rpc_sync("server", remote_pull, (torch.from_numpy(keys),))

    def pull_async(self, keys: np.ndarray) -> _Result:
        return _Result(rpc.rpc_async("server", remote_pull, (torch.from_numpy(keys),)))

    def push(self, keys: np.ndarray, gradients: np.ndarray) -> None:
        rpc.rpc_sync("server", remote_push, (torch.from_numpy(keys), torch.from_numpy(gradients)))


@contextlib.contextmanager
def connect(shape: Shape, option: str) -> Iterator[TorchRpcPeer]:
    """``option``: ``tcp`` to force TCP."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    server = multiprocessing.get_context("spawn").Process(
        target=_serve, args=(port, option == "tcp"), daemon=True
    )
    server.start()
    try:
        _join(0, port, option == "tcp")
        rpc.rpc_sync("server", make_store, (shape.rows, shape.dim))
        yield TorchRpcPeer()
        rpc.shutdown()  # not after an error: it waits for the other side
        server.join(30)
    finally:
        server.kill()
        server.join(30)
