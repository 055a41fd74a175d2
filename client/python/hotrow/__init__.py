"""Hotrow: embedding tables that live on parameter servers.

>>> import hotrow
>>> client = hotrow.connect("127.0.0.1:7070,127.0.0.1:7071")
>>> table = client.create_table("user", dim=64, optimizer=hotrow.Adagrad(lr=0.05))
>>> rows = table.pull(keys)
>>> table.push(keys, gradients)

`hotrow.torch` has drop-in modules for PyTorch, `hotrow.testing` local clusters for tests.
"""

from hotrow import errors, testing
from hotrow._native import __version__
from hotrow.client import Client, connect
from hotrow.durability import DurabilityWarning, RowsBehindWarning
from hotrow.errors import (
    AlreadyExists,
    CapacityFull,
    ClientClosed,
    DataLoss,
    DeadlineExceeded,
    Error,
    ForkedProcess,
    InternalError,
    InvalidArgument,
    KeyRange,
    NotFound,
    Overloaded,
    PermissionDenied,
    SchemaMismatch,
    SessionLost,
    StepAborted,
    Unavailable,
    Unimplemented,
)
from hotrow.eviction import Lfu, Lru, NoEviction
from hotrow.futures import Future
from hotrow.hashing import hash_strings, mix_key
from hotrow.initializers import Constant, Normal, Uniform, Zeros
from hotrow.optimizers import Adagrad, Adam, Ftrl, RowwiseAdagrad, Sgd
from hotrow.table import PushCounts, Table

__all__ = [
    "Adagrad",
    "Adam",
    "AlreadyExists",
    "CapacityFull",
    "Client",
    "ClientClosed",
    "Constant",
    "DataLoss",
    "DeadlineExceeded",
    "DurabilityWarning",
    "Error",
    "ForkedProcess",
    "Ftrl",
    "Future",
    "InternalError",
    "InvalidArgument",
    "KeyRange",
    "Lfu",
    "Lru",
    "NoEviction",
    "Normal",
    "NotFound",
    "Overloaded",
    "PermissionDenied",
    "PushCounts",
    "RowsBehindWarning",
    "RowwiseAdagrad",
    "SchemaMismatch",
    "SessionLost",
    "Sgd",
    "StepAborted",
    "Table",
    "Unavailable",
    "Uniform",
    "Unimplemented",
    "Zeros",
    "__version__",
    "connect",
    "errors",
    "hash_strings",
    "mix_key",
    "testing",
]
