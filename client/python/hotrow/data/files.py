"""Delimited text and Parquet files as columns, through pyarrow."""

import csv
import io
from dataclasses import dataclass
from pathlib import Path

import numpy as np

__all__ = ["Layout", "inspect", "read_parquet", "read_text"]

_DELIMITERS = ("::", "\t", ";", "|", ",")
# Enough of a file to hold its first two lines.
_INSPECTED_BYTES = 1 << 16
_BLOCK_BYTES = 16 << 20


@dataclass(frozen=True)
class Layout:
    """How a text file is laid out.

    Attributes
    ----------
    delimiter : str
    names : tuple of str
        Of the columns; c0, c1, ... where the file does not say.
    header : bool
        The first line holds the names.
    first_fields : tuple of str
        Of the first line, whatever it holds.
    """

    delimiter: str
    names: tuple[str, ...]
    header: bool = False
    first_fields: tuple[str, ...] = ()


def inspect(path: Path) -> Layout:
    """Find out the delimiter, and whether the first line names the columns.

    A line that holds a number, an empty field or the same name twice does not.
    """
    with _open(path) as stream:
        text = stream.read(_INSPECTED_BYTES).decode("utf-8", errors="replace")
    line = text.split("\n", 1)[0].rstrip("\r")
    if not line.strip():
        raise ValueError(f"{path}: the first line is empty")
    delimiter = next((mark for mark in _DELIMITERS if mark in line), None)
    if delimiter is None:
        raise ValueError(f"{path}: one column only; fields may be separated by {_DELIMITERS}")
    if delimiter == "::":
        fields = line.split(delimiter)
    else:
        fields = next(csv.reader([line], delimiter=delimiter))
    fields = tuple(field.strip() for field in fields)
    header = len(set(fields)) == len(fields) and not any(map(_is_number_or_empty, fields))
    names = fields if header else tuple(f"c{number}" for number in range(len(fields)))
    return Layout(delimiter, names, header, fields)


def read_text(path: str | Path, layout: Layout, rows: int | None = None) -> dict[str, np.ndarray]:
    """Return the first `rows` lines as columns of text: (n,) arrays of str, blanks stripped."""
    import pyarrow as pa
    import pyarrow.compute as pc
    from pyarrow import csv as arrow_csv

    delimiter, stream = layout.delimiter, _open(Path(path))
    if len(delimiter) > 1:
        # Such files are small, and no field of theirs holds a tab.
        stream = pa.py_buffer(stream.read().replace(delimiter.encode(), b"\t"))
        delimiter = "\t"
    reader = arrow_csv.open_csv(
        pa.input_stream(stream) if isinstance(stream, pa.Buffer) else stream,
        read_options=arrow_csv.ReadOptions(
            column_names=layout.names, skip_rows=int(layout.header), block_size=_BLOCK_BYTES
        ),
        parse_options=arrow_csv.ParseOptions(delimiter=delimiter),
        convert_options=arrow_csv.ConvertOptions(
            column_types=dict.fromkeys(layout.names, pa.string()), strings_can_be_null=False
        ),
    )
    table = _first_rows(reader, rows)
    if table.num_rows == 0:
        raise ValueError(f"{path}: no examples")
    return {
        name: pc.utf8_trim_whitespace(table[name]).to_numpy().astype(str) for name in layout.names
    }


def read_parquet(path: str | Path, rows: int | None = None) -> dict[str, np.ndarray]:
    """Return the first `rows` rows as columns: integers, float64 (NaN: missing), or str.

    Integers of which some are missing come as str: as floats large ids would lose digits.
    """
    import pyarrow as pa
    from pyarrow import parquet

    with parquet.ParquetFile(path) as file:
        table = _first_rows(_Batches(file), rows)
    if table.num_rows == 0:
        raise ValueError(f"{path}: no examples")
    columns = {}
    for name, column in zip(table.column_names, table.columns, strict=True):
        if pa.types.is_integer(column.type) and column.null_count == 0:
            columns[name] = column.to_numpy()
        elif pa.types.is_floating(column.type):
            columns[name] = column.cast(pa.float64()).to_numpy()
        elif pa.types.is_nested(column.type) or pa.types.is_binary(column.type):
            raise ValueError(f"{path}: column {name} is {column.type}, neither numbers nor text")
        else:
            columns[name] = column.cast(pa.string()).fill_null("").to_numpy().astype(str)
    return columns


class _Batches:
    """Makes a Parquet file look like a streaming CSV reader."""

    def __init__(self, file: object) -> None:
        self.schema = file.schema_arrow
        self._batches = file.iter_batches()

    def __iter__(self) -> object:
        return self._batches


def _first_rows(reader: object, rows: int | None) -> object:
    """Return a table of the first `rows` rows; reads no block beyond them."""
    import pyarrow as pa

    batches, have = [], 0
    for batch in reader:
        batches.append(batch)
        have += batch.num_rows
        if rows is not None and have >= rows:
            break
    table = pa.Table.from_batches(batches, schema=reader.schema)
    return table if rows is None else table.slice(0, rows)


def _open(path: Path) -> io.RawIOBase:
    """Open a file for reading, decompressed as its name says."""
    import pyarrow as pa

    if not path.exists():
        raise FileNotFoundError(f"no such file: {path}")
    return pa.input_stream(str(path), compression="detect")


def _is_number_or_empty(field: str) -> bool:
    if not field:
        return True
    try:
        float(field)
    except ValueError:
        return False
    return True
