"""Numbers with units: of Kubernetes, and of the server's configuration."""

import re

__all__ = ["quantity", "seconds", "size_bytes"]

_QUANTITY = {"": 1, "k": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}
_QUANTITY |= {"Ki": 2**10, "Mi": 2**20, "Gi": 2**30, "Ti": 2**40}
_SIZE = {"": 1, "B": 1, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "TiB": 2**40}
_SECONDS = {"ms": 0.001, "s": 1, "m": 60, "h": 3600}


def _scaled(text: str, units: dict[str, float], kind: str) -> float:
    match = re.fullmatch(r"(\d+)([A-Za-z]*)", str(text))
    if match is None or match[2] not in units:
        raise ValueError(f"{text!r} is not a {kind}")
    return int(match[1]) * units[match[2]]


def quantity(text: str) -> int:
    """Bytes of a Kubernetes quantity, such as 8Gi."""
    return int(_scaled(text, _QUANTITY, "quantity of memory"))


def size_bytes(text: str) -> int:
    """Bytes of a size as the server prints it, such as 4GiB."""
    return int(_scaled(text, _SIZE, "size"))


def seconds(text: str) -> float:
    """Seconds of a duration as the server prints it, such as 250ms."""
    return _scaled(text, _SECONDS, "duration")
