"""Every refusal says what to do next."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import torch

import hotrow
from hotrow.torch import Embedding, EmbeddingBag, SparseOptimizer, clip_grad_norm_

SOURCES = Path(__file__).resolve().parents[2] / "client" / "python" / "hotrow"
ERRORS = {
    name
    for name, value in vars(hotrow.errors).items()
    if isinstance(value, type) and issubclass(value, hotrow.Error)
}


def made_errors(tree: ast.AST) -> Iterator[ast.Call]:
    """Find where an exception of hotrow is made, raised at once or not."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            name = getattr(node.func, "id", getattr(node.func, "attr", ""))
            if name in ERRORS:
                yield node


def texts_of(hint: ast.expr) -> list[str]:
    """All texts that a hint can be; of a name none, the place where it is assigned counts."""
    if isinstance(hint, ast.IfExp):
        return texts_of(hint.body) + texts_of(hint.orelse)
    if isinstance(hint, ast.JoinedStr):
        return ["".join(getattr(part, "value", "X") for part in map(constant, hint.values))]
    return [str(hint.value)] if isinstance(hint, ast.Constant) else []


def constant(part: ast.expr) -> ast.expr:
    return part if isinstance(part, ast.Constant) else ast.Constant("X")


def hints_of(tree: ast.AST) -> Iterator[tuple[int, ast.expr | None]]:
    """Line and hint of each error that is made, and of what is kept in a variable for one."""
    for call in made_errors(tree):
        yield call.lineno, next((word.value for word in call.keywords if word.arg == "hint"), None)
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "hint":
            yield node.lineno, node.value


def faults_of(source: str) -> list[str]:
    """Line and fault of each error that is made without a hint, or with one that is no sentence."""
    faults = []
    for line, hint in hints_of(ast.parse(source)):
        if hint is None:
            faults.append(f"{line}: no hint")
            continue
        for text in texts_of(hint):
            if not text or not text[0].isupper() or not text.endswith("."):
                faults.append(f"{line}: {text!r} is not a sentence")
    return faults


def test_every_error_of_the_package_has_a_hint() -> None:
    found = 0
    faults = []
    for path in sorted(SOURCES.rglob("*.py")):
        source = path.read_text()
        found += len(list(made_errors(ast.parse(source))))
        faults += [f"{path.name}:{fault}" for fault in faults_of(source)]
    assert found > 60
    assert faults == []


@pytest.mark.parametrize(
    "source",
    [
        "raise InvalidArgument('no')",
        "raise errors.NotFound('no', table='t')",
        "error = Unavailable('no', hint='')",
        "raise KeyRange('no', hint='use another.')",
        "raise KeyRange('no', hint='Use another')",
        "raise KeyRange('no', hint='Use one.' if x else 'or another.')",
        "raise KeyRange('no', hint=f'Use {one} or another')",
        "hint = 'use one.'",
    ],
)
def test_an_error_without_a_sentence_to_help_is_found(source: str) -> None:
    assert len(faults_of(source)) == 1


@pytest.mark.parametrize("keys", ["a", ["a", "b"], np.array(["a"]), np.array(["a", 1], object)])
def test_strings_are_answered_with_the_hash_that_makes_keys_of_them(make_table, keys) -> None:
    with pytest.raises(hotrow.InvalidArgument, match=r"not str\n(.|\n)*hotrow\.hash_strings"):
        make_table().pull(keys)


def test_bytes_are_answered_with_the_hash_too(make_table) -> None:
    with pytest.raises(hotrow.InvalidArgument, match=r"not bytes\n(.|\n)*hotrow\.hash_strings"):
        make_table().pull([b"a"])


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        (None, r"not NoneType\n(.|\n)*array, a tensor or a list"),
        ({1: 2}, r"not dict\n(.|\n)*list\(keys\)"),
        ({1, 2}, r"not set\n(.|\n)*list\(keys\)"),
        ((k for k in (1, 2)), r"not generator\n(.|\n)*list\(keys\)"),
        ([1, None], r"not NoneType\n(.|\n)*missing value"),
        ([2**64], r"not 18446744073709551616, which has more than 64 bits\n(.|\n)*hash_strings"),
        ([-(2**63) - 1], r"not -9223372036854775809, which has more than 64 bits"),
        ([1, -1, 2**64 - 1], r"negative ones beside 18446744073709551615\n(.|\n)*one type"),
        (np.array([1, 2], object), r"not Python objects\n(.|\n)*astype\(np\.int64\)"),
        (np.array([True], object), r"not bool\n"),
        (np.array([], object), r"not NoneType\n"),
        ([1.5, "a"], r"not str\n(.|\n)*hash_strings"),
        ([1.5, 2], r"not float64\n(.|\n)*rounded"),
        ([[1], [2, 3]], r"inhomogeneous(.|\n)*one length"),
    ],
    ids=repr,
)
def test_what_is_no_key_is_named_as_the_user_wrote_it(make_table, keys, message) -> None:
    with pytest.raises(hotrow.InvalidArgument, match=message):
        make_table().pull(keys)


def test_unsigned_keys_of_a_module_are_answered_with_the_same_bits(make_table) -> None:
    bag = EmbeddingBag(None, 2, table=make_table())
    with pytest.raises(hotrow.InvalidArgument, match=r"not uint64\n(.|\n)*view\(torch\.int64\)"):
        bag(torch.tensor([[1]], dtype=torch.uint64))


def bag_calls(table: hotrow.Table) -> list:
    bag = EmbeddingBag(None, 2, mode="sum", table=table)
    last = EmbeddingBag(None, 2, mode="sum", table=table, include_last_offset=True)
    keys = torch.tensor([1, 2, 3])
    return [
        lambda: bag(["a"]),
        lambda: bag([[1, 2]]),
        lambda: bag(torch.tensor(1)),
        lambda: bag(torch.tensor([[1]], device="meta")),
        lambda: bag(torch.tensor([[1]], dtype=torch.int16)),
        lambda: bag(keys),
        lambda: bag(keys, torch.tensor([0, 2, 1])),
        lambda: bag(keys, torch.tensor([-1, 2])),
        lambda: bag(keys, torch.tensor([1, 2])),
        lambda: bag(keys, torch.tensor([0, 5])),
        lambda: bag(keys, torch.tensor([[0]])),
        lambda: bag(keys, [0, 2]),
        lambda: bag(keys, torch.tensor([0.0])),
        lambda: bag(keys, torch.empty(0, dtype=torch.int64)),
        lambda: bag(keys.reshape(1, 3), torch.tensor([0])),
        lambda: last(keys, torch.tensor([0, 2])),
        lambda: last(keys, torch.empty(0, dtype=torch.int64)),
        lambda: bag(keys, torch.tensor([0]), torch.rand(2)),
        lambda: bag(keys, torch.tensor([0]), torch.ones(3, dtype=torch.int64)),
        lambda: bag.load_rows([1], [[1.0]]),
    ]


def table_calls(table: hotrow.Table) -> list:
    rows = np.ones((1, 2), np.float32)
    return [
        lambda: table.pull([1], timeout=-1),
        lambda: table.pull([1], timeout="5"),
        lambda: table.pull(np.ma.masked_array([1], [True])),
        lambda: table.push([1], rows, lr=-1.0),
        lambda: table.push([1], rows, lr=torch.tensor(1.0)),
        lambda: table.push([1], rows, step=0),
        lambda: table.push([1], rows[:, :1]),
        lambda: table.push([1], rows.astype(int)),
        lambda: table.push([1], [[1.0], [2.0, 3.0]]),
        lambda: table.scan(0),
        lambda: table.scan(1.5),
    ]


@pytest.mark.parametrize("calls", [bag_calls, table_calls])
def test_refusals_of_a_table_name_it_and_say_what_to_do(make_table, calls) -> None:
    table = make_table()
    for number, call in enumerate(calls(table)):
        with pytest.raises(hotrow.InvalidArgument) as caught:
            call()
        assert caught.value.hint, (number, str(caught.value))
        assert f"table {table.name!r}" in str(caught.value), number


@pytest.mark.parametrize(
    "call",
    [
        lambda client: hotrow.connect("127.0.0.1:1", mode="asynk"),
        lambda client: hotrow.connect("127.0.0.1:1", timeout=-1),
        lambda client: hotrow.connect("127.0.0.1:1", timeout=0),
        lambda client: hotrow.connect("127.0.0.1:1", rank=2, world_size=2),
        lambda client: hotrow.connect("127.0.0.1:1", job=7),
        lambda client: hotrow.connect("127.0.0.1:1", max_steps_ahead=3),
        lambda client: client.table(7),
        lambda client: client.create_table("t", dim=0, optimizer=hotrow.Sgd()),
        lambda client: client.create_table("t", 2, optimizer=hotrow.Sgd(), durability="mem"),
        lambda client: client.create_table("t", 2, optimizer=hotrow.Sgd(), gradient_bound="x"),
        lambda client: hotrow.Uniform(1, 0),
        lambda client: hotrow.Normal(0, -1),
        lambda client: hotrow.Adam(betas=(1, 2)),
        lambda client: hotrow.hash_strings("f", "abc"),
        lambda client: hotrow.hash_strings("f", [1, 2]),
        lambda client: hotrow.hash_strings("f", ["a", None]),
        lambda client: hotrow.hash_strings(7, ["a"]),
        lambda client: EmbeddingBag(None, 2, table="t", client=client, mode="men"),
        lambda client: EmbeddingBag(None, 2, client=client),
        lambda client: EmbeddingBag(None, 2, table="t"),
        lambda client: EmbeddingBag(None, 2, table="t", client=client, _weight=np.ones((2, 3))),
        lambda client: Embedding(None, 2, norm_type=1.0, table="t", client=client),
        lambda client: SparseOptimizer(torch.nn.Linear(2, 2)),
        lambda client: SparseOptimizer(torch.nn.Linear(2, 2).parameters()),
        lambda client: SparseOptimizer(torch.nn.Linear(2, 2), lr="1"),
        lambda client: clip_grad_norm_(torch.nn.Linear(2, 2), -1.0),
    ],
)
def test_refusals_before_there_is_a_table_say_what_to_do(client, call) -> None:
    with pytest.raises(hotrow.InvalidArgument) as caught:
        call(client)
    assert caught.value.hint, str(caught.value)
    with pytest.raises(hotrow.NotFound):
        client.table("t")  # a refusal makes nothing


def test_a_module_that_disagrees_with_its_table_says_what_it_has(make_table) -> None:
    table = make_table(2)
    with pytest.raises(hotrow.SchemaMismatch, match="Give embedding_dim=2"):
        EmbeddingBag(None, 3, table=table)
    with pytest.raises(hotrow.SchemaMismatch, match="Give num_embeddings=None"):
        EmbeddingBag(9, 2, table=table)


def test_an_error_in_the_middle_of_a_scan_names_the_table(client, make_table) -> None:
    table = make_table()
    table.push(np.arange(4), np.ones((4, 2), np.float32))
    client.drop_table(table.name)
    with pytest.raises(hotrow.NotFound) as caught:
        list(table.scan())
    assert caught.value.table == table.name
