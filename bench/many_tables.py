"""P10: one pull over 26 tables beside one pull of the same rows from one table.

Starts two shards and runs bench/many_tables_bench.cc against them, which also fails unless a pull
is one message a shard.
"""

from __future__ import annotations

import datetime

from bench import harness, measures
from bench.measures import Bar, Figure, Measure
from hotrow.testing import LocalCluster

CASE = "53248 keys"
BAR = Bar("peer", at_most=1.3)


def measures_of(results: harness.Results) -> list[Measure]:
    """The time of a pull over 26 tables."""
    own = results["26 tables"][CASE]
    return [
        Measure(
            "P10",
            "one pull of 26 tables x 2048 keys, dim 16, 2 shards, one message each",
            "us",
            own.median,
            Figure.of("one table, same rows", results["one table"][CASE], "us"),
            None,
            BAR,
            measures.spread_of(own),
        )
    ]


def main() -> None:
    """Run and print."""
    with LocalCluster(shards=2) as cluster:
        shards = ",".join(cluster.addresses)
        lines = harness.answers([harness.program("many_tables_bench"), "--shards", shards])
    results = harness.series_of(lines)
    measures.save("many_tables", measures_of(results))
    print(f"\n{datetime.date.today()}, {harness.machine()}\n")
    for line in lines:
        print(f"{line['candidate']}: {line['case']}: {harness.Series(line['values'])}")


if __name__ == "__main__":
    main()
