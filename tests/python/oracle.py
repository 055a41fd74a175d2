"""A second implementation of what the servers do, in scalar float32, and helpers of the tests.

Every operation rounds to float32 once, in the documented order; the bits must be those of a server.
"""

from dataclasses import dataclass, field

import numpy as np

import hotrow

F = np.float32


def values_of(keys, dim: int, scale: float = 1.0) -> np.ndarray:
    """Mixed hash of (key, column) in [-scale, scale): keys.shape + (dim,) float32."""
    words = np.asarray(keys).astype(np.int64).view(np.uint64)[..., None]
    with np.errstate(over="ignore"):
        x = words * np.uint64(0x9E3779B97F4A7C15) + np.arange(dim, dtype=np.uint64) * np.uint64(
            0xD1B54A32D192ED03
        )
        x ^= x >> np.uint64(29)
        x *= np.uint64(0xBF58476D1CE4E5B9)
        x ^= x >> np.uint64(32)
    return ((x >> np.uint64(40)).astype(F) / F(2**23) - F(1)) * F(scale)


def order_sum(rows: list[np.ndarray]) -> np.ndarray:
    """Sum rows by the order rule: blocks of 256 one after the other, then the blocks in order."""
    blocks = []
    for start in range(0, len(rows), 256):
        total = rows[start].astype(F)
        for row in rows[start + 1 : start + 256]:
            total = total + row
        blocks.append(total)
    result = blocks[0]
    for block in blocks[1:]:
        result = result + block
    return result


def row_sum(values: np.ndarray) -> np.float32:
    """Reduce a row: 32 strided partial sums, then a fixed tree."""
    partial = np.zeros(32, F)
    for i, value in enumerate(values):
        partial[i % 32] = partial[i % 32] + value
    half = 16
    while half:
        partial[:half] = partial[:half] + partial[half : 2 * half]
        half //= 2
    return partial[0]


def sum_duplicates(keys: np.ndarray, gradients: np.ndarray) -> dict[int, np.ndarray]:
    """Sum per key, in request order."""
    grouped: dict[int, list[np.ndarray]] = {}
    for key, gradient in zip(keys.reshape(-1).tolist(), gradients, strict=True):
        grouped.setdefault(key, []).append(gradient)
    return {key: order_sum(rows) for key, rows in grouped.items()}


@dataclass
class OracleTable:
    """Rows and optimizer state of one table."""

    optimizer: object
    rows: dict[int, np.ndarray]
    state: dict[int, list[np.ndarray]] = field(default_factory=dict)

    def push(self, keys, gradients, step: int, lr: float | None = None) -> None:
        """Apply one push."""
        rate = self.optimizer.lr if lr is None else lr
        for key, g in sum_duplicates(np.asarray(keys), np.asarray(gradients, F)).items():
            rule = getattr(self, f"_{type(self.optimizer).__name__.lower()}")
            self.rows[key] = rule(key, self.rows[key], g, rate, step)

    def _state(self, key: int, columns: int, count: int, start: float) -> list[np.ndarray]:
        return self.state.setdefault(key, [np.full(columns, start, F) for _ in range(count)])

    def _sgd(self, key, w, g, lr, step):
        return w - F(lr) * g

    def _adagrad(self, key, w, g, lr, step):
        state = self._state(key, len(w), 1, self.optimizer.initial_accumulator_value)
        state[0] = state[0] + g * g
        return w - F(lr) * g / (np.sqrt(state[0]) + F(self.optimizer.eps))

    def _rowwiseadagrad(self, key, w, g, lr, step):
        state = self._state(key, 1, 1, self.optimizer.initial_accumulator_value)
        state[0] = state[0] + row_sum(g * g) / F(len(w))
        return w - F(lr) / (np.sqrt(state[0]) + F(self.optimizer.eps)) * g

    def _adam(self, key, w, g, lr, step):
        beta1, beta2 = self.optimizer.betas
        state = self._state(key, len(w), 2, 0.0)
        step_size = F(lr * np.sqrt(1 - beta2**step) / (1 - beta1**step))
        state[0] = state[0] + F(1 - beta1) * (g - state[0])
        state[1] = state[1] + F(1 - beta2) * (g * g - state[1])
        return w - step_size * (state[0] / (np.sqrt(state[1]) + F(self.optimizer.eps)))


def filled_table(make_table, rows: np.ndarray, **options) -> hotrow.Table:
    """Make a table whose row i is rows[i]."""
    rows = np.asarray(rows, F)
    table = make_table(rows.shape[1], **options)
    table.upsert(np.arange(len(rows)), rows)
    return table


def stored(table: hotrow.Table) -> dict[int, np.ndarray]:
    """All stored rows."""
    return {
        int(key): row for keys, rows in table.scan() for key, row in zip(keys, rows, strict=True)
    }
