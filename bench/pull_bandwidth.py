"""Starts a shard and runs the pull bandwidth benchmark (bench/pull_bandwidth_bench.cc) against it."""

from __future__ import annotations

import argparse
import datetime
import os
import subprocess
from pathlib import Path

from hotrow.testing import LocalCluster

from bench import harness


def main() -> None:
    """Run and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    default = Path(os.environ.get("HOTROW_BUILD", "build")) / "release/bin/pull_bandwidth_bench"
    parser.add_argument("--program", type=Path, default=harness.ROOT / default)
    arguments = parser.parse_args()
    socket = f"/tmp/hotrow-bench-{os.getpid()}.sock"
    print(f"{datetime.date.today()}, {harness.machine()}")
    with LocalCluster(shards=1, config={"unix": socket}) as cluster:
        address = cluster.addresses[0]
        subprocess.run(
            [arguments.program, "--tcp", address, "--unix", f"unix:{socket}"], check=True, timeout=600
        )


if __name__ == "__main__":
    main()
