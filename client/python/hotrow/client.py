"""The client of a Hotrow cluster."""

from __future__ import annotations

import atexit
import difflib
import os
import threading
import warnings
import weakref
from collections.abc import Iterable, Mapping
from typing import Any

from hotrow import _native
from hotrow.arrays import check_timeout
from hotrow.durability import check_durability
from hotrow.errors import ClientClosed, InvalidArgument, NotFound, Unimplemented
from hotrow.eviction import Eviction, Lru
from hotrow.initializers import Initializer, Uniform
from hotrow.optimizers import Optimizer
from hotrow.options import Options, dialled, refuse_others, split
from hotrow.scalars import as_float, as_integer, as_text
from hotrow.table import Table

_PATIENCE = 30.0  # seconds, of a call without a timeout: as in the native client


def connect(
    addresses: str | Iterable[str],
    *,
    timeout: float | None = None,
    tls: Any = None,
    token: str | None = None,
    job: str = "",
    rank: int = 0,
    world_size: int = 1,
    mode: str = "async",
    max_steps_ahead: int | None = None,
    address_map: Mapping[str, str] | None = None,
    keepalive: float = 10.0,
    recovery_timeout: float = 120.0,
) -> Client:
    """Connect to a cluster.

    Parameters
    ----------
    addresses : str or list of str
        "HOST:PORT" or "unix:PATH" of at least one shard, comma-separated or a list.
    timeout : float, optional
        Seconds that any one call may take, and connecting too. None: 30 s while the shards that it
        needs are there; the time in which one of them is away does not count, `recovery_timeout`
        ends that.
    tls, token : None
        Not offered by this version: refused.
    job, rank, world_size : str, int, int
        Name of the training job, this worker's number and their count. Asynchronous workers do not
        wait for each other, so in this version they only tell the servers who a client is.
    mode : {"async"}
        Pushes apply on arrival. "bounded" and "sync" are refused in this version.
    max_steps_ahead : None
        Belongs to "bounded".
    address_map : mapping of str to str, optional
        Address as in the shard map -> address to dial, for port forwarding and proxies.
    keepalive : float
        Seconds, >= 1, after which a silent connection is asked for a sign of life. When none comes
        for as long again, it is made anew and what is pending goes out once more.
    recovery_timeout : float
        Seconds that a shard may be away (no connection, or it takes nothing) before calls that wait
        for it raise `Unavailable`, later ones at once; a timeout that was given ends them earlier.
        All calls but `status` wait, of asynchronous ones their `result`, and so do the constructors
        of modules and of `SparseOptimizer`. The client goes on trying to connect.

    Returns
    -------
    Client

    Raises
    ------
    InvalidArgument, Unimplemented
    Unavailable, DeadlineExceeded
        No shard answered in time.
    """
    refuse_others(tls, token, mode, max_steps_ahead)
    if not isinstance(job, str) or len(job.encode(errors="surrogatepass")) > 128:
        raise InvalidArgument(
            "job must be a str of at most 128 bytes", hint='E.g. job="ranking-2024".'
        )
    if not job.isprintable():
        raise InvalidArgument(
            f"job must be printable, not {job!r}", hint="It stands in lines of logs and tables."
        )
    world_size = as_integer(world_size, "world_size", 1, 2**32 - 1)
    rank = as_integer(rank, "rank", 0, world_size - 1)
    seconds = check_timeout(timeout)
    if seconds is not None and not seconds:
        raise InvalidArgument(
            f"timeout must be a number of seconds > 0, not {timeout!r}",
            hint="Leave it out for the default.",
        )
    mapped = dialled(address_map)
    silence = as_float(keepalive, "keepalive", 1.0)
    away = as_float(recovery_timeout, "recovery_timeout", 0.001)
    client = Client(
        Options(split(addresses), seconds, job, rank, world_size, mapped, silence, away)
    )
    _ = client.native
    return client


class Client:
    """A connection to all shards of a cluster. Safe to use from many threads.

    It can be pickled: the copy connects to the same addresses at first use. It is a context manager
    that closes itself. After fork() a child gets `ForkedProcess`: use spawn. A client that
    is dropped without `close` closes itself too, which may wait for pending pushes, and warns
    (RuntimeWarning) of what they raise.

    Attributes
    ----------
    timeout : float or None
        Seconds that any one call may take, as given to `connect`.
    """

    def __init__(self, options: Options) -> None:
        self._options = options
        self._lock = threading.Lock()
        self._native: Any = None
        self._closed = False
        self._process = os.getpid()  # of the connection, once there is one

    @property
    def timeout(self) -> float | None:
        """Seconds that any one call may take, as given to `connect`."""
        return self._options.timeout

    @property
    def longest_wait(self) -> float:
        """Seconds after which nobody waits any more for the result of an asynchronous call."""
        if self._options.timeout is not None:
            return self._options.timeout
        return _PATIENCE + self._options.recovery_timeout

    @property
    def native(self) -> Any:
        """Native client; connects when needed, raises `ClientClosed` when closed before."""
        if self._native is None:
            with self._lock:
                if self._native is None:
                    if self._closed:
                        raise ClientClosed("the client is closed", hint="Connect a new client.")
                    self._native = self._connect()
        return self._native

    def _connect(self) -> Any:
        options = self._options
        native = _native.connect(
            list(options.addresses),
            dict(options.address_map),
            (options.timeout, options.keepalive, options.recovery_timeout),
            (options.job, options.rank, options.world_size),
        )
        self._process = os.getpid()
        _connected.add(self)
        return native

    @property
    def shards(self) -> list[str]:
        """Addresses of all shards, by number."""
        return self.native.shards()

    def create_table(
        self,
        name: str,
        dim: int,
        *,
        optimizer: Optimizer,
        initializer: Initializer | None = None,
        seed: int = 0,
        dtype: Any = "float32",
        num_embeddings: int | None = None,
        gradient_bound: float = 1e15,
        durability: str | None = None,
        exist_ok: bool = False,
        eviction: Eviction | None = None,
    ) -> Table:
        """Create a table on all shards.

        Parameters
        ----------
        name : str
            [A-Za-z0-9_.:/-]{1,128}.
        dim : int
            Values per row, 1 .. 65536.
        optimizer : Optimizer
            Sgd, Adagrad, RowwiseAdagrad or Adam.
        initializer : Initializer, optional
            Zeros, Constant, Uniform or Normal; None: Uniform(-0.05, 0.05).
        seed : int
            Of the initializer, 0 .. 2**64 - 1.
        dtype : str
            "float32"; others are refused in this version.
        num_embeddings : int, optional
            Keys are 0 .. num_embeddings - 1; None: any 64-bit key.
        gradient_bound : float
            Largest |g| after duplicates were summed; a push beyond it is refused.
        durability : {"memory"}, optional
            What an acknowledged push survives. None means "memory" in this version, with one
            warning per process; "process" and "disk" are refused.
        exist_ok : bool
            A table of the same schema is fine; another schema raises `SchemaMismatch`.
        eviction : Eviction, optional
            Which rows leave fast memory first where a shard has tiers below it: Lru, Lfu or
            NoEviction; None: Lru().

        Raises
        ------
        InvalidArgument, Unimplemented
            Nothing was sent.
        AlreadyExists, SchemaMismatch
            There is such a table.
        DataLoss
            A shard has forgotten the table, which others hold rows or a step of: it restarted.
            `drop_table`, then this, makes it anew on all shards.
        CapacityFull
            A shard has no room for another table.
        Unavailable, DeadlineExceeded
            A shard is away. If it went half-way, a call with `exist_ok=True` completes the table.
        """
        _check_dtype(dtype)
        check_durability(durability)
        schema = _native.TableSchema()
        schema.name = as_text(name, "name", hint='E.g. "user".')
        schema.dim = as_integer(dim, "dim", 1, 65536)
        example = "hotrow.Adagrad(lr=0.05)"
        schema.optimizer = _checked(optimizer, Optimizer, "optimizer", example).to_native()
        start = Uniform(-0.05, 0.05) if initializer is None else initializer
        example = "hotrow.Normal(0.0, 0.01)"
        schema.initializer = _checked(start, Initializer, "initializer", example).to_native()
        schema.seed = as_integer(seed, "seed", 0, 2**64 - 1)
        if num_embeddings is not None:
            schema.num_embeddings = as_integer(num_embeddings, "num_embeddings", 1, 2**64 - 1)
        policy = Lru() if eviction is None else eviction
        example = "hotrow.Lfu(decay=0.999)"
        schema.eviction = _checked(policy, Eviction, "eviction", example).to_native()
        schema.gradient_bound = as_float(gradient_bound, "gradient_bound", 0.0)
        return Table(self, name, self.native.create_table(schema, bool(exist_ok)))

    def table(self, name: str) -> Table:
        """Open an existing table.

        Raises
        ------
        NotFound
            No shard knows the name.
        DataLoss
            Some shards hold the table and one has forgotten it; see `create_table`.
        InvalidArgument, Unavailable, DeadlineExceeded
        """
        try:
            return Table(
                self, name, self.native.open_table(as_text(name, "name", hint='E.g. "user".'))
            )
        except NotFound as error:
            if error.shard is None:  # otherwise that shard lacks it, and the error says what to do
                error.hint = self._names_like(name, [table.name for table in self.tables()])
            raise

    @staticmethod
    def _names_like(name: str, known: list[str]) -> str:
        """Hint for a table that is not there."""
        close = difflib.get_close_matches(name, known, 1)
        if close:
            return f"Did you mean {close[0]!r}?"
        if not known:
            return "There is no table on these servers yet: create_table makes one."
        shown = ", ".join(repr(other) for other in known[:8])
        return f"Tables there: {shown}{', ...' if len(known) > 8 else ''}. create_table makes one."

    def tables(self) -> list[Table]:
        """All tables, by name."""
        return [Table(self, info.schema.name) for info in self.native.list_tables()]

    def drop_table(self, name: str) -> int:
        """Drop a table with all its rows; returns how many there were.

        Raises
        ------
        NotFound
        PermissionDenied
            Nothing was dropped: a shard has an admin listener, so that is for `hotrowctl drop`.
        InvalidArgument, Unavailable, DeadlineExceeded
        """
        return self.native.drop_table(as_text(name, "name", hint='E.g. "user".'))

    def flush(self, timeout: float | None = None) -> None:
        """Wait until every push that was made before is acknowledged.

        Parameters
        ----------
        timeout : float, optional
            Seconds; None: as long as any call of the client.

        Raises
        ------
        DeadlineExceeded, Unavailable
            Some are not: they stay pending, and `flush` again waits for them.
        Error
            What a push raised that nobody was told yet.
        """
        self.native.flush(check_timeout(timeout))

    def status(self) -> list[dict[str, Any]]:
        """One entry per shard, reachable or not (then "error" says why)."""
        return [dict(shard) for shard in self.native.status()]

    def close(self) -> None:
        """Wait for pending pushes, then end the connections. May be called again.

        Raises
        ------
        SessionLost
            Pushes were still pending after the client's timeout, or 30 s: they are given up, and
            whether they were applied is unknown.
        Error
            What a push raised that nobody waited for.
        """
        with self._lock:
            self._closed = True
            native = self._native
        if native is not None and self._process == os.getpid():
            _connected.discard(self)
            native.close()

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def __del__(self) -> None:
        # The native destructor would do the same with the GIL held, and drop the error.
        if self._native is None or self._closed or self._process != os.getpid():
            return
        try:
            self.close()
        except Exception as error:
            warnings.warn(f"closing {self!r}, which was dropped: {error}", RuntimeWarning, 1)

    def __reduce__(self) -> tuple[Any, ...]:
        return _shared_client, (self._options,)

    def __deepcopy__(self, memo: dict[int, Any]) -> Client:
        return self

    def __repr__(self) -> str:
        return f"Client({','.join(self._options.addresses)!r})"


_connected: weakref.WeakSet[Client] = weakref.WeakSet()
_unpickled: weakref.WeakValueDictionary[Options, Client] = weakref.WeakValueDictionary()
_unpickled_lock = threading.Lock()


def _shared_client(options: Options) -> Client:
    """Give all objects unpickled in this process one lazy client per cluster."""
    with _unpickled_lock:
        client = _unpickled.get(options)
        if client is None or client._closed or client._process != os.getpid():
            client = Client(options)
            _unpickled[options] = client
        return client


@atexit.register
def _close_all() -> None:
    """End connections while the interpreter is still whole."""
    for client in list(_connected):
        try:
            client.close()
        except Exception as error:
            warnings.warn(f"closing {client!r} at exit: {error}", RuntimeWarning, stacklevel=1)


def _checked(value: Any, kind: type, name: str, example: str) -> Any:
    if not isinstance(value, kind):
        hint = f"E.g. {example}."
        if isinstance(value, type) and issubclass(value, kind):
            hint = f"It is the class: make an instance, e.g. {example}."
        raise InvalidArgument(f"{name} must be a hotrow.{kind.__name__}, not {value!r}", hint=hint)
    return value


def _check_dtype(dtype: Any) -> None:
    name = str(getattr(dtype, "__name__", dtype)).removeprefix("torch.")
    if name != "float32":
        raise Unimplemented(
            f"dtype={dtype!r} is not offered by this version", hint="Use dtype='float32'."
        )
