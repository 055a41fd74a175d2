"""The modules' outputs and row gradients: torch.nn.EmbeddingBag is the reference."""

import numpy as np
import oracle
import pytest
import torch
from bags import MODES, bag_of, counting_table, row_gradients, tensor

import hotrow
from hotrow.torch import Embedding, EmbeddingBag


def test_malformed_calls_raise_what_torch_users_catch(make_table):
    bag = bag_of(make_table(2), "mean")
    keys = tensor([1, 2])
    weights = torch.ones(2)
    for error, call in (
        (ValueError, lambda: bag(keys)),
        (ValueError, lambda: bag(keys, tensor([[0]]))),
        (ValueError, lambda: bag(keys.reshape(1, 2), tensor([0]))),
        (ValueError, lambda: bag(keys.reshape(1, 1, 2))),
        (ValueError, lambda: bag([1, 2], tensor([0]))),
        (NotImplementedError, lambda: bag(keys, tensor([0]), weights)),
        (ValueError, lambda: bag_of(bag.table)(keys, tensor([0]), torch.ones(3))),
        (ValueError, lambda: bag_of(bag.table)(keys, tensor([0]), keys)),
        (ValueError, lambda: bag_of(bag.table, "median")),
        (ValueError, lambda: EmbeddingBag(None, 2)),
        (ValueError, lambda: EmbeddingBag(None, 2, table="t")),
        (ValueError, lambda: EmbeddingBag(None, 3, table=bag.table)),
        (ValueError, lambda: EmbeddingBag(7, 2, table=bag.table)),
    ):
        with pytest.raises(error):
            call()


@pytest.mark.parametrize("padding", [5, -6])
def test_padding_outside_a_bounded_table_is_refused_as_torch_does(make_table, padding):
    with pytest.raises(AssertionError):
        EmbeddingBag(5, 2, padding_idx=padding, table=make_table(2, num_embeddings=5))


def test_negative_padding_counts_from_the_end_of_a_bounded_table(make_table):
    table = counting_table(make_table, 5, num_embeddings=5)
    assert bag_of(table, padding_idx=-1)(tensor([4, 1]), tensor([0])).tolist() == [[1, 10]]


def random_bags(rng, rows: int, bags: int):
    """Keys, offsets with empty bags, and weights."""
    lengths = rng.integers(0, 6, bags)
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    keys = rng.integers(0, rows, offsets[-1])
    return torch.from_numpy(keys), torch.from_numpy(offsets), rng.standard_normal(keys.size)


@pytest.mark.parametrize("dim", [1, 31, 32, 33])
@pytest.mark.parametrize("padding", [None, 3])
@pytest.mark.parametrize("last", [False, True])
@pytest.mark.parametrize("mode", ["sum", "mean", "max", "weighted"])
def test_outputs_and_gradients_equal_torch(make_table, rng, mode, last, padding, dim):
    rows = oracle.values_of(np.arange(20), dim)
    keys, offsets, weights = random_bags(rng, 20, 64)
    pooling = "sum" if mode == "weighted" else mode
    options = {"mode": pooling, "include_last_offset": last, "padding_idx": padding}
    table = oracle.filled_table(make_table, rows)
    ours = EmbeddingBag(None, dim, table=table, **options)
    theirs = torch.nn.EmbeddingBag(20, dim, _weight=torch.from_numpy(rows.copy()), **options)
    starts = offsets if last else offsets[:-1]
    outputs, weight_gradients = [], []
    for bag in (ours, theirs):
        w = torch.tensor(weights, dtype=torch.float32, requires_grad=True)
        out = bag(keys, starts, w if mode == "weighted" else None)
        out.backward(torch.from_numpy(oracle.values_of(np.arange(64), dim)))
        outputs.append(out.detach().numpy())
        weight_gradients.append(w.grad)
    assert np.allclose(*outputs, rtol=1e-5, atol=1e-6)
    expected = theirs.weight.grad.numpy()
    found = np.zeros_like(expected)
    for key, gradient in row_gradients(ours).items():
        found[key] = gradient
    assert np.allclose(found, expected, rtol=1e-5, atol=1e-6)
    if mode == "weighted":
        assert np.allclose(*(g.numpy() for g in weight_gradients), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("mode", MODES)
def test_two_dimensional_input_equals_torch(make_table, rng, mode):
    rows = oracle.values_of(np.arange(9), 4)
    table = oracle.filled_table(make_table, rows)
    keys = torch.from_numpy(rng.integers(0, 9, (7, 3)))
    theirs = torch.nn.EmbeddingBag(9, 4, _weight=torch.from_numpy(rows), mode=mode)
    for include_last_offset in (False, True):
        ours = bag_of(table, mode, include_last_offset=include_last_offset)
        assert torch.allclose(ours(keys), theirs(keys), atol=1e-6)


def test_max_takes_the_first_of_equal_rows(make_table):
    table = oracle.filled_table(make_table, [[1.0], [1.0]])
    bag = bag_of(table, "max")
    bag(tensor([1, 0]), tensor([0])).sum().backward()
    assert row_gradients(bag) == {1: [1.0], 0: [0.0]}


def test_weights_of_any_floating_type_get_a_gradient_even_when_frozen(make_table):
    table = counting_table(make_table, 5)
    bag = bag_of(table)
    bag.anchor.requires_grad_(False)
    for dtype in (torch.float16, torch.bfloat16, torch.float64):
        weights = torch.tensor([0.5, 2.0], dtype=dtype, requires_grad=True)
        bag(tensor([1, 2]), tensor([0]), weights).sum().backward()
        assert weights.grad.dtype == dtype
        assert weights.grad.tolist() == [11.0, 22.0]
    assert bag.pending.parts() == []


def test_evaluation_changes_nothing(make_table):
    table = make_table(2, initializer=hotrow.Normal())
    bag = bag_of(table)
    with torch.no_grad():
        assert not bag(tensor([1]), tensor([0])).requires_grad
    bag.eval()
    bag(tensor([1]), tensor([0]))
    assert table.size() == 0
    assert bag.pending.parts() == []


def test_outputs_follow_half_and_to(make_table):
    bag = bag_of(counting_table(make_table, 5)).half()
    out = bag(tensor([1, 2]), tensor([0]))
    assert out.dtype == torch.float16
    out.sum().backward()
    assert row_gradients(bag) == {1: [1, 1], 2: [1, 1]}
    assert bag.to(torch.float64)(tensor([1]), tensor([0])).dtype == torch.float64


@pytest.mark.parametrize("shape", [(), (0,), (3,), (2, 3), (2, 0, 3)])
def test_embedding_answers_rows_in_the_shape_of_its_keys(make_table, rng, shape):
    rows = oracle.values_of(np.arange(9), 4)
    table = oracle.filled_table(make_table, rows)
    keys = torch.from_numpy(np.asarray(rng.integers(0, 9, shape)))
    ours = Embedding(None, 4, table=table)
    theirs = torch.nn.Embedding(9, 4, _weight=torch.from_numpy(rows.copy()))
    assert torch.equal(ours(keys), theirs(keys))
    gradient = torch.from_numpy(oracle.values_of(np.arange(keys.numel()), 4)).reshape(*shape, 4)
    for module in (ours, theirs):
        module(keys).backward(gradient)
    found = np.zeros((9, 4), np.float32)
    for part_keys, part in ours.pending.parts():
        found[part_keys.astype(int)] = part
    assert np.allclose(found, theirs.weight.grad.numpy(), atol=1e-6)


def test_embedding_padding_is_zero_until_its_row_is_loaded(make_table):
    table = make_table(2, initializer=hotrow.Normal())
    module = Embedding(None, 2, padding_idx=3, table=table)
    assert module(tensor([3])).tolist() == [[0, 0]]
    module.load_rows([3], [[1.0, 2.0]])
    out = module(tensor([3, 4]))
    assert out[0].tolist() == [1, 2]
    out.sum().backward()
    assert row_gradients(module).keys() == {4}


def test_from_pretrained_holds_the_weight_and_is_frozen(client, name):
    weight = torch.from_numpy(oracle.values_of(np.arange(50), 3))
    bag = EmbeddingBag.from_pretrained(weight, mode="sum", table=name, client=client)
    out = bag(tensor([[0, 49]]))
    assert torch.allclose(out[0], weight[0] + weight[49])
    assert not out.requires_grad
    assert bag.num_embeddings == 50
    module = Embedding.from_pretrained(
        weight.numpy(), freeze=False, table=f"{name}.one", client=client
    )
    assert torch.equal(module(tensor([7]))[0], weight[7])
    assert module(tensor([7])).requires_grad


def test_a_module_creates_its_table_with_torchs_defaults(client, name):
    bag = EmbeddingBag(None, 8, table=name, client=client)
    assert bag.table.optimizer == hotrow.Adagrad(lr=0.01)
    assert bag.table.initializer == hotrow.Normal(0.0, 1.0)
    again = EmbeddingBag(None, 8, table=name, client=client)
    assert torch.equal(again(tensor([[1, 2]])), bag(tensor([[1, 2]])))
    with pytest.raises(hotrow.SchemaMismatch):
        EmbeddingBag(100, 8, table=name, client=client)
    with pytest.raises(hotrow.SchemaMismatch):
        EmbeddingBag(None, 8, table=name, client=client, seed=1)


def test_a_state_dict_names_the_table_and_loads_strictly(make_table):
    table = make_table(2)
    bag = bag_of(table)
    state = bag.state_dict()
    bag_of(table).load_state_dict(state, strict=True)
    with pytest.raises(hotrow.SchemaMismatch):
        bag_of(make_table(2)).load_state_dict(state)
