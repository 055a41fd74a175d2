"""Reported faults of pooling: empty bags and batches, offsets, padding, switches (cases 1-10)."""

import numpy as np
import oracle
import pytest
import torch
from bags import MODES, bag_of, counting_table, row_gradients, tensor

import hotrow
from hotrow.torch import Embedding, EmbeddingBag, SparseOptimizer

FIVE = [0, 1, 2, 3, 4]
IN_THE_MIDDLE = [0, 1, 1, 3, 3, 4]
AT_THE_END = [0, 1, 5]


@pytest.mark.parametrize(
    ("mode", "offsets", "expected", "gradients"),
    [
        ("sum", IN_THE_MIDDLE, [[0, 0], [0, 0], [3, 30], [0, 0], [3, 30], [4, 40]], [1] * 5),
        (
            *("mean", IN_THE_MIDDLE, [[0, 0], [0, 0], [1.5, 15], [0, 0], [3, 30], [4, 40]]),
            [1, 0.5, 0.5, 1, 1],
        ),
        (
            *("max", IN_THE_MIDDLE, [[0, 0], [0, 0], [2, 20], [0, 0], [3, 30], [4, 40]]),
            [1, 0, 1, 1, 1],
        ),
        ("sum", AT_THE_END, [[0, 0], [10, 100], [0, 0]], [1] * 5),
        ("mean", AT_THE_END, [[0, 0], [2.5, 25], [0, 0]], [1] + [0.25] * 4),
        ("max", AT_THE_END, [[0, 0], [4, 40], [0, 0]], [1, 0, 0, 0, 1]),
    ],
)
def test_case_1_empty_bags_in_the_middle_and_at_the_end(
    make_table, mode, offsets, expected, gradients
):
    table = counting_table(make_table, 5)
    bag = bag_of(table, mode)
    out = bag(tensor(FIVE), tensor(offsets))
    assert out.tolist() == expected
    out.backward(torch.ones_like(out))
    assert row_gradients(bag) == {key: [g, g] for key, g in enumerate(gradients)}
    before = table.stats()["rows_pushed"]
    SparseOptimizer(bag).step()
    assert table.stats()["rows_pushed"] == before + 5
    moved = [[key - g, 10 * key - g] for key, g in enumerate(gradients)]
    assert table.pull(FIVE).tolist() == moved


def unchanged(table: hotrow.Table, rows: int) -> bool:
    expected = {key: [key, 10 * key] for key in range(rows)}
    return {key: row.tolist() for key, row in oracle.stored(table).items()} == expected


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
    assert unchanged(table, 5)
    out = bag(tensor([4]), tensor([0]))
    assert out.tolist() == [[4, 40]]
    out.sum().backward()
    optimizer.step()
    assert table.pull([4]).tolist() == [[3, 39]]


def test_case_2_a_push_and_a_pull_without_keys(make_table):
    table = make_table(3)
    assert table.pull([]).shape == (0, 3)
    assert table.pull(np.empty((0, 4), int)).shape == (0, 4, 3)
    assert table.push([], np.empty((0, 3), np.float32)) == hotrow.PushCounts(0, 0)
    assert table.remove([]) == 0
    table.push([1], [[1.0, 1.0, 1.0]])
    assert table.pull([1]).tolist() == [[-1.0, -1.0, -1.0]]


def test_case_2_the_servers_count_a_step_when_its_keys_arrive(make_table):
    """A step without keys counts at the worker; the servers learn of it with the next keys."""
    table = make_table(1, optimizer=hotrow.Adam(lr=0.1))
    nothing = np.empty((0, 1), np.float32)
    table.push([1], [[1.0]])
    for _ in range(2):
        table.push([], nothing)
        assert table.stats()["highest_step"] == 1
    table.push([1], [[1.0]])
    assert table.stats()["highest_step"] == 4
    bag = bag_of(table)
    optimizer = SparseOptimizer(bag)
    for count in (5, 6):
        optimizer.step()
        assert (optimizer.step_count, table.stats()["highest_step"]) == (count, 4)
    bag(tensor([[1]])).sum().backward()
    optimizer.step()
    assert (optimizer.step_count, table.stats()["highest_step"]) == (7, 7)


def test_case_2_two_workers_of_which_one_is_empty_in_the_last_batch(clusters, make_table):
    table = counting_table(make_table, 5)
    batches = ([[0, 1], [2, 3]], [[4, 0], []])  # for each batch, the ids of both workers
    workers = [
        hotrow.connect(clusters(2).addresses, job="two", rank=rank, world_size=2)
        for rank in range(2)
    ]
    try:
        bags = [EmbeddingBag(None, 2, mode="sum", table=table.name, client=w) for w in workers]
        optimizers = [SparseOptimizer(bag) for bag in bags]
        for batch in (*batches, batches[0]):
            for bag, optimizer, keys in zip(bags, optimizers, batch, strict=True):
                out = bag(tensor(keys), tensor([0]))
                assert tuple(out.shape) == (1, 2)
                out.sum().backward()
                optimizer.step()
        assert [optimizer.step_count for optimizer in optimizers] == [3, 3]
    finally:
        for worker in workers:
            worker.close()
    assert table.stats()["highest_step"] == 3
    uses = [3, 2, 2, 2, 1]
    moved = [[key - used, 10 * key - used] for key, used in enumerate(uses)]
    assert table.pull(FIVE).tolist() == moved


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
    assert table.pull([0, 1, 2]).tolist() == [[1, 0], [0, 1], [2, 2]]
    assert bag(keys, tensor([0, 3, 5])).tolist() == [[2, 1], [3, 2]]


@pytest.mark.parametrize(
    ("mode", "expected", "gradients"),
    [
        ("sum", [0, 16], {4: 1, 3: 1, 9: 1}),
        ("mean", [0, 16 / 3], {4: 1 / 3, 3: 1 / 3, 9: 1 / 3}),
        ("max", [0, 9], {4: 0, 3: 0, 9: 1}),
    ],
)
def test_case_5_padding_inside_bags(make_table, mode, expected, gradients):
    table = oracle.filled_table(make_table, [[i, i] for i in range(10)])
    bag = bag_of(table, mode, padding_idx=2)
    out = bag(tensor([2, 2, 2, 2, 4, 3, 2, 9]), tensor([0, 4]))
    for column in range(2):
        assert out[:, column].tolist() == pytest.approx(expected)
    out.backward(torch.ones_like(out))
    found = row_gradients(bag)
    for column in range(2):
        assert {key: g[column] for key, g in found.items()} == pytest.approx(gradients)


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
    rows = [[3, 4], [0.3, 0.4], [6, 8]]
    table = oracle.filled_table(make_table, rows)
    with pytest.raises(hotrow.Unimplemented, match="not offered"):
        module(None, 2, table=table, **option)
    assert table.pull([0, 1, 2]).tolist() == np.array(rows, np.float32).tolist()
