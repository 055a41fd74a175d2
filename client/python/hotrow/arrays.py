"""Arrays of users, NumPy or torch, as the C-contiguous arrays that the native client takes.

Keys come out as uint64 words (n,), rows and gradients as float32 (n, dim). Nothing is copied that
has that form already. What is not a key (a float, a bool, a small integer type) is refused rather
than converted: a float that looks whole may have been rounded. PyTorch is used only if it is
loaded.
"""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass
from typing import Any

import numpy as np

from hotrow.errors import InvalidArgument

_KEY_TYPES = ("int64", "uint64", "int32")


def is_tensor(value: Any) -> bool:
    """Whether `value` is a torch tensor; never imports torch."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(value, torch.Tensor)


@dataclass(frozen=True)
class Keys:
    """Keys of one call.

    Parameters
    ----------
    words : numpy.ndarray
        uint64 (n,), C-contiguous.
    shape : tuple of int
        Shape as given.
    device : torch.device, optional
        Of the tensor that was given; None for NumPy arrays and lists.
    """

    words: np.ndarray
    shape: tuple[int, ...]
    device: Any = None

    def empty_rows(self, dim: int) -> tuple[Any, np.ndarray]:
        """Make the result of a pull and the float32 (n, dim) view of its memory to fill."""
        shape = (*self.shape, dim)
        if self.device is None:
            rows = np.empty(shape, np.float32)
            return rows, rows.reshape(-1, dim)
        torch = sys.modules["torch"]
        tensor = torch.empty(shape, dtype=torch.float32, device="cpu")
        return tensor, tensor.numpy().reshape(-1, dim)

    def deliver(self, rows: Any) -> Any:
        """Bring a filled result of `empty_rows` to where the keys were."""
        return rows if self.device is None or self.device.type == "cpu" else rows.to(self.device)


def as_keys(keys: Any, name: str = "keys") -> Keys:
    """Check and flatten keys.

    Parameters
    ----------
    keys : array_like
        int64, uint64 or int32, NumPy or torch, any shape and strides; or a (nested) list of int.
    name : str
        Stands in the message.

    Returns
    -------
    Keys

    Raises
    ------
    InvalidArgument
        For any other type, a float type even when all values are whole; for a masked array.
    """
    _refuse_mask(keys, name)
    if is_tensor(keys):
        _refuse_layout(keys, name)
        check_key_type(str(keys.dtype).removeprefix("torch."), name)
        array = keys.detach().cpu().numpy()
        return Keys(_as_words(array), tuple(keys.shape), keys.device)
    array = keys if isinstance(keys, np.ndarray) else _from_list(keys, name)
    check_key_type(array.dtype.name, name)
    return Keys(_as_words(array), array.shape)


def _refuse_mask(array: Any, name: str) -> None:
    if isinstance(array, np.ma.MaskedArray):
        raise InvalidArgument(
            f"{name} must not be a masked array: the masked values would be used",
            hint="Give array.compressed() or array.filled(value).",
        )


def _refuse_layout(tensor: Any, name: str) -> None:
    """Refuse tensors without plain memory behind them."""
    torch = sys.modules["torch"]
    kind = "meta" if tensor.is_meta else "nested" if tensor.is_nested else None
    if kind is None and tensor.layout != torch.strided:
        kind = "sparse"
    if kind:
        raise InvalidArgument(f"{name} must be a dense tensor, not a {kind} one")


def check_key_type(dtype: str, name: str, allowed: tuple[str, ...] = _KEY_TYPES) -> None:
    """Refuse every type that does not hold keys exactly."""
    if dtype not in allowed:
        raise InvalidArgument(
            f"{name} must be {', '.join(allowed[:-1])} or {allowed[-1]}, not {dtype}",
            hint=f"A float may have rounded the {name}: read them as integers."
            if dtype.startswith(("float", "bfloat"))
            else "Convert them to int64 where they are made.",
        )


def _from_list(keys: Any, name: str) -> np.ndarray:
    """Convert a list of Python or NumPy integers; an empty list is an empty int64 array."""
    try:
        array = np.asarray(keys)
    except (ValueError, OverflowError) as error:
        raise InvalidArgument(f"{name} must be an array of integers: {error}") from error
    if array.size == 0 and isinstance(keys, (list, tuple, range)):
        return array.astype(np.int64)
    return array


def _as_words(array: np.ndarray) -> np.ndarray:
    """uint64 (n,) words of an int64, uint64 or int32 array; negative keys in two's complement."""
    if array.dtype.kind == "u":
        return np.ascontiguousarray(array, np.uint64).reshape(-1)
    return np.ascontiguousarray(array, np.int64).reshape(-1).view(np.uint64)


def as_rows(rows: Any, keys: Keys, dim: int, name: str) -> np.ndarray:
    """Check rows or gradients and view them as float32 (n, dim).

    Parameters
    ----------
    rows : array_like
        keys.shape + (dim,), any floating type; rounded to float32 where it is wider.
    keys : Keys
        What the rows belong to.
    dim : int
        Values per row.
    name : str
        Stands in the message.

    Returns
    -------
    numpy.ndarray

    Raises
    ------
    InvalidArgument
        For another shape or a type that is not floating; for a masked array.
    """
    array = as_float_array(rows, name)
    expected = (*keys.shape, dim)
    if array.shape != expected:
        raise InvalidArgument(
            f"{name} must have the shape {expected} (keys.shape + (dim,)), not {array.shape}"
        )
    return array.reshape(-1, dim)


def as_float_array(values: Any, name: str) -> np.ndarray:
    """Check and convert values.

    Parameters
    ----------
    values : array_like
        Any floating type, NumPy, torch or a (nested) list; any shape and strides.
    name : str
        Stands in the message.

    Returns
    -------
    numpy.ndarray
        float32, C-contiguous, of the same shape; `values` themselves where they have that form.

    Raises
    ------
    InvalidArgument
        For a type that is not floating; for a masked array.
    """
    _refuse_mask(values, name)
    if is_tensor(values):
        _refuse_layout(values, name)
        if not values.is_floating_point():
            dtype = str(values.dtype).removeprefix("torch.")
            raise InvalidArgument(f"{name} must be a floating type such as float32, not {dtype}")
        torch = sys.modules["torch"]
        values = values.detach().to("cpu", torch.float32).numpy()
    try:
        array = np.asarray(values)
    except ValueError as error:
        raise InvalidArgument(f"{name} must be an array of floats: {error}") from error
    if array.dtype.kind != "f" and not (array.size == 0 and isinstance(values, (list, tuple))):
        raise InvalidArgument(
            f"{name} must be a floating type such as float32, not {array.dtype.name}"
        )
    with np.errstate(over="ignore"):  # an overflow becomes inf, which push refuses by name
        return np.ascontiguousarray(array, np.float32)


def check_timeout(timeout: float | None, name: str = "timeout") -> float | None:
    """Refuse what is not a number of seconds >= 0."""
    if timeout is None:
        return None
    if isinstance(timeout, bool) or not isinstance(timeout, (int, float, np.number)):
        raise InvalidArgument(f"{name} must be seconds or None, not {timeout!r}")
    if math.isnan(timeout) or timeout < 0:
        raise InvalidArgument(f"{name} must be >= 0 seconds, not {timeout!r}")
    return float(timeout)
