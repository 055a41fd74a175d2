"""A synthetic click log whose true click probabilities are known.

Ids follow a Zipf law per feature, as real ones do: a few are everywhere, most are rare. The logit
of an example is a bias, plus a weight per id, plus dot products of hidden factors of some pairs of
features, plus a linear function of the dense columns. All weights are drawn from the seed.
"""

from dataclasses import dataclass

import numpy as np

from hotrow.data.dataset import Dataset, keys_of_column

__all__ = ["ClickLogOptions", "synthetic_click_log"]

_HIDDEN_FACTORS = 4


@dataclass(frozen=True)
class ClickLogOptions:
    """Shape of a synthetic click log.

    Attributes
    ----------
    rows : int
    seed : int
        The same options give the same examples.
    cardinalities : tuple of int
        Number of ids of each categorical feature.
    zipf_exponent : float
        0 draws ids uniformly; 1.05 is typical of click logs.
    dense_columns : int
    click_rate : float
        Expected share of positive labels.
    """

    rows: int = 400_000
    seed: int = 1
    cardinalities: tuple[int, ...] = (
        *(4, 10, 20, 40, 80, 150, 300, 600),
        *(1_200, 2_500, 5_000, 10_000, 20_000, 50_000, 100_000, 200_000),
    )
    zipf_exponent: float = 1.05
    dense_columns: int = 4
    click_rate: float = 0.25

    def __post_init__(self) -> None:
        if self.rows < 1:
            raise ValueError(f"rows must be at least 1, not {self.rows}")
        if not self.cardinalities or min(self.cardinalities) < 1:
            raise ValueError("each feature needs at least one id")
        if self.zipf_exponent < 0 or self.dense_columns < 0:
            raise ValueError("zipf_exponent and dense_columns must not be negative")
        if not 0 < self.click_rate < 1:
            raise ValueError(f"click_rate must be between 0 and 1, not {self.click_rate}")


def synthetic_click_log(options: ClickLogOptions | None = None) -> Dataset:
    """Draw a click log. Deterministic in its options."""
    options = options or ClickLogOptions()
    draws = np.random.default_rng(options.seed)
    names = tuple(f"feature_{number}" for number in range(len(options.cardinalities)))
    ids = [
        _zipf_ids(draws, size, options.rows, options.zipf_exponent)
        for size in options.cardinalities
    ]
    dense = draws.standard_normal((options.rows, options.dense_columns)).astype(np.float32)
    logits = _true_logits(draws, ids, dense, options)
    labels = (draws.random(options.rows) < 1 / (1 + np.exp(-logits))).astype(np.float32)
    keys = np.stack(
        [keys_of_column(name, column) for name, column in zip(names, ids, strict=True)], axis=1
    )
    return Dataset(
        "synthetic click log",
        labels,
        dense,
        keys,
        tuple(f"dense_{number}" for number in range(options.dense_columns)),
        names,
        logits,
    )


def _zipf_ids(
    draws: np.random.Generator, cardinality: int, rows: int, exponent: float
) -> np.ndarray:
    """Return (rows,) ids; the id r is drawn in proportion to 1 / (r+1)**exponent."""
    cumulative = np.cumsum(np.arange(1, cardinality + 1, dtype=np.float64) ** -exponent)
    ids = np.searchsorted(cumulative, draws.random(rows) * cumulative[-1], side="right")
    return np.minimum(ids, cardinality - 1)  # a product may round up to the whole sum


def _true_logits(
    draws: np.random.Generator,
    ids: list[np.ndarray],
    dense: np.ndarray,
    options: ClickLogOptions,
) -> np.ndarray:
    """Return the (rows,) float64 logits that the labels are drawn from."""
    logits = np.zeros(len(dense))
    factors = []
    for column, cardinality in zip(ids, options.cardinalities, strict=True):
        # Features with many ids say less about each: what can be learned stays within reach.
        spread = 0.4 if cardinality <= 5_000 else 0.2
        logits += spread * draws.standard_normal(cardinality)[column]
        hidden = draws.standard_normal((cardinality, _HIDDEN_FACTORS))
        factors.append(hidden[column] / np.sqrt(_HIDDEN_FACTORS))
    for left in range(0, min(len(factors), 8) - 1, 2):
        logits += 0.6 * np.einsum("ij,ij->i", factors[left], factors[left + 1])
    if options.dense_columns:
        weights = draws.standard_normal(options.dense_columns) / np.sqrt(options.dense_columns)
        logits += 0.6 * (dense @ weights)
    return logits + _bias_for(logits, options.click_rate)


def _bias_for(logits: np.ndarray, rate: float) -> float:
    """Return what to add to the logits so that their mean probability is the rate."""
    low, high = -40.0, 40.0
    for _ in range(24):
        middle = (low + high) / 2
        if np.mean(1 / (1 + np.exp(-(logits + middle)))) < rate:
            low = middle
        else:
            high = middle
    return (low + high) / 2
