"""torch in process: a local table updated by torch's own sparse optimizers, on one thread.

Operations as in bench/row_update_bench.cc. torch has no row-wise Adagrad for sparse gradients: its
Adagrad stands in.
"""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Iterator

import torch

from bench.peers.worker import Work
from bench.workload import GRADIENT_SCALE, KeySource, Shape

BAG_SIZE = 20
BATCHES = 16
OPTIMIZERS = {
    "sgd": lambda weight: torch.optim.SGD([weight], lr=0.05),
    "adagrad": lambda weight: torch.optim.Adagrad([weight], lr=0.05, eps=1e-8),
    "rowwise_adagrad": lambda weight: torch.optim.Adagrad([weight], lr=0.05, eps=1e-8),
    "adam": lambda weight: torch.optim.SparseAdam([weight], lr=0.05),
}


class KeyBatches:
    """Batches of each kind of keys, drawn at its first use and then taken in turn."""

    def __init__(self, shape: Shape) -> None:
        self._shape = shape
        self._batches: dict[str, Iterator[torch.Tensor]] = {}

    def of(self, keys: str) -> Iterator[torch.Tensor]:
        """Endless; goes on where the last caller stopped."""
        if keys not in self._batches:
            source = KeySource(keys, self._shape.rows, self._shape.seed)
            batches = [torch.from_numpy(source.draw(self._shape.batch)) for _ in range(BATCHES)]
            self._batches[keys] = itertools.cycle(batches)
        return self._batches[keys]


class TorchUpdates:
    """One table for each optimizer, made at its first use."""

    warm_calls = 2

    def __init__(self, shape: Shape) -> None:
        torch.set_num_threads(1)
        torch.sparse.check_sparse_tensor_invariants.disable()
        self._shape = shape
        self._tables: dict[str, tuple[torch.nn.EmbeddingBag, torch.optim.Optimizer]] = {}
        self._keys = KeyBatches(shape)
        self._gradients = torch.randn(shape.batch, shape.dim) * GRADIENT_SCALE

    def work(self, operation: str) -> Work:
        """Raise NotImplementedError for an operation that torch has not."""
        what, _, rest = operation.partition(":")
        optimizer, _, keys = rest.partition(":")
        if what not in ("update", "step"):
            raise NotImplementedError(operation)
        table = self._table(optimizer)
        batches = self._keys.of(keys)
        run = self._update if what == "update" else self._step
        return lambda calls: run(*table, itertools.islice(batches, calls))

    def _table(self, name: str) -> tuple[torch.nn.EmbeddingBag, torch.optim.Optimizer]:
        if name not in self._tables:
            bag = torch.nn.EmbeddingBag(self._shape.rows, self._shape.dim, mode="sum", sparse=True)
            self._tables[name] = bag, OPTIMIZERS[name](bag.weight)
        return self._tables[name]

    def _update(
        self,
        bag: torch.nn.EmbeddingBag,
        optimizer: torch.optim.Optimizer,
        batches: Iterator[torch.Tensor],
    ) -> None:
        for keys in batches:
            bag.weight.grad = torch.sparse_coo_tensor(
                keys.unsqueeze(0), self._gradients, bag.weight.shape, check_invariants=False
            )
            optimizer.step()

    def _step(
        self,
        bag: torch.nn.EmbeddingBag,
        optimizer: torch.optim.Optimizer,
        batches: Iterator[torch.Tensor],
    ) -> None:
        offsets = torch.arange(0, self._shape.batch, BAG_SIZE)
        gradient = self._gradients[: len(offsets)]
        for keys in batches:
            optimizer.zero_grad(set_to_none=True)
            bag(keys, offsets).backward(gradient)
            optimizer.step()


@contextlib.contextmanager
def connect(shape: Shape, option: str) -> Iterator[TorchUpdates]:
    """``option`` is not used."""
    yield TorchUpdates(shape)
