"""One client process of one peer: runs rounds on command, so that a parent can interleave peers.

Each line on standard input is ``OPERATION CALLS``; the answer is the seconds that the calls took.
Operations: ``pull`` (one at a time), ``pull4`` (four in flight), ``push``, ``push_pull`` (a push,
then a pull). A peer that cannot do an operation answers ``nan``.
"""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import importlib
import itertools
import math
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any, Protocol

import numpy as np

WARM_CALLS = 20
IN_FLIGHT = 4


@dataclasses.dataclass(frozen=True)
class Shape:
    """What every peer is asked for."""

    rows: int = 1_000_000
    dim: int = 64
    batch: int = 8192
    seed: int = 1

    def batches(self, count: int) -> list[tuple[np.ndarray, np.ndarray]]:
        """``count`` pairs of keys (batch,) int64, uniform, and gradients (batch, dim) float32."""
        rng = np.random.default_rng(self.seed)
        return [
            (
                rng.integers(0, self.rows, self.batch, dtype=np.int64),
                rng.standard_normal((self.batch, self.dim), dtype=np.float32) * 0.01,
            )
            for _ in range(count)
        ]


class Peer(Protocol):
    """What a peer offers. Futures have ``result()``; ``push`` may be None for read-only peers."""

    def pull(self, keys: np.ndarray) -> Any: ...

    def pull_async(self, keys: np.ndarray) -> Any: ...

    def push(self, keys: np.ndarray, gradients: np.ndarray) -> Any: ...


def run_round(
    peer: Peer, operation: str, batches: Iterator[tuple[np.ndarray, np.ndarray]], calls: int
) -> float:
    """Seconds that ``calls`` calls of ``operation`` took; NaN when the peer does not offer it.

    A few calls come before: while the other peers had their turn this one was idle, which training
    never is, and its first calls take up to twice the time.
    """
    try:
        run_calls(peer, operation, [next(batches) for _ in range(WARM_CALLS)])
        work = [next(batches) for _ in range(calls)]
        start = time.perf_counter()
        run_calls(peer, operation, work)
        return time.perf_counter() - start
    except NotImplementedError:
        return math.nan


def run_calls(peer: Peer, operation: str, work: list[tuple[np.ndarray, np.ndarray]]) -> None:
    """Call once for each batch."""
    if operation == "pull4":
        pending: list[Any] = []
        for keys, _ in work:
            pending.append(peer.pull_async(keys))
            if len(pending) == IN_FLIGHT:
                pending.pop(0).result()
        for future in pending:
            future.result()
        return
    for keys, gradients in work:
        if operation in ("push", "push_pull"):
            peer.push(keys, gradients)
        if operation in ("pull", "push_pull"):
            peer.pull(keys)


def main() -> None:
    """Serve rounds until standard input ends."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "module", help="module in bench.peers with connect(shape, option) -> context manager"
    )
    parser.add_argument("option", nargs="?", default="")
    for field in dataclasses.fields(Shape):
        parser.add_argument(f"--{field.name}", type=int, default=field.default)
    arguments = parser.parse_args()
    shape = Shape(arguments.rows, arguments.dim, arguments.batch, arguments.seed)
    connect: Callable[[Shape, str], contextlib.AbstractContextManager[Peer]]
    connect = importlib.import_module(f"bench.peers.{arguments.module}").connect
    batches = itertools.cycle(shape.batches(32))
    with connect(shape, arguments.option) as peer:
        print("ready", flush=True)
        for line in sys.stdin:
            operation, calls = line.split()
            print(run_round(peer, operation, batches, int(calls)), flush=True)


if __name__ == "__main__":
    main()
