"""P2, P3: pull and push rates beside the networked stores that users would otherwise take.

One client, one server, separate processes; dim 64 float32, batches of 8192 keys of 1 M rows,
Adagrad. Prints M rows/s of each peer, the ratio of ours to it, and the limit: the same bytes over a
raw socket without a table.
"""

from __future__ import annotations

import argparse
import datetime

from bench import harness, measures
from bench.measures import Bar, Figure, Measure
from bench.workload import KEYS, Shape

OWN = "Hotrow, TCP"
RPC_TCP = "torch.distributed.rpc forced to TCP"
LIMIT = "limit: raw TCP, same bytes, no table"
PEERS = [
    harness.PeerSpec(OWN, "hotrow_peer", kind="own"),
    harness.PeerSpec("Hotrow, Unix socket", "hotrow_peer", "unix", kind="own"),
    harness.PeerSpec("torch.distributed.rpc as it comes (shared memory)", "torch_rpc_peer"),
    harness.PeerSpec(RPC_TCP, "torch_rpc_peer", "tcp"),
    harness.PeerSpec("bare TCP server, torch kernels", "bare_tcp_peer"),
    harness.PeerSpec(
        "Redis HMGET / HMSET, Unix socket, no optimizer", "redis_peer", program="redis-server"
    ),
    harness.PeerSpec("torch in process, no network", "torch_local_peer", kind="local"),
    harness.PeerSpec(LIMIT, "bare_tcp_peer", "limit", kind="limit"),
]
NETWORKED = [spec.name for spec in PEERS if spec.kind == "networked"]
PULL_BAR = Bar("peer", at_least=1.2)
PUSH_BAR = Bar("peer", at_least=2)


def best_networked(results: harness.Results, operation: str) -> Figure:
    """The fastest peer over a network or shared memory in this run."""
    figures = [Figure.of(name, results[name][operation]) for name in NETWORKED if name in results]
    return max((f for f in figures if f.value > 0), key=lambda f: f.value, default=Figure("-", 0))


def measures_of(results: harness.Results, keys: str) -> list[Measure]:
    """P2: pulls beside torch.rpc over TCP. P3: pushes beside the best networked peer."""
    rpc = results.get(RPC_TCP)
    found = []
    for operation, name in (("pull", "pull"), ("pull4", "pull, 4 in flight")):
        peer = Figure.of("torch.rpc, TCP", rpc[operation]) if rpc else None
        found.append(_measure(results, "P2", (operation, f"{name}, {keys}"), peer, PULL_BAR))
    for operation, name in (("push", "Adagrad push"), ("push_pull", "push, then pull")):
        peer = best_networked(results, operation)
        found.append(_measure(results, "P3", (operation, f"{name}, {keys}"), peer, PUSH_BAR))
    return found


def _measure(
    results: harness.Results, id_: str, what: tuple[str, str], peer: Figure | None, bar: Bar
) -> Measure:
    own = results[OWN][what[0]]
    limit = results.get(LIMIT)
    return Measure(
        id_,
        what[1],
        "M rows/s",
        own.median,
        peer,
        Figure.of("raw TCP", limit[what[0]]) if limit else None,
        bar,
        measures.spread_of(own),
    )


def main() -> None:
    """Run and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=7, help="counted rounds (default 7)")
    parser.add_argument(
        "--calls", type=int, default=30, help="calls per round and operation (default 30)"
    )
    parser.add_argument(
        "--rows", type=int, default=1_000_000, help="stored rows (default 1,000,000)"
    )
    parser.add_argument("--keys", choices=KEYS, default="uniform", help="how keys are drawn")
    parser.add_argument("--only", help="run only peers whose name contains this, beside our own")
    arguments = parser.parse_args()
    shape = Shape(rows=arguments.rows, keys=arguments.keys)
    peers = [
        p
        for p in PEERS
        if not arguments.only or p.name == OWN or arguments.only.lower() in p.name.lower()
    ]
    operations = dict.fromkeys(("pull", "pull4", "push", "push_pull"), arguments.calls)
    plan = harness.Plan(operations, arguments.rounds)
    results = harness.run(harness.available(peers), plan, shape)
    keys = f"{arguments.keys} keys of {arguments.rows:,} rows, dim {shape.dim}, batch {shape.batch}"
    measures.save("pull_push", measures_of(results, keys))
    print(f"\n{datetime.date.today()}, {harness.machine()}\n")
    print(harness.markdown(results, OWN, "M rows/s"))


if __name__ == "__main__":
    main()
