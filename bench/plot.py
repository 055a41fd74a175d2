"""The plot of all measures with a bar: how far each is above or below it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
from matplotlib import pyplot, ticker

from bench.measures import MET, Measure

COLORS = {True: "tab:green", False: "tab:red"}


def drawn(measures: Sequence[Measure]) -> list[Measure]:
    """The measures that have a bar and a figure."""
    return [measure for measure in measures if not math.isnan(measure.margin)]


def draw(measures: Sequence[Measure], path: Path) -> None:
    """One line a measure; right of 1 is above the bar."""
    shown = drawn(measures)
    figure, axis = pyplot.subplots(figsize=(11, 0.3 * len(shown) + 1.5), layout="constrained")
    names = [f"{number}  {measure.id} {measure.what}" for number, measure in enumerate(shown, 1)]
    bars = axis.barh(
        names,
        [measure.margin for measure in shown],
        color=[COLORS[measure.verdict == MET] for measure in shown],
    )
    labels = [f"{m.ratio(m.bar.of):.2f}x, bar {m.bar}" for m in shown if m.bar]
    axis.bar_label(bars, labels, padding=3, fontsize=8)
    axis.axvline(1, color="black", linewidth=1)
    axis.set(xscale="log", xlabel="margin over the bar: 1 is just met, right of it is better")
    axis.xaxis.set_major_locator(ticker.LogLocator(10, (1, 2, 5)))
    axis.xaxis.set_major_formatter(ticker.FormatStrFormatter("%g"))
    axis.xaxis.set_minor_locator(ticker.NullLocator())
    axis.invert_yaxis()
    axis.margins(x=0.35)
    figure.savefig(path, dpi=120)
    pyplot.close(figure)
