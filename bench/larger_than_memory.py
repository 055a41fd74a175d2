"""Trains a table that is many times larger than the server's memory, and says what it cost.

    python -m bench.larger_than_memory
    python -m bench.larger_than_memory --rows 1000000 --hot 40MiB --memory 0 --steps 100

The first: 50 M rows of 64 floats with row-wise Adagrad (about 14 GB), 2 GiB of them in memory, some
ten minutes and 40 GB of disk; the second a fiftieth of it.

First every row is created by a push, then batches are pulled and pushed whose keys follow Zipf
1.05, and at last the server is stopped and started again. Printed: rows/s of both parts, the
longest time of a call, the hit rate of the hot tier, the highest memory of the process beside its
budget, the bytes that went to disk for each byte of rows, and whether every row is there after the
restart.
Exit status 1 when one of the promises is broken: memory within its budget, no call over a second,
every row back.
"""

from __future__ import annotations

import argparse
import dataclasses
import re
import sys
import time
import urllib.request
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np

import hotrow
from hotrow.testing import LocalCluster

UNITS = {"": 1, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30}
_SPREAD = 2654435761  # as bench.workload: hot keys are not neighbours


def size_of(text: str) -> int:
    """Return the bytes of "2GiB"."""
    matched = re.fullmatch(r"([0-9.]+)(KiB|MiB|GiB|)", text)
    if not matched:
        raise argparse.ArgumentTypeError(f"{text!r} is not a size such as 512MiB")
    return int(float(matched[1]) * UNITS[matched[2]])


@dataclasses.dataclass
class Watch:
    """What calls took, and what the process of the server held at its most."""

    pid: int
    longest_s: float = 0.0
    peak_bytes: int = 0
    rows: int = 0
    seconds: float = 0.0

    def call(self, rows: int, work: Callable[[], object]) -> None:
        """Run a call that handles so many rows."""
        begin = time.perf_counter()
        work()
        taken = time.perf_counter() - begin
        self.longest_s = max(self.longest_s, taken)
        self.seconds += taken
        self.rows += rows
        self.peak_bytes = max(self.peak_bytes, resident_bytes(self.pid))

    def __str__(self) -> str:
        return f"{self.rows / self.seconds / 1e6:.2f} M rows/s, longest call {self.longest_s:.3f} s"


def resident_bytes(pid: int) -> int:
    """Return the memory of a process that is not shared with files, as a pod is charged for."""
    status = Path(f"/proc/{pid}/status").read_text(encoding="ascii")
    return 1024 * int(re.search(r"RssAnon:\s+(\d+)", status)[1])


class Zipf:
    """Keys 0 .. rows-1, the one of rank k with a probability that goes with k**-exponent."""

    def __init__(self, rows: int, exponent: float, seed: int) -> None:
        self._rows = rows
        self._random = np.random.default_rng(seed)
        self._cumulated = np.cumsum(np.arange(1, rows + 1, dtype=np.float64) ** -exponent)

    def draw(self, count: int) -> np.ndarray:
        """Return the next keys, int64 (count,)."""
        uniform = self._random.random(count) * self._cumulated[-1]
        ranks = np.searchsorted(self._cumulated, uniform, side="right")
        return np.minimum(ranks, self._rows - 1) * _SPREAD % self._rows


def metric(cluster: LocalCluster, name: str) -> float:
    """Return the value of a metric without labels of the server."""
    page = urllib.request.urlopen(f"http://{cluster.metrics_addresses[0]}/metrics", timeout=30)
    return float(re.search(rf"^{name} (\S+)$", page.read().decode(), re.MULTILINE)[1])


def create_rows(table: hotrow.Table, watch: Watch, rows: int, batch: int) -> None:
    """Push every key once."""
    gradients = np.random.default_rng(1).normal(size=(batch, table.dim)).astype(np.float32)
    for begin in range(0, rows, batch):
        keys = np.arange(begin, min(begin + batch, rows), dtype=np.int64)
        watch.call(len(keys), lambda k=keys: table.push(k, gradients[: len(k)]))


def train(table: hotrow.Table, watch: Watch, source: Zipf, steps: int, batch: int) -> None:
    """Pull and push batches of keys, as a worker does: each key once a batch."""
    for _ in range(steps):
        keys = np.unique(source.draw(batch))

        def step(keys: np.ndarray = keys) -> None:
            table.push(keys, table.pull(keys) * np.float32(0.01))

        watch.call(2 * len(keys), step)


def report(options: argparse.Namespace, cluster: LocalCluster, table: hotrow.Table) -> None:
    """Print where the rows are."""
    stats = table.stats()
    for name, tier in stats["tiers"].items():
        print(f"  {name:5} {tier['rows']:>12,} rows, {tier['used_bytes'] / 2**30:6.2f} GiB")
    written = metric(cluster, "hotrow_cold_bytes_written_total")
    flushed = metric(cluster, "hotrow_rocksdb_written_bytes_total")
    print(f"  evictions {stats['evictions']:,}, promotions {stats['promotions']:,}")
    if written:
        print(f"  to disk {flushed / 2**30:.2f} GiB, {flushed / written:.2f} for each byte of rows")


def hit_rate(before: dict, after: dict) -> float:
    """Return the share of pulled rows that lay in the hot tier, between two statistics."""
    found = {
        name: after["tiers"][name]["rows_pulled"] - before["tiers"][name]["rows_pulled"]
        for name in after["tiers"]
    }
    return found["hot"] / max(1, sum(found.values()))


def run(options: argparse.Namespace) -> list[str]:
    """Do it all; return the promises that were broken."""
    config = {
        "strands": options.strands,
        "tiers": {"hot_budget": options.hot, "disk_budget": options.disk},
    }
    if size_of(options.memory):
        config["memory_budget"] = options.memory
    broken = []
    with LocalCluster(1, data_dir=options.data_dir, config=config) as cluster:
        with cluster.connect(timeout=600) as client:
            table = client.create_table("big", options.dim, optimizer=hotrow.RowwiseAdagrad(0.05))
            filled = Watch(cluster.pid(0))
            create_rows(table, filled, options.rows, options.batch)
            print(f"created {options.rows:,} rows: {filled}", flush=True)
            report(options, cluster, table)
            before = table.stats()
            trained = Watch(cluster.pid(0))
            source = Zipf(options.rows, options.zipf, 1)
            train(table, trained, source, options.steps, options.batch)
            print(f"trained {options.steps} batches, Zipf {options.zipf}: {trained}", flush=True)
            report(options, cluster, table)
            print(f"  hit rate of the hot tier {hit_rate(before, table.stats()):.4f}")
            keys = np.unique(source.draw(options.batch))
            rows = table.pull(keys)
            size = table.size()
            peak = max(filled.peak_bytes, trained.peak_bytes)
            longest = max(filled.longest_s, trained.longest_s)
        begin = time.perf_counter()
        code = cluster.stop(0)
        stopped = time.perf_counter()
        cluster.start(0)
        started = time.perf_counter()
        with cluster.connect(timeout=600) as client:
            table = client.table("big")
            same = table.size() == size and np.array_equal(table.pull(keys), rows)
        print(f"stopped in {stopped - begin:.1f} s, started in {started - stopped:.1f} s")
    budget = size_of(options.memory)
    print(f"highest memory {peak / 2**30:.2f} GiB" + (f" of {options.memory}" if budget else ""))
    if budget and peak > budget:
        broken.append(f"the process held {peak / 2**30:.2f} GiB, more than {options.memory}")
    if longest > options.longest:
        broken.append(f"a call took {longest:.2f} s, longer than {options.longest} s")
    if size != options.rows:
        broken.append(f"{size:,} rows are stored, not {options.rows:,}")
    if code != 0 or not same:
        broken.append("the restart did not bring every row back")
    return broken


def main() -> int:
    """Run from the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rows", type=int, default=50_000_000)
    parser.add_argument("--dim", type=int, default=64)
    parser.add_argument("--hot", default="2GiB", help="budget of the hot tier")
    parser.add_argument("--memory", default="3GiB", help="of the whole process; 0: no budget")
    parser.add_argument("--disk", default="40GiB", help="budget of the cold tier")
    parser.add_argument("--batch", type=int, default=8192)
    parser.add_argument("--steps", type=int, default=5000)
    parser.add_argument("--zipf", type=float, default=1.05)
    parser.add_argument("--strands", type=int, default=1)
    parser.add_argument("--longest", type=float, default=1.0, help="seconds a call may take")
    parser.add_argument("--data-dir", help="where the rows go (default: a temporary folder)")
    options = parser.parse_args()
    warnings.simplefilter("ignore", hotrow.DurabilityWarning)
    broken = run(options)
    for promise in broken:
        print(f"BROKEN: {promise}", file=sys.stderr)
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
