"""torch.nn.EmbeddingBag on a local table: forward and backward, timed apart.

Operations as in bench/pooling_bench.cc. Gradients are sparse, as a user of a large table has them.
``summed`` is the backward pass and the sum over equal keys that torch leaves to its optimizers and
Hotrow's backward pass includes. torch refuses sparse gradients for max, and a dense one of the
whole table would take all the time: there its table holds the batch's own rows and nothing else.
"""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Callable, Iterator
from typing import Any

import torch

from bench.peers.torch_update_peer import BAG_SIZE
from bench.peers.worker import Work
from bench.workload import KeySource, Shape

BATCHES = 8


class TorchPooling:
    """EmbeddingBags over one weight, or for max over one a batch."""

    warm_calls = 2

    def __init__(self, shape: Shape) -> None:
        torch.sparse.check_sparse_tensor_invariants.disable()
        self._shape = shape
        self._weight = torch.nn.Parameter(torch.randn(shape.rows, shape.dim))
        self._offsets = torch.arange(0, shape.batch, BAG_SIZE)
        self._gradient = torch.full((len(self._offsets), shape.dim), 0.5)
        self._keys: dict[str, list[torch.Tensor]] = {}
        self._work: dict[str, Iterator[Callable[[], Any]]] = {}

    def work(self, operation: str) -> Work:
        """Raise NotImplementedError for an operation that torch has not."""
        if operation.count(":") != 3:
            raise NotImplementedError(operation)
        what, mode, keys, threads = operation.split(":")
        torch.set_num_threads(int(threads))
        if operation not in self._work:
            passes = [self._pass(what, mode, batch) for batch in self._batches(keys)]
            self._work[operation] = itertools.cycle(passes)
        passes_in_turn = self._work[operation]
        return lambda calls: [run() for run in itertools.islice(passes_in_turn, calls)] and None

    def _batches(self, name: str) -> list[torch.Tensor]:
        if name not in self._keys:
            source = KeySource(name, self._shape.rows, self._shape.seed)
            self._keys[name] = [
                torch.from_numpy(source.draw(self._shape.batch)) for _ in range(BATCHES)
            ]
        return self._keys[name]

    def _pass(self, what: str, mode: str, keys: torch.Tensor) -> Callable[[], Any]:
        weight = self._weight
        if mode == "max":
            unique, keys = keys.unique(return_inverse=True)
            weight = torch.nn.Parameter(self._weight.detach()[unique])
        bag = torch.nn.EmbeddingBag(*weight.shape, mode=mode, sparse=mode != "max", _weight=weight)
        if what == "forward":
            return lambda: bag(keys, self._offsets)
        out = bag(keys, self._offsets)

        def backward() -> torch.Tensor:
            (gradient,) = torch.autograd.grad(out, bag.weight, self._gradient, retain_graph=True)
            return gradient

        if what == "backward" or mode == "max":
            return backward
        return lambda: backward().coalesce()


@contextlib.contextmanager
def connect(shape: Shape, option: str) -> Iterator[TorchPooling]:
    """``option`` is not used."""
    yield TorchPooling(shape)
