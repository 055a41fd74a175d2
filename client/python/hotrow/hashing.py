"""Keys from strings, and the routing hash."""

from __future__ import annotations

from typing import Any

import numpy as np

from hotrow import _native
from hotrow.arrays import as_keys
from hotrow.errors import InvalidArgument
from hotrow.scalars import as_text


def hash_strings(feature: str, values: Any) -> np.ndarray:
    """64-bit keys of string values.

    The key is XXH64(u32le(len(feature)) + feature + value, seed 0) as int64. It is the same in
    every process and version. The feature's name takes part, so equal values of two features
    differ. Among 1e9 distinct values two fall together with probability 2.7 %.

    Parameters
    ----------
    feature : str
        Name of the feature.
    values : array_like
        str or bytes: a list, a NumPy array of any shape, or a pyarrow array. A str counts as UTF-8.

    Returns
    -------
    numpy.ndarray
        int64, one key per value, in the shape of `values`.

    Raises
    ------
    InvalidArgument
        For anything that is not a string, missing values included.
    """
    as_text(feature, "feature", hint='E.g. hash_strings("country", ["de", "fr"]).')
    if isinstance(values, (str, bytes)):
        raise InvalidArgument(
            "values must be a list or an array of strings, not one string", hint="Give [value]."
        )
    if type(values).__module__.partition(".")[0] == "pyarrow":
        return _hash_arrow(feature, values)
    array = np.asarray(values, dtype=None if isinstance(values, np.ndarray) else object)
    if array.dtype.kind not in "USO":
        raise InvalidArgument(
            f"values must be str or bytes, not {array.dtype.name}",
            hint="Integers are keys as they are, or str(value) makes text of each.",
        )
    return _native.hash_sequence(feature, array.reshape(-1).tolist()).reshape(array.shape)


def _hash_arrow(feature: str, values: Any) -> np.ndarray:
    import pyarrow as pa

    if isinstance(values, pa.ChunkedArray):
        values = values.combine_chunks()
    if isinstance(values, pa.ChunkedArray) or values.null_count:
        raise InvalidArgument(
            f"values hold {values.null_count} missing ones",
            hint="Say what they mean: values.fill_null(text).",
        )
    if pa.types.is_dictionary(values.type):
        distinct = _hash_arrow(feature, values.dictionary)
        return distinct[values.indices.to_numpy(zero_copy_only=False)]
    text = pa.types.is_string(values.type) or pa.types.is_large_string(values.type)
    if not text and not (pa.types.is_binary(values.type) or pa.types.is_large_binary(values.type)):
        raise InvalidArgument(
            f"values must be strings or binary, not {values.type}",
            hint="Integers are keys as they are, or values.cast(pyarrow.string()) makes text.",
        )
    packed = values.cast(pa.large_string() if text else pa.large_binary())
    _, offset_buffer, data_buffer = packed.buffers()
    if len(packed) == 0:
        return np.empty(0, np.int64)
    offsets = np.frombuffer(offset_buffer, np.int64)[
        packed.offset : packed.offset + len(packed) + 1
    ]
    data = np.frombuffer(data_buffer or b"", np.uint8)
    return _native.hash_packed(feature, data, offsets)


def mix_key(keys: Any, table: str) -> Any:
    """Routing hash of keys: MurmurHash3's fmix64 of key ^ XXH64(table, 0).

    The partition of a key among P is its top log2(P) bits. For tests and tools.

    Parameters
    ----------
    keys : array_like
        int64, uint64 or int32, NumPy or torch, any shape.
    table : str
        Name of the table.

    Returns
    -------
    numpy.ndarray or torch.Tensor
        uint64 in the shape of `keys`; of the kind of `keys`.

    Raises
    ------
    InvalidArgument
        For keys that are no such integers, and a name that is no text.
    """
    as_text(table, "table", hint='E.g. mix_key(keys, table="user").')
    given = as_keys(keys)
    hashes = _native.mix_keys(given.words, table).view(np.uint64).reshape(given.shape)
    if given.device is None:
        return hashes
    import torch

    return torch.from_numpy(hashes).to(given.device)
