"""Reported faults of updates: duplicates, arithmetic, bad gradients, schedules (cases 12-27)."""

import multiprocessing
from pathlib import Path

import numpy as np
import oracle
import pytest
import torch
from bags import ADAGRAD, accumulator, adagrad_table, bag_of, look_up, tensor

import hotrow
from hotrow.torch import EmbeddingBag, SparseOptimizer

# Second gradient of id 2 after a first one of 1, the row then, and its accumulator: summed first.
SUMMED_FIRST = [(-1.0, 1.0, 0.0), (1.0, 0.9, 4.0)]


def assert_row(table: hotrow.Table, key: int, row: float, accumulated: float) -> None:
    assert table.pull([key])[0, 0] == pytest.approx(row, abs=1e-6)
    assert accumulator(table) == accumulated


@pytest.mark.parametrize(("second", "row", "accumulated"), SUMMED_FIRST)
def test_case_12_two_modules_on_one_table_are_summed_first(make_table, second, row, accumulated):
    table = adagrad_table(make_table)
    bags = torch.nn.ModuleList(bag_of(table) for _ in range(2))
    optimizer = SparseOptimizer(bags)
    assert len(optimizer.param_groups) == 1
    (look_up(bags[0], 2) + second * look_up(bags[1], 2)).backward()
    optimizer.step()
    assert_row(table, 2, row, accumulated)


@pytest.mark.parametrize(("second", "row", "accumulated"), SUMMED_FIRST)
def test_case_12_two_modules_of_one_name_are_summed_first(client, name, second, row, accumulated):
    options = {"mode": "sum", "table": name, "client": client, **ADAGRAD}
    bags = [EmbeddingBag(None, 1, **options) for _ in range(2)]
    optimizer = SparseOptimizer(bags)
    assert len(optimizer.param_groups) == 1
    (look_up(bags[0], 2) + second * look_up(bags[1], 2)).backward()
    optimizer.step()
    assert_row(client.table(name), 2, row, accumulated)


@pytest.mark.parametrize(("second", "row", "accumulated"), SUMMED_FIRST)
def test_case_12_two_backward_passes_are_summed_first(make_table, second, row, accumulated):
    table = adagrad_table(make_table)
    bag = bag_of(table)
    optimizer = SparseOptimizer(bag)
    look_up(bag, 2).backward()
    (second * look_up(bag, 2)).backward()
    optimizer.step()
    assert_row(table, 2, row, accumulated)


@pytest.mark.parametrize(("second", "row", "accumulated"), SUMMED_FIRST)
def test_case_12_one_batch_is_summed_first(make_table, second, row, accumulated):
    table = adagrad_table(make_table)
    bag = bag_of(table)
    bag(tensor([[2], [2]])).backward(torch.tensor([[1.0], [second]]))
    SparseOptimizer(bag).step()
    assert_row(table, 2, row, accumulated)


def test_case_12_two_names_are_independent(client, name):
    names = [f"{name}.user", f"{name}.item"]
    bags = [
        EmbeddingBag(None, 1, mode="sum", table=table, client=client, **ADAGRAD) for table in names
    ]
    optimizer = SparseOptimizer(bags)
    assert len(optimizer.param_groups) == 2
    (look_up(bags[0], 2) - look_up(bags[1], 2)).backward()
    optimizer.step()
    assert_row(client.table(names[0]), 2, 0.9, 1.0)
    assert_row(client.table(names[1]), 2, 1.1, 1.0)


def test_case_13_the_order_of_a_sum_is_fixed(make_table):
    gradients = np.array([1e8, 1, -1e8, 1], np.float32)[:, None]
    for table in (make_table(1), make_table(1)):
        table.push([7, 7, 7, 7], gradients)
        assert table.pull([7]).tolist() == [[-1.0]]


def test_case_13_many_duplicates_give_equal_bits(connected, name, rng):
    gradients = rng.standard_normal((4096, 3)).astype(np.float32)
    expected = -oracle.order_sum(list(gradients))
    for shards in (1, 2, 4):
        table = connected(shards).create_table(
            name, 3, optimizer=hotrow.Sgd(lr=1.0), initializer=hotrow.Zeros()
        )
        for attempt in range(10):
            table.remove([7])
            table.push(np.full(4096, 7), gradients)
            assert table.pull([7])[0].tobytes() == expected.tobytes(), (shards, attempt)


def test_case_21_duplicates_are_summed_before_the_optimizer(make_table):
    table = adagrad_table(make_table)
    table.push([5, 5], [[1.0], [3.0]])
    assert oracle.stored(table).keys() == {5}
    assert_row(table, 5, 0.9, 16.0)


@pytest.mark.parametrize("shape", [[[5, 5]], [[5], [5]]])
def test_case_21_duplicates_within_and_across_bags_are_summed_first(make_table, shape):
    table = adagrad_table(make_table)
    bag = bag_of(table)
    keys = tensor(shape)
    weights = torch.tensor([1.0, 3.0]).reshape(keys.shape)
    bag(keys, None, weights).sum().backward()
    SparseOptimizer(bag).step()
    assert_row(table, 5, 0.9, 16.0)


def test_case_21_duplicates_at_both_ends_of_a_push_of_many_messages(client, make_table):
    table = make_table(64, **ADAGRAD)
    keys = np.concatenate([[5], np.arange(1000, 61_000), [5]])
    gradients = np.ones((keys.size, 64), np.float32)
    gradients[-1] = 3.0
    assert gradients.nbytes > 3 * (4 << 20)
    before = sum(shard["push_requests"] for shard in client.status())
    table.push(keys, gradients)
    assert sum(shard["push_requests"] for shard in client.status()) - before > len(client.shards)
    found = {
        int(key): (row, state)
        for part, rows, states in table.scan(state=True)
        for key, row, state in zip(part, rows, states["sum"], strict=True)
    }
    assert found.keys() == set(keys.tolist())
    for key, (row, state) in found.items():
        assert (state == (16.0 if key == 5 else 1.0)).all(), key
        assert np.abs(row - 0.9).max() < 1e-6, key


@pytest.mark.parametrize(
    ("options", "moved"),
    [
        ({"eps": 1e-10}, 0.0999900),
        ({"eps": 1e-8}, 0.0990099),
        ({"initial_accumulator_value": 0.1}, 3.16e-7),
    ],
)
def test_case_25_adagrad_places_eps_as_torch_does(make_table, options, moved):
    rule = hotrow.Adagrad(lr=0.1, **options)
    from_one = make_table(1, optimizer=rule, initializer=hotrow.Constant(1.0))
    from_one.push([1], [[1e-6]])
    assert from_one.pull([1])[0, 0] == pytest.approx(1 - moved, abs=1e-7)
    # From zero no digit of the movement is lost to rounding.
    from_zero = make_table(1, optimizer=rule, initializer=hotrow.Zeros())
    from_zero.push([1], [[1e-6]])
    exact = 0.1 * 1e-6 / (np.sqrt(rule.initial_accumulator_value + 1e-12) + rule.eps)
    assert exact == pytest.approx(moved, rel=1e-3)
    assert -from_zero.pull([1])[0, 0] == pytest.approx(exact, rel=1e-6)
    weight = torch.zeros(1, requires_grad=True)
    weight.grad = torch.tensor([1e-6])
    torch.optim.Adagrad([weight], lr=0.1, **options).step()
    assert from_zero.pull([1])[0, 0] == pytest.approx(weight.item(), rel=1e-6)


def test_case_25_row_wise_adagrad_takes_the_mean_of_squares(make_table):
    table = make_table(4, optimizer=hotrow.RowwiseAdagrad(lr=0.1), initializer=hotrow.Constant(1.0))
    for rows, accumulated in (
        ([0.963485, 0.926970, 0.890455, 0.853941], 7.5),
        ([0.937665, 0.875331, 0.812996, 0.750661], 15.0),
    ):
        table.push([1], [[1.0, 2.0, 3.0, 4.0]])
        assert table.pull([1])[0] == pytest.approx(rows, abs=1e-6)
        assert next(table.scan(state=True))[2]["sum"].tolist() == [accumulated]


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf, 2e15, 3e38])
@pytest.mark.parametrize("rule", [hotrow.Adagrad(lr=0.1), hotrow.Adam(lr=0.1)])
def test_case_26_one_bad_gradient_refuses_the_whole_push(make_table, rule, bad):
    table = make_table(2, optimizer=rule)
    gradients = np.ones((3, 2), np.float32)
    gradients[1, 1] = bad
    with pytest.raises(hotrow.InvalidArgument):
        table.push([1, 2, 3], gradients)
    assert table.size() == 0
    table.push([1, 2, 3], np.ones((3, 2)))
    for _, rows, states in table.scan(state=True):
        assert np.isfinite(rows).all()
        assert all(np.isfinite(state).all() for state in states.values())


def scheduled(table: str, client: hotrow.Client):
    """Make what case 27 trains with: the rate falls to a tenth after two steps."""
    bag = EmbeddingBag(None, 1, mode="sum", table=table, client=client)
    optimizer = SparseOptimizer(bag)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=2, gamma=0.1)
    return bag, optimizer, scheduler


def sgd_table(make_table) -> hotrow.Table:
    return make_table(1, optimizer=hotrow.Sgd(lr=0.1), initializer=hotrow.Constant(1.0))


def test_case_27_the_rate_follows_a_torch_scheduler(client, make_table):
    table = sgd_table(make_table)
    bag, optimizer, scheduler = scheduled(table.name, client)
    assert optimizer.param_groups[0]["lr"] == 0.1
    for _ in range(4):
        optimizer.zero_grad()
        look_up(bag, 7).backward()
        optimizer.step()
        scheduler.step()
    assert table.pull([7])[0, 0] == pytest.approx(0.78, abs=1e-6)


def test_case_27_each_of_two_workers_follows_its_schedule(clusters, make_table):
    table = sgd_table(make_table)
    addresses = clusters(2).addresses
    with hotrow.connect(addresses) as first, hotrow.connect(addresses) as second:
        workers = [scheduled(table.name, worker) for worker in (first, second)]
        for _ in range(4):
            for bag, optimizer, scheduler in workers:
                (0.5 * look_up(bag, 7)).backward()  # each has half of the batch
                optimizer.step()
                scheduler.step()
    assert table.pull([7])[0, 0] == pytest.approx(0.78, abs=1e-6)
    assert table.stats()["highest_step"] == 4


def train_two_steps(addresses: list[str], table: str, checkpoint: str) -> None:
    """Run in a process of its own, twice: the second goes on where the first one ended."""
    path = Path(checkpoint)
    with hotrow.connect(addresses) as client:
        bag, optimizer, scheduler = scheduled(table, client)
        if path.exists():
            states = torch.load(path)
            optimizer.load_state_dict(states["optimizer"])
            scheduler.load_state_dict(states["scheduler"])
        for _ in range(2):
            look_up(bag, 7).backward()
            optimizer.step()
            scheduler.step()
        states = {"optimizer": optimizer.state_dict(), "scheduler": scheduler.state_dict()}
        torch.save(states, path)


def test_case_27_the_schedule_survives_a_restart_of_the_worker(clusters, make_table, tmp_path):
    table = sgd_table(make_table)
    arguments = (clusters(2).addresses, table.name, str(tmp_path / "worker.pt"))
    for step, row in ((2, 0.8), (4, 0.78)):
        worker = multiprocessing.get_context("spawn").Process(
            target=train_two_steps, args=arguments
        )
        worker.start()
        try:
            worker.join(120)
            assert worker.exitcode == 0
        finally:
            worker.kill()
        assert table.stats()["highest_step"] == step
        assert table.pull([7])[0, 0] == pytest.approx(row, abs=1e-6)
