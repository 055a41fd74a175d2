"""P4: latency of a pull beside an empty unary gRPC call and the same bytes over a bare socket.

Starts a shard and runs bench/latency_bench.cc against it. Percentiles are of each round; the middle
of the rounds counts.
"""

from __future__ import annotations

import datetime

from bench import harness, measures
from bench.measures import Bar, Figure, Measure
from hotrow.testing import LocalCluster

OWN = "Hotrow"
CASES = ("256 keys", "8192 keys")
MIDDLE_BAR = Bar("peer", at_most=1.5)  # p50 over the empty call's, for the small pull
TAIL_BAR = Bar("peer", at_most=5)  # p99 over p50


def measures_of(results: harness.Results) -> list[Measure]:
    """p50 beside the empty call, and p99 beside our own p50."""
    found = []
    for case in CASES:
        middle, high = f"{case}, p50", f"{case}, p99"
        own, raw = results[OWN], results["raw TCP, same bytes"]
        empty = Figure.of("empty gRPC call", results["empty unary gRPC call"][middle], "us")
        for what, peer, bar in (
            (middle, empty, MIDDLE_BAR if case == CASES[0] else None),
            (high, Figure.of("our own p50", own[middle], "us"), TAIL_BAR),
        ):
            found.append(
                Measure(
                    "P4",
                    f"pull of {what}",
                    "us",
                    own[what].median,
                    peer,
                    Figure.of("raw TCP", raw[what], "us"),
                    bar,
                    measures.spread_of(own[what]),
                )
            )
    return found


def main() -> None:
    """Run and print."""
    with LocalCluster(shards=1) as cluster:
        lines = harness.answers([harness.program("latency_bench"), "--tcp", cluster.addresses[0]])
    results = harness.series_of(lines)
    measures.save("latency", measures_of(results))
    print(f"\n{datetime.date.today()}, {harness.machine()}\n")
    print(harness.markdown(results, OWN, "microseconds"))


if __name__ == "__main__":
    main()
