"""Gradients that wait for the optimizer's step."""

from __future__ import annotations

import warnings

import numpy as np

from hotrow.errors import InvalidArgument

# Far above any real step: reached only when backward runs again and again without a step.
MAX_PENDING_BYTES = 8 << 30
# More backward passes than anyone accumulates on purpose: the step was forgotten.
WARN_PASSES = 100


class PendingGradients:
    """Row gradients of one module since the last step, as they came from backward.

    Bounded by `MAX_PENDING_BYTES`. Backward passes of one module must not run at once.
    """

    def __init__(self, table: str) -> None:
        self._table = table
        self._passes = 0
        self._keys: list[np.ndarray] = []
        self._gradients: list[np.ndarray] = []
        self._bytes = 0

    def add(self, keys: np.ndarray, gradients: np.ndarray) -> None:
        """Keep the gradients of one backward pass.

        Parameters
        ----------
        keys : numpy.ndarray
            uint64 (u,), each once.
        gradients : numpy.ndarray
            float32 (u, dim); belongs to this object from now on, clipping changes it.

        Raises
        ------
        InvalidArgument
            More than `MAX_PENDING_BYTES` wait: all of them are dropped.
        """
        if keys.size == 0:
            return
        self._bytes += keys.nbytes + gradients.nbytes
        if self._bytes > MAX_PENDING_BYTES:
            self.clear()
            raise InvalidArgument(
                f"more than {MAX_PENDING_BYTES >> 30} GiB of gradients wait for a step",
                hint="Call step() or zero_grad() of a hotrow.torch.SparseOptimizer of this module.",
            )
        self._passes += 1
        if self._passes == WARN_PASSES:
            warnings.warn(
                f"table {self._table!r}: {WARN_PASSES} backward passes wait for a step; is there a "
                "hotrow.torch.SparseOptimizer whose step() is called? The anchor parameter does "
                "nothing in an optimizer of torch",
                RuntimeWarning,
                stacklevel=2,
            )
        self._keys.append(keys)
        self._gradients.append(gradients)

    def parts(self) -> list[tuple[np.ndarray, np.ndarray]]:
        """(keys, gradients) of each backward pass, in order; views, not copies."""
        return list(zip(self._keys, self._gradients, strict=True))

    def clear(self) -> None:
        """Forget everything."""
        self._passes = 0
        self._keys.clear()
        self._gradients.clear()
        self._bytes = 0


def joined(pendings: list[PendingGradients]) -> tuple[np.ndarray, np.ndarray] | None:
    """All parts end to end; None when there are none. Keys may repeat: a push sums them."""
    parts = [part for pending in pendings for part in pending.parts()]
    if not parts:
        return None
    if len(parts) == 1:
        return parts[0]
    return (
        np.concatenate([keys for keys, _ in parts]),
        np.concatenate([gradients for _, gradients in parts]),
    )


def summed(pendings: list[PendingGradients]) -> tuple[np.ndarray, np.ndarray] | None:
    """As `joined`, with every key once."""
    together = joined(pendings)
    if together is None:
        return None
    keys, gradients = together
    unique, inverse = np.unique(keys, return_inverse=True)
    if unique.size == keys.size:
        return together
    sums = np.zeros((unique.size, gradients.shape[1]), np.float32)
    np.add.at(sums, inverse.reshape(-1), gradients)
    return unique, sums


def squared_norm(pendings: list[PendingGradients]) -> float:
    """Squared 2-norm of `summed`, in float64."""
    together = summed(pendings)
    return 0.0 if together is None else float(np.square(together[1], dtype=np.float64).sum())
