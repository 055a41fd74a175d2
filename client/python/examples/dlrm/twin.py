"""The local twin: the same model on torch's own embedding, for comparison in the same run."""

import time
from dataclasses import dataclass

import numpy as np
import torch
from torch import nn

import hotrow

__all__ = ["Vocabulary", "local_embedding", "local_optimizer"]

_PULLED_ROWS = 65536


@dataclass(frozen=True)
class Vocabulary:
    """Row numbers for keys: what a local table needs and Hotrow does not.

    Attributes
    ----------
    keys : (v,) int64
    train, test : (n, features) int64
        Row numbers of the keys of both parts.
    seconds : float
        That building it took.
    """

    keys: np.ndarray
    train: np.ndarray
    test: np.ndarray
    seconds: float

    @classmethod
    def build(cls, train_keys: np.ndarray, test_keys: np.ndarray) -> "Vocabulary":
        """Give every key of both parts a row number: the twin too shall know the test's keys."""
        start = time.perf_counter()
        both = np.concatenate([train_keys, test_keys])
        keys, numbers = np.unique(both, return_inverse=True)
        numbers = numbers.reshape(both.shape).astype(np.int64)
        seconds = time.perf_counter() - start
        return cls(keys, numbers[: len(train_keys)], numbers[len(train_keys) :], seconds)


def local_embedding(table: object, vocabulary: Vocabulary, dim: int) -> nn.Embedding:
    """Return an nn.Embedding that starts from the very rows that the servers start from."""
    weight = np.empty((len(vocabulary.keys), dim), dtype=np.float32)
    for begin in range(0, len(weight), _PULLED_ROWS):
        part = vocabulary.keys[begin : begin + _PULLED_ROWS]
        weight[begin : begin + len(part)] = table.pull(part)
    return nn.Embedding.from_pretrained(torch.from_numpy(weight), freeze=False, sparse=True)


def local_optimizer(
    optimizer: object, embedding: nn.Embedding
) -> tuple[torch.optim.Optimizer, str]:
    """Return torch's optimizer with the same rule and figures, and its name."""
    # Says so before torch warns that it does not check its own sparse gradients.
    torch.sparse.check_sparse_tensor_invariants.disable()
    rows = embedding.parameters()
    if isinstance(optimizer, hotrow.Adagrad):
        return torch.optim.Adagrad(rows, lr=optimizer.lr, eps=1e-10), "torch.optim.Adagrad"
    if isinstance(optimizer, hotrow.Adam):
        return torch.optim.SparseAdam(list(rows), lr=optimizer.lr), "torch.optim.SparseAdam"
    if isinstance(optimizer, hotrow.Sgd):
        return torch.optim.SGD(rows, lr=optimizer.lr), "torch.optim.SGD"
    # torch has no row-wise Adagrad for sparse gradients: the nearest rule that it has.
    return torch.optim.Adagrad(rows, lr=optimizer.lr, eps=1e-8), "torch.optim.Adagrad (elementwise)"
