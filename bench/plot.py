"""Draw bench/out/bench.png from the figures that the benchmarks left: our rate over each peer's."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
from matplotlib import pyplot, ticker

from bench import harness
from bench.pull_push_bench import OWN

Ratios = dict[str, float]  # what was compared -> our rate / the peer's


def pull_push(path: Path) -> Ratios:
    """Ratios of the medians of bench/pull_push_bench.py; limits are no peers."""
    results = {
        peer: {operation: harness.Series(values).median for operation, values in figures.items()}
        for peer, figures in json.loads(path.read_text()).items()
    }
    return {
        f"{operation}: {peer}": own / results[peer][operation]
        for operation, own in results[OWN].items()
        for peer in results
        if not peer.startswith(("Hotrow", "limit")) and results[peer][operation] > 0
    }


def printed(path: Path, line: str) -> Ratios:
    """Ratios in a printed table: ``line`` matches the peer's name and then the ratio."""
    found = re.findall(line, path.read_text(), re.MULTILINE)
    return {
        f"{name.strip()} ({number})": float(ratio) for number, (name, ratio) in enumerate(found, 1)
    }


def all_ratios(folder: Path) -> dict[str, Ratios]:
    """Title -> ratios of every benchmark that has run."""
    sources = {
        "pull and push over TCP": ("pull_push.json", pull_push),
        "pulls of 1 MiB (1) and 4 MiB (2) over TCP": (
            "pull_bandwidth.txt",
            lambda path: printed(path, r"^ *peer: (.+?) +[\d.]+ GB/s +Hotrow TCP ([\d.]+)x"),
        ),
        "row store, one thread": (
            "row_store_bench.txt",
            lambda path: printed(path, r"^(peer.+?) +[\d.]+ M rows/s .* store/this ([\d.]+)"),
        ),
    }
    found = {}
    for title, (name, read) in sources.items():
        if (folder / name).exists():
            found[title] = read(folder / name)
    return {title: ratios for title, ratios in found.items() if ratios}


def draw(panels: dict[str, Ratios], path: Path) -> None:
    """One panel a benchmark, one bar a peer; a bar right of 1 means that we are faster."""
    heights = [len(ratios) + 1 for ratios in panels.values()]
    figure, axes = pyplot.subplots(
        len(panels),
        squeeze=False,
        sharex=True,
        figsize=(10, 0.32 * sum(heights) + 1),
        height_ratios=heights,
        layout="constrained",
    )
    for axis, (title, ratios) in zip(axes[:, 0], panels.items(), strict=True):
        bars = axis.barh(list(ratios), list(ratios.values()), color="tab:blue")
        axis.bar_label(bars, fmt="%.2f", padding=3)
        axis.axvline(1, color="black", linewidth=1)
        axis.set(title=title, xscale="log")
        axis.xaxis.set_major_locator(ticker.LogLocator(10, (1, 2, 5)))
        axis.xaxis.set_major_formatter(ticker.FormatStrFormatter("%g"))
        axis.xaxis.set_minor_locator(ticker.NullLocator())
        axis.invert_yaxis()
        axis.margins(x=0.15)
    axes[-1, 0].set_xlabel("our rate / the peer's")
    figure.savefig(path, dpi=120)


def main(folder: Path = harness.ROOT / "bench" / "out") -> int:
    """Draw what there is; fails when no benchmark has left figures."""
    panels = all_ratios(folder)
    if not panels:
        print(f"no figures in {folder}: run the benchmarks first", file=sys.stderr)
        return 1
    draw(panels, folder / "bench.png")
    print(f"plot: {folder / 'bench.png'}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
