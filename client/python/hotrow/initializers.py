"""Initializers: the value of a row that no push has touched.

A pure function of (table name, seed, key, column): the same on every number of shards, in every
order and for every client.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from hotrow import _native
from hotrow.errors import InvalidArgument
from hotrow.scalars import set_floats, shortest


class Initializer:
    """Base of the initializers."""

    def to_native(self) -> Any:
        """Convert for the native client."""
        raise NotImplementedError


@dataclass(frozen=True)
class Zeros(Initializer):
    """All zeros."""

    def to_native(self) -> Any:
        """Convert for the native client."""
        return _native.Zeros()


@dataclass(frozen=True)
class Constant(Initializer):
    """One value everywhere.

    Parameters
    ----------
    value : float
        Finite.
    """

    value: float = 0.0

    def __post_init__(self) -> None:
        """Refuse what is not finite."""
        set_floats(self, "value")

    def to_native(self) -> Any:
        """Convert for the native client."""
        native = _native.Constant()
        native.value = self.value
        return native


@dataclass(frozen=True)
class Uniform(Initializer):
    """Uniform in [low, high).

    Parameters
    ----------
    low, high : float
        Finite, low <= high.
    """

    low: float = 0.0
    high: float = 1.0

    def __post_init__(self) -> None:
        """Refuse an empty or infinite range."""
        set_floats(self, "low", "high")
        if self.low > self.high:
            raise InvalidArgument(
                f"Uniform needs low <= high, not {self.low} > {self.high}",
                hint="Exchange the two bounds.",
            )

    def to_native(self) -> Any:
        """Convert for the native client."""
        native = _native.Uniform()
        native.low = self.low
        native.high = self.high
        return native


@dataclass(frozen=True)
class Normal(Initializer):
    """Normal distribution.

    Parameters
    ----------
    mean : float
        Finite.
    std : float
        Standard deviation, finite, >= 0.
    """

    mean: float = 0.0
    std: float = 1.0

    def __post_init__(self) -> None:
        """Refuse what is not finite and a negative deviation."""
        set_floats(self, "mean", "std")
        if self.std < 0:
            raise InvalidArgument(
                f"Normal needs std >= 0, not {self.std}", hint="E.g. Normal(0.0, 0.01)."
            )

    def to_native(self) -> Any:
        """Convert for the native client."""
        native = _native.Normal()
        native.mean = self.mean
        native.standard_deviation = self.std
        return native


def initializer_from_native(native: Any) -> Initializer:
    """Convert what the native client says about a table."""
    name = type(native).__name__
    if name == "Zeros":
        return Zeros()
    if name == "Constant":
        return Constant(shortest(native.value))
    if name == "Uniform":
        return Uniform(shortest(native.low), shortest(native.high))
    return Normal(shortest(native.mean), shortest(native.standard_deviation))
