"""SparseOptimizer: sends the gradients of a step to the servers."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import torch
from torch import nn

from hotrow.durability import age_of, warn_if_behind
from hotrow.errors import (
    ClientClosed,
    Error,
    ForkedProcess,
    InvalidArgument,
    KeyRange,
    Overloaded,
    SchemaMismatch,
    Unimplemented,
)
from hotrow.scalars import as_float, as_integer
from hotrow.table import MAX_STEP, push_options
from hotrow.torch.module import by_table, remote_modules
from hotrow.torch.pending import joined, squared_norm
from hotrow.torch.workers import world_size

# What the client itself refuses a push with, before it is numbered: nothing was sent.
_NOT_SENT = (InvalidArgument, KeyRange, Overloaded, ClientClosed, ForkedProcess)


def _after(step: int) -> int:
    """Give the step after this one; the last that can be said stays."""
    return min(step + 1, MAX_STEP)


def _kept_from_being_sent(error: BaseException) -> bool:
    """Whether the client refused a push, or Ctrl-C ended its wait for room."""
    refusal = error if isinstance(error, Error) else error.__cause__
    # With a shard, a server refused it: others may not have.
    return isinstance(refusal, _NOT_SENT) and refusal.shard is None


# Options of torch's optimizers that a parameter group could bring and a push does not carry.
_NO_OPTIONS = {
    "amsgrad",
    "betas",
    "dampening",
    "eps",
    "lr_decay",
    "maximize",
    "momentum",
    "nesterov",
    "weight_decay",
}


class SparseOptimizer(torch.optim.Optimizer):
    """Pushes what backward collected in Hotrow modules; the servers apply each table's optimizer.

    There is one parameter group per table, with its learning rate in `param_groups[i]["lr"]`: it
    travels with every push, so torch's schedulers work. `param_groups[i]["step"]` travels too:
    Adam's bias correction uses it. It starts at the highest step that the servers have seen for
    that table, 0 for a new one, and every call of `step()` adds one to that of all tables, also of
    those that it has no gradients for. So tables of one age have one step, and a new table beside
    an old one starts at 1. `state_dict` keeps the steps.

    Parameters
    ----------
    modules : torch.nn.Module or iterable of torch.nn.Module
        All Hotrow modules within are found.
    lr : float, optional
        Learning rate of all tables; None: each table's own.
    average_over_world : bool
        Divide gradients by torch.distributed's world size where it is initialised. With Sgd, N
        workers with the mean loss of their parts then equal one worker with the mean loss of the
        whole. With other optimizers they do not: each worker's push is an update of its own, so
        that a key of several workers gets as many updates, and an Adagrad accumulator their squares
        instead of the square of the sum.

    Notes
    -----
    Gradients are summed per unique key over everything since the last step: several modules on one
    table, several backward passes. They leave the worker at `step()`: from the moment they are
    numbered they belong to the client, so a `step()` that raises `DeadlineExceeded` or
    `Unavailable` must not be repeated; `client.flush()` waits for it. A step that is refused before
    (`InvalidArgument`, e.g. a gradient that is not finite; `Overloaded`, `ClientClosed`,
    `ForkedProcess`) sends nothing, is not counted, and keeps the gradients until `zero_grad()`.
    With tables of several clients this holds for each client: what was sent to the clients before
    stays sent and counted, and the gradients that are left go with the next step.

    Copies and pickles take the modules along, not the gradients that wait in them: copy model and
    optimizer in one go. The rows are not copied: original and copy share their table. A module
    belongs into one SparseOptimizer: of two, the first to step takes all its gradients.

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
        lr = None if lr is None else as_float(lr, "lr", 0.0)
        self._modules = by_table(remote_modules(modules))
        if not self._modules:
            raise InvalidArgument(
                "there is no module of hotrow.torch in the model",
                hint="Give the model that holds a hotrow.torch.EmbeddingBag or Embedding.",
            )
        self.average_over_world = average_over_world
        groups = []
        for members in self._modules:
            table = members[0].table
            rate = table.optimizer.lr if lr is None else lr
            anchors = [module.anchor for module in members]
            step = table.stats()["highest_step"]
            groups.append({"params": anchors, "lr": rate, "table": table.name, "step": step})
        self._complete = False
        super().__init__(groups, {"lr": 0.0 if lr is None else lr})
        self._complete = True

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Refuse further groups: there is one for each table of the modules, made at the start."""
        if self._complete:
            raise Unimplemented(
                "SparseOptimizer takes no further parameter groups",
                hint="Dense parameters belong to an optimizer of torch.optim; for other Hotrow "
                "modules make a SparseOptimizer of them.",
            )
        super().add_param_group(param_group)

    @property
    def step_count(self) -> int:
        """Number of steps of the oldest table so far."""
        return max(group["step"] for group in self.param_groups)

    def pending_squared_norm(self) -> float:
        """Squared 2-norm of what this worker's `step()` would push now, summed per key."""
        groups = ([module.pending for module in members] for members in self._modules)
        return sum(squared_norm(pendings) for pendings in groups) / self._divisor() ** 2

    @torch.no_grad()
    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Push all pending gradients, one message per shard for all tables of a client.

        Parameters
        ----------
        closure : callable, optional
            Computes the loss again and returns it.

        Raises
        ------
        InvalidArgument, KeyRange, Overloaded, ClientClosed, ForkedProcess
            Nothing was sent or counted; the gradients are kept.
        CapacityFull, DeadlineExceeded, Unavailable, SessionLost
            See the class: do not repeat the step.
        """
        self._refuse_grad_scaler()
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        self._push()
        return loss

    def _refuse_grad_scaler(self) -> None:
        # Whatever was called before it, GradScaler.step leaves these two here for the call. An
        # exception keeps it from removing them, and the next step may be one without a scaler.
        touched = [self.__dict__.pop(name, self) for name in ("grad_scale", "found_inf")]
        if any(value is not self for value in touched):
            raise Unimplemented(
                "GradScaler is not offered by this version",
                hint="Use bfloat16 autocast, which needs no scaler.",
            )

    def _refuse_options(self) -> None:
        for group in self.param_groups:
            named = sorted(_NO_OPTIONS.intersection(group))
            if named:
                raise Unimplemented(
                    f"param_groups: {', '.join(named)} cannot be set by the worker",
                    table=group["table"],
                    hint="A table has its optimizer from its creation; lr alone travels.",
                )

    def _push(self) -> None:
        self._refuse_options()
        by_client: dict[int, list[int]] = {}
        for i, members in enumerate(self._modules):
            by_client.setdefault(id(members[0].table.client), []).append(i)
        for indices in by_client.values():
            self._push_to_client(indices)

    def _push_to_client(self, indices: list[int]) -> None:
        parts = []
        for i in indices:
            together = joined([module.pending for module in self._modules[i]])
            if together is not None:
                keys, gradients = together
                group = self.param_groups[i]
                table = self._modules[i][0].table
                options = push_options(group["lr"], _after(group["step"]), None, table.name)
                parts.append((table.native, keys, self._averaged(gradients), options))
        if parts:
            native = self._modules[indices[0]][0].table.client.native
            try:
                native.push_tables(parts)
            except BaseException as error:
                if not _kept_from_being_sent(error):
                    self._sent(indices)
                raise
        self._sent(indices)

    def _divisor(self) -> int:
        return world_size() if self.average_over_world else 1

    def _averaged(self, gradients: np.ndarray) -> np.ndarray:
        divisor = self._divisor()
        return gradients if divisor == 1 else gradients / np.float32(divisor)

    def _sent(self, indices: list[int]) -> None:
        """Count the step of these tables; their gradients belong to the client now."""
        for i in indices:
            self.param_groups[i]["step"] = _after(self.param_groups[i]["step"])
        self._clear(indices)

    def _clear(self, indices: Iterable[int]) -> None:
        for i in indices:
            for module in self._modules[i]:
                module.pending.clear()

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Drop pending gradients."""
        super().zero_grad(set_to_none)
        self._clear(range(len(self._modules)))

    def __getstate__(self) -> dict[str, Any]:
        names = ("_modules", "average_over_world", "_complete")
        ours = {name: getattr(self, name) for name in names}
        return {**super().__getstate__(), **ours}

    def state_dict(self) -> dict[str, Any]:
        """Learning rates, steps, and under "tables" the step and row count of each on the servers.

        Rows and their optimizer state stay there. Step and count are None where these cannot be
        asked.
        """
        tables = [members[0].table for members in self._modules]
        ages = [{"table": table.name, **age_of(table)} for table in tables]
        return {**super().state_dict(), "tables": ages}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take over learning rates and step; the tables must be the same ones.

        Warns (`hotrow.RowsBehindWarning`) of tables that the servers have forgotten since.

        Raises
        ------
        SchemaMismatch, Unimplemented
            Of other tables, or with options that do not travel.
        InvalidArgument
            Of a step that is none.
        NotFound, DataLoss, Unavailable, DeadlineExceeded
            The servers cannot say how far the tables are.
        """
        theirs = [group.get("table") for group in state_dict["param_groups"]]
        ours = [group["table"] for group in self.param_groups]
        if theirs != ours:
            raise SchemaMismatch(
                f"the state is of the tables {theirs}, the optimizer of {ours}",
                hint="Make the optimizer of the same modules, in the same order.",
            )
        for group in state_dict["param_groups"]:
            as_integer(group.get("step"), "step", 0, MAX_STEP)
        super().load_state_dict(state_dict)
        self._refuse_options()
        # States of earlier versions know the steps alone: those of a table may be ahead of it.
        saved = state_dict.get("tables") or [{}] * len(ours)
        for members, age in zip(self._modules, saved, strict=True):
            warn_if_behind(members[0].table, age)
