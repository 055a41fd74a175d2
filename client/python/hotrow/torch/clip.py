"""Gradient clipping over dense and remote gradients together."""

from __future__ import annotations

import math

import numpy as np
import torch
from torch import nn

from hotrow.errors import InvalidArgument
from hotrow.torch.module import by_table, remote_modules
from hotrow.torch.pending import squared_norm
from hotrow.torch.workers import sum_over_workers, world_size


def clip_grad_norm_(
    module: nn.Module, max_norm: float, *, average_over_world: bool = True
) -> torch.Tensor:
    """Scale all gradients of a model so that their joint 2-norm is at most `max_norm`.

    Where torch.distributed is initialised, every worker must call it: dense gradients are taken as
    DistributedDataParallel leaves them, equal on all workers; the squared norms of what each worker
    will push are summed over the workers, because servers apply each worker's push by itself. So
    all workers scale by the same factor and their dense parameters stay equal.

    Parameters
    ----------
    module : torch.nn.Module
        Its dense gradients and the pending ones of all Hotrow modules within count together. Call
        it between backward and the optimizers' steps.
    max_norm : float
        >= 0.
    average_over_world : bool
        As given to `SparseOptimizer`.

    Returns
    -------
    torch.Tensor
        The norm before, float32 scalar.

    Raises
    ------
    InvalidArgument
    """
    if not max_norm >= 0:
        raise InvalidArgument(
            f"max_norm must be >= 0, not {max_norm!r}",
            hint="Give float('inf') to measure the norm without clipping.",
        )
    dense = [p.grad for p in module.parameters() if p.grad is not None and p.grad.numel()]
    remote = remote_modules(module)
    pushed = sum(squared_norm([m.pending for m in members]) for members in by_table(remote))
    divisor = world_size() if average_over_world else 1
    square = sum(float(gradient.double().square().sum()) for gradient in dense)
    norm = math.sqrt(square + sum_over_workers(pushed / divisor**2))
    factor = max_norm / (norm + 1e-6)  # torch.nn.utils.clip_grad_norm_ adds the same 1e-6
    if factor < 1:
        for gradient in dense:
            gradient.mul_(factor)
        for part in remote:
            for _, gradients in part.pending.parts():
                gradients *= np.float32(factor)
    return torch.tensor(norm, dtype=torch.float32, device="cpu")
