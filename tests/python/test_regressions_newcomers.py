"""What newcomers tripped over stays mended."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import torch

import hotrow
from hotrow.torch import Embedding, EmbeddingBag, SparseOptimizer
from hotrow.torch.pending import WARN_PASSES, PendingGradients


def _add_passes(pending: PendingGradients, passes: int) -> None:
    for key in range(passes):
        pending.add(np.array([key], np.uint64), np.ones((1, 2), np.float32))


def test_a_forgotten_step_is_warned_of_once_with_the_table() -> None:
    pending = PendingGradients("item")
    _add_passes(pending, WARN_PASSES - 1)
    with pytest.warns(RuntimeWarning, match="table 'item'.*SparseOptimizer") as caught:
        _add_passes(pending, WARN_PASSES)
    assert len(caught) == 1


def test_steps_in_time_are_not_warned_of(recwarn: pytest.WarningsRecorder) -> None:
    pending = PendingGradients("item")
    for _ in range(3):
        _add_passes(pending, WARN_PASSES - 1)
        pending.clear()
    assert not [warning for warning in recwarn if warning.category is RuntimeWarning]


@pytest.mark.parametrize("address", ["127.0.0.1", "127.0.0.1:0", "unix:"])
def test_an_address_without_a_port_is_refused_at_once(address: str) -> None:
    with pytest.raises(hotrow.InvalidArgument, match="HOST:PORT"):
        hotrow.connect(address)


@pytest.mark.parametrize("rate", [-1.0, float("nan"), float("inf"), "1", torch.tensor(1.0)])
def test_a_bad_rate_is_refused_by_the_constructor(make_table, rate: object) -> None:
    bag = EmbeddingBag(None, 2, table=make_table())
    with pytest.raises(hotrow.InvalidArgument, match="lr must be a finite number"):
        SparseOptimizer(bag, lr=rate)


@pytest.mark.parametrize("addresses", [7070, None, ["127.0.0.1:7070", 7071], [], ""])
def test_what_is_no_address_is_refused_with_an_example(addresses: object) -> None:
    with pytest.raises(hotrow.InvalidArgument, match=r"addresses(.|\n)*127\.0\.0\.1:7070"):
        hotrow.connect(addresses)  # type: ignore[arg-type]


def test_a_missing_table_is_answered_with_what_there_is(client: hotrow.Client, name: str) -> None:
    client.create_table(name, 2, optimizer=hotrow.Sgd(lr=1.0), durability="memory")
    with pytest.raises(hotrow.NotFound, match="Did you mean 'test_a_missing_table"):
        client.table(name[:-2] + "x" + name[-2:])
    with pytest.raises(hotrow.NotFound, match="Tables there: "):
        client.table("zzz")


def test_another_optimizer_is_told_in_the_words_of_the_client(make_table, client) -> None:
    table = make_table(optimizer=hotrow.Adagrad(lr=0.5))
    with pytest.raises(hotrow.SchemaMismatch, match=r"optimizer = adagrad \{.*\}, not sgd \{"):
        client.create_table(table.name, 2, optimizer=hotrow.Sgd(lr=0.5), exist_ok=True)
    initializer = hotrow.Normal(0.0, 1.0)
    with pytest.raises(hotrow.SchemaMismatch, match=r"initializer = zeros \{\}, not normal \{"):
        client.create_table(
            table.name, 2, optimizer=table.optimizer, initializer=initializer, exist_ok=True
        )


def test_an_optimizer_that_is_none_is_refused_with_an_example(client: hotrow.Client) -> None:
    for wrong in ("adagrad", hotrow.Adagrad, None):
        with pytest.raises(hotrow.InvalidArgument, match=r"hotrow\.Optimizer(.|\n)*Adagrad"):
            client.create_table("never", 2, optimizer=wrong)


def test_errors_of_a_table_name_it(make_table) -> None:
    table = make_table()
    calls = (
        lambda: table.pull([0.5]),
        lambda: table.push([1], np.ones((1, 3), np.float32)),
        lambda: table.upsert([1], np.ones((1, 2), np.int64)),
        lambda: EmbeddingBag(None, 2, table=table)(torch.tensor([1.0]), torch.tensor([0])),
        lambda: EmbeddingBag(None, 2, table=table)(torch.tensor([1])),
        lambda: EmbeddingBag(None, 2, table=table)(torch.tensor([1]), torch.tensor([0.0])),
        lambda: Embedding(None, 2, table=table)(torch.tensor([1.0])),
        lambda: EmbeddingBag(None, 2, table=table).load_rows([1], [[1.0]]),
    )
    for call in calls:
        with pytest.raises(hotrow.InvalidArgument) as caught:
            call()
        assert caught.value.table == table.name
        assert table.name in str(caught.value)


def test_a_closed_client_is_told_with_the_table(clusters, name: str) -> None:
    with clusters(1).connect() as client:
        table = client.create_table(name, 2, optimizer=hotrow.Sgd(lr=1.0), durability="memory")
        table.pull([1])
    with pytest.raises(hotrow.ClientClosed, match=name):
        table.pull([1])


def test_modules_take_a_durability(client: hotrow.Client, name: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error", hotrow.DurabilityWarning)
        EmbeddingBag(None, 2, table=name, client=client, durability="memory")
        Embedding(None, 2, table=name, client=client, durability="memory")
    for unknown in ("process", "disk", "paper"):  # a table that exists is no reason to ignore it
        with pytest.raises(hotrow.InvalidArgument, match=unknown):
            EmbeddingBag(None, 2, table=name, client=client, durability=unknown)


def test_the_durability_warning_points_at_the_users_line(client: hotrow.Client, name: str) -> None:
    for number, make in enumerate(
        (
            lambda table: client.create_table(table, 2, optimizer=hotrow.Sgd(lr=1.0)),
            lambda table: EmbeddingBag(None, 2, table=table, client=client),
        )
    ):
        hotrow.durability._warned = False
        with pytest.warns(hotrow.DurabilityWarning) as caught:
            make(f"{name}.{number}")
        assert caught[0].filename == __file__


def test_a_dense_state_or_weight_is_answered_with_the_way_to_load_it(make_table) -> None:
    table = make_table()
    bag = EmbeddingBag(None, 2, table=table)
    model = torch.nn.Sequential(bag)
    with pytest.raises(hotrow.InvalidArgument, match=r"0\.weight(.|\n)*load_rows"):
        model.load_state_dict({"0.weight": torch.ones(3, 2)}, strict=False)
    with pytest.raises(AttributeError, match="load_rows"):
        _ = bag.weight
    assert not hasattr(bag, "weight")
    assert not hasattr(bag, "something_else")
