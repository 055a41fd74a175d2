"""What an acknowledged push survives: the durability class of a table."""

from __future__ import annotations

import sys
import warnings

from hotrow.errors import InvalidArgument, Unimplemented

_DURABILITIES = ("memory", "process", "disk")


class DurabilityWarning(UserWarning):
    """Rows of this version live in memory: they are lost with their server process."""


def _levels_to_caller() -> int:
    """Find the `stacklevel` with which a warning of the calling function names the user's line."""
    level = 1
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_globals["__name__"].split(".")[0] == "hotrow":
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
                "say durability='memory' to create_table, or filter hotrow.DurabilityWarning",
                DurabilityWarning,
                stacklevel=_levels_to_caller(),
            )
    elif durability not in _DURABILITIES:
        raise InvalidArgument(f"durability must be one of {_DURABILITIES}, not {durability!r}")
    elif durability != "memory":
        raise Unimplemented(
            f"durability={durability!r} is not offered by this version", hint="use 'memory'"
        )
