"""Pull and push rates beside the networked stores that users would otherwise take.

One client, one server, separate processes; dim 64 float32, batches of 8192 uniform keys of 1 M
rows, Adagrad. Prints M rows/s of each peer, the ratio of ours to it, and the limit: the same bytes
over a raw socket without a table.
"""

from __future__ import annotations

import argparse
import datetime

from bench import harness
from bench.peers.worker import Shape

OWN = "Hotrow, TCP"
PEERS = [
    harness.PeerSpec(OWN, "hotrow_peer"),
    harness.PeerSpec("Hotrow, Unix socket", "hotrow_peer", "unix"),
    harness.PeerSpec("torch.distributed.rpc as it comes (shared memory)", "torch_rpc_peer"),
    harness.PeerSpec("torch.distributed.rpc forced to TCP", "torch_rpc_peer", "tcp"),
    harness.PeerSpec("bare TCP server, torch kernels", "bare_tcp_peer"),
    harness.PeerSpec(
        "Redis HMGET / HMSET, Unix socket, no optimizer", "redis_peer", program="redis-server"
    ),
    harness.PeerSpec("torch in process, no network", "torch_local_peer"),
    harness.PeerSpec("limit: raw TCP, same bytes, no table", "bare_tcp_peer", "limit"),
]


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
    parser.add_argument("--only", help="run only peers whose name contains this, beside our own")
    arguments = parser.parse_args()
    shape = Shape(rows=arguments.rows)
    peers = [
        p
        for p in PEERS
        if not arguments.only or p.name == OWN or arguments.only.lower() in p.name.lower()
    ]
    operations = {
        "pull": arguments.calls,
        "pull4": arguments.calls,
        "push": arguments.calls,
        "push_pull": arguments.calls,
    }
    results = harness.run(harness.available(peers), operations, shape, arguments.rounds)
    harness.save("pull_push", results)
    print(f"\n{datetime.date.today()}, {harness.machine()}\n")
    print(harness.markdown(results, OWN, "M rows/s"))


if __name__ == "__main__":
    main()
