"""torch in process: no network at all. An upper bound for what torch's kernels give."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import numpy as np
import torch

from bench.peers.torch_store import TorchStore
from bench.workload import Shape


class TorchLocalPeer:
    """The store itself."""

    def __init__(self, shape: Shape) -> None:
        self._store = TorchStore(shape.rows, shape.dim)

    def pull(self, keys: np.ndarray) -> torch.Tensor:
        return self._store.pull(torch.from_numpy(keys))

    def pull_async(self, keys: np.ndarray) -> torch.Tensor:
        raise NotImplementedError

    def push(self, keys: np.ndarray, gradients: np.ndarray) -> None:
        self._store.push(torch.from_numpy(keys), torch.from_numpy(gradients))


@contextlib.contextmanager
def connect(shape: Shape, option: str) -> Iterator[TorchLocalPeer]:
    """``option`` is not used."""
    yield TorchLocalPeer(shape)
