"""The modules' outputs and row gradients: torch.nn.EmbeddingBag is the reference."""

import itertools

import numpy as np
import oracle
import pytest
import torch

import hotrow
from hotrow.torch import Embedding, EmbeddingBag, SparseOptimizer

MODES = ["sum", "mean", "max"]


def bag_of(table: hotrow.Table, mode: str = "sum", **options) -> EmbeddingBag:
    return EmbeddingBag(table.num_embeddings, table.dim, mode=mode, table=table, **options)


def row_gradients(bag: EmbeddingBag) -> dict[int, list[float]]:
    """Pending gradients by key; every key once per backward pass."""
    ((keys, gradients),) = bag.pending.parts()
    return dict(zip(keys.view(np.int64).tolist(), gradients.tolist(), strict=True))


def counting_table(make_table, rows: int, **options) -> hotrow.Table:
    """R(n, 2): row i is (i, 10 i)."""
    return oracle.filled_table(make_table, [[i, 10 * i] for i in range(rows)], **options)


def tensor(values, dtype=torch.int64) -> torch.Tensor:
    return torch.tensor(values, dtype=dtype)


def test_case_1_empty_bags_in_the_middle_and_at_the_end(make_table):
    table = counting_table(make_table, 5)
    keys, offsets = tensor([0, 1, 2, 3, 4]), tensor([0, 1, 1, 3, 3, 4])
    expected = [[0, 0], [0, 0], [3, 30], [0, 0], [3, 30], [4, 40]]
    bag = bag_of(table)
    assert bag(keys, offsets).tolist() == expected
    mean = bag_of(table, "mean")
    out = mean(keys, offsets)
    assert out[2].tolist() == [1.5, 15]
    out.backward(torch.ones_like(out))
    assert row_gradients(mean) == {0: [1, 1], 1: [0.5, 0.5], 2: [0.5, 0.5], 3: [1, 1], 4: [1, 1]}
    assert mean(keys, tensor([0, 1, 5])).tolist() == [[0, 0], [2.5, 25], [0, 0]]
    assert bag_of(table, "max")(keys, offsets)[1].tolist() == [0, 0]


def test_case_1_empty_bags_push_nothing(make_table):
    table = counting_table(make_table, 5)
    bag = bag_of(table)
    bag(tensor([0, 1, 2, 3, 4]), tensor([0, 1, 1, 3, 3, 4])).sum().backward()
    before = table.stats()["rows_pushed"]
    SparseOptimizer(bag).step()
    assert table.stats()["rows_pushed"] == before + 5


@pytest.mark.parametrize("mode", MODES)
def test_case_2_batches_without_keys(make_table, mode):
    table = counting_table(make_table, 5)
    bag = bag_of(table, mode, padding_idx=2)
    optimizer = SparseOptimizer(bag)
    for keys, offsets, bags in (
        (torch.empty(0, 3, dtype=torch.int64), None, 0),
        (torch.empty(4, 0, dtype=torch.int64), None, 4),
        (tensor([]), tensor([]), 0),
        (tensor([]), tensor([0, 0, 0]), 3),
        (tensor([2, 2]), tensor([0]), 1),
    ):
        out = bag(keys, offsets)
        assert tuple(out.shape) == (bags, 2)
        assert not out.any()
        out.sum().backward()
        optimizer.step()
    assert optimizer.step_count == 5
    assert oracle.stored(table)[2].tolist() == [2, 20]
    assert bag(tensor([4]), tensor([0])).tolist() == [[4, 40]]


def test_case_3_the_last_offset_must_match(make_table):
    table = oracle.filled_table(make_table, [[1, 0], [0, 1], [2, 2]])
    bag = bag_of(table, include_last_offset=True)
    keys = tensor([0, 0, 1, 2, 0])
    assert bag(keys, tensor([0, 3, 5])).tolist() == [[2, 1], [3, 2]]
    pulled = table.stats()["rows_pulled"]
    for offsets in ([0, 3, 4], [0, 3, 2], [0, 3, 2, 5], [0, 3, 6], [], [1, 5], [0, -1, 5]):
        with pytest.raises(hotrow.InvalidArgument, match="offset"):
            bag(keys, tensor(offsets))
    crash = [0, 6, 12, 15, 25, 32, 40, 42, 46, 53, 53]
    with pytest.raises(hotrow.InvalidArgument, match="53"):
        bag(torch.zeros(55, dtype=torch.int64), tensor(crash))
    with pytest.raises(hotrow.InvalidArgument, match="empty"):
        bag_of(table)(tensor([1, 2]), tensor([]))
    assert table.stats()["rows_pulled"] == pulled


@pytest.mark.parametrize(
    ("mode", "expected"), [("sum", [0, 16]), ("mean", [0, 16 / 3]), ("max", [0, 9])]
)
def test_case_5_padding_inside_bags(make_table, mode, expected):
    table = oracle.filled_table(make_table, [[i, i] for i in range(10)])
    bag = bag_of(table, mode, padding_idx=2)
    out = bag(tensor([2, 2, 2, 2, 4, 3, 2, 9]), tensor([0, 4]))
    assert out[:, 0].tolist() == pytest.approx(expected)
    out.sum().backward()
    gradients = row_gradients(bag)
    assert 2 not in gradients
    if mode == "mean":
        assert {key: g[0] for key, g in gradients.items()} == pytest.approx(
            {4: 1 / 3, 3: 1 / 3, 9: 1 / 3}
        )


def test_case_5_the_padding_key_is_neither_pulled_nor_created(make_table):
    table = make_table(2)
    bag = bag_of(table, padding_idx=-7)
    before = table.stats()["rows_pulled"]
    bag(tensor([-7, 1, -7, 2]), tensor([0, 2])).sum().backward()
    SparseOptimizer(bag).step()
    assert table.stats()["rows_pulled"] == before + 2
    assert sorted(oracle.stored(table)) == [1, 2]


def test_case_8_scale_grad_by_freq_divides_by_the_count(make_table):
    table = make_table(1)
    bag = bag_of(table, scale_grad_by_freq=True)
    bag(tensor([1, 1, 3]), tensor([0])).sum().backward()
    assert row_gradients(bag) == {1: [1.0], 3: [1.0]}


def test_case_8_max_gives_its_gradient_to_the_winner(make_table):
    table = oracle.filled_table(make_table, [[1, 5], [3, 2], [0, 0]])
    bag = bag_of(table, "max")
    out = bag(tensor([0, 1, 2]), tensor([0, 2]))
    assert out.tolist() == [[3, 5], [0, 0]]
    out.backward(torch.ones_like(out))
    assert row_gradients(bag) == {0: [0, 1], 1: [1, 0], 2: [1, 1]}
    bag.pending.clear()
    bag(tensor([1, 1]), tensor([0])).sum().backward()
    assert row_gradients(bag) == {1: [1, 1]}


def test_case_8_frequency_scaling_of_max_is_refused(make_table):
    with pytest.raises(ValueError, match="scale_grad_by_freq"):
        bag_of(make_table(2), "max", scale_grad_by_freq=True)


@pytest.mark.parametrize("module", [EmbeddingBag, Embedding])
@pytest.mark.parametrize(
    "option", [{"max_norm": 1.0}, {"norm_type": 1.0}, {"dtype": torch.float16}]
)
def test_case_10_what_is_not_offered_is_refused_by_the_constructor(make_table, module, option):
    table = make_table(2)
    with pytest.raises(hotrow.Unimplemented, match="not offered"):
        module(None, 2, table=table, **option)


def test_case_15_ids_and_offsets_outside_the_range(make_table):
    table = counting_table(make_table, 5, num_embeddings=5)
    bag = bag_of(table)
    assert bag(tensor([4]), tensor([0])).tolist() == [[4, 40]]
    for key in (5, -1):
        with pytest.raises(RuntimeError, match=str(key)):
            bag(tensor([key]), tensor([0]))
        with pytest.raises(IndexError, match=str(key)):
            Embedding(5, 2, table=table)(tensor([key]))
    for offsets in ([-3], [0, -3], [1], [0, 2]):
        with pytest.raises(RuntimeError, match="offset"):
            bag(tensor([4]), tensor(offsets))


def test_case_19_keys_must_be_int64_or_int32(make_table):
    bag = bag_of(counting_table(make_table, 5))
    for dtype in (torch.float32, torch.float64, torch.bool, torch.int16, torch.uint8):
        with pytest.raises(RuntimeError, match="int64"):
            bag(torch.ones(1, dtype=dtype), tensor([0]))
    with pytest.raises(RuntimeError, match="int64"):
        bag(tensor([1]), torch.zeros(1))
    for first, second in itertools.product((torch.int32, torch.int64), repeat=2):
        assert bag(tensor([1, 2], first), tensor([0, 1], second)).tolist() == [[1, 10], [2, 20]]


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
    module = Embedding.from_pretrained(weight.numpy(), freeze=False, table=name, client=client)
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
