"""Keys and rows as users bring them."""

import numpy as np
import pytest
import torch

import hotrow
from hotrow.arrays import as_float_array, as_keys, as_rows

EXTREMES = [0, 1, -1, -2, 2**63 - 1, -(2**63)]


@pytest.mark.parametrize("size", [0, 1, 31, 32, 33, 1000])
@pytest.mark.parametrize("dtype", [np.int64, np.uint64, np.int32])
def test_keys_of_every_type_keep_their_value(size, dtype):
    keys = np.arange(size).astype(dtype)
    assert as_keys(keys).words.tolist() == list(range(size))


def test_every_64_bit_pattern_is_a_key():
    words = as_keys(np.array(EXTREMES)).words
    assert words.view(np.int64).tolist() == EXTREMES
    assert as_keys(torch.tensor(EXTREMES)).words.tolist() == words.tolist()
    assert as_keys(EXTREMES).words.tolist() == words.tolist()


def test_negative_int32_keys_are_sign_extended():
    assert as_keys(np.array([-5], np.int32)).words.view(np.int64).tolist() == [-5]


def test_large_unsigned_keys_pass_in_arrays_and_lists():
    assert as_keys(np.array([2**64 - 1], np.uint64)).words.tolist() == [2**64 - 1]
    assert as_keys([2**64 - 1]).words.tolist() == [2**64 - 1]


def test_contiguous_keys_are_not_copied():
    keys = np.arange(33)
    assert np.shares_memory(as_keys(keys).words, keys)
    tensor = torch.arange(33)
    assert np.shares_memory(as_keys(tensor).words, tensor.numpy())


def test_strided_keys_and_foreign_byte_order_are_understood():
    keys = np.arange(64).reshape(8, 8)[::2, ::-1].T
    assert as_keys(keys).words.tolist() == keys.reshape(-1).tolist()
    assert as_keys(np.array([1, 258], ">i8")).words.tolist() == [1, 258]
    assert as_keys(torch.arange(12).reshape(3, 4).t()).words.tolist() == [
        0, 4, 8, 1, 5, 9, 2, 6, 10, 3, 7, 11,
    ]  # fmt: skip


@pytest.mark.parametrize(
    "keys",
    [
        np.array([16777217], np.float32),
        np.array([1.0]),
        np.array([9007199254740993], np.float64),
        np.array([1.0, np.nan]),
        np.array([True]),
        np.array([1], np.int16),
        np.array([1], np.uint32),
        np.array(["1"]),
        np.array([None]),
        torch.tensor([1.0]),
        torch.tensor([1.0], dtype=torch.bfloat16),
        torch.tensor([True]),
        torch.tensor([1], dtype=torch.int16),
        torch.empty(0),
        np.empty(0),
        [1.0],
        [True],
        [1, -1, 2**64 - 1],
        [2**65],
        [[1], [2, 3]],
        "12",
        None,
        1.5,
    ],
    ids=repr,
)
def test_case_19_what_is_not_an_integer_key_is_refused(keys):
    with pytest.raises(hotrow.InvalidArgument, match="keys must be"):
        as_keys(keys)


def test_an_empty_list_is_no_keys():
    assert as_keys([]).shape == (0,)
    assert as_keys([[], []]).shape == (2, 0)


def test_rows_of_the_wrong_shape_name_expected_and_got():
    with pytest.raises(hotrow.InvalidArgument, match=r"\(2, 3, 4\).*not \(2, 4\)"):
        as_rows(np.zeros((2, 4), np.float32), as_keys(np.zeros((2, 3), int)), 4, "gradients")


@pytest.mark.parametrize("values", [np.ones(3, int), np.array([True]), torch.ones(2).long(), "x"])
def test_rows_that_are_not_floats_are_refused(values):
    with pytest.raises(hotrow.InvalidArgument, match="rows must be"):
        as_float_array(values, "rows")


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
def test_rows_of_every_floating_type_arrive_as_float32(dtype):
    array = as_float_array(torch.tensor([0.5, -2.0], dtype=dtype, requires_grad=True), "rows")
    assert array.dtype == np.float32
    assert array.tolist() == [0.5, -2.0]
