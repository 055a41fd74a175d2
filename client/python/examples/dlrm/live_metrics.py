"""Reads the Prometheus pages of running shards."""

import re
import urllib.request

__all__ = ["read", "summary"]

_LINE = re.compile(r"^(?P<name>[a-zA-Z_:][\w:]*)(?:\{[^}]*\})? (?P<value>\S+)")
_TIMEOUT_SECONDS = 5

SHOWN = (
    "hotrow_rows_pulled_total",
    "hotrow_rows_pushed_total",
    "hotrow_rows_created_total",
    "hotrow_tier_rows",
)


def read(address: str) -> dict[str, float]:
    """Return the metrics of a shard, each summed over its labels."""
    url = f"http://{address}/metrics"
    with urllib.request.urlopen(url, timeout=_TIMEOUT_SECONDS) as reply:
        text = reply.read().decode()
    totals: dict[str, float] = {}
    for line in text.splitlines():
        match = _LINE.match(line)
        if match:
            name = match["name"]
            totals[name] = totals.get(name, 0.0) + float(match["value"])
    return totals


def summary(addresses: list[str]) -> str:
    """Return where the metrics of each shard are, and a few of them."""
    lines = []
    for shard, address in enumerate(addresses):
        totals = read(address)
        values = ", ".join(f"{name} {totals[name]:,.0f}" for name in SHOWN if name in totals)
        lines.append(f"  shard {shard}: http://{address}/metrics  {values}")
    return "\n".join(lines)
