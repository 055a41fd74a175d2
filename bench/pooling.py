"""P8: pooling on the worker from received rows beside torch.nn.EmbeddingBag on local rows.

2048 bags of 20 keys of 1 M rows, dim 64; sum, mean and max, forward and backward, one and two
threads. Rates of one thread are of processor time, of two threads of wall time.
"""

from __future__ import annotations

import argparse
import datetime
import itertools

from bench import harness, measures
from bench.measures import Bar, Figure, Measure
from bench.workload import Shape
from hotrow.testing import LocalCluster

OWN, TORCH = "Hotrow", "torch"
MODES = ("sum", "mean", "max")
KEYS = ("uniform", "zipf1.05")
PASSES = ("forward", "backward")
SUMMED = "summed"  # of torch alone: see torch_pooling_peer
CALLS = 24
BAR = Bar("peer", at_least=0.9)
LIMIT = "limit"


def operations(threads: int) -> dict[str, int]:
    """Calls a round of each operation; sums over equal keys and the limit on one thread only."""
    passes = PASSES if threads > 1 else (*PASSES, SUMMED)
    named = [f"{p}:{m}:{k}:{threads}" for p, m, k in itertools.product(passes, MODES, KEYS)]
    return dict.fromkeys(named if threads > 1 else [*named, LIMIT], CALLS)


def measures_of(results: harness.Results, threads: int) -> list[Measure]:
    """For each pass and mode the kind of keys that comes off worse."""
    copied = results[OWN].get(LIMIT)
    limit = Figure.of("memcpy of the rows", copied) if copied else None
    found = []
    for what, mode in itertools.product(PASSES, MODES):
        both = [_measure(results, f"{what}:{mode}:{k}:{threads}", limit) for k in KEYS]
        found.append(min(both, key=lambda measure: measure.ratio("peer")))
    return found


def _measure(results: harness.Results, operation: str, limit: Figure | None) -> Measure:
    what, mode, keys, threads = operation.split(":")
    own = results[OWN][operation]
    peer = Figure.of("torch.nn.EmbeddingBag", results[TORCH][operation])
    return Measure(
        "P8",
        f"{what}, {mode}, {threads} thread{'s' * (threads != '1')}, {keys}",
        "M rows/s",
        own.median,
        peer,
        limit,
        BAR,
        measures.spread_of(own),
    )


def main() -> None:
    """Run and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=7, help="counted rounds (default 7)")
    arguments = parser.parse_args()
    shape = Shape(batch=40960)
    found = []
    print(f"\n{datetime.date.today()}, {harness.machine()}\n")
    with LocalCluster(shards=1) as cluster:
        peers = [
            harness.PeerSpec(
                OWN,
                command=(harness.program("pooling_bench"), "--tcp", cluster.addresses[0]),
                kind="own",
            ),
            harness.PeerSpec(TORCH, "torch_pooling_peer", kind="local"),
        ]
        for threads in (1, 2):
            clock = "cpu" if threads == 1 else "wall"
            plan = harness.Plan(operations(threads), arguments.rounds, clock)
            results = harness.run(peers, plan, shape)
            print(f"threads: {threads}\n\n{harness.markdown(results, OWN, 'M rows/s')}\n")
            found += measures_of(results, threads)
    measures.save("pooling", found)


if __name__ == "__main__":
    main()
