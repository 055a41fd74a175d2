"""String keys and the routing hash."""

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
import torch

import hotrow

VECTORS = Path(__file__).parents[2] / "proto" / "wire" / "test_vectors.json"


def vectors() -> dict:
    return json.loads(VECTORS.read_text())


def as_signed(word: str) -> int:
    number = int(word, 0)
    return number - 2**64 if number >= 2**63 else number


def test_hash_strings_gives_the_pinned_values():
    for vector in vectors()["hash_string"]:
        keys = hotrow.hash_strings(vector["feature"], [vector["value"]])
        assert keys.tolist() == [as_signed(vector["key"])], vector


def test_mix_key_gives_the_pinned_values():
    for vector in vectors()["hash_key"]:
        key = np.array([as_signed(vector["key"])])
        hashes = hotrow.mix_key(key, table=vector["table"])
        assert hashes.tolist() == [int(vector["hash"], 0)], vector


@pytest.mark.parametrize(
    "values",
    [
        ["de", "fr", ""],
        [b"de", b"fr", b""],
        ("de", "fr", ""),
        np.array(["de", "fr", ""]),
        np.array(["de", "fr", ""], object),
        np.array([b"de", b"fr", b""]),
        pa.array(["de", "fr", ""]),
        pa.array([b"de", b"fr", b""]),
        pa.array(["de", "fr", ""], pa.large_string()),
        pa.array(["x", "de", "fr", "", "y"])[1:4],
        pa.chunked_array([["de"], [], ["fr", ""]]),
        pa.array(["de", "fr", ""]).dictionary_encode(),
    ],
    ids=lambda values: type(values).__name__,
)
def test_every_kind_of_strings_gives_the_same_keys(values):
    keys = hotrow.hash_strings("country", values)
    assert keys.dtype == np.int64
    expected = [int(hotrow.hash_strings("country", [v])[0]) for v in ("de", "fr", "")]
    assert keys.tolist() == expected


@pytest.mark.parametrize(
    "values",
    [[1], [None], ["a", None], [1.5], np.arange(3), "text", pa.array(["a", None]), pa.array([1])],
    ids=repr,
)
def test_what_is_not_a_string_is_refused(values):
    with pytest.raises(hotrow.InvalidArgument):
        hotrow.hash_strings("country", values)


@pytest.mark.parametrize("empty", [[], np.empty(0, "U1"), pa.array([], pa.string())])
def test_no_strings_give_no_keys(empty):
    keys = hotrow.hash_strings("f", empty)
    assert keys.shape == (0,)
    assert keys.dtype == np.int64


def test_the_shape_of_the_values_is_kept():
    assert hotrow.hash_strings("f", np.array([["a", "b"], ["c", "d"]])).shape == (2, 2)


def test_mix_key_keeps_kind_and_shape():
    keys = np.arange(6).reshape(2, 3)
    hashes = hotrow.mix_key(keys, table="user")
    assert hashes.dtype == np.uint64
    assert hashes.shape == (2, 3)
    mixed = hotrow.mix_key(torch.from_numpy(keys), table="user")
    assert mixed.numpy().tolist() == hashes.tolist()


def test_the_hash_spreads_keys_over_partitions():
    partitions = hotrow.mix_key(np.arange(64_000), table="user") >> np.uint64(58)
    counts = np.bincount(partitions.astype(int), minlength=64)
    assert counts.min() > 800
    assert counts.max() < 1200
