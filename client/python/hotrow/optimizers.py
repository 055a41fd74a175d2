"""Optimizers: how a server changes a row by a gradient.

A table has one of them for its life. `g` is the gradient of a row summed over all its duplicates in
the step; `lr` is the default rate, and every push carries the rate it is applied with.
Everything that this version does not offer is refused when it is named.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from hotrow import _native
from hotrow.errors import InvalidArgument, Unimplemented
from hotrow.scalars import as_float, set_floats, shortest


def _refuse(optimizer: Optimizer, **defaults: Any) -> None:
    for name, default in defaults.items():
        if getattr(optimizer, name) != default:
            raise Unimplemented(
                f"{type(optimizer).__name__}({name}={getattr(optimizer, name)!r}) is not offered "
                "by this version",
                hint=f"Leave {name} at {default!r}.",
            )


@dataclass(frozen=True, kw_only=True)
class _Common:
    """Fields of every optimizer; anything but the default is refused in this version.

    Parameters
    ----------
    weight_decay : float
        Decay of touched rows.
    weight_decay_mode : {"none", "l2", "decoupled"}
        Decay within the gradient, or apart from it.
    state_dtype : str
        Storage type of the optimizer's state.
    dialect : {"torch", "fbgemm"}, optional
        Defaults and placement of eps of another library.
    """

    weight_decay: float = 0.0
    weight_decay_mode: str = "none"
    state_dtype: str = "float32"
    dialect: str | None = None


class Optimizer(_Common):
    """Base of the optimizers."""

    lr: float
    # Names of the state arrays and their columns: "row" is one value, "dim" one per column.
    STATE: ClassVar[tuple[tuple[str, str], ...]] = ()

    def __post_init__(self) -> None:
        """Refuse what cannot be served."""
        set_floats(self, "lr", least=0.0)
        _refuse(
            self, weight_decay=0.0, weight_decay_mode="none", state_dtype="float32", dialect=None
        )

    def to_native(self) -> Any:
        """Convert for the native client."""
        raise NotImplementedError


@dataclass(frozen=True)
class Sgd(Optimizer):
    """Plain gradient descent: `w -= lr * g`.

    Parameters
    ----------
    lr : float
        Learning rate, >= 0.
    momentum : float
        Only 0 in this version.
    """

    lr: float = 0.01
    momentum: float = 0.0

    def __post_init__(self) -> None:
        """Refuse what cannot be served."""
        super().__post_init__()
        _refuse(self, momentum=0.0)

    def to_native(self) -> Any:
        """Convert for the native client."""
        native = _native.Sgd()
        native.lr = self.lr
        return native


@dataclass(frozen=True)
class Adagrad(Optimizer):
    """Adagrad per element: `h += g * g; w -= lr * g / (sqrt(h) + eps)`.

    Duchi et al. 2011, with the defaults of torch.optim.Adagrad.

    Parameters
    ----------
    lr, eps, initial_accumulator_value : float
        >= 0.
    lr_decay : float
        Only 0 in this version: let a scheduler change the rate.
    """

    lr: float = 0.01
    eps: float = 1e-10
    initial_accumulator_value: float = 0.0
    lr_decay: float = 0.0
    STATE: ClassVar = (("sum", "dim"),)

    def __post_init__(self) -> None:
        """Refuse what cannot be served."""
        super().__post_init__()
        set_floats(self, "eps", "initial_accumulator_value", least=0.0)
        _refuse(self, lr_decay=0.0)

    def to_native(self) -> Any:
        """Convert for the native client."""
        native = _native.Adagrad()
        native.lr = self.lr
        native.eps = self.eps
        native.initial_accumulator_value = self.initial_accumulator_value
        return native


@dataclass(frozen=True)
class RowwiseAdagrad(Optimizer):
    """Adagrad with one accumulator a row: `h += mean(g * g); w -= lr * g / (sqrt(h) + eps)`.

    The rule and the defaults of FBGEMM's exact row-wise Adagrad.

    Parameters
    ----------
    lr, eps, initial_accumulator_value : float
        >= 0.
    """

    lr: float = 0.01
    eps: float = 1e-8
    initial_accumulator_value: float = 0.0
    STATE: ClassVar = (("sum", "row"),)

    def __post_init__(self) -> None:
        """Refuse what cannot be served."""
        super().__post_init__()
        set_floats(self, "eps", "initial_accumulator_value", least=0.0)

    def to_native(self) -> Any:
        """Convert for the native client."""
        native = _native.RowwiseAdagrad()
        native.lr = self.lr
        native.eps = self.eps
        native.initial_accumulator_value = self.initial_accumulator_value
        return native


@dataclass(frozen=True)
class Adam(Optimizer):
    """Lazy Adam: moments of touched rows only; equal to torch.optim.SparseAdam.

    Kingma and Ba 2015. The bias correction uses the step that the push carries.

    Parameters
    ----------
    lr, eps : float
        >= 0.
    betas : tuple of float
        Each in [0, 1).
    bias_correction : {"global"}
        "row" (by the number of updates of the row) is refused in this version.
    """

    lr: float = 1e-3
    betas: tuple[float, float] = (0.9, 0.999)
    eps: float = 1e-8
    bias_correction: str = "global"
    STATE: ClassVar = (("exp_avg", "dim"), ("exp_avg_sq", "dim"))

    def __post_init__(self) -> None:
        """Refuse what cannot be served."""
        super().__post_init__()
        set_floats(self, "eps", least=0.0)
        given = self.betas if isinstance(self.betas, (tuple, list)) else ()
        betas = tuple(as_float(beta, "betas", 0.0) for beta in given)
        if len(betas) != 2 or not all(beta < 1.0 for beta in betas):
            raise InvalidArgument(
                f"betas must be two numbers in [0, 1), not {self.betas!r}",
                hint="E.g. betas=(0.9, 0.999).",
            )
        object.__setattr__(self, "betas", betas)
        if self.bias_correction not in ("global", "row"):
            raise InvalidArgument(
                f"bias_correction must be 'global' or 'row', not {self.bias_correction!r}",
                hint="Use 'global', the one that this version offers.",
            )
        _refuse(self, bias_correction="global")

    def to_native(self) -> Any:
        """Convert for the native client."""
        native = _native.Adam()
        native.lr = self.lr
        native.beta1, native.beta2 = self.betas
        native.eps = self.eps
        return native


class Ftrl(Optimizer):
    """Follow the regularised leader (McMahan et al. 2013): refused in this version."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        raise Unimplemented(
            "the optimizer Ftrl is not offered by this version",
            hint="Use Adagrad, RowwiseAdagrad, Adam or Sgd.",
        )


def optimizer_from_native(native: Any) -> Optimizer:
    """Convert what the native client says about a table."""
    name = type(native).__name__
    if name == "Sgd":
        return Sgd(lr=shortest(native.lr))
    if name == "Adam":
        betas = (shortest(native.beta1), shortest(native.beta2))
        return Adam(lr=shortest(native.lr), betas=betas, eps=shortest(native.eps))
    cls = Adagrad if name == "Adagrad" else RowwiseAdagrad
    return cls(
        lr=shortest(native.lr),
        eps=shortest(native.eps),
        initial_accumulator_value=shortest(native.initial_accumulator_value),
    )
