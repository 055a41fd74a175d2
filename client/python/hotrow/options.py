"""What `hotrow.connect` takes, checked."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from hotrow.errors import InvalidArgument, Unimplemented

_MODES = ("async", "bounded", "sync")


@dataclass(frozen=True)
class Options:
    """Of one client; two clients with equal options reach the same servers in the same way."""

    addresses: tuple[str, ...]
    timeout: float | None
    job: str
    rank: int
    world_size: int
    address_map: tuple[tuple[str, str], ...]
    keepalive: float
    recovery_timeout: float


def refuse_others(tls: Any, token: Any, mode: str, max_steps_ahead: Any) -> None:
    """Refuse by name what later versions offer."""
    if tls is not None and tls is not False:
        raise Unimplemented("tls is not offered by this version", hint="Leave it out.")
    if token is not None:
        raise Unimplemented("token is not offered by this version", hint="Leave it out.")
    if mode not in _MODES:
        raise InvalidArgument(
            f"mode must be 'async', 'bounded' or 'sync', not {mode!r}",
            hint="Use 'async', the one that this version offers.",
        )
    if mode != "async":
        raise Unimplemented(f"mode={mode!r} is not offered by this version", hint="Use 'async'.")
    if max_steps_ahead is not None:
        raise Unimplemented(
            "max_steps_ahead belongs to mode='bounded', which is not offered by this version",
            hint="Leave it out.",
        )


def _is_printable(value: Any) -> bool:
    """Whether it is a str without control characters and halves of surrogate pairs."""
    return isinstance(value, str) and value.isprintable()


def dialled(address_map: Any) -> tuple[tuple[str, str], ...]:
    """Check address_map, and make it hashable."""
    pairs = address_map or {}
    if not isinstance(pairs, Mapping) or not all(
        _is_printable(part) for pair in pairs.items() for part in pair
    ):
        raise InvalidArgument(
            f"address_map must map addresses to addresses, not {address_map!r}",
            hint='E.g. {"shard-0:7070": "127.0.0.1:9001"}.',
        )
    return tuple(sorted(pairs.items()))


def split(addresses: str | Iterable[str]) -> tuple[str, ...]:
    """Make a tuple of addresses, none of them empty."""
    try:
        parts = addresses.split(",") if isinstance(addresses, str) else list(addresses)
        stripped = tuple(part.strip() for part in parts)
    except (AttributeError, TypeError):
        stripped = ()
    if not stripped or not all(part and _is_printable(part) for part in stripped):
        raise InvalidArgument(
            f"addresses must name at least one shard, not {addresses!r}",
            hint='E.g. "127.0.0.1:7070" or ["127.0.0.1:7070", "127.0.0.1:7071"].',
        )
    for address in stripped:
        if "://" in address:
            raise Unimplemented(
                f"{address!r}: coordination through etcd is not offered by this version",
                hint="Give HOST:PORT of a shard.",
            )
    return stripped
