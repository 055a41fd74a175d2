"""What an acknowledged push survives, and the warnings about rows that did not."""

from __future__ import annotations

import sys
import warnings
from typing import TYPE_CHECKING, Any

from hotrow.errors import (
    ClientClosed,
    DataLoss,
    DeadlineExceeded,
    ForkedProcess,
    InvalidArgument,
    NotFound,
    Overloaded,
    SessionLost,
    Unavailable,
    Unimplemented,
)

if TYPE_CHECKING:
    from hotrow.table import Table

_DURABILITIES = ("memory", "process", "disk")

# Why a table cannot be asked now. It says nothing about the rows, so a state_dict is saved anyway.
_NOT_ASKED = (Unavailable, DeadlineExceeded, Overloaded, ClientClosed, ForkedProcess)


class DurabilityWarning(UserWarning):
    """Rows of this version live in memory: they are lost with their server process."""


class RowsBehindWarning(UserWarning):
    """The servers have not got the rows that a loaded state_dict was saved beside."""


def _levels_to_caller() -> int:
    """Find the `stacklevel` with which a warning of the calling function names the user's line."""
    level = 1
    frame = sys._getframe(1)
    inside = ("hotrow", "torch")
    while frame.f_back is not None and frame.f_globals["__name__"].split(".")[0] in inside:
        frame = frame.f_back
        level += 1
    return level


_warned = False


def check_durability(durability: str | None) -> None:
    """Refuse what this version does not keep; warn once of what is lost when nothing was said."""
    global _warned
    if durability is None:
        if not _warned:
            _warned = True
            warnings.warn(
                "tables of this version live in memory: rows are lost with their server process; "
                "say durability='memory' where the table is made, or filter "
                "hotrow.DurabilityWarning",
                DurabilityWarning,
                stacklevel=_levels_to_caller(),
            )
    elif durability not in _DURABILITIES:
        raise InvalidArgument(
            f"durability must be one of {_DURABILITIES}, not {durability!r}",
            hint="Use 'memory', the one that this version offers.",
        )
    elif durability != "memory":
        raise Unimplemented(
            f"durability={durability!r} is not offered by this version", hint="Use 'memory'."
        )


def age_of(table: Table) -> dict[str, int | None]:
    """Highest step and number of rows of a table, as a state_dict keeps them.

    None where the servers cannot be asked: loading that state then cannot tell what is missing.
    Where they have lost rows a `RowsBehindWarning` says so: dense layers are worth saving then.
    """
    try:
        found = table.stats()
    except _NOT_ASKED:
        return {"highest_step": None, "rows": None}
    except (DataLoss, NotFound, SessionLost) as error:
        warnings.warn(
            f"{error}\nThe state that is saved now is that of the dense layers alone, beside rows "
            "that are lost",
            RowsBehindWarning,
            stacklevel=_levels_to_caller(),
        )
        return {"highest_step": None, "rows": None}
    return {"highest_step": found["highest_step"], "rows": found["rows"]}


def warn_if_behind(table: Table, saved: dict[str, Any]) -> None:
    """Warn when a table is younger, or has fewer rows, than at the time a state was saved.

    Parameters
    ----------
    table : Table
        What the state is loaded onto.
    saved : dict
        What `age_of` said then; a value that is missing or None is not known.
    """
    then = {name: saved.get(name) for name in ("highest_step", "rows")}
    if not any(then.values()):
        return  # nothing is known, or there was nothing that could be missing
    now = table.stats()
    if all(value is None or now[name] >= value for name, value in then.items()):
        return
    rows = "" if then["rows"] is None else f" with {then['rows']} rows"
    warnings.warn(
        f"table {table.name!r}: this state was saved at step {then['highest_step']}{rows}, but the "
        f"servers have it at step {now['highest_step']} with {now['rows']} rows. Rows and their "
        "optimizer state are in no state_dict: training goes on from what the servers hold, unless "
        "saved rows are written back (Table.scan saves them, Table.upsert restores them)",
        RowsBehindWarning,
        stacklevel=_levels_to_caller(),
    )
