"""SparseOptimizer: sends the gradients of a step to the servers."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import torch
from torch import nn

from hotrow.errors import InvalidArgument, KeyRange, SchemaMismatch, Unimplemented
from hotrow.table import push_options
from hotrow.torch.module import RemoteModule
from hotrow.torch.pending import joined


class SparseOptimizer(torch.optim.Optimizer):
    """Pushes what backward collected in Hotrow modules; the servers apply each table's optimizer.

    There is one parameter group per table, with its learning rate in `param_groups[i]["lr"]`: it
    travels with every push, so torch's schedulers work. `param_groups[i]["step"]` counts calls of
    `step()`, empty ones included, and travels too (Adam's bias correction uses it). It starts at
    the highest step that the servers have seen, and `state_dict` keeps it.

    Parameters
    ----------
    modules : torch.nn.Module or iterable of torch.nn.Module
        All Hotrow modules within are found.
    lr : float, optional
        Learning rate of all tables; None: each table's own.
    average_over_world : bool
        Divide gradients by torch.distributed's world size where it is initialised, so that N
        workers with the mean loss of their parts equal one worker with the mean loss of the whole.

    Notes
    -----
    Gradients are summed per unique key over everything since the last step: several modules on one
    table, several backward passes. They leave the worker at `step()`: from the moment they are
    numbered they belong to the client, so a `step()` that raises `DeadlineExceeded` must not be
    repeated; `client.flush()` waits for it. A step that is refused before (`InvalidArgument`, e.g.
    a gradient that is not finite) sends nothing, is not counted, and keeps the gradients until
    `zero_grad()`.

    GradScaler is refused in this version: bfloat16 autocast needs none. Weight decay belongs to the
    table's optimizer.

    Raises
    ------
    InvalidArgument
        No Hotrow module was found.
    """

    # Asks GradScaler to leave scaling to step(), which refuses it: on its own it would find nothing
    # to unscale in the anchors and push scaled gradients.
    _step_supports_amp_scaling = True

    def __init__(
        self,
        modules: nn.Module | Iterable[nn.Module],
        lr: float | None = None,
        *,
        average_over_world: bool = True,
    ) -> None:
        tables: dict[tuple[int, str], list[RemoteModule]] = {}
        for module in _find(modules):
            key = (id(module.table.client), module.table.name)
            tables.setdefault(key, []).append(module)
        if not tables:
            raise InvalidArgument("there is no module of hotrow.torch in the model")
        self._modules = list(tables.values())
        self.average_over_world = average_over_world
        step = max(members[0].table.stats()["highest_step"] for members in self._modules)
        groups = []
        for members in self._modules:
            table = members[0].table
            rate = table.optimizer.lr if lr is None else float(lr)
            anchors = [module.anchor for module in members]
            groups.append({"params": anchors, "lr": rate, "table": table.name, "step": step})
        super().__init__(groups, {"lr": 0.0 if lr is None else float(lr)})

    @property
    def step_count(self) -> int:
        """Number of steps so far."""
        return self.param_groups[0]["step"]

    @torch.no_grad()
    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Push all pending gradients, one message per shard for all tables of a client.

        Parameters
        ----------
        closure : callable, optional
            Computes the loss again and returns it.

        Raises
        ------
        InvalidArgument
            Nothing was sent or counted.
        CapacityFull, Unavailable, DeadlineExceeded
            See the class: do not repeat the step.
        """
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        if getattr(self, "grad_scale", None) is not None:
            raise Unimplemented(
                "GradScaler is not offered by this version",
                hint="bfloat16 autocast needs no scaler.",
            )
        self._push(self.step_count + 1)
        return loss

    def _push(self, step: int) -> None:
        by_client: dict[int, list[int]] = {}
        for i, members in enumerate(self._modules):
            by_client.setdefault(id(members[0].table.client), []).append(i)
        for indices in by_client.values():
            self._push_to_client(indices, step)
        self._count(step)

    def _push_to_client(self, indices: list[int], step: int) -> None:
        parts = []
        for i in indices:
            together = joined([module.pending for module in self._modules[i]])
            if together is not None:
                keys, gradients = together
                options = push_options(self.param_groups[i]["lr"], step, None)
                table = self._modules[i][0].table
                parts.append((table.native, keys, self._averaged(gradients), options))
        if not parts:
            return
        client = self._modules[indices[0]][0].table.client
        try:
            client.native.push_tables(parts)
        except (InvalidArgument, KeyRange):
            raise  # refused before it was numbered
        except BaseException:
            self._clear(indices)
            self._count(step)
            raise
        self._clear(indices)

    def _averaged(self, gradients: np.ndarray) -> np.ndarray:
        distributed = torch.distributed
        if not (self.average_over_world and distributed.is_available()):
            return gradients
        if not distributed.is_initialized() or distributed.get_world_size() == 1:
            return gradients
        return gradients / np.float32(distributed.get_world_size())

    def _count(self, step: int) -> None:
        for group in self.param_groups:
            group["step"] = step

    def _clear(self, indices: Iterable[int]) -> None:
        for i in indices:
            for module in self._modules[i]:
                module.pending.clear()

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Drop pending gradients."""
        super().zero_grad(set_to_none)
        self._clear(range(len(self._modules)))

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take over learning rates and step; the tables must be the same ones."""
        theirs = [group.get("table") for group in state_dict["param_groups"]]
        ours = [group["table"] for group in self.param_groups]
        if theirs != ours:
            raise SchemaMismatch(f"the state is of the tables {theirs}, the optimizer of {ours}")
        super().load_state_dict(state_dict)


def _find(modules: nn.Module | Iterable[nn.Module]) -> list[RemoteModule]:
    roots = [modules] if isinstance(modules, nn.Module) else list(modules)
    found: dict[int, RemoteModule] = {}
    for root in roots:
        if not isinstance(root, nn.Module):
            raise InvalidArgument(f"SparseOptimizer takes modules, not {type(root).__name__}")
        for module in root.modules():
            if isinstance(module, RemoteModule):
                found.setdefault(id(module), module)
    return list(found.values())
