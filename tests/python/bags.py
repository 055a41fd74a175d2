"""Modules on small tables, and what their tests look at."""

import numpy as np
import oracle
import torch

import hotrow
from hotrow.torch import EmbeddingBag

MODES = ["sum", "mean", "max"]
ADAGRAD = {"optimizer": hotrow.Adagrad(lr=0.1), "initializer": hotrow.Constant(1.0)}


def bag_of(table: hotrow.Table, mode: str = "sum", **options) -> EmbeddingBag:
    return EmbeddingBag(table.num_embeddings, table.dim, mode=mode, table=table, **options)


def row_gradients(bag: EmbeddingBag) -> dict[int, list[float]]:
    """Pending gradients by key; every key once per backward pass."""
    ((keys, gradients),) = bag.pending.parts()
    return dict(zip(keys.view(np.int64).tolist(), gradients.tolist(), strict=True))


def counting_table(make_table, rows: int, **options) -> hotrow.Table:
    """R(n, 2): row i is (i, 10 i)."""
    return oracle.filled_table(make_table, [[i, 10 * i] for i in range(rows)], **options)


def tensor(values, dtype=torch.int64) -> torch.Tensor:
    return torch.tensor(values, dtype=dtype)


def adagrad_table(make_table, **options) -> hotrow.Table:
    return make_table(1, **ADAGRAD, **options)


def look_up(bag: EmbeddingBag, *keys: int) -> torch.Tensor:
    return bag(torch.tensor([keys])).sum()


def accumulator(table: hotrow.Table) -> float:
    return next(table.scan(state=True))[2]["sum"][0, 0]
