"""A scan of the native client, which calls back, as an iterator."""

from __future__ import annotations

import queue
import threading
from collections.abc import Iterator
from typing import Any

import numpy as np

_QUEUED_BATCHES = 2  # that wait for the reader; more would only hold memory


def scan_batches(
    table: Any, batch: int, with_state: bool
) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """Visit all rows of a native table.

    A thread of its own reads ahead. It ends with the iterator, also when that is dropped half-way.

    Yields
    ------
    keys, rows, state : numpy.ndarray
        uint64 (n,), float32 (n, dim), float32 (n, state columns).
    """
    batches: queue.Queue[Any] = queue.Queue(_QUEUED_BATCHES)
    stopped = threading.Event()

    def put(item: Any) -> bool:
        while not stopped.is_set():
            try:
                batches.put(item, timeout=0.1)
                return True
            except queue.Full:
                continue
        return False

    def run() -> None:
        try:
            table.scan(batch, with_state, lambda *arrays: put(arrays), stopped.is_set)
            put(None)
        except BaseException as error:
            put(error)

    reader = threading.Thread(target=run, name="hotrow-scan", daemon=True)
    reader.start()
    try:
        while (item := batches.get()) is not None:
            if isinstance(item, BaseException):
                raise item
            yield item
    finally:
        stopped.set()
        reader.join()
