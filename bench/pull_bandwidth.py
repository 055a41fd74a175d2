"""Starts a shard and runs the pull bandwidth benchmark against it.

The benchmark is bench/pull_bandwidth_bench.cc.
"""

from __future__ import annotations

import argparse
import contextlib
import datetime
import os
import subprocess
import tempfile
from pathlib import Path

from bench import harness
from hotrow.testing import LocalCluster


def main() -> None:
    """Run and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    default = Path(os.environ.get("HOTROW_BUILD", "build")) / "release/bin/pull_bandwidth_bench"
    parser.add_argument("--program", type=Path, default=harness.ROOT / default)
    arguments = parser.parse_args()
    print(f"{datetime.date.today()}, {harness.machine()}")
    with contextlib.ExitStack() as running:
        socket = f"{running.enter_context(tempfile.TemporaryDirectory())}/shard.sock"
        cluster = running.enter_context(LocalCluster(shards=1, config={"unix": socket}))
        addresses = ["--tcp", cluster.addresses[0], "--unix", f"unix:{socket}"]
        subprocess.run([arguments.program, *addresses], check=True, timeout=600)


if __name__ == "__main__":
    main()
