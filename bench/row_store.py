"""P6: pulls from a row store that is not in the cache, one thread, beside a hash map and memcpy.

Runs bench/row_store_bench.cc; rates are of processor time.
"""

from __future__ import annotations

import argparse
import datetime
from pathlib import Path

from bench import harness, measures
from bench.measures import Bar, Figure, Measure

OWN = "row store"
PEERS = ("absl map + memcpy", "absl map + memcpy, huge pages")
BAR = Bar("peer", at_least=1.3)
CASE = "pull"


def measures_of(results: harness.Results, shape: str) -> list[Measure]:
    """Beside the faster of both peers."""
    own = results[OWN][CASE]
    figures = [Figure.of(name, results[name][CASE]) for name in PEERS]
    return [
        Measure(
            "P6",
            f"rows of 512 bytes found and copied, 1 thread, {shape}",
            "M rows/s",
            own.median,
            max(figures, key=lambda figure: figure.value),
            Figure.of("memcpy", results["memcpy"][CASE]),
            BAR,
            measures.spread_of(own),
        )
    ]


def largest_cache() -> str:
    """Size of the last level of cache as the machine tells it, such as ``32768K``."""
    levels = sorted(Path("/sys/devices/system/cpu/cpu0/cache").glob("index*/size"))
    return levels[-1].read_text().strip() if levels else "unknown"


def main() -> None:
    """Run and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=4_000_000, help="stored rows, 1.7 KB each")
    arguments = parser.parse_args()
    lines = harness.answers([harness.program("row_store_bench"), str(arguments.rows)])
    results = harness.series_of(lines)
    shape = f"{arguments.rows * 512 >> 20} MiB of rows, largest cache {largest_cache()}"
    measures.save("row_store", measures_of(results, shape))
    print(f"\n{datetime.date.today()}, {harness.machine()}\n")
    print(harness.markdown(results, OWN, "M rows/s"))


if __name__ == "__main__":
    main()
