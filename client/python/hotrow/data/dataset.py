"""Dataset: examples in memory, ready for a model; Scaler: dense columns brought to one scale."""

from dataclasses import dataclass, field

import numpy as np

import hotrow

__all__ = ["Dataset", "Scaler", "keys_of_column"]


@dataclass(frozen=True)
class Dataset:
    """Labelled examples.

    Attributes
    ----------
    name : str
    labels : (n,) float32
        0 or 1.
    dense : (n, d) float32
        Numeric columns, d may be 0. NaN is a missing value until a Scaler has filled it.
    keys : (n, f) int64
        One key per categorical feature.
    dense_names, feature_names : tuple of str
    true_logits : (n,) float64 or None
        What the labels were drawn from, when that is known: the best possible prediction.
    notes : tuple of str
        What the reader decided that the user may want to know, such as columns left out.
    """

    name: str
    labels: np.ndarray
    dense: np.ndarray
    keys: np.ndarray
    dense_names: tuple[str, ...] = ()
    feature_names: tuple[str, ...] = ()
    true_logits: np.ndarray | None = None
    notes: tuple[str, ...] = field(default=())

    def __len__(self) -> int:
        return len(self.labels)

    def take(self, rows: np.ndarray) -> "Dataset":
        """Return the examples at these positions (or where a mask is true)."""
        return Dataset(
            self.name,
            self.labels[rows],
            self.dense[rows],
            self.keys[rows],
            self.dense_names,
            self.feature_names,
            None if self.true_logits is None else self.true_logits[rows],
            self.notes,
        )

    def split(self, test_every: int = 5) -> tuple["Dataset", "Dataset"]:
        """Return (train, test): every ``test_every``-th example, from the first, is for the test.

        Dense columns of both are scaled by what the training part shows.
        """
        if test_every < 2:
            raise ValueError(f"test_every must be at least 2, not {test_every}")
        is_test = np.arange(len(self)) % test_every == 0
        train, test = self.take(~is_test), self.take(is_test)
        scaler = Scaler.fit(train.dense)
        return train.scaled(scaler), test.scaled(scaler)

    def scaled(self, scaler: "Scaler") -> "Dataset":
        """Return the same examples with their dense columns scaled."""
        values = vars(self) | {"dense": scaler.apply(self.dense)}
        return Dataset(**values)


@dataclass(frozen=True)
class Scaler:
    """Brings each column to mean 0 and deviation 1; long-tailed ones through a logarithm first.

    Attributes
    ----------
    use_log : (d,) bool
        Columns taken as sign(x) log(1 + abs(x)).
    mean, deviation : (d,) float64
        Of the columns after that.
    """

    use_log: np.ndarray
    mean: np.ndarray
    deviation: np.ndarray

    # A column is long-tailed when its largest magnitude exceeds its typical one by this factor.
    LONG_TAIL = 20.0

    @classmethod
    def fit(cls, dense: np.ndarray) -> "Scaler":
        """Learn the scale of (n, d) training values; NaNs are left out."""
        columns = dense.shape[1]
        use_log = np.zeros(columns, dtype=bool)
        mean = np.zeros(columns)
        deviation = np.ones(columns)
        for column in range(columns):
            values = dense[:, column].astype(np.float64)
            values = values[~np.isnan(values)]
            if len(values) == 0:
                continue
            magnitude = np.abs(values)
            use_log[column] = magnitude.max() > cls.LONG_TAIL * (1.0 + np.median(magnitude))
            if use_log[column]:
                values = _signed_log(values)
            mean[column] = values.mean()
            deviation[column] = values.std() or 1.0
        return cls(use_log, mean, deviation)

    def apply(self, dense: np.ndarray) -> np.ndarray:
        """Return (n, d) float32; a missing value becomes 0, which is the mean."""
        values = np.where(self.use_log, _signed_log(dense.astype(np.float64)), dense)
        scaled = (values - self.mean) / self.deviation
        return np.nan_to_num(scaled, nan=0.0).astype(np.float32)


def _signed_log(values: np.ndarray) -> np.ndarray:
    return np.sign(values) * np.log1p(np.abs(values))


def keys_of_column(feature: str, values: np.ndarray) -> np.ndarray:
    """Return the (n,) int64 keys of a column of strings or integers, each value hashed once."""
    unique, inverse = np.unique(values, return_inverse=True)
    keys = hotrow.hash_strings(feature, [str(value) for value in unique.tolist()])
    return np.asarray(keys, dtype=np.int64).reshape(-1)[inverse]
