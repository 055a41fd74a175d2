"""What the quick start prints and draws at its end."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from dlrm.training import Progress

__all__ = ["draw", "table_of", "tiers_of"]


def table_of(hotrow: Progress, local: Progress, best_auc: float | None) -> str:
    """Return the results of both models side by side."""
    ratio = hotrow.samples_per_second / local.samples_per_second
    rows = [
        ("", "Hotrow", "local PyTorch"),
        ("test AUC", f"{hotrow.aucs[-1]:.4f}", f"{local.aucs[-1]:.4f}"),
        ("test logloss", f"{hotrow.loglosses[-1]:.4f}", f"{local.loglosses[-1]:.4f}"),
        ("samples/s", f"{hotrow.samples_per_second:,.0f}", f"{local.samples_per_second:,.0f}"),
        ("pull and push time", *(_embedding_share(run) for run in (hotrow, local))),
        ("torch threads", f"{hotrow.threads}", f"{local.threads}"),
    ]
    lines = [f"  {name:<20}{left:>16}{right:>16}" for name, left, right in rows]
    lines.append(f"  Hotrow trains at {ratio:.2f} x the speed of the local twin")
    if best_auc is not None:
        lines.append(f"  best possible test AUC (from the true probabilities): {best_auc:.4f}")
    return "\n".join(lines)


def tiers_of(statistics: Sequence[dict[str, Any]]) -> str:
    """Return where the rows of all tables lie, and how many pulls found them in fast memory."""
    lines = []
    found: dict[str, int] = {}
    for name in ("hot", "warm", "cold"):
        tiers = [table["tiers"][name] for table in statistics if name in table["tiers"]]
        if not tiers:
            continue
        found[name] = sum(tier["rows_pulled"] for tier in tiers)
        rows = sum(tier["rows"] for tier in tiers)
        used = sum(tier["used_bytes"] for tier in tiers)
        lines.append(f"  {name + ' tier':<20}{rows:>16,} rows, {used / 2**20:,.1f} MiB")
    share = found.get("hot", 0) / max(1, sum(found.values()))
    lines.append(f"  {'hit rate of hot':<20}{share:>16.2%}")
    return "\n".join(lines)


def _embedding_share(run: Progress) -> str:
    if not run.seconds:
        return "-"
    return f"{run.embedding_seconds:.1f} s ({run.embedding_seconds / run.seconds:.0%})"


def draw(path: Path, runs: Sequence[tuple[str, Progress]], best_auc: float | None) -> None:
    """Save loss and AUC curves and throughput bars as a PNG."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, (loss_axes, auc_axes, speed_axes) = pyplot.subplots(1, 3, figsize=(13, 4))
    for (name, run), style in zip(runs, ("-", "--"), strict=True):
        loss_axes.plot(_smooth(run.losses), style, label=name)
        auc_axes.plot(run.tested_at, run.aucs, style, marker="o", label=name)
    loss_axes.set(title="training loss", xlabel="step", ylabel="binary cross entropy")
    auc_axes.set(title="test AUC", xlabel="step")
    if best_auc is not None:
        auc_axes.axhline(best_auc, color="grey", linestyle=":", label="best possible")
    loss_axes.legend()
    auc_axes.legend()
    bars = speed_axes.bar([name for name, _ in runs], [run.samples_per_second for _, run in runs])
    speed_axes.bar_label(bars, fmt="{:,.0f}")
    speed_axes.margins(y=0.1)
    speed_axes.set(title="training speed", ylabel="samples/s")
    figure.tight_layout()
    figure.savefig(path, dpi=100)
    pyplot.close(figure)


def _smooth(values: Sequence[float], window: int = 20) -> np.ndarray:
    """Return running means: single batches are too noisy to compare."""
    window = max(1, min(window, len(values) // 4))
    return np.convolve(values, np.ones(window) / window, mode="valid")
