"""Exception types: what they derive from and what they carry."""

import copy
import pickle

import numpy as np
import pytest

import hotrow
from hotrow.errors import from_native

BASES = {
    "InvalidArgument": (ValueError, RuntimeError),
    "Unimplemented": (hotrow.InvalidArgument, NotImplementedError),
    "KeyRange": (IndexError, RuntimeError),
    "NotFound": (LookupError,),
    "AlreadyExists": (),
    "SchemaMismatch": (ValueError,),
    "Unavailable": (ConnectionError,),
    "DeadlineExceeded": (TimeoutError,),
    "Overloaded": (),
    "CapacityFull": (),
    "StepAborted": (),
    "SessionLost": (),
    "PermissionDenied": (PermissionError,),
    "DataLoss": (),
    "ForkedProcess": (RuntimeError,),
}


@pytest.mark.parametrize("name", BASES)
def test_each_error_has_its_bases_and_attributes(name):
    cls = getattr(hotrow, name)
    assert issubclass(cls, (hotrow.Error, *BASES[name]))
    for base in BASES[name]:
        assert issubclass(cls, base)
    error = cls("it broke", table="user", shard=3, hint="mend it")
    assert (error.table, error.shard, error.hint) == ("user", 3, "mend it")
    assert str(error) == "table 'user', shard 3: it broke\nHint: mend it"


@pytest.mark.parametrize("name", BASES)
def test_each_error_survives_pickle_and_copy(name):
    error = getattr(hotrow, name)("it broke", table="user", shard=0, hint="mend it")
    for again in (pickle.loads(pickle.dumps(error)), copy.copy(error)):
        assert type(again) is type(error)
        assert str(again) == str(error)
        assert again.shard == 0


@pytest.mark.parametrize(
    ("table", "shard", "message", "text"),
    [
        # The name occurs in a word of the message, or the word shard without the number.
        ("t", None, "offsets must not decrease", "table 't': offsets must not decrease"),
        ("item", 1, "no items on this shard", "table 'item', shard 1: no items on this shard"),
        ("t", 1, "shard 12 is away", "table 't', shard 1: shard 12 is away"),
        ("t", 1, "table 'u' of shard 21", "table 't', shard 1: table 'u' of shard 21"),
        # It says so itself.
        ("t", 1, "shard 1 at h:1: table 't' is gone", "shard 1 at h:1: table 't' is gone"),
        ("t", 1, "table 't': no room", "shard 1: table 't': no room"),
        ("t", 0, "this shard has no table 't'", "shard 0: this shard has no table 't'"),
    ],
)
def test_a_message_says_table_and_shard_once(table, shard, message, text):
    assert str(hotrow.Error(message, table=table, shard=shard)) == text


def test_native_errors_find_their_class():
    found = {type(from_native(kind, "m", "", "", -1, [])).__name__ for kind in range(1, 16)}
    assert {*BASES} - {"ForkedProcess"} <= found
    assert type(from_native(64, "m", "", "", -1, [])) is hotrow.ForkedProcess
    assert type(from_native(200, "m", "", "", -1, [])) is hotrow.InternalError


def test_a_native_error_without_place_has_none():
    error = from_native(1, "m", "", "", -1, [])
    assert error.table is None
    assert error.shard is None
    assert str(error) == "m"


def test_capacity_full_carries_the_refused_keys():
    error = from_native(9, "m", "", "t", 0, [1, 2**64 - 1])
    assert error.refused_keys.tolist() == [1, -1]
    assert error.refused_keys.dtype == np.int64
    assert pickle.loads(pickle.dumps(error)).refused_keys.tolist() == [1, -1]
