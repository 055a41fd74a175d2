"""LocalCluster: processes, addresses, logs, and what it refuses."""

import json
import os
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import numpy as np
import pytest

import hotrow
from hotrow.testing import LocalCluster, find_server


def test_servers_serve_and_end_with_the_cluster(tmp_path):
    with LocalCluster(2, data_dir=tmp_path) as cluster:
        client = cluster.connect()
        assert client.shards == cluster.addresses
        pids = [cluster.pid(shard) for shard in range(2)]
        for address in cluster.metrics_addresses:
            with urllib.request.urlopen(f"http://{address}/metrics", timeout=10) as page:
                assert b"hotrow_" in page.read()
    for pid in pids:
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)
    with pytest.raises(hotrow.ClientClosed):
        client.tables()
    assert (tmp_path / "shard-1.log").exists()


def test_the_same_directory_comes_back_under_the_same_addresses(tmp_path):
    with LocalCluster(2, data_dir=tmp_path) as first:
        addresses = first.addresses, first.metrics_addresses
    with LocalCluster(2, data_dir=tmp_path) as again:
        assert (again.addresses, again.metrics_addresses) == addresses
    with pytest.raises(hotrow.InvalidArgument, match="2 shards"):
        LocalCluster(3, data_dir=tmp_path)


def test_servers_end_with_a_process_that_crashes():
    code = (
        "import os, signal; from hotrow.testing import LocalCluster; c = LocalCluster();"
        "print(c.pid(0), flush=True); os.kill(os.getpid(), signal.SIGKILL)"
    )
    printed = subprocess.run([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True).stdout
    deadline = time.monotonic() + 30
    with pytest.raises(ProcessLookupError):
        while time.monotonic() < deadline:
            os.kill(int(printed), 0)
            time.sleep(0.01)


def test_a_temporary_folder_is_removed():
    with LocalCluster() as cluster:
        folder = cluster.data_dir
        assert folder.exists()
    assert not folder.exists()


def test_a_shard_stops_cleanly_and_starts_again():
    with LocalCluster(2) as cluster:
        ready = Path(json.loads((cluster.data_dir / "shard-1.yaml").read_text())["ready_file"])
        assert ready.exists()
        assert cluster.stop(1) == 0
        assert not ready.exists()
        assert not cluster.is_running(1)
        assert cluster.is_running(0)
        cluster.start(1)
        assert cluster.is_running(1)
        with pytest.raises(hotrow.InvalidArgument, match="runs already"):
            cluster.start(1)
        table = cluster.connect().create_table("t", 2, optimizer=hotrow.Sgd())
        assert table.pull(np.arange(100)).shape == (100, 2)


def test_configuration_is_merged_into_every_shard(tmp_path):
    config = {"partitions": 16, "tiers": {"hot_budget": "8MiB"}}
    with LocalCluster(2, data_dir=tmp_path, config=config) as cluster:
        written = json.loads((tmp_path / "shard-1.yaml").read_text())
        assert written["partitions"] == 16
        assert written["tiers"] == {"hot_budget": "8MiB"}
        budgets = {shard["memory_budget_bytes"] for shard in cluster.connect().status()}
        assert budgets == {8 << 20}


def test_a_bad_configuration_is_told_with_the_servers_words(tmp_path):
    with pytest.raises(hotrow.Unavailable, match="exited with code 2") as caught:
        LocalCluster(1, data_dir=tmp_path, config={"partitons": 16})
    assert "partitons" in str(caught.value)


def test_variables_of_the_shell_do_not_configure_the_shards(monkeypatch):
    monkeypatch.setenv("HOTROW_PARTITIONS", "3")
    with LocalCluster() as cluster:
        assert cluster.is_running(0)


def test_a_missing_server_program_is_named(monkeypatch, tmp_path):
    monkeypatch.setenv("HOTROW_SERVER", str(tmp_path / "no-server"))
    with pytest.raises(hotrow.Unavailable, match="no-server"):
        find_server()


@pytest.mark.parametrize("shards", [0, -1, True, 1.5])
def test_an_impossible_number_of_shards_is_refused(shards):
    with pytest.raises(hotrow.InvalidArgument):
        LocalCluster(shards)
