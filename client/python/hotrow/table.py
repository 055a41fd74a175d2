"""Tables: pull, push and the rest."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from hotrow import _native
from hotrow.arrays import as_keys, as_rows, check_timeout
from hotrow.errors import Error, InvalidArgument, naming_table
from hotrow.eviction import Eviction, eviction_from_native
from hotrow.futures import NOT_YET, Future
from hotrow.initializers import Initializer, initializer_from_native
from hotrow.optimizers import Optimizer, optimizer_from_native
from hotrow.scalars import as_float, as_integer, shortest
from hotrow.scan import scan_batches

if TYPE_CHECKING:
    from hotrow.client import Client


MAX_STEP = 2**53  # training steps: exact as a double


@dataclass(frozen=True)
class PushCounts:
    """What a push did.

    Parameters
    ----------
    rows_updated : int
        Stored rows that changed.
    rows_created : int
        Rows that were not stored before.
    """

    rows_updated: int
    rows_created: int


_named = naming_table(lambda table: table.name)


class Table:
    """A named set of rows on the servers. Get one from a `Client`; safe to use from many threads.

    A table can be pickled and copied: it keeps its client's addresses and its name, and connects at
    first use.

    Attributes
    ----------
    name : str
    client : Client
    dim : int
        Values per row.
    optimizer : Optimizer
    initializer : Initializer
    seed : int
    num_embeddings : int or None
        Keys are 0 .. num_embeddings - 1; None: any 64-bit key.
    eviction : Eviction
        Which rows leave fast memory first.
    durability : str
        "memory": rows are lost with their server process.
    """

    durability = "memory"

    def __init__(self, client: Client, name: str, native: Any = None) -> None:
        self.client = client
        self.name = name
        self._opened = native
        self._known_schema: Any = None
        self._lock = threading.Lock()

    @property
    def native(self) -> Any:
        """Native handle; opens the table when needed."""
        if self._opened is None:
            with self._lock:
                if self._opened is None:
                    self._opened = self.client.native.open_table(self.name)
        return self._opened

    def _schema(self) -> Any:
        if self._known_schema is None:
            self._known_schema = self.native.info().schema
        return self._known_schema

    @property
    def dim(self) -> int:
        """Values per row."""
        return self._schema().dim

    @property
    def optimizer(self) -> Optimizer:
        """How a push changes a row."""
        return optimizer_from_native(self._schema().optimizer)

    @property
    def initializer(self) -> Initializer:
        """Value of a row that no push has touched."""
        return initializer_from_native(self._schema().initializer)

    @property
    def eviction(self) -> Eviction:
        """Which rows leave fast memory first, where their shard has a tier below it."""
        return eviction_from_native(self._schema().eviction)

    @property
    def seed(self) -> int:
        """Seed of the initializer."""
        return self._schema().seed

    @property
    def num_embeddings(self) -> int | None:
        """Number of legal keys; None: any 64-bit key."""
        return self._schema().num_embeddings or None

    @property
    def gradient_bound(self) -> float:
        """Largest |g| that a push may bring."""
        return shortest(self._schema().gradient_bound)

    @_named
    def pull(self, keys: Any, *, read_only: bool = False, timeout: float | None = None) -> Any:
        """Read rows. Creates and changes nothing: an unknown key answers its initial value.

        Parameters
        ----------
        keys : array_like
            int64, uint64 or int32, NumPy or torch, any shape; a list of int will do. Keys may
            repeat.
        read_only : bool
            Evaluation: do not even move scores.
        timeout : float, optional
            Seconds; None: the client's.

        Returns
        -------
        numpy.ndarray or torch.Tensor
            float32, keys.shape + (dim,); of the kind of `keys`, on its device.

        Raises
        ------
        InvalidArgument, KeyRange
            Before anything is sent.
        Unavailable, DeadlineExceeded, Overloaded
        """
        given = as_keys(keys)
        rows, memory = given.empty_rows(self.dim)
        self.native.pull(given.words, memory, read_only, check_timeout(timeout))
        return given.deliver(rows)

    @_named
    def pull_async(self, keys: Any, *, read_only: bool = False) -> Future[Any]:
        """Read rows later: as `pull`, but returns a `Future`.

        Waits only where the client's calls in flight fill their budget, up to its timeout.
        """
        given = as_keys(keys)
        dim = self.dim
        native = self.native.pull_async(given.words, read_only, None)

        def take(pending: Any, timeout: float) -> Any:
            rows, memory = given.empty_rows(dim)
            return given.deliver(rows) if pending.wait(timeout, memory) else NOT_YET

        return Future(native, take, self.client.longest_wait, self.name)

    def _push_arguments(
        self, keys: Any, gradients: Any, lr: float | None, step: int | None, timeout: float | None
    ) -> tuple[np.ndarray, np.ndarray, Any]:
        given = as_keys(keys)
        rows = as_rows(gradients, given, self.dim, "gradients")
        return given.words, rows, push_options(lr, step, timeout)

    @_named
    def push(
        self,
        keys: Any,
        gradients: Any,
        *,
        lr: float | None = None,
        step: int | None = None,
        timeout: float | None = None,
    ) -> PushCounts:
        """Apply gradients, exactly once. Returns when every shard has acknowledged.

        Gradients of equal keys are summed before the optimizer sees them.

        Parameters
        ----------
        keys : array_like
            As for `pull`.
        gradients : array_like
            Floating, keys.shape + (dim,); rounded to float32.
        lr : float, optional
            Learning rate of this push; None: the table's.
        step : int, optional
            Training step, 1 .. 2**53; None counts this client's pushes to the table, from the
            highest step that the servers have seen.
        timeout : float, optional
            Seconds; None: the client's.

        Returns
        -------
        PushCounts

        Raises
        ------
        InvalidArgument
            Wrong type or shape, a gradient that is not finite or larger than the table's bound:
            nothing was sent.
        KeyRange
            Key outside a bounded table: nothing was sent.
        CapacityFull
            Some new keys found no room (`refused_keys`); all others were applied.
        DeadlineExceeded, Unavailable
            Not yet acknowledged but still pending: `client.flush()` waits for it. Do not push
            again.
        Overloaded
            Earlier calls of this client left no room in time: nothing was sent.
        SessionLost
            A shard no longer knows this client's pushes; this one may have been applied. Connect
            anew to go on.
        Unavailable
            The table could not be opened at its first use.
        """
        arguments = self._push_arguments(keys, gradients, lr, step, check_timeout(timeout))
        return PushCounts(*self.native.push(*arguments))

    @_named
    def push_async(
        self, keys: Any, gradients: Any, *, lr: float | None = None, step: int | None = None
    ) -> Future[PushCounts]:
        """Apply gradients later: as `push`, but returns a `Future`.

        Waits only where the client's calls in flight fill their budget, up to its timeout. `keys`
        and `gradients` may be changed afterwards.
        """
        words, rows, options = self._push_arguments(keys, gradients, lr, step, None)
        native = self.native.push_async(words, rows, options)

        def take(pending: Any, timeout: float) -> Any:
            counts = pending.wait(timeout)
            return NOT_YET if counts is None else PushCounts(*counts)

        return Future(native, take, self.client.longest_wait, self.name)

    @_named
    def upsert(self, keys: Any, rows: Any) -> PushCounts:
        """Write row values; the optimizer state of these rows starts afresh.

        Parameters
        ----------
        keys : array_like
            As for `pull`. Of a repeated key the last row wins.
        rows : array_like
            Floating, keys.shape + (dim,).

        Returns
        -------
        PushCounts

        Raises
        ------
        InvalidArgument, KeyRange, Overloaded, CapacityFull, DeadlineExceeded, Unavailable,
        SessionLost
            As for `push`.
        """
        given = as_keys(keys)
        values = as_rows(rows, given, self.dim, "rows")
        return PushCounts(*self.native.upsert(given.words, values))

    @_named
    def remove(self, keys: Any) -> int:
        """Remove rows with their state.

        Parameters
        ----------
        keys : array_like
            As for `pull`; unknown ones are passed over.

        Returns
        -------
        int
            How many rows were stored.

        Raises
        ------
        InvalidArgument, KeyRange, Overloaded, DeadlineExceeded, Unavailable, SessionLost
            As for `push`.
        """
        return self.native.remove(as_keys(keys).words)

    @_named
    def size(self) -> int:
        """Return the number of stored rows, over all shards.

        Raises
        ------
        NotFound, Unavailable, DeadlineExceeded
        """
        return self.native.size()

    @_named
    def stats(self) -> dict[str, Any]:
        """Counters of the table, summed over all shards.

        Returns
        -------
        dict
            name, rows, used_bytes, allocated_bytes, rows_pulled, rows_pulled_initial, rows_pushed,
            rows_created, rows_refused, gradients_refused, highest_step, promotions, evictions,
            eviction_failures, tier_read_failures; and tiers: by name (hot, warm, cold), a dict of
            rows, used_bytes and rows_pulled (found there).
        """
        return dict(self.native.stats())

    @_named
    def scan(self, batch: int = 65536, *, state: bool = False) -> Iterator[tuple[Any, ...]]:
        """Visit every row stored at the start once, in no particular order.

        Parameters
        ----------
        batch : int
            Rows per step at most, >= 1.
        state : bool
            Add a third item: a dict of the optimizer's state arrays, named as in torch.

        Yields
        ------
        keys : numpy.ndarray
            int64 (n,).
        rows : numpy.ndarray
            float32 (n, dim).
        state : dict of numpy.ndarray
            (n, dim), or (n,) where the optimizer keeps one value a row.

        Raises
        ------
        InvalidArgument
            At once, for `batch`.
        NotFound, Unavailable, DeadlineExceeded
            From the step at which it happens.
        """
        return self._scan(as_integer(batch, "batch", 1, 2**32 - 1), state)

    def _scan(self, batch: int, with_state: bool) -> Iterator[tuple[Any, ...]]:
        try:
            for keys, rows, columns in scan_batches(self.native, batch, with_state):
                found = (keys.view(np.int64), rows)
                yield (*found, self._state_arrays(columns)) if with_state else found
        except Error as error:  # the decorator of scan() sees only the making of this generator
            error.table = error.table or self.name
            raise

    def _state_arrays(self, columns: np.ndarray) -> dict[str, np.ndarray]:
        arrays = {}
        start = 0
        for name, shape in self.optimizer.STATE:
            width = self.dim if shape == "dim" else 1
            part = columns[:, start : start + width]
            arrays[name] = part if shape == "dim" else part[:, 0]
            start += width
        return arrays

    def __reduce__(self) -> tuple[Any, ...]:
        return Table, (self.client, self.name)

    def __deepcopy__(self, memo: dict[int, Any]) -> Table:
        return self

    def __repr__(self) -> str:
        if self._opened is None:
            return f"Table({self.name!r}, not opened)"
        return (
            f"Table({self.name!r}, dim={self.dim}, optimizer={self.optimizer}, "
            f"num_embeddings={self.num_embeddings}, durability={self.durability!r})"
        )


def push_options(
    lr: float | None, step: int | None, timeout: float | None, table: str | None = None
) -> Any:
    """Check and convert what travels with a push to `table`."""
    try:
        number = None if step is None else as_integer(step, "step", 1, MAX_STEP)
        rate = None if lr is None else as_float(lr, "lr", 0.0)
    except InvalidArgument as error:
        error.table = table
        raise
    return _native.PushOptions(rate, number, timeout)
