"""EmbeddingBag: pooled look-ups."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from hotrow.arrays import Keys, as_keys
from hotrow.client import Client
from hotrow.errors import InvalidArgument, Unimplemented, naming_table
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

_OFFSETS = "Let offsets[i] be where bag i starts in input: they begin with 0 and do not decrease."


class EmbeddingBag(RemoteModule):
    """torch.nn.EmbeddingBag over a table on the servers.

    Takes what torch.nn.EmbeddingBag takes, by the same names and in the same order, and:

    Parameters
    ----------
    num_embeddings : int or None
        None: an open table, where any 64-bit key is legal.
    table : str or Table
        Name of the table.
    client : Client
        Not needed when `table` is a Table, which is then taken as it is: another client, or any of
        the four arguments below, is refused beside it.
    optimizer, initializer, seed : Optimizer, Initializer, int, optional
        Create the table with these unless it exists; an existing one must have the same. Without
        any of them an existing table is taken, a missing one created with Adagrad(lr=.01),
        Normal(0, 1).
    durability : str, optional
        Of a table that is created; see `Client.create_table`. An existing one must have the same.

    Notes
    -----
    Where this differs from torch 2.15, on purpose:

    - Rows are not parameters: gradients are pushed by `hotrow.torch.SparseOptimizer.step()`,
      summed per key over the step. `Module.zero_grad()` does not drop them,
      `SparseOptimizer.zero_grad()` does. `torch.nn.utils.clip_grad_norm_` finds none of them:
      `hotrow.torch.clip_grad_norm_` clips dense and remote gradients together.
    - A state_dict holds no rows, and a deepcopy shares the rows of the original.
    - 2-D input of shape (B, 0) gives B zero rows (torch raises). With `include_last_offset` the
      last offset must equal the number of keys (torch reads on or drops keys).
    - Keys must be int64 or int32 (torch takes bool and int16).
    - mode "max": ties go to the first key of the bag and NaN wins, in any order of arrival.
    - `per_sample_weights` may be of any floating type, and has a gradient for a frozen table too.
    - `scale_grad_by_freq` counts a key over the whole forward call.
    - `max_norm` and `norm_type` are refused: a look-up never writes. `sparse` has no effect.
    - `_weight` is loaded into an empty table only; see `from_pretrained`.
    - DistributedDataParallel is told to leave these modules alone by `hotrow.torch.ignore_in_ddp`.
    - Rows are float32; `.half()`, `.to()` change type and device of the outputs only.

    Raises
    ------
    InvalidArgument, Unimplemented, SchemaMismatch
    AlreadyExists
        `_weight` is given, but the table holds rows or has been trained.
    DataLoss, Unavailable, DeadlineExceeded
        As for `Client.create_table`.
    """

    def __init__(
        self,
        num_embeddings: int | None,
        embedding_dim: int,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        mode: str = "mean",
        sparse: bool = False,
        _weight: Any = None,
        include_last_offset: bool = False,
        padding_idx: int | None = None,
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
        if mode not in ("sum", "mean", "max"):
            raise InvalidArgument(
                f"mode must be 'sum', 'mean' or 'max', not {mode!r}",
                hint="Leave it out for 'mean'.",
            )
        if scale_grad_by_freq and mode == "max":
            raise InvalidArgument(
                "scale_grad_by_freq works with 'sum' and 'mean' only",
                hint="Leave it out: in a maximum every key counts once.",
            )
        weight = checked_weight(_weight, num_embeddings, embedding_dim)
        where = TableArguments(table, client, optimizer, initializer, seed, durability)
        super().__init__(num_embeddings, embedding_dim, padding_idx, where, device)
        self.scale_grad_by_freq = scale_grad_by_freq
        self.mode = mode
        self.sparse = sparse
        self.include_last_offset = include_last_offset
        load_weight(self, weight)

    @classmethod
    def from_pretrained(
        cls,
        embeddings: Any,
        freeze: bool = True,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        mode: str = "mean",
        sparse: bool = False,
        include_last_offset: bool = False,
        padding_idx: int | None = None,
        *,
        device: Any = None,
        table: str | Table | None = None,
        client: Client | None = None,
        optimizer: Optimizer | None = None,
        initializer: Initializer | None = None,
        seed: int | None = None,
        durability: str | None = None,
    ) -> EmbeddingBag:
        """Make a module whose table holds a dense weight.

        Arguments stand in torch's order; those that name the table follow by keyword.

        The rows go into an empty table, once: a table that is trained on is never overwritten. Of
        several workers one calls this. The others wait for it, then open the table by its name with
        the constructor, without the weight (there `requires_grad_(False)` freezes), and so does the
        first one when it is started again. What was cut off half-way is refused, and is to be
        dropped and loaded again.

        Parameters
        ----------
        embeddings : array_like
            (num_embeddings, embedding_dim), any floating type; row i becomes key i.
        freeze : bool
            Collect no gradients.

        Raises
        ------
        InvalidArgument, Unimplemented, SchemaMismatch, AlreadyExists
            As for the constructor.
        """
        bag = cls(
            *weight_shape(embeddings),
            max_norm,
            norm_type,
            scale_grad_by_freq,
            mode,
            sparse,
            embeddings,
            include_last_offset,
            padding_idx,
            device,
            table=table,
            client=client,
            optimizer=optimizer,
            initializer=initializer,
            seed=seed,
            durability=durability,
        )
        bag.anchor.requires_grad_(not freeze)
        return bag

    @naming_table(lambda module: module.table.name)
    def forward(
        self,
        input: torch.Tensor,
        offsets: torch.Tensor | None = None,
        per_sample_weights: torch.Tensor | None = None,
    ) -> torch.Tensor:
        """Pull rows and pool them into bags.

        Parameters
        ----------
        input : torch.Tensor
            int64 or int32: (n,) with offsets, or (B, N) for B bags of N keys.
        offsets : torch.Tensor, optional
            int64 or int32 (B,), or (B + 1,) with `include_last_offset`: start of each bag.
        per_sample_weights : torch.Tensor, optional
            Of the shape of `input`; mode "sum" only.

        Returns
        -------
        torch.Tensor
            (B, embedding_dim).

        Raises
        ------
        InvalidArgument, KeyRange
            Before anything is sent.
        """
        check_input(input, "input")
        self._check_weights(input, per_sample_weights)
        keys = as_keys(input, "input")
        bags = Bags(
            keys,
            self._offsets(keys, offsets),
            self.mode,
            skipped=self.padding_idx,
            scale_by_frequency=self.scale_grad_by_freq,
        )
        return pool(self, bags, per_sample_weights)

    def _check_weights(self, input: torch.Tensor, weights: torch.Tensor | None) -> None:
        if weights is None:
            return
        if self.mode != "sum":
            raise Unimplemented(
                f"per_sample_weights need mode='sum', not {self.mode!r}",
                hint="A weighted mean is the weighted sum divided by the sum of the weights.",
            )
        if not isinstance(weights, torch.Tensor) or not weights.is_floating_point():
            raise InvalidArgument(
                "per_sample_weights must be a floating tensor",
                hint="Make one: torch.as_tensor(weights, dtype=torch.float32).",
            )
        if weights.shape != input.shape:
            raise InvalidArgument(
                f"per_sample_weights must have the shape of input, {tuple(input.shape)}, not "
                f"{tuple(weights.shape)}",
                hint="Give one weight for every key.",
            )

    def _offsets(self, keys: Keys, offsets: torch.Tensor | None) -> np.ndarray:
        """Make int64 (bags + 1,) offsets, the last included; the native part checks them."""
        if len(keys.shape) == 2:
            if offsets is not None:
                raise InvalidArgument(
                    "offsets must be None with 2-D input: each row is a bag",
                    hint="Leave offsets out, or give 1-D input.",
                )
            bags, width = keys.shape
            return np.arange(bags + 1, dtype=np.int64) * width
        if len(keys.shape) != 1:
            raise InvalidArgument(
                f"input must be 1-D or 2-D, not {len(keys.shape)}-D",
                hint="Give a row of keys per bag, or 1-D keys with offsets.",
            )
        if offsets is None:
            raise InvalidArgument(
                "offsets are needed with 1-D input",
                hint=f"{_OFFSETS} Or give 2-D input, a row per bag.",
            )
        check_input(offsets, "offsets")
        if offsets.dim() != 1:
            raise InvalidArgument(f"offsets must be 1-D, not {offsets.dim()}-D", hint=_OFFSETS)
        starts = offsets.detach().cpu().numpy().astype(np.int64)
        if self.include_last_offset:
            if starts.size == 0:
                raise InvalidArgument(
                    "with include_last_offset there must be an offset",
                    hint="Without any bag it is the last one alone: torch.tensor([0]).",
                )
            return starts
        if starts.size == 0 and keys.words.size:
            raise InvalidArgument(
                f"offsets are empty but there are {keys.words.size} keys", hint=_OFFSETS
            )
        if starts.size and starts[-1] > keys.words.size:
            raise InvalidArgument(
                f"offsets[{starts.size - 1}] = {starts[-1]} is larger than the number of keys, "
                f"{keys.words.size}",
                hint=_OFFSETS,
            )
        return np.append(starts, np.int64(keys.words.size))

    def extra_repr(self) -> str:
        """Return the arguments that matter, for repr()."""
        return f"{super().extra_repr()}, mode={self.mode!r}"
