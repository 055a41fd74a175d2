"""Faults that were found in hotrow.torch once: types, refusals, steps, state, copies."""

import copy
import io
import pickle

import numpy as np
import pytest
import torch

import hotrow
from hotrow.testing import LocalCluster
from hotrow.torch import Embedding, EmbeddingBag, SparseOptimizer


def look_up(bag: EmbeddingBag, *keys: int) -> torch.Tensor:
    return bag(torch.tensor([keys], device="cpu")).sum()


@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16])
def test_rows_arrive_under_another_default_type(make_table, dtype):
    table = make_table(3)
    table.upsert([1, 2], np.array([[1.0, 2, 4], [8, 16, 32]], np.float32))
    before = torch.get_default_dtype()
    torch.set_default_dtype(dtype)
    try:
        bag = EmbeddingBag(None, 3, mode="sum", table=table)
        out = bag(torch.tensor([[1, 2]]))
        pulled = table.pull(torch.tensor([1, 2]))
        out.sum().backward()
        SparseOptimizer(bag).step()
    finally:
        torch.set_default_dtype(before)
    assert out.dtype == dtype
    assert out.tolist() == [[9, 18, 36]]
    assert pulled.dtype == torch.float32
    assert pulled.tolist() == [[1, 2, 4], [8, 16, 32]]
    assert table.pull([1]).tolist() == [[0, 1, 3]]


def test_rows_arrive_under_another_default_device(make_table):
    table = make_table(2)
    table.upsert([1], np.array([[1.0, 2.0]], np.float32))
    bag = EmbeddingBag(None, 2, mode="sum", table=table, device="cpu")
    keys = torch.tensor([[1]])
    with torch.device("meta"):
        out = bag(keys)
        pulled = table.pull(keys)
        out.sum().backward(torch.ones((), device="cpu"))
    assert out.tolist() == [[1, 2]]
    assert pulled.tolist() == [[[1, 2]]]
    SparseOptimizer(bag).step()
    assert table.pull([1]).tolist() == [[0, 1]]


@pytest.mark.parametrize("step", [-5, 2**53 + 1, 1.5, None])
def test_a_step_that_is_none_is_not_loaded(make_table, step):
    optimizer = SparseOptimizer(EmbeddingBag(None, 1, mode="sum", table=make_table(1)))
    state = optimizer.state_dict()
    state["param_groups"][0]["step"] = step
    with pytest.raises(hotrow.InvalidArgument, match="step"):
        optimizer.load_state_dict(state)
    assert optimizer.step_count == 0


def test_training_goes_on_after_the_last_step_that_can_be_said(make_table):
    table = make_table(1)
    table.push([1], np.ones((1, 1), np.float32), step=2**53)
    bag = EmbeddingBag(None, 1, mode="sum", table=table)
    optimizer = SparseOptimizer(bag)
    for _ in range(2):
        look_up(bag, 1).backward()
        optimizer.step()
    assert table.pull([1]).tolist() == [[-3]]


@pytest.mark.parametrize("unscale", [True, False])
def test_grad_scaler_is_refused_whatever_was_called_before(make_table, unscale):
    bag = EmbeddingBag(None, 1, mode="sum", table=make_table(1))
    optimizer = SparseOptimizer(bag)
    scaler = torch.amp.GradScaler("cpu")
    scaler.scale(look_up(bag, 1)).backward()
    if unscale:
        scaler.unscale_(optimizer)
    with pytest.raises(NotImplementedError, match="GradScaler"):
        scaler.step(optimizer)
    assert bag.table.size() == 0
    optimizer.zero_grad()
    look_up(bag, 1).backward()
    optimizer.step()  # no scaler: fine again
    assert bag.table.pull([1]).tolist() == [[-1.0]]


def test_a_step_without_room_keeps_its_gradients():
    with LocalCluster(1) as cluster:
        client = cluster.connect(timeout=1.0)
        big = client.create_table("big", 65536, optimizer=hotrow.Sgd(), durability="memory")
        small = client.create_table(
            "small",
            1,
            optimizer=hotrow.Sgd(lr=1.0),
            initializer=hotrow.Zeros(),
            durability="memory",
        )
        bag = EmbeddingBag(None, 1, mode="sum", table=small)
        optimizer = SparseOptimizer(bag)
        look_up(bag, 1).backward()
        cluster.kill(0)
        over_budget = 1030  # rows of 256 KiB: more than 256 MiB, the budget, which alone may pass
        keys = np.arange(over_budget)
        late = big.push_async(keys, np.ones((over_budget, 65536), np.float32))
        with pytest.raises(hotrow.Overloaded, match="nothing was sent"):
            optimizer.step()
        assert optimizer.step_count == 0
        assert len(bag.pending.parts()) == 1
        with pytest.raises(hotrow.Overloaded):
            small.pull([1])
        del late
        with pytest.raises(hotrow.SessionLost):
            client.close()
        with pytest.raises(hotrow.ClientClosed):
            optimizer.step()
        assert optimizer.step_count == 0
        assert len(bag.pending.parts()) == 1


def test_a_push_that_is_late_is_counted_and_not_repeated():
    with LocalCluster(1) as cluster:
        client = cluster.connect(timeout=0.3)
        table = client.create_table("t", 1, optimizer=hotrow.Sgd(), durability="memory")
        bag = EmbeddingBag(None, 1, mode="sum", table=table)
        optimizer = SparseOptimizer(bag)
        look_up(bag, 1).backward()
        cluster.kill(0)
        with pytest.raises(hotrow.DeadlineExceeded):
            optimizer.step()
        assert optimizer.step_count == 1
        assert bag.pending.parts() == []
        with pytest.raises(hotrow.SessionLost):
            client.close()


def test_a_new_table_beside_an_old_one_starts_at_step_one(make_table):
    old = make_table(1)
    old.push([1], [[1.0]], step=1000)
    new = make_table(1, optimizer=hotrow.Adam(lr=0.1))
    bags = [EmbeddingBag(None, 1, mode="sum", table=table) for table in (old, new)]
    optimizer = SparseOptimizer(bags)
    (look_up(bags[0], 1) + look_up(bags[1], 1)).backward()
    optimizer.step()
    assert new.pull([1])[0, 0] == pytest.approx(-0.1, abs=1e-6)
    assert [group["step"] for group in optimizer.param_groups] == [1001, 1]
    optimizer.step()
    assert [group["step"] for group in optimizer.param_groups] == [1002, 2]
    assert optimizer.step_count == 1002


def test_of_two_clients_the_one_that_was_sent_is_counted(client, clusters, make_table):
    with hotrow.connect(clusters(2).addresses) as other:
        tables = [make_table(1), make_table(1)]
        bags = [
            EmbeddingBag(None, 1, mode="sum", table=tables[0]),
            EmbeddingBag(None, 1, mode="sum", table=tables[1].name, client=other),
        ]
        optimizer = SparseOptimizer(bags)
        (look_up(bags[0], 1) + look_up(bags[1], 1) * float("inf")).backward()
        with pytest.raises(hotrow.InvalidArgument):
            optimizer.step()
        assert [group["step"] for group in optimizer.param_groups] == [1, 0]
        assert [len(bag.pending.parts()) for bag in bags] == [0, 1]
        assert tables[0].pull([1]).tolist() == [[-1.0]]


@pytest.mark.parametrize(
    "argument",
    [
        {"optimizer": hotrow.Adagrad()},
        {"initializer": hotrow.Zeros()},
        {"seed": 1},
    ],
)
def test_arguments_of_a_new_table_are_refused_beside_a_table(make_table, argument):
    table = make_table(1)
    with pytest.raises(hotrow.InvalidArgument, match=next(iter(argument))):
        EmbeddingBag(None, 1, table=table, **argument)


def test_another_client_is_refused_beside_a_table(client, clusters, make_table):
    table = make_table(1)
    EmbeddingBag(None, 1, table=table, client=client)
    with (
        hotrow.connect(clusters(2).addresses) as other,
        pytest.raises(hotrow.InvalidArgument, match="client="),
    ):
        EmbeddingBag(None, 1, table=table, client=other)


def test_a_loaded_padding_row_is_part_of_the_state(make_table):
    table = make_table(2)
    loader, reader = (Embedding(None, 2, padding_idx=3, table=table) for _ in range(2))
    loader.load_rows([3], np.ones((1, 2)))
    keys = torch.tensor([3])
    assert reader(keys).tolist() == [[0, 0]]
    reader.load_state_dict(loader.state_dict())
    assert reader(keys).tolist() == [[1, 1]]
    assert pickle.loads(pickle.dumps(reader)).padding_loaded


@pytest.mark.parametrize("padding", [2**64, -(2**63) - 1, True, 1.0, "1"])
def test_a_padding_index_that_is_no_key_is_refused(make_table, padding):
    with pytest.raises(hotrow.InvalidArgument, match="padding_idx"):
        EmbeddingBag(None, 1, padding_idx=padding, table=make_table(1))


@pytest.mark.parametrize("padding", [2**64 - 1, -1, np.int64(-1)])
def test_a_padding_index_of_an_open_table_is_any_key(make_table, padding):
    bag = EmbeddingBag(None, 1, mode="sum", padding_idx=padding, table=make_table(1))
    look_up(bag, -1, 5).backward()
    SparseOptimizer(bag).step()
    assert bag.table.size() == 1


def test_from_pretrained_takes_its_arguments_in_torchs_order(client, name):
    weight = torch.arange(6.0).reshape(3, 2)
    bag = EmbeddingBag.from_pretrained(
        weight, False, None, 2.0, False, "sum", False, True, 1, table=f"{name}.bag", client=client
    )
    reference = torch.nn.EmbeddingBag.from_pretrained(
        weight, False, None, 2.0, False, "sum", False, True, 1
    )
    keys, offsets = torch.tensor([0, 1, 2]), torch.tensor([0, 2, 3])
    assert torch.equal(bag(keys, offsets), reference(keys, offsets))
    one = Embedding.from_pretrained(weight, True, 1, table=f"{name}.one", client=client)
    other = torch.nn.Embedding.from_pretrained(weight, True, 1)
    assert torch.equal(one(keys), other(keys))
    assert not one(keys).requires_grad
    with pytest.raises(NotImplementedError, match="max_norm"):
        Embedding.from_pretrained(weight, True, None, 1.0, table=f"{name}.one", client=client)
    with pytest.raises(hotrow.InvalidArgument, match="2-D"):
        EmbeddingBag.from_pretrained(weight[0], table=f"{name}.bag", client=client)


@pytest.mark.parametrize(
    ("field", "options"),
    [
        ("optimizer", {"optimizer": hotrow.Sgd(lr=0.5)}),
        ("initializer", {"initializer": hotrow.Constant(0.5)}),
        ("seed", {"seed": 5}),
    ],
)
def test_the_state_of_a_table_of_another_schema_is_refused(client, make_table, field, options):
    table = make_table(1)
    state = EmbeddingBag(None, 1, table=table).state_dict()
    client.drop_table(table.name)
    again = {
        "optimizer": hotrow.Sgd(lr=1.0),
        "initializer": hotrow.Zeros(),
        "durability": "memory",
    }
    other = client.create_table(table.name, 1, **{**again, **options})
    with pytest.raises(hotrow.SchemaMismatch, match=field):
        EmbeddingBag(None, 1, table=other).load_state_dict(state)
    file = io.BytesIO()
    torch.save(state, file)
    file.seek(0)
    assert torch.load(file)  # plain values only


@pytest.mark.parametrize(
    "copied", [copy.deepcopy, lambda pair: pickle.loads(pickle.dumps(pair))], ids=["copy", "pickle"]
)
def test_a_copied_optimizer_steps_the_copied_modules(make_table, copied):
    bag = EmbeddingBag(None, 1, mode="sum", table=make_table(1))
    optimizer = SparseOptimizer(bag, average_over_world=False)
    other_bag, other = copied((bag, optimizer))
    look_up(other_bag, 1).backward()
    other.step()
    assert not other.average_over_world
    assert other.param_groups[0]["params"][0] is other_bag.anchor
    assert bag.table.pull([1]).tolist() == [[-1.0]]
    assert optimizer.step_count == 0
