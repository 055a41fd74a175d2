"""SparseOptimizer: what a step sends and how it is counted."""

import copy

import numpy as np
import oracle
import pytest
import torch
from bags import look_up

import hotrow
from hotrow.torch import Embedding, EmbeddingBag, SparseOptimizer, clip_grad_norm_


def test_nothing_is_sent_before_the_step(make_table):
    table = make_table(1)
    bag = EmbeddingBag(None, 1, mode="sum", table=table)
    look_up(bag, 1, 2).backward()
    assert table.size() == 0
    SparseOptimizer(bag).step()
    assert table.size() == 2


def test_a_step_clears_what_it_sent(make_table):
    table = make_table(1)
    bag = EmbeddingBag(None, 1, mode="sum", table=table)
    optimizer = SparseOptimizer(bag)
    look_up(bag, 1).backward()
    optimizer.step()
    optimizer.step()
    assert table.pull([1]).tolist() == [[-1.0]]
    assert optimizer.step_count == 2


def test_zero_grad_drops_pending_gradients(make_table):
    table = make_table(1)
    bag = EmbeddingBag(None, 1, mode="sum", table=table)
    optimizer = SparseOptimizer(bag)
    look_up(bag, 1).backward()
    optimizer.zero_grad()
    optimizer.step()
    assert table.size() == 0


def test_empty_steps_count_towards_adams_correction(make_table):
    table = make_table(1, optimizer=hotrow.Adam(lr=0.1))
    bag = EmbeddingBag(None, 1, mode="sum", table=table)
    optimizer = SparseOptimizer(bag)
    look_up(bag, 1).backward()
    optimizer.step()
    optimizer.step()
    look_up(bag, 1).backward()
    optimizer.step()
    reference = oracle.OracleTable(hotrow.Adam(lr=0.1), {1: np.zeros(1, np.float32)})
    reference.push([1], [[1.0]], 1)
    reference.push([1], [[1.0]], 3)
    assert table.pull([1])[0].tobytes() == reference.rows[1].tobytes()
    assert table.stats()["highest_step"] == 3


def test_a_new_optimizer_goes_on_from_the_servers_step(client, make_table):
    table = make_table(1)
    table.push([1], [[1.0]], step=41)
    bag = EmbeddingBag(None, 1, table=table.name, client=client)
    assert SparseOptimizer(bag).step_count == 41


def test_one_step_sends_all_tables_together(client, make_table):
    tables = [make_table(dim) for dim in (1, 2, 3)]
    bags = [EmbeddingBag(None, table.dim, mode="sum", table=table) for table in tables]
    optimizer = SparseOptimizer(bags)
    sum(look_up(bag, *range(50)) for bag in bags).backward()
    before = sum(shard["push_requests"] for shard in client.status())
    optimizer.step()
    assert sum(shard["push_requests"] for shard in client.status()) - before <= 2
    assert all((table.pull(np.arange(50)) == -1).all() for table in tables)


def test_a_refused_step_sends_nothing_and_is_not_counted(make_table):
    table = make_table(1)
    bag = EmbeddingBag(None, 1, mode="sum", table=table)
    optimizer = SparseOptimizer(bag)
    (look_up(bag, 1) * float("nan") + look_up(bag, 2)).backward()
    with pytest.raises(hotrow.InvalidArgument):
        optimizer.step()
    assert optimizer.step_count == 0
    assert table.size() == 0
    optimizer.zero_grad()
    look_up(bag, 2).backward()
    optimizer.step()
    assert table.pull([2]).tolist() == [[-1.0]]


def test_grad_scaler_is_refused_by_name(make_table):
    bag = EmbeddingBag(None, 1, mode="sum", table=make_table(1))
    optimizer = SparseOptimizer(bag)
    scaler = torch.amp.GradScaler("cpu")
    scaler.scale(look_up(bag, 1)).backward()
    with pytest.raises(NotImplementedError, match="GradScaler"):
        scaler.step(optimizer)
    assert bag.table.size() == 0


def test_a_closure_is_evaluated_with_gradients(make_table):
    table = make_table(1)
    bag = EmbeddingBag(None, 1, mode="sum", table=table)

    def closure() -> torch.Tensor:
        loss = look_up(bag, 1)
        loss.backward()
        return loss

    assert SparseOptimizer(bag).step(closure) == 0.0
    assert table.pull([1]).tolist() == [[-1.0]]


def test_gradients_are_averaged_over_distributed_workers(make_table, monkeypatch):
    monkeypatch.setattr(torch.distributed, "is_initialized", lambda: True)
    monkeypatch.setattr(torch.distributed, "get_world_size", lambda: 4)
    for average, expected in ((True, -0.25), (False, -1.0)):
        table = make_table(1)
        bag = EmbeddingBag(None, 1, mode="sum", table=table)
        look_up(bag, 1).backward()
        SparseOptimizer(bag, average_over_world=average).step()
        assert table.pull([1]).tolist() == [[expected]]


def test_a_model_without_remote_modules_is_refused():
    with pytest.raises(hotrow.InvalidArgument, match="no module"):
        SparseOptimizer(torch.nn.Linear(2, 2))
    with pytest.raises(hotrow.InvalidArgument, match="modules"):
        SparseOptimizer([torch.zeros(1)])


def test_the_state_of_other_tables_is_refused(make_table):
    first, second = (SparseOptimizer(EmbeddingBag(None, 1, table=make_table(1))) for _ in range(2))
    with pytest.raises(hotrow.SchemaMismatch):
        second.load_state_dict(first.state_dict())


def test_dense_optimizers_clipping_and_copies_leave_the_anchor_alone(make_table):
    model = torch.nn.ModuleDict(
        {"bag": EmbeddingBag(None, 3, table=make_table(3)), "top": torch.nn.Linear(3, 1)}
    )
    dense = torch.optim.Adam(model.parameters())
    remote = SparseOptimizer(model)
    model["top"](model["bag"](torch.tensor([[1, 2]]))).sum().backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    dense.step()
    remote.step()
    assert sum(p.numel() for p in model["bag"].parameters()) == 0
    assert copy.deepcopy(model)["bag"].table is model["bag"].table


def test_clipping_covers_dense_and_remote_gradients_together(make_table):
    table = make_table(1)
    bags = torch.nn.ModuleList(EmbeddingBag(None, 1, mode="sum", table=table) for _ in range(2))
    bags.register_parameter("dense", torch.nn.Parameter(torch.zeros(1)))
    (bags.dense * 4 + look_up(bags[0], 1) + 2 * look_up(bags[1], 1)).sum().backward()
    norm = clip_grad_norm_(bags, 0.5)
    assert norm.item() == 5.0  # 4 and 1 + 2
    SparseOptimizer(bags).step()
    assert bags.dense.grad.item() == pytest.approx(0.4, abs=1e-5)
    assert table.pull([1])[0, 0] == pytest.approx(-0.3, abs=1e-5)
    with pytest.raises(hotrow.InvalidArgument):
        clip_grad_norm_(bags, -1.0)


def test_pending_gradients_are_bounded(make_table, monkeypatch):
    monkeypatch.setattr("hotrow.torch.pending.MAX_PENDING_BYTES", 100)
    bag = EmbeddingBag(None, 1, mode="sum", table=make_table(1))
    with pytest.raises(hotrow.InvalidArgument, match="wait for a step"):
        for _ in range(10):
            look_up(bag, 1).backward()
    assert bag.pending.parts() == []


def test_embedding_and_bag_on_one_table_share_rows(make_table):
    table = make_table(2)
    model = torch.nn.ModuleList(
        [Embedding(None, 2, table=table), EmbeddingBag(None, 2, mode="sum", table=table)]
    )
    keys = torch.tensor([[1, 2]])
    (model[0](keys).sum() + model[1](keys).sum()).backward()
    SparseOptimizer(model).step()
    assert table.pull([1, 2]).tolist() == [[-2, -2], [-2, -2]]
