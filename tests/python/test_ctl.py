"""hotrowctl against real servers."""

from __future__ import annotations

import json
import os
import re
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import yaml

import hotrow
from hotrow.testing import LocalCluster, find_server

REFERENCE = (Path(__file__).resolve().parents[2] / "deploy" / "REFERENCE.md").read_text()
SCHEMA = {"optimizer": hotrow.Sgd(lr=1.0), "durability": "memory"}


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


def test_every_command_prints_the_same_fields_in_every_format(client, address, name) -> None:
    client.create_table(name, 2, **SCHEMA).push([1], np.ones((1, 2), np.float32))
    commands = {
        ("status",): {"shard", "address", "state", "version", "uptime_s", "memory_used"},
        ("shards",): {"shard", "address", "admin", "state", "partitions", "start_id"},
        ("tables",): {"table", "id", "dim", "optimizer", "row_bytes"},
        ("stats", name): {"table", "rows", "rows_pulled", "rows_pushed"},
        ("get", name, "1"): {"key", "stored", "row"},
    }
    for command, fields in commands.items():
        entries = _json(address, *command)
        assert entries, command
        assert fields <= set(entries[0]), command
        assert yaml.safe_load(_run(address, "-o", "yaml", *command).stdout) is not None
        header = _run(address, *command).stdout.splitlines()[0].split()
        assert header == list(entries[0]), command


def test_shards_tell_who_they_are(clusters, address) -> None:
    entries = _json(address, "shards")
    assert [entry["address"] for entry in entries] == clusters(2).addresses
    assert [entry["admin"] for entry in entries] == clusters(2).addresses
    assert sum(entry["partitions"] for entry in entries) == 64
    assert len({entry["start_id"] for entry in entries}) == 2


@pytest.fixture(scope="module")
def operated() -> Iterator[LocalCluster]:
    """Two shards with admin listeners, to which a millisecond is slow."""
    config = {"admin_listen": "127.0.0.1:0", "log": {"slow_call": "1ms"}}
    with LocalCluster(2, config=config) as cluster:
        yield cluster


def test_slow_calls_of_all_shards_come_newest_first(operated) -> None:
    address = operated.addresses[0]
    assert _json(address, "slowlog") == []
    with operated.connect() as client:
        table = client.create_table("slow", 64, **SCHEMA)
        keys = np.arange(20_000)
        table.push(keys, np.ones((len(keys), 64), np.float32))
    entries = _json(address, "slowlog")
    assert {entry["shard"] for entry in entries} == {0, 1}
    times = [entry["time"] for entry in entries]
    assert times == sorted(times, reverse=True)
    assert entries[0]["rpc"] == "Push"
    assert sum(entry["keys"] for entry in entries) == len(keys)
    for entry in entries:
        assert sum(entry["stages_ms"].values()) == pytest.approx(entry["duration_ms"], abs=0.01)
    assert len(_json(address, "slowlog", "--limit", "1")) == 1
    one = _json(address, "--admin", _json(address, "shards")[1]["admin"], "slowlog")
    assert {entry["shard"] for entry in one} == {1}
    logged = [json.loads(line) for line in operated.log(0).splitlines()]
    (line,) = [line for line in logged if line.get("rpc") == "Push"]
    (entry,) = [entry for entry in entries if entry["shard"] == 0]
    for field in ("duration_ms", "keys", "received_bytes", "sent_bytes", "request_id", "peer"):
        assert line[field] == entry[field], field


def test_drop_and_drain_go_to_the_admin_listeners(operated) -> None:
    address = operated.addresses[1]
    admins = [entry["admin"] for entry in _json(address, "shards")]
    with operated.connect() as client:
        table = client.create_table("dropped", 2, **SCHEMA)
        table.push(np.arange(100), np.ones((100, 2), np.float32))
        with pytest.raises(hotrow.errors.PermissionDenied, match=admins[0]) as refused:
            client.drop_table("dropped")
        assert f"hotrowctl --admin {admins[0]} drop dropped" in str(refused.value)
        for words in (["drop"], ["tables", "drop"]):
            assert _run(address, *words, "dropped").returncode == 2
        assert table.size() == 100
        assert _json(address, "tables", "list") == _json(address, "tables")
        assert _json(address, "tables", "drop", "dropped", "--yes") == [
            {"table": "dropped", "rows_dropped": 100, "shards": 2}
        ]
        assert _run(address, "drop", "dropped", "--yes").returncode == 3
    assert _run(address, "drain", "2").returncode == 3
    # Through --admin nobody else is needed.
    drained = _json("127.0.0.1:1", "--admin", admins[0], "drain", "0")
    assert drained[0]["state"] == "draining"
    assert [entry["state"] for entry in _json(address, "status")] == ["draining", "serving"]


def test_an_unreachable_shard_is_one_and_the_others_are_shown() -> None:
    with LocalCluster(2) as cluster:
        cluster.kill(0)
        for command in ("status", "shards", "slowlog"):
            result = _run(cluster.addresses[1], "-o", "json", "--timeout", "2", command)
            assert result.returncode == 1, command
            assert cluster.addresses[0] in result.stderr
            entries = json.loads(result.stdout)
            states = [entry["state"] for entry in entries]
            assert command == "slowlog" or states[0] == "unreachable" != states[1]
            if command == "slowlog":
                continue
            known = {"shard", "address", "state", "partitions"}
            for field in set(entries[0]) - known:
                assert entries[0][field] is None, (command, field)
                assert entries[1][field] is not None, (command, field)
            shown = _run(cluster.addresses[1], "--timeout", "2", command).stdout.splitlines()[1]
            assert "-" in shown.split(), shown
            assert command == "status" or sum(entry["partitions"] for entry in entries) == 64
        result = _run(cluster.addresses[1], "-o", "json", "--timeout", "2", "tables")
        assert (result.returncode, json.loads(result.stdout)) == (1, [])
        assert cluster.addresses[0] in result.stderr


def test_stats_sums_what_the_others_answer_and_says_of_how_many() -> None:
    with LocalCluster(3) as cluster:
        with cluster.connect() as client:
            for table in ("a", "b"):
                rows = np.ones((300, 2), np.float32)
                client.create_table(table, 2, **SCHEMA).push(np.arange(300), rows)
        address = cluster.addresses[2]
        whole = {entry["table"]: entry for entry in _json(address, "stats")}
        assert {name: entry["shards"] for name, entry in whole.items()} == {"a": 3, "b": 3}
        cluster.kill(0)  # also the one that knows all tables
        for words in (["stats"], ["stats", "b"]):
            result = _run(address, "-o", "json", "--timeout", "2", *words)
            assert result.returncode == 1, result.stderr
            assert cluster.addresses[0] in result.stderr
            entries = {entry["table"]: entry for entry in json.loads(result.stdout)}
            assert set(entries) == ({"a", "b"} if len(words) == 1 else {"b"})
            assert entries["b"]["shards"] == 2
            assert 0 < entries["b"]["rows"] < whole["b"]["rows"] == 300


def test_stats_names_a_shard_that_has_forgotten_a_table_and_prints_the_rest() -> None:
    with LocalCluster(2) as cluster:
        with cluster.connect() as client:
            client.create_table("lost", 2, **SCHEMA)
        cluster.kill(1)
        cluster.start(1)
        with cluster.connect() as client:
            client.create_table("whole", 2, **SCHEMA)
        result = _run(cluster.addresses[0], "-o", "json", "stats")
        assert result.returncode == 3, result.stderr
        assert cluster.addresses[1] in result.stderr
        assert "'lost'" in result.stderr
        assert "create_table" not in result.stderr  # a hint for programs
        assert "hint: hotrowctl" in result.stderr
        shards = {entry["table"]: entry["shards"] for entry in json.loads(result.stdout)}
        assert shards == {"lost": 1, "whole": 2}
        # Rows that were lost weigh more than an empty table that one shard does not know.
        with cluster.connect() as client:
            client.table("whole").push(np.arange(300), np.ones((300, 2), np.float32))
        cluster.kill(1)
        cluster.start(1)
        result = _run(cluster.addresses[0], "stats")
        assert result.returncode == 1, result.stderr
        assert "'lost'" in result.stderr and "'whole'" in result.stderr
        for words in (["get", "nope", "1"], ["stats", "nope"]):
            result = _run(cluster.addresses[0], *words)
            assert (result.returncode, result.stdout) == (3, "")
            assert "create" not in result.stderr


def test_help_and_reference_name_every_command_and_exit_code() -> None:
    text = _run("127.0.0.1:1", "--help").stdout
    commands = {"status", "shards", "tables", "stats", "get", "slowlog", "drain", "drop"}
    assert commands == set(re.findall(r"^  ([a-z]+)  ", text, re.MULTILINE))
    for command in commands:
        assert _run("127.0.0.1:1", command, "--help").returncode == 0
    in_help = dict(re.findall(r"(\d) (success|a shard|bad usage|no such)", " ".join(text.split())))
    in_reference = dict(
        re.findall(r"^\| (\d) \| (success|a shard|bad usage|no such)", REFERENCE, re.M)
    )
    assert in_help == in_reference
    assert set(in_help) == {"0", "1", "2", "3"}


def test_slips_are_explained(address) -> None:
    unknown = _run(address, "slowlogs")
    assert unknown.returncode == 2
    assert "slowlogs" in unknown.stderr
    assert "slowlog, drain" in unknown.stderr
    wrong = _run(address, "-o", "xml", "status")
    assert wrong.returncode == 2
    assert "'xml' is not one of table, json, yaml" in wrong.stderr
    assert _run(address, "drain").returncode == 2


def test_an_answer_that_cannot_be_written_is_a_failure(address) -> None:
    for words in (["status"], ["--help"]):
        with open("/dev/full", "w") as full:
            result = subprocess.run(
                [_program(), "--address", address, *words], stdout=full, stderr=subprocess.PIPE
            )
        assert (result.returncode, b"could not be written" in result.stderr) == (1, True), words


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
        ready = Path(settings["ready_file"])
        ready.unlink(missing_ok=True)  # of the life that was stopped
        other = subprocess.Popen([find_server(), "--config", config], stderr=subprocess.DEVNULL)
        try:
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
