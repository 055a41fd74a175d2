"""One client process of one peer: runs rounds on command, so that a parent can interleave peers.

Each line on standard input is ``OPERATION CALLS``; the answer is a line of JSON: the seconds that
the calls took and the processor time of the process, or null from a peer that cannot do it.
bench/command_loop.h is the same in C++.

Operations of a store: ``pull`` (one at a time), ``pull4`` (four in flight), ``push``, ``push_pull``
(a push, then a pull). A peer with a method ``work(operation)`` has its own.
"""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import importlib
import itertools
import json
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any, Protocol

import numpy as np

from bench.workload import Shape

# Calls before a round's clock starts: while the other peers had their turn this one was idle, which
# training never is, and its first calls take up to twice the time.
WARM_CALLS = 20
IN_FLIGHT = 4
STORE_OPERATIONS = ("pull", "pull4", "push", "push_pull")

Work = Callable[[int], None]  # does so many calls


class Store(Protocol):
    """A peer that keeps rows. Futures have ``result()``."""

    def pull(self, keys: np.ndarray) -> Any: ...

    def pull_async(self, keys: np.ndarray) -> Any: ...

    def push(self, keys: np.ndarray, gradients: np.ndarray) -> Any: ...


class StoreWork:
    """The operations of a store, on the batches of a shape."""

    warm_calls = WARM_CALLS

    def __init__(self, store: Store, shape: Shape) -> None:
        self._store = store
        self._batches = itertools.cycle(shape.batches(32))

    def work(self, operation: str) -> Work:
        """Raise NotImplementedError for an operation that there is not."""
        if operation not in STORE_OPERATIONS:
            raise NotImplementedError(operation)
        return (
            self._pull_ahead
            if operation == "pull4"
            else lambda calls: self._call("push" in operation, "pull" in operation, calls)
        )

    def _call(self, pushes: bool, pulls: bool, calls: int) -> None:
        for keys, gradients in itertools.islice(self._batches, calls):
            if pushes:
                self._store.push(keys, gradients)
            if pulls:
                self._store.pull(keys)

    def _pull_ahead(self, calls: int) -> None:
        pending: list[Any] = []
        for keys, _ in itertools.islice(self._batches, calls):
            pending.append(self._store.pull_async(keys))
            if len(pending) == IN_FLIGHT:
                pending.pop(0).result()
        for future in pending:
            future.result()


def run_round(peer: Any, operation: str, calls: int) -> dict[str, float] | None:
    """Time that ``calls`` calls of ``operation`` took; None when the peer does not offer it."""
    try:
        work = peer.work(operation)
        work(peer.warm_calls)
        wall, cpu = time.perf_counter(), time.process_time()
        work(calls)
        return {"wall": time.perf_counter() - wall, "cpu": time.process_time() - cpu}
    except NotImplementedError:
        return None


def main() -> None:
    """Serve rounds until standard input ends."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "module", help="module in bench.peers with connect(shape, option) -> context manager"
    )
    parser.add_argument("option", nargs="?", default="")
    for field in dataclasses.fields(Shape):
        kind = type(field.default)
        parser.add_argument(f"--{field.name}", type=kind, default=field.default)
    arguments = vars(parser.parse_args())
    module, option = arguments.pop("module"), arguments.pop("option")
    shape = Shape(**arguments)
    connect: Callable[[Shape, str], contextlib.AbstractContextManager[Any]]
    connect = importlib.import_module(f"bench.peers.{module}").connect
    with connect(shape, option) as connected:
        peer = connected if hasattr(connected, "work") else StoreWork(connected, shape)
        print("ready", flush=True)
        serve(peer, sys.stdin)


def serve(peer: Any, commands: Iterator[str]) -> None:
    """Answer each command."""
    for line in commands:
        operation, calls = line.split()
        print(json.dumps(run_round(peer, operation, int(calls))), flush=True)


if __name__ == "__main__":
    main()
