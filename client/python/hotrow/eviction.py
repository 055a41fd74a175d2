"""Eviction: which rows of a table leave fast memory first, for a lower tier of their shard.

Rows that leave are not lost: they rest in host memory or on disk, and come back when they are used.
Where a shard has no tier below memory nothing leaves, and new keys are refused when it is full.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from hotrow import _native
from hotrow.errors import InvalidArgument
from hotrow.scalars import set_floats, shortest


class Eviction:
    """Base of the policies of eviction."""

    def to_native(self) -> Any:
        """Convert for the native client."""
        raise NotImplementedError


@dataclass(frozen=True)
class Lru(Eviction):
    """The row that was pulled or pushed longest ago leaves first."""

    def to_native(self) -> Any:
        """Convert for the native client."""
        return _native.Lru()


@dataclass(frozen=True)
class Lfu(Eviction):
    """The row with the fewest uses leaves first; older uses may count less.

    Parameters
    ----------
    decay : float
        What a use is worth a training step later, 0 < decay <= 1. At 0.999 a use counts half after
        693 steps.
    """

    decay: float = 1.0

    def __post_init__(self) -> None:
        """Refuse what is out of range."""
        set_floats(self, "decay")
        if not 0.0 < self.decay <= 1.0:
            raise InvalidArgument(
                f"Lfu needs 0 < decay <= 1, not {self.decay}",
                hint="A decay of 1 counts every use alike; one of 0.999 forgets half in 693 steps.",
            )

    def to_native(self) -> Any:
        """Convert for the native client."""
        native = _native.Lfu()
        native.decay = self.decay
        return native


@dataclass(frozen=True)
class NoEviction(Eviction):
    """No row leaves fast memory: new keys are refused (`CapacityFull`) when it is full."""

    def to_native(self) -> Any:
        """Convert for the native client."""
        return _native.NoEviction()


def eviction_from_native(native: Any) -> Eviction:
    """Convert from the native client."""
    if isinstance(native, _native.Lfu):
        return Lfu(shortest(native.decay))
    return NoEviction() if isinstance(native, _native.NoEviction) else Lru()
