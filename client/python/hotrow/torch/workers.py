"""What torch.distributed says about the other workers of a training run."""

from __future__ import annotations

import torch


def world_size() -> int:
    """Return the number of workers; 1 where torch.distributed is not initialised."""
    distributed = torch.distributed
    if not distributed.is_available() or not distributed.is_initialized():
        return 1
    return distributed.get_world_size()


def sum_over_workers(value: float) -> float:
    """Add up one number of each worker. Every worker must call it; it waits for all of them."""
    if world_size() == 1:
        return value
    # NCCL sums on its GPU only; every other backend takes memory of the host.
    nccl = torch.distributed.get_backend() == "nccl"
    total = torch.tensor([value], dtype=torch.float64, device="cuda" if nccl else "cpu")
    torch.distributed.all_reduce(total)
    return float(total)
