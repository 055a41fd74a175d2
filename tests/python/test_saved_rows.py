"""Rows that were loaded or trained are neither overwritten nor missed in silence."""

from __future__ import annotations

import io
import warnings

import numpy as np
import pytest
import torch

import hotrow
from hotrow.testing import LocalCluster
from hotrow.torch import Embedding, EmbeddingBag, SparseOptimizer

WEIGHT = np.arange(12.0, dtype=np.float32).reshape(6, 2)
KEYS = torch.arange(6)
MODULES = [Embedding, EmbeddingBag]


def train(module: torch.nn.Module, steps: int = 1) -> SparseOptimizer:
    optimizer = SparseOptimizer(module)
    for _ in range(steps):
        module(KEYS.reshape(-1, 1)).sum().backward()
        optimizer.step()
    return optimizer


@pytest.mark.parametrize("module", MODULES)
def test_a_second_worker_does_not_overwrite_what_the_first_trains(clusters, name, module) -> None:
    def start(client: hotrow.Client) -> torch.nn.Module:
        return module.from_pretrained(WEIGHT, freeze=False, table=name, client=client)

    with clusters(2).connect() as first, clusters(2).connect() as second:
        one = start(first)
        assert np.array_equal(one.table.pull(np.arange(6)), WEIGHT)
        train(one, 3)
        before = list(one.table.scan(state=True))
        with pytest.raises(hotrow.AlreadyExists, match=r"holds 6 rows and is at step 3") as caught:
            start(second)
        assert caught.value.table == name
        assert "load_rows()" in caught.value.hint
        for old, new in zip(before, one.table.scan(state=True), strict=True):
            assert np.array_equal(old[0], new[0])
            assert np.array_equal(old[1], new[1])
            assert np.array_equal(old[2]["sum"], new[2]["sum"])
        opened = module(6, 2, table=name, client=second)  # what the hint says
        assert torch.equal(opened(KEYS.reshape(-1, 1)), one(KEYS.reshape(-1, 1)))
        opened.load_rows(range(6), WEIGHT)
        assert np.array_equal(one.table.pull(np.arange(6)), WEIGHT)


@pytest.mark.parametrize("module", MODULES)
def test_a_weight_is_loaded_into_a_table_that_is_there_but_empty(make_table, module) -> None:
    table = make_table(2, num_embeddings=6)
    assert torch.equal(
        module(6, 2, _weight=WEIGHT, table=table)(KEYS.reshape(-1, 1)).reshape(6, 2),
        torch.from_numpy(WEIGHT),
    )


def test_a_table_that_was_emptied_after_training_takes_no_weight(make_table) -> None:
    table = make_table(2, num_embeddings=6)
    train(EmbeddingBag(6, 2, table=table))
    table.remove(np.arange(6))
    assert table.size() == 0
    with pytest.raises(hotrow.AlreadyExists, match="holds 0 rows and is at step 1"):
        EmbeddingBag(6, 2, _weight=WEIGHT, table=table)


def test_a_load_that_was_cut_off_is_not_taken_for_whole(make_table) -> None:
    table = make_table(2, num_embeddings=6)
    table.upsert(np.arange(2), WEIGHT[:2])
    with pytest.raises(hotrow.AlreadyExists, match="holds 2 rows, fewer than the 6") as caught:
        EmbeddingBag(6, 2, _weight=WEIGHT, table=table)
    assert f"drop_table('{table.name}')" in caught.value.hint


@pytest.mark.parametrize("module", MODULES)
def test_a_weight_cannot_be_put_in_the_place_of_the_rows(make_table, module) -> None:
    one = module(6, 2, table=make_table(2, num_embeddings=6))
    with pytest.raises(hotrow.InvalidArgument, match="no weight that could be set") as caught:
        one.weight = torch.nn.Parameter(torch.from_numpy(WEIGHT))
    assert "load_rows(" in caught.value.hint


def test_a_weight_of_another_shape_makes_no_table(client, name) -> None:
    with pytest.raises(hotrow.InvalidArgument, match=r"_weight must have the shape \(6, 3\)"):
        EmbeddingBag(6, 3, _weight=WEIGHT, table=name, client=client)
    with pytest.raises(hotrow.NotFound):
        client.table(name)


def through_a_file(state: dict) -> dict:
    file = io.BytesIO()
    torch.save(state, file)
    file.seek(0)
    return torch.load(file)  # plain values only


@pytest.mark.parametrize("module", MODULES)
def test_a_state_on_servers_that_forgot_its_table_is_warned_of(module) -> None:
    def build(cluster: LocalCluster) -> torch.nn.Module:
        client = cluster.connect()
        return torch.nn.Sequential(
            module(None, 2, table="item", client=client, durability="memory")
        )

    with LocalCluster(1) as cluster:
        model = build(cluster)
        optimizer = train(model, 20)
        saved = through_a_file({"model": model.state_dict(), "optimizer": optimizer.state_dict()})
    text = r"table 'item'.* saved at step 20 with 6 rows, but .* at step 0 with 0 rows.*scan"
    with LocalCluster(1) as cluster:
        model = build(cluster)
        with pytest.warns(hotrow.RowsBehindWarning, match=text) as caught:
            model.load_state_dict(saved["model"], strict=True)
        assert [warning.filename for warning in caught] == [__file__]
        optimizer = SparseOptimizer(model)
        with pytest.warns(hotrow.RowsBehindWarning, match=text) as caught:
            optimizer.load_state_dict(saved["optimizer"])
        assert [warning.filename for warning in caught] == [__file__]
        assert optimizer.step_count == 20


def test_rows_that_were_only_loaded_are_missed_too(make_table) -> None:
    bag = EmbeddingBag(None, 2, table=make_table())
    bag.load_rows(range(6), WEIGHT)
    state = bag.state_dict()
    bag.table.remove([5])
    with pytest.warns(hotrow.RowsBehindWarning, match="step 0 with 6 rows, but .* with 5 rows"):
        bag.load_state_dict(state)


def test_a_state_on_the_table_that_it_was_saved_beside_is_silent(make_table) -> None:
    tables = [make_table(), make_table()]
    bags = torch.nn.ModuleList(EmbeddingBag(None, 2, mode="sum", table=table) for table in tables)
    optimizer = SparseOptimizer(bags)
    for _ in range(3):  # the second table gets no gradient: its step on the servers stays 0
        bags[0](KEYS.reshape(-1, 1)).sum().backward()
        optimizer.step()
    states = bags.state_dict(), optimizer.state_dict()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(2):  # now, and when training has gone on
            bags.load_state_dict(states[0], strict=True)
            optimizer.load_state_dict(states[1])
            assert [group["step"] for group in optimizer.param_groups] == [3, 3]
            bags[0](KEYS.reshape(-1, 1)).sum().backward()
            optimizer.step()


def test_states_of_earlier_versions_load(make_table) -> None:
    bag = EmbeddingBag(None, 2, table=make_table())
    optimizer = train(bag)
    state, steps = bag.state_dict(), optimizer.state_dict()
    for name in ("highest_step", "rows"):
        del state["_extra_state"][name]
    del steps["tables"]
    bag.table.remove(np.arange(6))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert not any(bag.load_state_dict(state, strict=True))
        optimizer.load_state_dict(steps)
    assert optimizer.step_count == 1


def test_a_state_is_saved_while_a_shard_is_away(name) -> None:
    with LocalCluster(1) as cluster:
        client = cluster.connect(timeout=1.0)
        bag = EmbeddingBag(None, 2, table=name, client=client, durability="memory")
        optimizer = train(bag)
        cluster.kill(0)
        extra = bag.state_dict()["_extra_state"]
        assert (extra["table"], extra["highest_step"], extra["rows"]) == (name, None, None)
        unknown = {"table": name, "highest_step": None, "rows": None}
        assert optimizer.state_dict()["tables"] == [unknown]
