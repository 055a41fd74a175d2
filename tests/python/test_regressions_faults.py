"""What hostile use broke stays mended."""

from __future__ import annotations

import contextlib
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import numpy as np
import pytest
import torch
from test_interrupt import frozen, interrupted, simple_table
from test_processes import in_forked_child

import hotrow
from hotrow.testing import LocalCluster
from hotrow.torch import EmbeddingBag, SparseOptimizer


def test_a_forked_child_cannot_connect_either(client, clusters) -> None:
    text = in_forked_child(lambda: hotrow.connect(clusters(2).addresses))
    assert text.startswith("ForkedProcess")
    assert "spawn" in text
    assert client.tables() is not None


def test_idle_connections_do_not_block_health_pages(clusters) -> None:
    host, port = clusters(1).metrics_addresses[0].split(":")
    with contextlib.ExitStack() as held:
        for _ in range(32):
            held.enter_context(socket.create_connection((host, int(port))))
        begin = time.monotonic()
        with urllib.request.urlopen(f"http://{host}:{port}/livez", timeout=30) as page:
            assert page.status == 200
        assert time.monotonic() - begin < 10


def test_the_metrics_port_answers_head_without_a_body(clusters) -> None:
    request = urllib.request.Request(
        f"http://{clusters(1).metrics_addresses[0]}/metrics", method="HEAD"
    )
    with urllib.request.urlopen(request, timeout=30) as page:
        assert int(page.headers["Content-Length"]) > 0
        assert page.read() == b""


def test_sparse_optimizer_refuses_further_groups(make_table) -> None:
    optimizer = SparseOptimizer(EmbeddingBag(None, 2, table=make_table()))
    dense = torch.nn.Parameter(torch.ones(2))
    with pytest.raises(hotrow.Unimplemented, match=r"torch\.optim"):
        optimizer.add_param_group({"params": [dense]})
    optimizer.load_state_dict(optimizer.state_dict())
    assert optimizer.step_count == 0


def test_ctrl_c_ends_a_scan_and_a_connect() -> None:
    with LocalCluster(1) as cluster:
        client = cluster.connect(timeout=60)
        table = simple_table(client, "t")
        table.push(np.arange(1000), np.ones((1000, 2), np.float32))
        with frozen(cluster):
            interrupted(lambda: list(table.scan()), within_s=2)
            interrupted(lambda: hotrow.connect(cluster.addresses, timeout=60), within_s=2)
        assert sum(len(keys) for keys, _ in table.scan()) == 1000


def test_steps_have_one_bound_and_errors_name_the_table(make_table) -> None:
    table = make_table()
    ones = np.ones((1, 2), np.float32)
    for step in (0, -1, 2**53 + 1, 2**63 - 1, 1.5, "x", float("nan"), float("inf"), [1]):
        with pytest.raises(hotrow.InvalidArgument, match="step must be") as caught:
            table.push([1], ones, step=step)
        assert caught.value.table == table.name
    # The last step that can be said stays: nobody's training ends by it.
    table.push([1], ones, step=2**53)
    table.push([1], ones)
    assert table.stats()["highest_step"] == 2**53


@pytest.mark.parametrize(
    "call",
    [
        lambda client, table: table.push([1], np.ones((1, 2)), lr="x"),
        lambda client, table: list(table.scan(2**63)),
        lambda client, table: list(table.scan(1.5)),
        lambda client, table: client.create_table(
            "never", 2, optimizer=hotrow.Sgd(lr=1.0), gradient_bound="x"
        ),
        lambda client, table: client.create_table(
            "never", 2, optimizer=hotrow.Sgd(lr=1.0), gradient_bound=None
        ),
        lambda client, table: hotrow.Adam(betas=3),
        lambda client, table: hotrow.connect("127.0.0.1:7070", address_map=[1]),
        lambda client, table: hotrow.connect("127.0.0.1:7070", address_map={1: 2}),
        lambda client, table: hotrow.connect("127.0.0.1:7070", job="\ud800"),
        lambda client, table: hotrow.connect("127.0.0.1:7070:1"),
        lambda client, table: hotrow.connect("::1:7070"),
        lambda client, table: table.pull(torch.tensor([1, 2]).to_sparse()),
        lambda client, table: table.pull(torch.empty(2, dtype=torch.int64, device="meta")),
        lambda client, table: table.push([1], torch.ones(1, 2).to_sparse()),
    ],
)
def test_nothing_raises_an_error_of_the_binding(client, make_table, call) -> None:
    with pytest.raises(hotrow.InvalidArgument):
        call(client, make_table())


@pytest.mark.parametrize("option", ["weight_decay", "momentum", "betas", "eps", "maximize"])
def test_options_that_do_not_travel_are_refused_in_param_groups(make_table, option) -> None:
    bag = EmbeddingBag(None, 2, table=make_table())
    optimizer = SparseOptimizer(bag)
    optimizer.param_groups[0][option] = 0.01
    bag(torch.tensor([[1]])).sum().backward()
    with pytest.raises(hotrow.Unimplemented, match=option):
        optimizer.step()
    with pytest.raises(hotrow.Unimplemented, match=option):
        SparseOptimizer(bag).load_state_dict(optimizer.state_dict())
    assert bag.table.size() == 0


@pytest.mark.parametrize("tls", [{}, "", True, 0, object()])
def test_tls_is_never_accepted_and_ignored(tls) -> None:
    with pytest.raises(hotrow.Unimplemented, match="tls"):
        hotrow.connect("127.0.0.1:7070", tls=tls)


def test_the_example_of_the_readme_runs_without_a_warning() -> None:
    text = (Path(__file__).resolve().parents[2] / "README.md").read_text()
    example = text.split("```python\n")[1].split("```")[0]
    done = subprocess.run(
        [sys.executable, "-c", example],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == "3 rows\n"
    assert "Warning" not in done.stderr
