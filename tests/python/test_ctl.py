"""hotrowctl against real servers."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import time
from pathlib import Path

import numpy as np
import pytest

import hotrow
from hotrow.testing import LocalCluster, find_server


def _program() -> Path:
    named = os.environ.get("HOTROWCTL")
    return Path(named) if named else find_server().parent / "hotrowctl"


def _run(address: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [_program(), "--address", address, *arguments],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def _json(address: str, *arguments: str) -> list[dict]:
    result = _run(address, "-o", "json", *arguments)
    assert result.returncode == 0, result.stderr
    return json.loads(result.stdout)


@pytest.fixture
def address(clusters) -> str:
    return clusters(2).addresses[1]


def test_get_tells_stored_rows_from_initial_values(client, address, name) -> None:
    table = client.create_table(name, 2, optimizer=hotrow.Sgd(lr=1.0), initializer=hotrow.Zeros())
    table.push([-1], np.ones((1, 2), np.float32))
    found = _json(address, "get", name, "--", "-1", "7")
    assert found == [
        {"key": -1, "stored": True, "row": [-1, -1]},
        {"key": 7, "stored": False, "row": [0, 0]},
    ]
    assert table.size() == 1


def test_status_names_every_shard(client, clusters, address) -> None:
    found = _json(address, "status")
    assert [shard["address"] for shard in found] == clusters(2).addresses
    assert {shard["state"] for shard in found} == {"serving"}


def test_tables_and_stats_are_those_of_the_client(client, address, name) -> None:
    table = client.create_table(name, 3, optimizer=hotrow.Adagrad(lr=0.1))
    table.push([1, 2], np.ones((2, 3), np.float32))
    listed = {entry["table"]: entry for entry in _json(address, "tables")}
    assert listed[name]["dim"] == 3
    assert listed[name]["optimizer"] == "adagrad"
    assert _json(address, "stats", name)[0]["rows_created"] == 2


def test_exit_codes_tell_the_kinds_of_failure_apart(address) -> None:
    missing = _run(address, "get", "no.such.table", "1")
    assert (missing.returncode, missing.stdout) == (3, "")
    assert "no.such.table" in missing.stderr
    assert _run(address, "get", "t", "1.5").returncode == 2
    assert _run(address, "statsu").returncode == 2
    without = _run(address)
    assert without.returncode == 2
    assert "status" in without.stderr


def test_nothing_running_is_said_at_once() -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        begin = time.monotonic()
        result = _run(f"127.0.0.1:{unused.getsockname()[1]}", "status")
    assert result.returncode == 1
    assert "refused" in result.stderr
    assert time.monotonic() - begin < 3


def test_status_shows_servers_with_another_list_of_shards() -> None:
    with LocalCluster(2) as cluster:
        swapped = [cluster.addresses[0], "127.0.0.1:9"]
        config = Path(cluster.data_dir / "shard-1.yaml")
        cluster.stop(1)
        settings = json.loads(config.read_text())
        settings.update(shards=[swapped[1], cluster.addresses[1]], data_dir="")
        config.write_text(json.dumps(settings))
        other = subprocess.Popen([find_server(), "--config", config], stderr=subprocess.DEVNULL)
        try:
            ready = Path(settings["ready_file"])
            deadline = time.monotonic() + 30
            while not ready.exists() and time.monotonic() < deadline:
                time.sleep(0.01)
            result = _run(cluster.addresses[0], "status")
        finally:
            other.kill()
            other.wait()
    assert result.returncode == 1
    assert cluster.addresses[1] in result.stderr
    assert "another shard map, [127.0.0.1:9, " in result.stderr
