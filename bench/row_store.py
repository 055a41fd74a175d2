"""P6: pulls from a row store that is not in the cache, one thread, beside a hash map and memcpy.

Runs bench/row_store_bench.cc; rates are of processor time.
"""

from __future__ import annotations

import argparse
import datetime

from bench import harness, measures
from bench.measures import Bar, Figure, Measure

OWN = "row store"
PEERS = ("absl map + memcpy", "absl map + memcpy, huge pages")
BAR = Bar("peer", at_least=1.3)
CASE = "pull"


def measures_of(results: harness.Results) -> list[Measure]:
    """Beside the faster of both peers."""
    own = results[OWN][CASE]
    figures = [Figure.of(name, results[name][CASE]) for name in PEERS]
    return [
        Measure(
            "P6",
            "rows of 512 bytes found and copied, 1 thread",
            "M rows/s",
            own.median,
            max(figures, key=lambda figure: figure.value),
            Figure.of("memcpy", results["memcpy"][CASE]),
            BAR,
            measures.spread_of(own),
        )
    ]


def main() -> None:
    """Run and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=4_000_000, help="stored rows, 1.7 KB each")
    arguments = parser.parse_args()
    lines = harness.answers([harness.program("row_store_bench"), str(arguments.rows)])
    results = harness.series_of(lines)
    measures.save("row_store", measures_of(results))
    print(f"\n{datetime.date.today()}, {harness.machine()}\n")
    print(harness.markdown(results, OWN, "M rows/s"))


if __name__ == "__main__":
    main()
