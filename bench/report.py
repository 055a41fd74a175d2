"""The one table and the one plot of all measures that the benchmarks left in bench/out.

Exit status 0 also when bars are missed: the table says so. 1 when nothing was measured.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

from bench import harness, measures, plot
from bench.measures import Measure

# What is measured, by benchmark in the order of the table: the file it leaves, measures, a title.
BENCHMARKS = {
    "pull_bandwidth": ("P1", "payload rate of a pull"),
    "pull_push": ("P2, P3", "pull and push rates"),
    "latency": ("P4", "latency of a pull"),
    "row_store": ("P6", "pulls from the row store"),
    "row_update": ("P7", "updates of the row store"),
    "pooling": ("P8", "pooling on the worker"),
    "many_tables": ("P10", "26 tables in one pull"),
    "quick_start": ("P16", "the quick start's training"),
}

NOTE = """Ratios are of medians over interleaved rounds of this run, the spread behind ours in
brackets; best/best is the ratio that the bar is about, of the best rounds: both must reach it.
P4 and P10 are times: less is better. P8 shows the worse of uniform and Zipf 1.05 keys."""

BUSY = "\nBUSY MACHINE: figures of wall time (P1 to P4, P10, P16, P8 on two threads) mean little"


def collect(folder: Path) -> list[Measure]:
    """Every measure, and a missed line for each benchmark that left none."""
    found = []
    for name, (ids, title) in BENCHMARKS.items():
        path = folder / f"{name}.json"
        found += measures.load(path) if path.exists() else [measures.not_measured(ids, title)]
    return found


def origin(folder: Path) -> str:
    """Machine, dates and loads of the figures."""
    records = [json.loads(p.read_text()) for p in sorted(folder.glob("*.json"))]
    machines = {record["machine"] for record in records}
    dates = sorted(record["date"] for record in records)
    loads = [record["load"] for record in records]
    busy = max(loads) > (os.cpu_count() or 1)
    return (
        f"{' | '.join(sorted(machines))}; {dates[0]} to {dates[-1]};"
        f" load of the machine after each benchmark {min(loads)} to {max(loads)}"
        + (BUSY if busy else "")
    )


def summary(found: list[Measure]) -> str:
    """How many bars are met, and which are not; those beside quoted figures are not judged."""
    judged = [m for m in found if m.verdict in (measures.MET, measures.MISSED)]
    missed = [measure for measure in judged if measure.verdict == measures.MISSED]
    quoted = sum(measure.verdict == measures.QUOTED for measure in found)
    lines = [f"bars met: {len(judged) - len(missed)} of {len(judged)}"]
    if quoted:
        lines[0] += f"; {quoted} not judged: their peer's figure is a published one"
    lines += [f"MISSED {measure.id} {measure.what}" for measure in missed]
    return "\n".join(lines)


def main(folder: Path = harness.OUT) -> int:
    """Print the table, draw the plot."""
    if not any((folder / f"{name}.json").exists() for name in BENCHMARKS):
        print(f"no figures in {folder}: run the benchmarks first", file=sys.stderr)
        return 1
    found = collect(folder)
    text = f"{origin(folder)}\n\n{measures.table(found)}\n\n{NOTE}\n{summary(found)}\n"
    (folder / "table.md").write_text(text)
    print(text)
    plot.draw(found, folder / "bench.png")
    print(f"plot: {folder / 'bench.png'}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
