"""Readers: files of labelled examples become a Dataset.

`load` looks at a file and picks the reader:

- 40 tab-separated fields, the first 0 or 1: the Criteo display advertising log (`read_criteo`);
- ``user::movie::rating::time``, or four such fields separated by tabs, or a CSV file with columns
  userId, movieId and rating: MovieLens (`read_movielens`);
- any other CSV, TSV or Parquet file with a label column (`read_table`).

All read compressed files (.gz, .bz2, .zst, .lz4) too, and stop after `rows` examples.
"""

from pathlib import Path

import numpy as np

from hotrow.data.columns import (
    ColumnKind,
    classify,
    is_missing,
    label_column,
    labels_of,
    numbers_of,
    strings_of,
)
from hotrow.data.dataset import Dataset, keys_of_column
from hotrow.data.files import Layout, inspect, read_parquet, read_text

__all__ = ["load", "read_criteo", "read_movielens", "read_table"]

_CRITEO_DENSE = 13
_CRITEO_FEATURES = 26
_LIKED_FROM = 4.0  # stars


def load(path: str | Path, rows: int | None = None, label: str | None = None) -> Dataset:
    """Read the first `rows` examples of a file (None: all) with the reader that fits it.

    Parameters
    ----------
    path : path
    rows : int, optional
    label : str, optional
        Name of the label column, for files that `read_table` reads.

    Raises
    ------
    ValueError
        When the file has no examples, or no label column can be told.
    """
    path = Path(path)
    if path.is_dir():
        raise ValueError(f"{path} is a folder: name the file in it")
    if path.suffix == ".parquet":
        return read_table(path, rows, label)
    layout = inspect(path)
    if label is None and _is_criteo(layout):
        return read_criteo(path, rows)
    if label is None and _is_movielens(layout):
        return read_movielens(path, rows)
    return read_table(path, rows, label)


def read_criteo(path: str | Path, rows: int | None = None) -> Dataset:
    """Read the Criteo format: label, 13 counts, 26 hashed categories, tab-separated, no header.

    An absent category is a value of its own; an absent count is missing.
    """
    dense_names = tuple(f"I{number}" for number in range(1, _CRITEO_DENSE + 1))
    feature_names = tuple(f"C{number}" for number in range(1, _CRITEO_FEATURES + 1))
    columns = read_text(path, Layout("\t", ("label", *dense_names, *feature_names)), rows)
    return Dataset(
        Path(path).name,
        labels_of(columns["label"], "label"),
        np.stack([numbers_of(columns[name]) for name in dense_names], axis=1),
        _keys(columns, feature_names),
        dense_names,
        feature_names,
    )


def read_movielens(path: str | Path, rows: int | None = None) -> Dataset:
    """Read MovieLens ratings: a rating of at least 4 stars is a positive.

    Features are the user, the movie, and the hour and weekday (UTC) of the rating if it has a time.
    """
    layout = inspect(Path(path))
    if not layout.header:
        names = ("userId", "movieId", "rating", "timestamp")
        layout = Layout(layout.delimiter, names[: len(layout.first_fields)])
    columns = read_text(path, layout, rows)
    ratings = numbers_of(columns["rating"])
    if np.isnan(ratings).any():
        raise ValueError(f"{path}: example {int(np.isnan(ratings).argmax())} has no rating")
    features = {"user": columns["userId"], "movie": columns["movieId"]}
    if "timestamp" in columns:
        hours = numbers_of(columns["timestamp"]).astype(np.int64) // 3600
        features["hour"] = hours % 24
        features["weekday"] = (hours // 24 + 3) % 7  # 1 January 1970 was a Thursday; Monday is 0
    return Dataset(
        Path(path).name,
        (ratings >= _LIKED_FROM).astype(np.float32),
        np.empty((len(ratings), 0), dtype=np.float32),
        _keys(features, tuple(features)),
        (),
        tuple(features),
        notes=(f"label: a rating of at least {_LIKED_FROM:g} stars",),
    )


def read_table(path: str | Path, rows: int | None = None, label: str | None = None) -> Dataset:
    """Read any CSV, TSV or Parquet file with a two-valued label column.

    The label is the column named by `label`, else one named label, click or target; in a file
    without a header it is the last column, and columns are called c0, c1, ... Of two values that
    are not numbers the second in alphabetical order is the positive.

    Columns of numbers are dense unless their name says that they are ids; others are features.
    Columns that say nothing (one value only, or another in each row) are left out, with a note.
    """
    path = Path(path)
    if path.suffix == ".parquet":
        columns = read_parquet(path, rows)
        has_header = True
    else:
        layout = inspect(path)
        has_header = layout.header
        columns = read_text(path, layout, rows)
    name = label_column(tuple(columns), label, has_header)
    labels = labels_of(columns.pop(name), name)
    kinds = {column: classify(column, values) for column, values in columns.items()}
    dense_names = tuple(column for column in columns if kinds[column] is ColumnKind.DENSE)
    feature_names = tuple(column for column in columns if kinds[column] is ColumnKind.FEATURE)
    if not feature_names:
        raise ValueError(f"{path}: no column of categories or ids among {', '.join(columns)}")
    dense = np.empty((len(labels), len(dense_names)), dtype=np.float32)
    for position, column in enumerate(dense_names):
        dense[:, position] = numbers_of(columns[column])
    left_out = [column for column in columns if kinds[column] is ColumnKind.USELESS]
    notes = [f"label: {name}"]
    if left_out:
        notes.append(f"left out (constant, or another value in each row): {', '.join(left_out)}")
    missing = sum(int(is_missing(strings_of(columns[c])).sum()) for c in feature_names)
    if missing:
        notes.append(f"{missing} missing categories are a value of their own")
    return Dataset(
        path.name,
        labels,
        dense,
        _keys(columns, feature_names),
        dense_names,
        feature_names,
        notes=tuple(notes),
    )


def _is_criteo(layout: Layout) -> bool:
    columns = 1 + _CRITEO_DENSE + _CRITEO_FEATURES
    first = layout.first_fields
    return layout.delimiter == "\t" and len(first) == columns and first[0] in ("0", "1")


def _is_movielens(layout: Layout) -> bool:
    if layout.header:
        return {"userId", "movieId", "rating"} <= set(layout.names)
    if layout.delimiter not in ("::", "\t") or len(layout.first_fields) not in (3, 4):
        return False
    try:
        return 0 <= float(layout.first_fields[2]) <= 5
    except ValueError:
        return False


def _keys(columns: dict[str, np.ndarray], features: tuple[str, ...]) -> np.ndarray:
    """Return (n, f) int64."""
    return np.stack([keys_of_column(name, strings_of(columns[name])) for name in features], axis=1)
