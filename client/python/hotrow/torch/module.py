"""What EmbeddingBag and Embedding share: the table behind them, its creation, rows and state."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import nn

from hotrow.arrays import as_float_array, as_keys, check_key_type
from hotrow.client import Client
from hotrow.durability import age_of, check_durability, warn_if_behind
from hotrow.errors import (
    AlreadyExists,
    InvalidArgument,
    NotFound,
    PaddingOutOfRange,
    SchemaMismatch,
    Unimplemented,
    naming_table,
)
from hotrow.initializers import Initializer, Normal
from hotrow.optimizers import Adagrad, Optimizer
from hotrow.scalars import as_integer, as_text
from hotrow.table import Table
from hotrow.torch.pending import PendingGradients

_LOAD_BYTES = 16 << 20  # rows loaded per call: keeps a large weight from standing twice in memory


@dataclass
class TableArguments:
    """The keyword arguments of a module that concern its table."""

    table: str | Table | None
    client: Client | None
    optimizer: Optimizer | None = None
    initializer: Initializer | None = None
    seed: int | None = None
    durability: str | None = None


class RemoteModule(nn.Module):
    """A module whose rows live in a table on the servers.

    It owns one zero-size parameter, `anchor`: outputs require grad through it, and optimizers and
    clipping find nothing in it to change. `ignore_in_ddp` keeps DistributedDataParallel away.
    """

    num_embeddings: int | None
    embedding_dim: int
    padding_idx: int | None

    def __init__(
        self,
        num_embeddings: int | None,
        embedding_dim: int,
        padding_idx: int | None,
        where: TableArguments,
        device: Any,
    ) -> None:
        super().__init__()
        self.table = open_or_create(num_embeddings, embedding_dim, where)
        self.num_embeddings = num_embeddings
        self.embedding_dim = embedding_dim
        self.padding_idx = resolve_padding(padding_idx, num_embeddings)
        self.anchor = nn.Parameter(torch.zeros(0, device=device))
        self.pending = PendingGradients(self.table.name)

    def __getattr__(self, name: str) -> Any:
        if name == "weight":
            raise AttributeError(
                f"hotrow's {type(self).__name__} has no weight: its rows live on the servers. "
                "table.pull(keys) and table.scan() read them, load_rows(keys, rows) writes them."
            )
        return super().__getattr__(name)

    def __setattr__(self, name: str, value: Any) -> None:
        if name == "weight":
            raise InvalidArgument(
                "a module of hotrow has no weight that could be set: its rows live on the servers",
                table=self.table.name,
                hint="Write them with load_rows(range(len(weight)), weight).",
            )
        super().__setattr__(name, value)

    def _load_from_state_dict(
        self, state_dict: dict[str, Any], prefix: str, *others: Any, **named: Any
    ) -> None:
        if f"{prefix}weight" in state_dict:
            raise InvalidArgument(
                f"{prefix}weight is the dense weight of a torch module: rows of hotrow live on the "
                "servers and come from no state_dict",
                table=self.table.name,
                hint="Write it into the table once: load_rows(range(len(weight)), weight). Then "
                "load a state_dict without it.",
            )
        super()._load_from_state_dict(state_dict, prefix, *others, **named)

    @naming_table(lambda module: module.table.name)
    def load_rows(self, keys: Any, rows: Any) -> None:
        """Write rows into the table; their optimizer state starts afresh.

        Parameters
        ----------
        keys : array_like
            int64, uint64 or int32, any shape; NumPy, torch or a list.
        rows : array_like
            keys.shape + (embedding_dim,), any floating type.

        Raises
        ------
        InvalidArgument, KeyRange
            Nothing of the part that holds the fault was written; a large load is sent in parts.
        CapacityFull, Overloaded, DeadlineExceeded, SessionLost
            As for `Table.upsert`.
        """
        given = as_keys(keys)
        values = as_float_array(rows, "rows")
        if values.shape != (*given.shape, self.embedding_dim):
            expected = (*given.shape, self.embedding_dim)
            raise InvalidArgument(
                f"rows must have the shape {expected}, not {values.shape}",
                hint="Give one row of embedding_dim values for every key.",
            )
        values = values.reshape(-1, self.embedding_dim)
        count = max(1, _LOAD_BYTES // (4 * self.embedding_dim))
        for start in range(0, len(values), count):
            part = slice(start, start + count)
            self.table.upsert(given.words[part], values[part])

    def get_extra_state(self) -> dict[str, Any]:
        """Return what a state_dict keeps: the table's name and schema, its step and row count.

        Rows stay on the servers. Step and count are None where these cannot be asked.
        """
        return {**self._schema_state(), **age_of(self.table)}

    def _schema_state(self) -> dict[str, Any]:
        return {
            "table": self.table.name,
            "embedding_dim": self.embedding_dim,
            "num_embeddings": self.num_embeddings,
            # As text: torch.load takes no objects of other packages unless told to.
            "optimizer": repr(self.table.optimizer),
            "initializer": repr(self.table.initializer),
            "seed": self.table.seed,
        }

    def set_extra_state(self, state: dict[str, Any]) -> None:
        """Refuse the state of a module on another table, or on one of another schema.

        Warns (`hotrow.RowsBehindWarning`) when the servers have forgotten the table since it was
        saved, as a table that was made anew has none of its rows.
        """
        for field, ours in self._schema_state().items():
            theirs = state.get(field)
            if theirs != ours:
                raise SchemaMismatch(
                    f"the state has {field}={theirs!r}, this module's table {ours!r}",
                    table=self.table.name,
                    hint="Make the module as it was when the state was saved.",
                )
        warn_if_behind(self.table, state)

    def __getstate__(self) -> dict[str, Any]:
        state = self.__dict__.copy()
        state["pending"] = PendingGradients(self.table.name)
        return state

    def extra_repr(self) -> str:
        """Return the arguments that matter, for repr()."""
        parts = [str(self.num_embeddings), str(self.embedding_dim), f"table={self.table.name!r}"]
        if self.padding_idx is not None:
            parts.append(f"padding_idx={self.padding_idx}")
        return ", ".join(parts)


def remote_modules(roots: nn.Module | Iterable[nn.Module]) -> list[RemoteModule]:
    """Find all Hotrow modules within, each once, in the order of `Module.modules()`."""
    found: dict[int, RemoteModule] = {}
    for root in [roots] if isinstance(roots, nn.Module) else list(roots):
        if not isinstance(root, nn.Module):
            raise InvalidArgument(
                f"SparseOptimizer takes modules, not {type(root).__name__}",
                hint="Give the model itself, not its parameters().",
            )
        for module in root.modules():
            if isinstance(module, RemoteModule):
                found.setdefault(id(module), module)
    return list(found.values())


def by_table(modules: Iterable[RemoteModule]) -> list[list[RemoteModule]]:
    """Group modules that share a table of a client."""
    tables: dict[tuple[int, str], list[RemoteModule]] = {}
    for module in modules:
        tables.setdefault((id(module.table.client), module.table.name), []).append(module)
    return list(tables.values())


def ignore_in_ddp(model: nn.Module) -> nn.Module:
    """Tell DistributedDataParallel to leave the Hotrow modules of `model` alone.

    Without it DistributedDataParallel expects every Hotrow module to take part in every backward
    pass, as it does of dense parameters.

    Parameters
    ----------
    model : torch.nn.Module
        What DistributedDataParallel is going to wrap; call this before. A model that is itself a
        Hotrow module stays as it is: DistributedDataParallel refuses to have nothing to do.

    Returns
    -------
    torch.nn.Module
        `model`.
    """
    names = set(getattr(model, "_ddp_params_and_buffers_to_ignore", ()))
    for name, module in model.named_modules():
        if isinstance(module, RemoteModule) and module is not model:
            names.add(f"{name}.anchor")
    model._ddp_params_and_buffers_to_ignore = sorted(names)
    return model


def open_or_create(num_embeddings: int | None, dim: int, where: TableArguments) -> Table:
    """Find the table of a module, or create it.

    An optimizer, initializer or seed asks for a table of exactly these (created unless it is
    there). Without any of them an existing table is taken as it is, and a missing one is created
    as torch would start: Normal(0, 1), with Adagrad(lr=.01).
    """
    client = where.client
    if isinstance(where.table, Table):
        _refuse_beside_table(where)
        return _checked_table(where.table, num_embeddings, dim)
    as_text(where.table, "table", hint='E.g. table="user".')
    if not isinstance(client, Client):
        raise InvalidArgument(
            "client= must be a hotrow.Client", hint='E.g. client=hotrow.connect("HOST:7070").'
        )
    if where.durability is not None:
        check_durability(where.durability)  # also beside a table that exists: all are alike so far
    if where.optimizer is None and where.initializer is None and where.seed is None:
        try:
            return _checked_table(client.table(where.table), num_embeddings, dim)
        except NotFound:
            pass  # no shard knows it; DataLoss says that one of them has forgotten it
    return client.create_table(
        where.table,
        dim,
        optimizer=Adagrad(lr=0.01) if where.optimizer is None else where.optimizer,
        initializer=Normal(0.0, 1.0) if where.initializer is None else where.initializer,
        seed=0 if where.seed is None else where.seed,
        num_embeddings=num_embeddings,
        durability=where.durability,
        exist_ok=True,
    )


def _refuse_beside_table(where: TableArguments) -> None:
    """Refuse what asks for another table than the Table object that is given."""
    if where.client is not None and where.client is not where.table.client:
        raise InvalidArgument(
            "client= is not the client of table=",
            table=where.table.name,
            hint="Leave client= out: a Table has its own.",
        )
    for name in ("optimizer", "initializer", "seed", "durability"):
        if getattr(where, name) is not None:
            raise InvalidArgument(
                f"{name}= creates a table, but table= is one that exists",
                table=where.table.name,
                hint="Give the table's name, or leave it out.",
            )


def _checked_table(table: Table, num_embeddings: int | None, dim: int) -> Table:
    for name, wanted, found in (
        ("embedding_dim", dim, table.dim),
        ("num_embeddings", num_embeddings, table.num_embeddings),
    ):
        if wanted != found:
            raise SchemaMismatch(
                f"{name}={wanted} was asked for, but the table has {found}",
                table=table.name,
                hint=f"Give {name}={found}, or another table.",
            )
    return table


def resolve_padding(padding_idx: int | None, num_embeddings: int | None) -> int | None:
    """Find the padding key.

    Negative values count from the end of a bounded table. In an open table they are keys like any
    other: -1 is the key whose 64 bits are those of 2**64 - 1.
    """
    if padding_idx is None:
        return None
    padding_idx = as_integer(padding_idx, "padding_idx", -(2**63), 2**64 - 1)
    if num_embeddings is None:
        return padding_idx
    if not -num_embeddings <= padding_idx < num_embeddings:
        raise PaddingOutOfRange(
            f"padding_idx {padding_idx} is outside the table of {num_embeddings} rows",
            hint=f"Give -{num_embeddings} .. {num_embeddings - 1}; negative ones count from the "
            "end.",
        )
    return padding_idx % num_embeddings


def refuse_arguments(max_norm: Any, norm_type: Any, dtype: Any) -> None:
    """Refuse what torch's constructors take and this version does not."""
    if max_norm is not None:
        raise Unimplemented(
            "max_norm is not offered: in torch a look-up rewrites the rows it finds too long, and "
            "here a pull writes nothing",
            hint="Clip gradients, or scale the output.",
        )
    if norm_type != 2.0:
        raise Unimplemented(
            "norm_type belongs to max_norm, which is not offered", hint="Leave norm_type out."
        )
    if dtype not in (None, torch.float32):
        raise Unimplemented(
            f"dtype={dtype} is not offered: rows are float32",
            hint="Leave dtype out; module.half() or .to(dtype) changes the type of the outputs.",
        )


def weight_shape(weight: Any) -> tuple[int, int]:
    """Return (num_embeddings, embedding_dim) of a dense weight."""
    shape = np.shape(weight)
    if len(shape) != 2:
        raise InvalidArgument(
            f"embeddings must be 2-D, not {len(shape)}-D",
            hint="Give (num_embeddings, embedding_dim) values: row i becomes key i.",
        )
    return shape[0], shape[1]


def checked_weight(weight: Any, num_embeddings: int | None, dim: int) -> np.ndarray | None:
    """Check and convert a dense weight (num_embeddings, dim); None is none."""
    if weight is None:
        return None
    values = as_float_array(weight, "_weight")
    expected = (len(values) if num_embeddings is None else num_embeddings, dim)
    if values.shape != expected:
        raise InvalidArgument(
            f"_weight must have the shape {expected}, not {tuple(values.shape)}",
            hint="Give (num_embeddings, embedding_dim) values: row i becomes key i.",
        )
    return values


def load_weight(module: RemoteModule, weight: np.ndarray | None) -> None:
    """Load what `checked_weight` gave into an empty table: row i becomes key i."""
    if weight is None:
        return
    found = module.table.stats()
    if 0 < found["rows"] < len(weight) and not found["highest_step"]:
        raise AlreadyExists(
            f"it holds {found['rows']} rows, fewer than the {len(weight)} of the weight, and was "
            "never pushed to: loading it was cut off, or goes on in another process",
            table=module.table.name,
            hint=f"Where nobody loads it now, drop_table('{module.table.name}') and load it again; "
            "opened without the weight, the rows that are missing would start anew.",
        )
    if found["rows"] or found["highest_step"]:
        raise AlreadyExists(
            f"it holds {found['rows']} rows and is at step {found['highest_step']}, and a weight "
            "is loaded into an empty table only",
            table=module.table.name,
            hint="Open it without the weight, as all workers but the one that loads it do; "
            "load_rows() overwrites on purpose.",
        )
    module.load_rows(range(len(weight)), weight)


def check_input(tensor: Any, name: str) -> None:
    """Refuse what is not an int64 or int32 tensor."""
    if not isinstance(tensor, torch.Tensor):
        raise InvalidArgument(
            f"{name} must be a tensor, not {type(tensor).__name__}",
            hint="Make one: torch.as_tensor(values). Strings become keys with "
            "hotrow.hash_strings(feature, values).",
        )
    check_key_type(str(tensor.dtype).removeprefix("torch."), name, ("int64", "int32"))
