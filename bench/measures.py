"""Measures: our figure, a peer's, a limit's, and the bar for their ratio; their file and table.

A measure is judged by the ratio of its own run only. What was not measured is never met.
"""

from __future__ import annotations

import dataclasses
import datetime
import json
import math
import os
from collections.abc import Iterable, Sequence
from pathlib import Path

from bench import harness

MET, MISSED, QUOTED, NO_BAR = "met", "MISSED", "quoted", "-"


@dataclasses.dataclass(frozen=True)
class Figure:
    """Whose figure, the median in the unit of its measure, and the best round's, if known.

    ``quoted``: it follows from a published figure, so nothing is judged by it.
    """

    name: str
    value: float
    best: float | None = None
    quoted: bool = False

    @classmethod
    def of(cls, name: str, series: harness.Series, unit: str = "") -> Figure:
        """The figure of a series of rounds."""
        spread = spread_of(series)
        return cls(name, series.median, spread and _best(spread, unit))


@dataclasses.dataclass(frozen=True)
class Bar:
    """What our figure over the ``of`` ("peer" or "limit") figure has to be; one of the two ends."""

    of: str
    at_least: float | None = None
    at_most: float | None = None

    def __str__(self) -> str:
        if self.at_least is not None:
            return f">= {self.at_least:g} x {self.of}"
        return f"<= {self.at_most:g} x {self.of}"

    def margin(self, ratio: float) -> float:
        """1 exactly on the bar, more when it is met with room."""
        if self.at_least is not None:
            return ratio / self.at_least
        return self.at_most / ratio if self.at_most and ratio else math.nan


@dataclasses.dataclass(frozen=True)
class Measure:
    """One line of the table. ``ours`` has the middle of ``spread`` (least, greatest), if given."""

    id: str
    what: str
    unit: str
    ours: float
    peer: Figure | None = None
    limit: Figure | None = None
    bar: Bar | None = None
    spread: tuple[float, float] | None = None

    def ratio(self, of: str) -> float:
        """Our figure over the peer's or the limit's; NaN when there is none."""
        other = self.peer if of == "peer" else self.limit
        return self.ours / other.value if other and other.value else math.nan

    def best_ratio(self, of: str) -> float:
        """The same of the best rounds: other load only ever slows. NaN when they are not known."""
        other = self.peer if of == "peer" else self.limit
        if not (other and other.best and self.spread):
            return math.nan
        return _best(self.spread, self.unit) / other.best

    @property
    def margin(self) -> float:
        """How far above its bar the measure is; NaN when there is no bar or no figure.

        Of the medians or of the best rounds, whichever is less: a peer that other load held up must
        not make ours look good.
        """
        if self.bar is None:
            return math.nan
        median = self.bar.margin(self.ratio(self.bar.of))
        best = self.bar.margin(self.best_ratio(self.bar.of))
        return median if math.isnan(best) else min(median, best)

    @property
    def verdict(self) -> str:
        """MET, MISSED, QUOTED or NO_BAR. A figure that is missing misses its bar."""
        if self.bar is None:
            return NO_BAR
        other = self.peer if self.bar.of == "peer" else self.limit
        if other is not None and other.quoted:
            return QUOTED
        return MET if self.margin >= 1 else MISSED


def save(name: str, measures: Sequence[Measure], folder: Path = harness.OUT) -> Path:
    """Keep the measures of a benchmark with machine, date and load, as JSON."""
    folder.mkdir(exist_ok=True)
    path = folder / f"{name}.json"
    record = {
        "machine": harness.machine(),
        "date": datetime.datetime.now().isoformat(timespec="seconds"),
        "load": round(os.getloadavg()[0], 2),
        "measures": [dataclasses.asdict(measure) for measure in measures],
    }
    path.write_text(json.dumps(record, indent=1))
    return path


def load(path: Path) -> list[Measure]:
    """The measures that save() kept."""
    return [_measure(record) for record in json.loads(path.read_text())["measures"]]


def _measure(record: dict) -> Measure:
    kinds = {"peer": Figure, "limit": Figure, "bar": Bar}
    made = {name: kind(**record[name]) for name, kind in kinds.items() if record[name]}
    spread = record["spread"] and tuple(record["spread"])
    return Measure(**{**record, **made, "spread": spread})


def not_measured(id_: str, what: str) -> Measure:
    """The line of a measure whose benchmark left nothing: it misses its bar."""
    return Measure(id_, f"{what}: NOT MEASURED", "", math.nan, bar=Bar("peer", at_least=1))


def table(measures: Iterable[Measure]) -> str:
    """One line a measure, ours, the peer's, the limit's, the ratios, the bar, and whether met.

    best/best is the ratio that the bar is about, of the best rounds.
    """
    lines = [
        "| measure | ours | peer | limit | ours/peer | best/best | ours/limit | bar | met? |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for measure in measures:
        cells = [
            f"{measure.id} {measure.what}",
            _own_cell(measure),
            _figure_cell(measure.peer),
            _figure_cell(measure.limit),
            _ratio_cell(measure.ratio("peer")),
            _ratio_cell(measure.best_ratio(measure.bar.of if measure.bar else "peer")),
            _ratio_cell(measure.ratio("limit")),
            str(measure.bar or NO_BAR),
            measure.verdict,
        ]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def _own_cell(measure: Measure) -> str:
    if math.isnan(measure.ours):
        return NO_BAR
    spread = "" if measure.spread is None else " ({} - {})".format(*map(_number, measure.spread))
    return f"{_number(measure.ours)}{spread} {measure.unit}"


def _figure_cell(figure: Figure | None) -> str:
    return NO_BAR if figure is None else f"{_number(figure.value)} {figure.name}"


def _ratio_cell(ratio: float) -> str:
    return NO_BAR if math.isnan(ratio) else f"{ratio:.2f}x"


def _number(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"


def _best(spread: tuple[float, float], unit: str) -> float:
    """The least of times, the greatest of rates."""
    return spread[0] if unit == "us" else spread[1]


def spread_of(series: harness.Series) -> tuple[float, float] | None:
    """Least and greatest figure of the rounds."""
    clean = [value for value in series.values if not math.isnan(value)]
    return (min(clean), max(clean)) if clean else None
