"""Gradient clipping over dense and remote gradients together."""

from __future__ import annotations

import math

import numpy as np
import torch
from torch import nn

from hotrow.errors import InvalidArgument
from hotrow.torch.module import RemoteModule
from hotrow.torch.pending import summed


def clip_grad_norm_(module: nn.Module, max_norm: float) -> torch.Tensor:
    """Scale all gradients of a model so that their joint 2-norm is at most `max_norm`.

    Parameters
    ----------
    module : torch.nn.Module
        Its dense gradients and the pending ones of all Hotrow modules within count together. Call
        it between backward and the optimizers' steps.
    max_norm : float
        >= 0.

    Returns
    -------
    torch.Tensor
        The norm before, float32 scalar.
    """
    if not max_norm >= 0:
        raise InvalidArgument(f"max_norm must be >= 0, not {max_norm!r}")
    dense = [p.grad for p in module.parameters() if p.grad is not None and p.grad.numel()]
    tables: dict[tuple[int, str], list[RemoteModule]] = {}
    for part in module.modules():
        if isinstance(part, RemoteModule):
            tables.setdefault((id(part.table.client), part.table.name), []).append(part)
    square = sum(float(gradient.double().square().sum()) for gradient in dense)
    for members in tables.values():
        together = summed([member.pending for member in members])
        if together is not None:
            square += float(np.square(together[1], dtype=np.float64).sum())
    norm = math.sqrt(square)
    factor = max_norm / (norm + 1e-6)  # torch.nn.utils.clip_grad_norm_ adds the same 1e-6
    if factor < 1:
        for gradient in dense:
            gradient.mul_(factor)
        for members in tables.values():
            for member in members:
                for _, gradients in member.pending.parts():
                    gradients *= np.float32(factor)
    return torch.tensor(norm, dtype=torch.float32)
