"""Embedding: look-ups without pooling."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from hotrow.arrays import as_keys
from hotrow.client import Client
from hotrow.errors import naming_table
from hotrow.initializers import Initializer
from hotrow.optimizers import Optimizer
from hotrow.table import Table
from hotrow.torch.module import (
    RemoteModule,
    TableArguments,
    check_input,
    checked_weight,
    load_weight,
    refuse_arguments,
    weight_shape,
)
from hotrow.torch.pooling import Bags, pool


class Embedding(RemoteModule):
    """torch.nn.Embedding over a table on the servers.

    Takes what torch.nn.Embedding takes, by the same names and in the same order, and `table`,
    `client`, `optimizer`, `initializer`, `seed`, `durability` as `EmbeddingBag` does; the
    deviations named there hold too.

    Notes
    -----
    Positions of `padding_idx` answer zeros, are not pulled and get no gradient. Once a row was
    loaded for that key by this module (`_weight`, `load_rows`, `from_pretrained`) they answer the
    stored row. That is `padding_loaded`: state of the module, kept by state_dict, copies and
    pickles. Another process on the same table, such as another rank of a training run, does not
    see it otherwise: load there the state_dict of the rank that loaded the rows, or set
    `padding_loaded = True`.
    """

    def __init__(
        self,
        num_embeddings: int | None,
        embedding_dim: int,
        padding_idx: int | None = None,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        sparse: bool = False,
        _weight: Any = None,
        _freeze: bool = False,
        device: Any = None,
        dtype: Any = None,
        *,
        table: str | Table | None = None,
        client: Client | None = None,
        optimizer: Optimizer | None = None,
        initializer: Initializer | None = None,
        seed: int | None = None,
        durability: str | None = None,
    ) -> None:
        refuse_arguments(max_norm, norm_type, dtype)
        weight = checked_weight(_weight, num_embeddings, embedding_dim)
        where = TableArguments(table, client, optimizer, initializer, seed, durability)
        super().__init__(num_embeddings, embedding_dim, padding_idx, where, device)
        self.scale_grad_by_freq = scale_grad_by_freq
        self.sparse = sparse
        self.padding_loaded = False
        load_weight(self, weight)
        self.anchor.requires_grad_(not _freeze)

    @classmethod
    def from_pretrained(
        cls,
        embeddings: Any,
        freeze: bool = True,
        padding_idx: int | None = None,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        sparse: bool = False,
        *,
        device: Any = None,
        table: str | Table | None = None,
        client: Client | None = None,
        optimizer: Optimizer | None = None,
        initializer: Initializer | None = None,
        seed: int | None = None,
        durability: str | None = None,
    ) -> Embedding:
        """Make a module whose table holds a dense weight; see `EmbeddingBag.from_pretrained`."""
        return cls(
            *weight_shape(embeddings),
            padding_idx,
            max_norm,
            norm_type,
            scale_grad_by_freq,
            sparse,
            _weight=embeddings,
            _freeze=freeze,
            device=device,
            table=table,
            client=client,
            optimizer=optimizer,
            initializer=initializer,
            seed=seed,
            durability=durability,
        )

    def load_rows(self, keys: Any, rows: Any) -> None:
        """Write rows into the table; see `RemoteModule.load_rows`."""
        super().load_rows(keys, rows)
        if self.padding_idx is not None:
            padding = np.uint64(self.padding_idx & (2**64 - 1))
            self.padding_loaded |= bool((as_keys(keys).words == padding).any())

    def get_extra_state(self) -> dict[str, Any]:
        """Return what a state_dict keeps: the table and whether its padding row was loaded."""
        return {**super().get_extra_state(), "padding_loaded": self.padding_loaded}

    def set_extra_state(self, state: dict[str, Any]) -> None:
        """Refuse the state of a module on another table; learn that a padding row was loaded."""
        super().set_extra_state(state)
        self.padding_loaded |= bool(state.get("padding_loaded", False))

    @naming_table(lambda module: module.table.name)
    def forward(self, input: torch.Tensor) -> torch.Tensor:
        """Pull rows.

        Parameters
        ----------
        input : torch.Tensor
            int64 or int32, any shape.

        Returns
        -------
        torch.Tensor
            input.shape + (embedding_dim,).

        Raises
        ------
        InvalidArgument, KeyRange
            Before anything is sent.
        """
        check_input(input, "input")
        keys = as_keys(input, "input")
        bags = Bags(
            keys,
            np.arange(keys.words.size + 1, dtype=np.int64),
            "sum",
            skipped=None if self.padding_loaded else self.padding_idx,
            constant=self.padding_idx,
            scale_by_frequency=self.scale_grad_by_freq,
        )
        return pool(self, bags).reshape(*keys.shape, self.embedding_dim)
