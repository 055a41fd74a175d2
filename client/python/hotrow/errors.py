"""The exceptions of hotrow.

Each derives from `Error` and from the builtin that Python or PyTorch users catch in that place, and
says which table and shard it is about and what to do next.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any, TypeVar

import numpy as np


class Error(Exception):
    """Base of everything that hotrow raises.

    Parameters
    ----------
    message : str
        One sentence: table, shard, cause.
    table : str, optional
        Table concerned.
    shard : int, optional
        Number of the shard concerned; None when the client itself refused.
    hint : str
        What to do next; may be empty.
    """

    def __init__(
        self,
        message: str = "",
        *,
        table: str | None = None,
        shard: int | None = None,
        hint: str = "",
    ) -> None:
        super().__init__(message)
        self.message = message
        self.table = table
        self.shard = shard
        self.hint = hint

    def __str__(self) -> str:
        place = []  # what the message does not say in these words already
        if self.table and f"table {self.table!r}" not in self.message:
            place.append(f"table {self.table!r}")
        if self.shard is not None and not re.search(rf"\bshard {self.shard}\b", self.message):
            place.append(f"shard {self.shard}")
        text = f"{', '.join(place)}: {self.message}" if place else self.message
        return f"{text}\nHint: {self.hint}" if self.hint else text

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuild, (type(self), self.message, self.__dict__)


_Method = TypeVar("_Method", bound=Callable[..., Any])


def naming_table(name_of: Callable[[Any], str]) -> Callable[[_Method], _Method]:
    """Decorate a method so that every `Error` out of it names a table.

    Parameters
    ----------
    name_of : callable
        From the object to the name of its table.
    """

    def decorate(method: _Method) -> _Method:
        @wraps(method)
        def call(self: Any, *arguments: Any, **options: Any) -> Any:
            try:
                return method(self, *arguments, **options)
            except Error as error:
                error.table = error.table or name_of(self)
                raise

        return call  # type: ignore[return-value]

    return decorate


def _rebuild(cls: type[Error], message: str, attributes: dict[str, Any]) -> Error:
    error = cls(message)
    error.__dict__.update(attributes)
    return error


class InvalidArgument(Error, ValueError, RuntimeError):
    """Malformed input or a value out of a documented limit; nothing was sent."""


class Unimplemented(InvalidArgument, NotImplementedError):
    """Named in the interface but not offered by this version; refused rather than ignored."""


class PaddingOutOfRange(InvalidArgument, AssertionError):
    """A padding_idx outside the table (torch raises AssertionError there)."""


class KeyRange(Error, IndexError, RuntimeError):
    """A key outside 0 .. num_embeddings - 1 of a bounded table."""


class NotFound(Error, LookupError):
    """No shard knows a table of that name."""


class AlreadyExists(Error):
    """The table exists (`exist_ok=True` accepts one of the same schema), or holds rows already."""


class SchemaMismatch(Error, ValueError):
    """The table exists with another schema."""


class Unavailable(Error, ConnectionError):
    """A shard cannot be reached or is not ready."""


class DeadlineExceeded(Error, TimeoutError):
    """No answer in time. A push that is late is still pending: `client.flush()` waits for it."""


class Overloaded(Error):
    """A server refused work that it has no room for now; try later."""


class CapacityFull(Error):
    """New keys were not created for want of memory; known keys were updated.

    Attributes
    ----------
    refused_keys : numpy.ndarray
        int64 (n,): the keys that were not created.
    """

    refused_keys: np.ndarray = np.empty(0, np.int64)


class StepAborted(Error):
    """A synchronous training step was given up."""


class SessionLost(Error):
    """A shard no longer knows this client's stream of pushes (it restarted or fenced it).

    Where it restarted, its rows and tables are gone: `DataLoss` says so of each table that other
    shards still hold.
    """


class PermissionDenied(Error, PermissionError):
    """The credentials do not allow this."""


class DataLoss(Error):
    """A part of the data is gone or damaged.

    Also where a shard has forgotten a table that others hold rows or a step of: it restarted.
    Nothing was changed; training would go on with a part of the model. Drop the table and create it
    anew, then load saved rows, or start afresh.
    """


class ForkedProcess(Error, RuntimeError):
    """A client was used in a child process made by fork()."""


class ClientClosed(Error, RuntimeError):
    """The client was closed."""


class InternalError(Error, RuntimeError):
    """A fault in hotrow itself."""


# Numbers of hotrow.v1.ErrorKind; those from 64 on exist in the client only.
_CLASSES: dict[int, type[Error]] = {
    1: InvalidArgument,
    2: KeyRange,
    3: NotFound,
    4: AlreadyExists,
    5: SchemaMismatch,
    6: Unavailable,
    7: DeadlineExceeded,
    8: Overloaded,
    9: CapacityFull,
    10: StepAborted,
    11: SessionLost,
    12: PermissionDenied,
    13: DataLoss,
    14: Unimplemented,
    15: Unavailable,
    16: Unavailable,
    17: InternalError,
    64: ForkedProcess,
    65: ClientClosed,
}


def from_native(
    kind: int, message: str, hint: str, table: str, shard: int, refused_keys: Sequence[int]
) -> Error:
    """Build the exception of an error that the native client reports."""
    cls = _CLASSES.get(kind, InternalError)
    error = cls(message, table=table or None, shard=shard if shard >= 0 else None, hint=hint)
    if isinstance(error, CapacityFull):
        error.refused_keys = np.array(refused_keys, dtype=np.uint64).view(np.int64)
    return error
