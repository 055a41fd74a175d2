"""The autograd function between a table's rows and a module's output."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch.autograd.function import once_differentiable

from hotrow import _native
from hotrow.arrays import Keys
from hotrow.torch.module import RemoteModule

_MODES = {
    "sum": _native.PoolingMode.sum,
    "mean": _native.PoolingMode.mean,
    "max": _native.PoolingMode.max,
}


@dataclass
class Bags:
    """One forward call: keys in bags.

    Parameters
    ----------
    keys : Keys
        n keys.
    offsets : numpy.ndarray
        int64 (bags + 1,), the last one included.
    mode : str
        "sum", "mean" or "max".
    skipped : int, optional
        Padding key that is neither pulled nor counted.
    constant : int, optional
        Key that is pulled but gets no gradient.
    scale_by_frequency : bool
        Divide each row's gradient by the number of times the key was asked for.
    """

    keys: Keys
    offsets: np.ndarray
    mode: str
    skipped: int | None = None
    constant: int | None = None
    scale_by_frequency: bool = False


def pool(module: RemoteModule, bags: Bags, weights: torch.Tensor | None = None) -> torch.Tensor:
    """Pull and pool.

    Parameters
    ----------
    weights : torch.Tensor, optional
        (n,) of any floating type, for "sum".

    Returns
    -------
    torch.Tensor
        (bags, dim), of the anchor's type and device.
    """
    if weights is not None:
        weights = weights.reshape(-1).to("cpu", torch.float32)
    read_only = not (module.training and torch.is_grad_enabled())
    out = _Pool.apply(module.anchor, weights, module, bags, read_only)
    return out.to(module.anchor.device, module.anchor.dtype)


class _Pool(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,
        anchor: torch.Tensor,
        weights: torch.Tensor | None,
        module: RemoteModule,
        bags: Bags,
        read_only: bool,
    ) -> torch.Tensor:
        padding = None if bags.skipped is None else bags.skipped & (2**64 - 1)
        threads = torch.get_num_threads()  # what the rest of the model is given
        request = _native.BagsRequest(_MODES[bags.mode], padding, read_only, threads)
        sample_weights = None if weights is None else weights.detach().contiguous().numpy()
        bag_count = max(0, bags.offsets.size - 1)
        out = torch.empty((bag_count, module.embedding_dim), dtype=torch.float32, device="cpu")
        ctx.pooled = _native.pool_forward(
            module.table.native,
            request,
            (bags.keys.words, bags.offsets, sample_weights),
            out.numpy(),
        )
        ctx.module = module
        ctx.bags = bags
        ctx.anchor_like = anchor.detach()
        # Nothing to keep, but something that torch frees: so a second backward pass without
        # retain_graph raises as everywhere, and does not count the gradients twice.
        ctx.save_for_backward(torch.empty(0))
        return out

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, out_gradient: torch.Tensor) -> tuple[Any, ...]:
        _ = ctx.saved_tensors
        gradient = out_gradient.detach().to("cpu", torch.float32).contiguous().numpy()
        anchor_gradient = weight_gradient = None
        if ctx.needs_input_grad[0]:
            if _anchor_is_asked_for(ctx):
                _collect(ctx.module, ctx.bags, ctx.pooled, gradient)
            anchor_gradient = torch.zeros_like(ctx.anchor_like)
        if ctx.needs_input_grad[1]:
            weight_gradient = torch.from_numpy(ctx.pooled.backward_weights(gradient))
        return anchor_gradient, weight_gradient, None, None, None


def _anchor_is_asked_for(ctx: Any) -> bool:
    """Whether this pass accumulates into the anchor, as `loss.backward()` does.

    torch.autograd.grad(loss, others) and backward(inputs=others) leave it, as every parameter that
    is not among the others, alone: no row may move then. Nor where the module was frozen since the
    forward pass, or the pass was made with other parameters (torch.func.functional_call). The node
    that is asked about is the one that the forward pass was recorded with: the anchor gets another
    one when its type changes (`module.half()`).
    """
    accumulate = _accumulator_of(ctx.module.anchor, ctx.next_functions[0][0])
    if accumulate is None or not ctx.module.anchor.requires_grad:
        return False
    will_run = getattr(torch._C, "_will_engine_execute_node", None)
    if will_run is None:
        return True  # this torch cannot tell
    try:
        return bool(will_run(accumulate))
    except RuntimeError:  # autograd.grad() of the anchor itself, which accumulates nothing either
        return False


def _accumulator_of(anchor: torch.Tensor, node: Any) -> Any:
    """Find the node that accumulates into the anchor, from `node` on; None: there is none.

    It is that node itself, unless other parameters were put in the place of the module's own: then
    they may have been computed from those, or have nothing to do with them.
    """
    seen = set()
    waiting = [node]
    while waiting:
        node = waiting.pop()
        if node is None or node in seen:
            continue
        if getattr(node, "variable", None) is anchor:
            return node
        seen.add(node)
        waiting.extend(following for following, _ in node.next_functions)
    return None


def _collect(module: RemoteModule, bags: Bags, pooled: Any, gradient: np.ndarray) -> None:
    scale = _native.GradientScale
    keys, gradients = pooled.backward(
        gradient, scale.inverse_frequency if bags.scale_by_frequency else scale.none
    )
    if bags.constant is not None:
        moved = keys != np.uint64(bags.constant & (2**64 - 1))
        keys, gradients = keys[moved], gradients[moved]
    module.pending.add(keys, gradients)
