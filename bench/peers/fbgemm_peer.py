"""FBGEMM in process: its fused backward pass and optimizer on a local table, on one thread.

The step operations of bench/row_update_bench.cc with SGD and Adagrad: its CPU kernels have no Adam,
and its row-wise Adagrad is reference code. Needs an interpreter that has fbgemm_gpu.
"""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Iterator

import torch
from fbgemm_gpu.split_embedding_configs import EmbOptimType
from fbgemm_gpu.split_table_batched_embeddings_ops_common import EmbeddingLocation, PoolingMode
from fbgemm_gpu.split_table_batched_embeddings_ops_training import (
    ComputeDevice,
    SplitTableBatchedEmbeddingBagsCodegen,
)

from bench.peers.torch_update_peer import BAG_SIZE, KeyBatches
from bench.peers.worker import Work
from bench.workload import GRADIENT_SCALE, Shape

OPTIMIZERS = {"sgd": EmbOptimType.EXACT_SGD, "adagrad": EmbOptimType.EXACT_ADAGRAD}


class FbgemmUpdates:
    """One table for each optimizer, made at its first use."""

    warm_calls = 2

    def __init__(self, shape: Shape) -> None:
        torch.set_num_threads(1)
        self._shape = shape
        self._tables: dict[str, torch.nn.Module] = {}
        self._keys = KeyBatches(shape)
        self._offsets = torch.arange(0, shape.batch + 1, BAG_SIZE)
        self._gradient = torch.randn(len(self._offsets) - 1, shape.dim) * GRADIENT_SCALE

    def work(self, operation: str) -> Work:
        """Raise NotImplementedError for an operation that FBGEMM has not."""
        what, _, rest = operation.partition(":")
        optimizer, _, keys = rest.partition(":")
        if what != "step" or optimizer not in OPTIMIZERS:
            raise NotImplementedError(operation)
        table, batches = self._table(optimizer), self._keys.of(keys)
        return lambda calls: self._step(table, itertools.islice(batches, calls))

    def _table(self, name: str) -> torch.nn.Module:
        if name not in self._tables:
            self._tables[name] = SplitTableBatchedEmbeddingBagsCodegen(
                [
                    (
                        self._shape.rows,
                        self._shape.dim,
                        EmbeddingLocation.HOST,
                        ComputeDevice.CPU,
                    )
                ],
                optimizer=OPTIMIZERS[name],
                learning_rate=0.05,
                eps=1e-8,
                pooling_mode=PoolingMode.SUM,
                device=torch.device("cpu"),
            )
        return self._tables[name]

    def _step(self, table: torch.nn.Module, batches: Iterator[torch.Tensor]) -> None:
        for keys in batches:
            table(keys, self._offsets).backward(self._gradient)


@contextlib.contextmanager
def connect(shape: Shape, option: str) -> Iterator[FbgemmUpdates]:
    """``option`` is not used."""
    yield FbgemmUpdates(shape)
