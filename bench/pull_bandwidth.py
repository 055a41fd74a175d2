"""P1: payload rate of a pull beside the raw socket under it and a protobuf stub.

Starts a shard and runs bench/pull_bandwidth_bench.cc against it.
"""

from __future__ import annotations

import contextlib
import datetime
import tempfile

from bench import harness, measures
from bench.measures import Bar, Figure, Measure
from hotrow.testing import LocalCluster

OWN = "Hotrow TCP"
LOCAL = "Hotrow Unix"
BAR = Bar("limit", at_least=0.7)


def measures_of(results: harness.Results) -> list[Measure]:
    """A TCP and a Unix measure for each size of reply; the bar is for TCP."""
    found = []
    stub = results["protobuf bytes stream, TCP"]
    for own, link, bar in ((OWN, "TCP", BAR), (LOCAL, "Unix", None)):
        raw = results[f"raw {link} request/reply"]
        for case, series in results.get(own, {}).items():
            found.append(
                Measure(
                    "P1",
                    f"pull of {case}, {link}",
                    "GB/s",
                    series.median,
                    Figure.of("protobuf stub, TCP", stub[case]),
                    Figure.of(f"raw {link}", raw[case]),
                    bar,
                    measures.spread_of(series),
                )
            )
    return found


def main() -> None:
    """Run and print."""
    with contextlib.ExitStack() as running:
        socket = f"{running.enter_context(tempfile.TemporaryDirectory())}/shard.sock"
        cluster = running.enter_context(LocalCluster(shards=1, config={"unix": socket}))
        addresses = ["--tcp", cluster.addresses[0], "--unix", f"unix:{socket}"]
        lines = harness.answers([harness.program("pull_bandwidth_bench"), *addresses])
    results = harness.series_of(lines)
    measures.save("pull_bandwidth", measures_of(results))
    print(f"\n{datetime.date.today()}, {harness.machine()}\n")
    print(harness.markdown(results, OWN, "GB/s"))


if __name__ == "__main__":
    main()
