"""A table of which one shard has lost its part is never gone on with in silence."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import pytest
import torch

import hotrow
from hotrow.testing import LocalCluster
from hotrow.torch import Embedding, EmbeddingBag, SparseOptimizer

KEYS = np.arange(200)


@pytest.fixture(params=[0, 1], ids=["shard-0-forgot", "shard-1-forgot"])
def halved(request) -> Iterator[tuple[LocalCluster, int, hotrow.Table]]:
    """Two shards, one of which was killed and restarted; the table as its last user held it."""
    with LocalCluster(2) as cluster:
        bag = EmbeddingBag(
            None, 4, mode="sum", table="item", client=cluster.connect(), durability="memory"
        )
        optimizer = SparseOptimizer(bag)
        for _ in range(3):
            bag(torch.from_numpy(KEYS)[None]).square().sum().backward()
            optimizer.step()
        cluster.kill(request.param)
        cluster.start(request.param)
        yield cluster, request.param, bag.table


def kept_rows(table: hotrow.Table) -> dict[int, list[float]]:
    """Rows of the keys that the shard which kept its part answers."""
    rows = {}
    for key in KEYS.tolist():
        try:
            rows[key] = table.pull([key])[0].tolist()
        except hotrow.Error:
            continue
    return rows


def ways_in(client: hotrow.Client) -> dict[str, Callable[[], object]]:
    """Every way of a program to its table."""
    options = {"client": client, "durability": "memory"}
    return {
        "table": lambda: client.table("item"),
        "module": lambda: EmbeddingBag(None, 4, table="item", **options),
        "module of a schema": lambda: Embedding(
            None, 4, table="item", optimizer=hotrow.Adagrad(lr=0.01), **options
        ),
        "create_table": lambda: client.create_table(
            "item",
            4,
            optimizer=hotrow.Adagrad(lr=0.01),
            initializer=hotrow.Normal(0.0, 1.0),
            durability="memory",
            exist_ok=True,
        ),
    }


def test_every_way_to_a_table_with_a_lost_part_is_refused_and_changes_nothing(halved) -> None:
    cluster, gone, held = halved
    before = kept_rows(held)
    assert 0 < len(before) < len(KEYS)
    client = cluster.connect()
    for way, call in ways_in(client).items():
        with pytest.raises(hotrow.DataLoss) as caught:
            call()
        assert (caught.value.table, caught.value.shard) == ("item", gone), way
        assert "drop_table" in caught.value.hint, way
    assert kept_rows(held) == before


def test_dropping_and_creating_heals_a_table_with_a_lost_part(halved) -> None:
    cluster, _, _ = halved
    client = cluster.connect()
    assert 0 < client.drop_table("item") < len(KEYS)
    bag = EmbeddingBag(None, 4, mode="sum", table="item", client=client, durability="memory")
    assert (bag.table.size(), SparseOptimizer(bag).step_count) == (0, 0)
    bag(torch.from_numpy(KEYS)[None]).sum().backward()
    SparseOptimizer(bag).step()
    assert bag.table.size() == len(KEYS)


def test_a_table_that_was_never_used_is_completed_by_a_module() -> None:
    with LocalCluster(2) as cluster:
        EmbeddingBag(None, 4, table="item", client=cluster.connect(), durability="memory")
        cluster.kill(1)
        cluster.start(1)
        bag = EmbeddingBag(None, 4, table="item", client=cluster.connect(), durability="memory")
        assert bag.table.pull(KEYS).shape == (len(KEYS), 4)


def test_a_name_that_no_shard_knows_is_not_found(client, name) -> None:
    with pytest.raises(hotrow.NotFound):
        client.table(name)


def test_a_table_is_listed_as_long_as_one_shard_has_it(halved):
    cluster, _, _ = halved
    assert [table.name for table in cluster.connect().tables()] == ["item"]


def test_dense_layers_can_be_saved_beside_lost_rows(halved):
    *_, table = halved
    model = torch.nn.Sequential(
        EmbeddingBag(None, 4, mode="sum", table=table), torch.nn.Linear(4, 1)
    )
    with pytest.warns(hotrow.RowsBehindWarning, match="lost"):
        saved = model.state_dict()
    assert saved["1.weight"].shape == (1, 4)
    assert saved["0._extra_state"]["rows"] is None
