"""Pooling on the threads that torch is given: the same bits, from any thread, across a fork."""

import os
import threading
import warnings

import numpy as np
import pytest
import torch
from bags import MODES, bag_of, row_gradients

import hotrow

BAGS, KEYS_A_BAG, ROWS = 1000, 7, 500
NONE = hotrow._native.GradientScale.none


@pytest.fixture(autouse=True)
def torch_threads():
    before = torch.get_num_threads()
    yield
    torch.set_num_threads(before)


@pytest.fixture
def table(make_table):
    return make_table(33, initializer=hotrow.Normal(0.0, 1.0))


def pass_of(table, mode, threads, weights=None):
    """Output, row gradients and weight gradients of one forward and backward pass."""
    torch.set_num_threads(threads)
    values = np.random.default_rng(3)
    keys = torch.from_numpy(values.integers(0, ROWS, BAGS * KEYS_A_BAG))
    offsets = torch.arange(0, len(keys), KEYS_A_BAG)
    gradient = torch.from_numpy(values.standard_normal((BAGS, table.dim), dtype=np.float32))
    bag = bag_of(table, mode)
    if weights is not None:
        weights = weights.clone().requires_grad_()
    out = bag(keys, offsets, weights)
    out.backward(gradient)
    gradients = row_gradients(bag)
    weight_gradients = None if weights is None else weights.grad.tolist()
    return out.tolist(), gradients, weight_gradients


@pytest.mark.parametrize("mode", MODES)
def test_any_number_of_threads_gives_the_bits_of_one(table, mode):
    alone = pass_of(table, mode, 1)
    for threads in (2, 3, 2):
        assert pass_of(table, mode, threads) == alone


def test_weighted_sums_on_two_threads_give_the_bits_of_one(table):
    weights = torch.linspace(-1, 1, BAGS * KEYS_A_BAG)
    assert pass_of(table, "sum", 2, weights) == pass_of(table, "sum", 1, weights)


def test_calls_at_the_same_time_share_the_threads(table):
    pooled, gradient, wanted = pooled_bags(table, 50_000)
    found = []

    def work():
        found.extend(np.array_equal(pooled.backward(gradient, NONE)[1], wanted) for _ in range(30))

    threads = [threading.Thread(target=work, daemon=True) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert found == [True] * 120


def pooled_bags(table, bags):
    """Return a native forward pass on two threads, an output gradient, and its row gradients."""
    torch.set_num_threads(2)
    keys = torch.arange(bags * KEYS_A_BAG) % ROWS
    out = bag_of(table, "sum")(keys, torch.arange(0, len(keys), KEYS_A_BAG))
    pooled = out.grad_fn.pooled
    gradient = np.ones((bags, table.dim), np.float32)
    return pooled, gradient, pooled.backward(gradient, NONE)[1]


def test_a_forked_child_pools_alone(table):
    """It has none of the parent's threads: waiting for them would never end."""
    pooled, gradient, wanted = pooled_bags(table, BAGS)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # a fork beside threads, on purpose
        child = os.fork()
    if child == 0:
        same = np.array_equal(pooled.backward(gradient, NONE)[1], wanted)
        os._exit(0 if same else 1)
    assert ended_with(child) == 0


def ended_with(child):
    """Exit code of a child; one that does not end within 30 s is killed."""
    killer = threading.Timer(30, os.kill, (child, 9))
    killer.start()
    try:
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    finally:
        killer.cancel()
