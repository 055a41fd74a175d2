"""A training worker process of test_workers.py: integer gradients, so that every push counts.

integer_worker.py ADDRESSES TABLE RANK STEPS
"""

import sys

import numpy as np
import torch

import hotrow
from hotrow.torch import EmbeddingBag, SparseOptimizer


def step_keys(rank: int, step: int) -> np.ndarray:
    """Keys of one step: key 0, which all workers share, and others, some of them negative."""
    rng = np.random.default_rng([rank, step])
    return np.append(rng.integers(-2000, 2000, 255), 0).reshape(16, 16)


def main(addresses: str, name: str, rank: int, steps: int) -> None:
    """Train: each occurrence of a key brings the gradient 1."""
    torch.set_num_threads(1)
    with hotrow.connect(addresses, job="integers", rank=rank, world_size=4) as client:
        bag = EmbeddingBag(None, 4, mode="sum", table=name, client=client)
        optimizer = SparseOptimizer(bag)
        for step in range(steps):
            bag(torch.from_numpy(step_keys(rank, step))).sum().backward()
            optimizer.step()
        client.flush()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
