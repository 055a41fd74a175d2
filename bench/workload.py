"""The keys that benchmarks ask for, and the shape of their batches.

bench/workload.h draws the same keys: a peer in Python and a program in C++ work on the same
batches.

    uniform                      every key of 0 .. rows-1 alike
    zipf0.8, zipf1.05, zipf1.2   the key of rank k with a probability that goes with k**-exponent;
                                 the ranks are spread over the keys, so hot rows are not neighbours
"""

from __future__ import annotations

import dataclasses
import itertools
import math

import numpy as np

KEYS = ("uniform", "zipf0.8", "zipf1.05", "zipf1.2")
GRADIENT_SCALE = 0.01
# A prime: ranks times it, modulo a number of rows that it does not divide, visit every key once.
_SPREAD = 2654435761


class KeySource:
    """An endless, seeded sequence of keys 0 .. rows-1 of a named distribution."""

    def __init__(self, name: str, rows: int, seed: int) -> None:
        self._rows = rows
        self._start = int(_mix(np.array([seed], np.uint64))[0])
        self._draws = 0
        self._cumulated: np.ndarray | None = None
        if name != "uniform":
            exponent = float(name.removeprefix("zipf"))
            # math.pow and a running sum: the very bits of the C++ twin.
            weights = (math.pow(rank, -exponent) for rank in range(1, rows + 1))
            self._cumulated = np.fromiter(itertools.accumulate(weights), np.float64, rows)

    def draw(self, n: int) -> np.ndarray:
        """Return the next n keys, int64 (n,)."""
        numbers = np.arange(self._draws, self._draws + n, dtype=np.uint64)
        self._draws += n
        uniform = (_mix(numbers + np.uint64(self._start)) >> np.uint64(11)) * 2.0**-53
        if self._cumulated is None:
            return (uniform * self._rows).astype(np.int64)
        ranks = np.searchsorted(self._cumulated, uniform * self._cumulated[-1], side="right")
        return np.minimum(ranks, self._rows - 1) * _SPREAD % self._rows


def _mix(x: np.ndarray) -> np.ndarray:
    """MurmurHash3's finalizer, as kernels/base/key.h has it."""
    x = x ^ (x >> np.uint64(33))
    x = x * np.uint64(0xFF51AFD7ED558CCD)
    x = x ^ (x >> np.uint64(33))
    x = x * np.uint64(0xC4CEB9FE1A85EC53)
    return x ^ (x >> np.uint64(33))


@dataclasses.dataclass(frozen=True)
class Shape:
    """What every peer is asked for."""

    rows: int = 1_000_000
    dim: int = 64
    batch: int = 8192
    seed: int = 1
    keys: str = "uniform"

    def batches(self, count: int) -> list[tuple[np.ndarray, np.ndarray]]:
        """``count`` pairs of keys (batch,) int64 and gradients (batch, dim) float32."""
        source = KeySource(self.keys, self.rows, self.seed)
        values = np.random.default_rng(self.seed)
        return [(source.draw(self.batch), self._gradients(values)) for _ in range(count)]

    def _gradients(self, values: np.random.Generator) -> np.ndarray:
        return values.standard_normal((self.batch, self.dim), dtype=np.float32) * GRADIENT_SCALE
