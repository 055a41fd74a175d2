"""Which backward passes collect rows' gradients: those that torch would accumulate, no others."""

import numpy as np
import pytest
import torch

from hotrow.torch import EmbeddingBag, SparseOptimizer


@pytest.fixture
def bag(make_table) -> EmbeddingBag:
    table = make_table(2)
    table.upsert([1, 2], np.ones((2, 2), np.float32))
    return EmbeddingBag(None, 2, mode="sum", table=table)


def weighted(bag: EmbeddingBag) -> tuple[torch.Tensor, torch.Tensor]:
    weights = torch.ones(1, 2, requires_grad=True)
    return bag(torch.tensor([[1, 2]]), None, weights).sum(), weights


def ask_for_weights(out, weights, bag):
    (gradient,) = torch.autograd.grad(out, [weights])
    assert gradient.tolist() == [[2, 2]]


def ask_for_weights_backward(out, weights, bag):
    out.backward(inputs=[weights])
    assert weights.grad.tolist() == [[2, 2]]


def ask_for_everything(out, weights, bag):
    torch.autograd.grad(out, [weights, *bag.parameters()])


@pytest.mark.parametrize(
    "ask", [ask_for_weights, ask_for_weights_backward, ask_for_everything], ids=lambda f: f.__name__
)
def test_a_pass_that_accumulates_nothing_moves_no_row(bag, ask):
    optimizer = SparseOptimizer(bag)
    out, weights = weighted(bag)
    ask(out, weights, bag)
    optimizer.step()
    assert bag.table.pull([1, 2]).tolist() == [[1, 1], [1, 1]]


@pytest.mark.parametrize("with_inputs", [False, True])
def test_a_pass_that_accumulates_moves_rows(bag, with_inputs):
    optimizer = SparseOptimizer(bag)
    out, _ = weighted(bag)
    out.backward(inputs=list(bag.parameters()) if with_inputs else None)
    optimizer.step()
    assert bag.table.pull([1, 2]).tolist() == [[0, 0], [0, 0]]


def test_a_second_pass_without_retain_graph_is_refused_as_in_torch(bag):
    optimizer = SparseOptimizer(bag)
    out = bag(torch.tensor([[1]])).sum()
    out.backward()
    with pytest.raises(RuntimeError, match="a second time"):
        out.backward()
    optimizer.step()
    assert bag.table.pull([1]).tolist() == [[0, 0]]


def test_passes_with_retain_graph_count_each(bag):
    optimizer = SparseOptimizer(bag)
    out = bag(torch.tensor([[1]])).sum()
    out.backward(retain_graph=True)
    out.backward()
    optimizer.step()
    assert bag.table.pull([1]).tolist() == [[-1, -1]]


def test_two_modules_of_one_pass_are_told_apart(bag, make_table):
    other = EmbeddingBag(None, 2, mode="sum", table=make_table(2))
    optimizer = SparseOptimizer([bag, other])
    out = bag(torch.tensor([[1]])).sum() + other(torch.tensor([[1]])).sum()
    out.backward(inputs=list(other.parameters()))
    optimizer.step()
    assert bag.table.pull([1]).tolist() == [[1, 1]]
    assert other.table.pull([1]).tolist() == [[-1, -1]]


@pytest.mark.parametrize("change", ["half", "double", "float"])
def test_a_module_that_changes_its_type_between_the_passes_keeps_its_gradients(bag, change):
    out, _ = weighted(bag)
    getattr(bag, change)()
    out.backward()
    assert sum(len(keys) for keys, _ in bag.pending.parts()) == 2


def test_a_module_that_is_frozen_between_the_passes_gets_none(bag):
    out, weights = weighted(bag)
    bag.requires_grad_(False)
    out.backward()
    assert not bag.pending.parts()
    assert weights.grad.tolist() == [[2, 2]]


def detached_copies(module: torch.nn.Module) -> dict[str, torch.Tensor]:
    return {k: v.detach().clone().requires_grad_() for k, v in module.named_parameters()}


def fast_weights(module: torch.nn.Module) -> dict[str, torch.Tensor]:
    return {k: v - 0.1 for k, v in module.named_parameters()}


@pytest.mark.parametrize("others", [detached_copies, fast_weights], ids=lambda f: f.__name__)
def test_a_pass_with_other_parameters_that_asks_for_those_moves_no_row(bag, others):
    parameters = others(bag)
    out = torch.func.functional_call(bag, parameters, (torch.tensor([[1, 2]]),)).sum()
    torch.autograd.grad(out, list(parameters.values()))
    assert not bag.pending.parts()


def test_backward_through_other_parameters_reaches_the_rows_that_they_were_made_of(bag):
    inputs = (torch.tensor([[1, 2]]),)
    torch.func.functional_call(bag, detached_copies(bag), inputs).sum().backward()
    assert not bag.pending.parts()
    torch.func.functional_call(bag, fast_weights(bag), inputs).sum().backward()
    assert sum(len(keys) for keys, _ in bag.pending.parts()) == 2
