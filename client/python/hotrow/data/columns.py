"""What a column holds: numbers, categories, or the label."""

import re
from enum import Enum

import numpy as np

__all__ = [
    "ColumnKind",
    "classify",
    "is_missing",
    "label_column",
    "labels_of",
    "numbers_of",
    "strings_of",
]

_LABEL_NAMES = ("label", "click", "target")
_MISSING = ("", "?", "NA", "N/A", "nan", "NaN", "null", "NULL", "None")
# id, user_id, userId, itemID, id_hash; not paid or width.
_ID_NAME = re.compile(r"(^|_)ids?($|_)|[a-z]I[dD]s?$")


class ColumnKind(Enum):
    """How a model sees a column."""

    DENSE = "dense"
    FEATURE = "feature"
    USELESS = "useless"


def classify(name: str, values: np.ndarray) -> ColumnKind:
    """Tell what a column is from its name and its values."""
    distinct = len(np.unique(values))
    if distinct < 2:
        return ColumnKind.USELESS
    is_numeric = not np.isnan(numbers_of(values)[~is_missing(strings_of(values))]).any()
    if is_numeric and not _ID_NAME.search(name):
        return ColumnKind.DENSE
    # Another value in each row: an example's own number, or free text. (Few rows prove nothing.)
    if distinct == len(values) and len(values) >= 1000:
        return ColumnKind.USELESS
    return ColumnKind.FEATURE


def label_column(names: tuple[str, ...], label: str | None, has_header: bool) -> str:
    """Return the name of the label column. ValueError when it cannot be told."""
    if label is not None:
        if label not in names:
            raise ValueError(f"no column '{label}'; there are: {', '.join(names)}")
        return label
    if not has_header:
        return names[-1]
    found = [name for name in names if name.lower() in _LABEL_NAMES]
    if len(found) != 1:
        what = "more than one label column" if found else "no column named label, click or target"
        raise ValueError(f"{what}; say which with --label: {', '.join(names)}")
    return found[0]


def labels_of(values: np.ndarray, name: str) -> np.ndarray:
    """Return (n,) float32 of 0 and 1 from a column with two values; the larger is the positive."""
    if is_missing(strings_of(values)).any():
        raise ValueError(f"label column '{name}' has missing values")
    numbers = numbers_of(values)
    comparable = strings_of(values) if np.isnan(numbers).any() else numbers
    distinct = np.unique(comparable)
    if len(distinct) > 2:
        shown = ", ".join(str(value) for value in distinct[:5])
        raise ValueError(
            f"label column '{name}' has {len(distinct)} values ({shown}, ...), not two;"
            " say which column is the label with --label"
        )
    if len(distinct) == 2:
        return (comparable == distinct[1]).astype(np.float32)
    if comparable is numbers and distinct[0] in (0.0, 1.0):
        return numbers.astype(np.float32)
    raise ValueError(f"label column '{name}' has one value only: {distinct[0]}")


def strings_of(values: np.ndarray) -> np.ndarray:
    """Return (n,) str; whole floats without their fraction, so that 7 and 7.0 are one category."""
    if values.dtype.kind == "f":
        text = np.char.replace(values.astype(str), "nan", "")
        whole = np.isfinite(values) & (values == np.floor(values)) & (np.abs(values) < 2**53)
        text[whole] = values[whole].astype(np.int64).astype(str)
        return text
    return values if values.dtype.kind == "U" else values.astype(str)


def numbers_of(values: np.ndarray) -> np.ndarray:
    """Return (n,) float64; NaN where a field is missing or no number."""
    if values.dtype.kind != "U":
        return values.astype(np.float64)
    unique, inverse = np.unique(values, return_inverse=True)
    return np.array([_number(text) for text in unique])[inverse]


def is_missing(text: np.ndarray) -> np.ndarray:
    """Return (n,) bool: fields that stand for no value."""
    return np.isin(text, _MISSING)


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return float("nan")
