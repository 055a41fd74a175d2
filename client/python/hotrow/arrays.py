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
    if array.dtype.kind in "OSU":
        raise _no_integers(keys, array, name)
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
        raise InvalidArgument(
            f"{name} must be a dense tensor, not a {kind} one",
            hint="A meta tensor has no values to read: make it on a device."
            if kind == "meta"
            else "Give its values: tensor.to_dense(), or nested.to_padded_tensor(...).",
        )


def check_key_type(dtype: str, name: str, allowed: tuple[str, ...] = _KEY_TYPES) -> None:
    """Refuse every type that does not hold keys exactly."""
    if dtype in allowed:
        return
    if dtype.startswith(("float", "bfloat")):
        hint = f"A float may have rounded the {name}: read them as integers."
    elif dtype == "uint64":
        hint = "The same 64 bits as int64 are the same keys: tensor.view(torch.int64)."
    else:
        hint = "Convert them to int64 where they are made."
    raise InvalidArgument(f"{name} must be {_either(allowed)}, not {dtype}", hint=hint)


def _either(names: tuple[str, ...]) -> str:
    return f"{', '.join(names[:-1])} or {names[-1]}"


def _from_list(keys: Any, name: str) -> np.ndarray:
    """Convert a list of Python or NumPy integers; an empty list is an empty int64 array."""
    try:
        array = np.asarray(keys)
    except (ValueError, OverflowError) as error:
        raise InvalidArgument(
            f"{name} must be an array of integers: {error}",
            hint="Give one flat list, or lists of one length.",
        ) from error
    if array.size == 0 and isinstance(keys, (list, tuple, range)):
        return array.astype(np.int64)
    if array.dtype.kind == "f" and isinstance(keys, (list, tuple)):
        _refuse_mixed_signs(keys, name)
    return array


def _refuse_mixed_signs(keys: Any, name: str) -> None:
    """Refuse a list of integers that NumPy finds no common integer type for: -1 beside 2**63."""
    items = np.asarray(keys, dtype=object).reshape(-1)
    if all(isinstance(item, (int, np.integer)) for item in items):
        raise InvalidArgument(
            f"{name} must be all of int64 or all of uint64, but there are negative ones beside "
            f"{max(items)}",
            hint="A negative key has the 64 bits of key + 2**64: write all of them as one type.",
        )


def _no_integers(keys: Any, array: np.ndarray, name: str) -> InvalidArgument:
    """Say what is in an array of strings or of Python objects, and how it becomes keys."""
    items = array.reshape(-1)
    # The first that is not an integer of 64 bits; in an array of objects the others may be.
    found = next((item for item in items if not _fits(item)), items[0] if items.size else None)
    what = type(found).__name__.removesuffix("_")
    if array.ndim == 0 and not isinstance(keys, (str, bytes, np.ndarray)):
        what = type(keys).__name__
    if isinstance(found, (str, bytes)):
        hint = "Make keys of strings: hotrow.hash_strings(feature, values)."
    elif isinstance(found, int) and not isinstance(found, bool):
        what = f"{found}, which has more than 64 bits" if not _fits(found) else "Python objects"
        hint = (
            "Convert them where they are made: array.astype(np.int64)."
            if _fits(found)
            else "Hash wider ids: hotrow.hash_strings(feature, [str(value), ...])."
        )
    elif found is None and items.size > 1:
        hint = "A missing value has no key: leave it out, or give it a key of its own."
    else:
        hint = f"Give an array, a tensor or a list of integers, e.g. list({name})."
    return InvalidArgument(f"{name} must be {_either(_KEY_TYPES)}, not {what}", hint=hint)


def _fits(item: Any) -> bool:
    is_integer = isinstance(item, (int, np.integer)) and not isinstance(item, bool)
    return is_integer and -(2**63) <= item < 2**64


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
            f"{name} must have the shape {expected} (keys.shape + (dim,)), not {array.shape}",
            hint="Give one row of the table's dim for every key.",
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
            raise _no_floats(name, dtype)
        torch = sys.modules["torch"]
        values = values.detach().to("cpu", torch.float32).numpy()
    try:
        array = np.asarray(values)
    except ValueError as error:
        raise InvalidArgument(
            f"{name} must be an array of floats: {error}", hint="Give rows of one length."
        ) from error
    if array.dtype.kind != "f" and not (array.size == 0 and isinstance(values, (list, tuple))):
        raise _no_floats(name, array.dtype.name)
    with np.errstate(over="ignore"):  # an overflow becomes inf, which push refuses by name
        return np.ascontiguousarray(array, np.float32)


def _no_floats(name: str, dtype: str) -> InvalidArgument:
    return InvalidArgument(
        f"{name} must be a floating type such as float32, not {dtype}",
        hint="Convert them where they are made: array.astype(np.float32), tensor.float().",
    )


def check_timeout(timeout: float | None, name: str = "timeout") -> float | None:
    """Refuse what is not a number of seconds >= 0."""
    if timeout is None:
        return None
    if isinstance(timeout, bool) or not isinstance(timeout, (int, float, np.number)):
        raise InvalidArgument(
            f"{name} must be seconds or None, not {timeout!r}", hint=f"E.g. {name}=30.0."
        )
    if math.isnan(timeout) or timeout < 0:
        raise InvalidArgument(
            f"{name} must be >= 0 seconds, not {timeout!r}", hint="Leave it out for the default."
        )
    return float(timeout)
