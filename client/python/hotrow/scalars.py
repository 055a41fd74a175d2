"""Numbers and texts of users: checked, and in the form in which servers give them back.

Servers keep float32. What they answer is the shortest decimal that gives the same float32, so that
`Sgd(lr=0.1)` comes back equal; a float32 of NumPy is taken in the same way.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from hotrow.errors import InvalidArgument


def shortest(value: Any) -> float:
    """Shortest decimal that gives the same float32: 0.1 rather than 0.10000000149."""
    return float(str(np.float32(value)))


def as_float(value: Any, name: str, least: float = -math.inf) -> float:
    """Check and convert a finite number.

    Parameters
    ----------
    value : float
        Of Python or NumPy.
    name : str
        Stands in the message.
    least : float
        Smallest legal value.

    Raises
    ------
    InvalidArgument
    """
    number = isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(
        value, bool
    )
    if not number or not math.isfinite(value) or value < least:
        limit = "" if least == -math.inf else f" >= {least:g}"
        raise InvalidArgument(
            f"{name} must be a finite number{limit}, not {value!r}",
            hint="Give a value in that range."
            if number
            else "Give a number of Python or NumPy: float(value), tensor.item().",
        )
    return shortest(value) if isinstance(value, (np.float32, np.float16)) else float(value)


def set_floats(instance: Any, *names: str, least: float = -math.inf) -> None:
    """Check and convert fields of a frozen dataclass; see `as_float`."""
    for name in names:
        object.__setattr__(instance, name, as_float(getattr(instance, name), name, least))


def as_integer(value: Any, name: str, low: int, high: int) -> int:
    """Check and convert an integer of Python or NumPy in `low` .. `high`.

    Raises
    ------
    InvalidArgument
        Also for a bool, and for a float that is whole.
    """
    try:
        number = value.__index__()
    except (AttributeError, TypeError):
        number = None
    if number is None or isinstance(value, (bool, np.bool_)) or not low <= number <= high:
        raise InvalidArgument(
            f"{name} must be an integer in {low} .. {high}, not {value!r}",
            hint="Give an int, not a value that merely looks whole: int(value)."
            if number is None or isinstance(value, (bool, np.bool_))
            else "Give a value in that range.",
        )
    return number


def as_text(value: Any, name: str, hint: str) -> str:
    """Check a str that travels as UTF-8.

    Raises
    ------
    InvalidArgument
        Also for half of a surrogate pair, which is what undecodable bytes become when a file is
        read with errors="surrogateescape".
    """
    if not isinstance(value, str):
        raise InvalidArgument(f"{name} must be a str, not {value!r}", hint=hint)
    try:
        value.encode()
    except UnicodeEncodeError as error:
        raise InvalidArgument(
            f"{name} must be text, and {value!r} has no UTF-8 form ({error.reason})",
            hint="It was decoded wrongly where it was read: see the encoding and errors there.",
        ) from None
    return value
