"""The benchmarks' harness and plot."""

import json
import multiprocessing
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from bench import harness, plot
from bench.peers import bare_tcp_peer
from bench.peers.worker import Shape
from bench.pull_push_bench import OWN, PEERS

PULL_BANDWIDTH = """\
reply 1.00 MiB, 7 rounds of 256 calls
  Hotrow TCP                           0.46 GB/s
  limit: raw TCP request/reply         2.76 GB/s   Hotrow TCP 0.17x   Hotrow Unix 0.17x
  peer: protobuf bytes stream, TCP     0.76 GB/s   Hotrow TCP 0.61x   Hotrow Unix 0.63x
"""
ROW_STORE = """\
store                     1.75 M rows/s median    1.83 best   0.90 GB/s   store/this 1.00
peer: absl + memcpy       0.25 M rows/s median    0.32 best   0.13 GB/s   store/this 7.03
limit: memcpy            12.01 M rows/s median   13.90 best   6.15 GB/s   store/this 0.15
"""


def test_a_peer_without_its_program_is_left_out_and_said(monkeypatch, capsys):
    monkeypatch.setattr("shutil.which", lambda program: None)
    found = harness.available(PEERS)
    assert {spec.name for spec in PEERS} - {spec.name for spec in found} == {PEERS[5].name}
    assert PEERS[5].module == "redis_peer"
    assert "left out: Redis" in capsys.readouterr().out


def test_the_plot_shows_our_rate_over_each_peers(tmp_path, capsys):
    assert plot.main(tmp_path) == 1
    figures = {
        OWN: {"pull": [1.0, 4.0, 2.0], "pull4": [3.0]},
        "other": {"pull": [0.5, 1.0, 9.0], "pull4": [float("nan")]},
        "limit: socket": {"pull": [8.0], "pull4": [8.0]},
    }
    (tmp_path / "pull_push.json").write_text(json.dumps(figures))
    (tmp_path / "pull_bandwidth.txt").write_text(PULL_BANDWIDTH)
    (tmp_path / "row_store_bench.txt").write_text(ROW_STORE)
    assert [list(ratios.values()) for ratios in plot.all_ratios(tmp_path).values()] == [
        [2.0],
        [0.61],
        [7.03],
    ]
    assert plot.main(tmp_path) == 0
    assert (tmp_path / "bench.png").read_bytes().startswith(b"\x89PNG")
    assert "bench.png" in capsys.readouterr().out


def test_a_peers_server_ends_when_the_round_fails():
    with (
        pytest.raises(ZeroDivisionError),
        bare_tcp_peer.connect(Shape(rows=8, dim=2, batch=4), "limit"),
    ):
        _ = 1 / 0
    assert multiprocessing.active_children() == []
