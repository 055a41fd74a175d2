"""The benchmarks' keys, and the harness that lets peers take turns."""

import io
import json
import math
import multiprocessing
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from bench import harness
from bench.peers import bare_tcp_peer, worker
from bench.pull_push_bench import PEERS
from bench.workload import KEYS, KeySource, Shape

# Keys


@pytest.mark.parametrize("name", KEYS)
def test_a_seed_draws_the_same_keys_again_within_the_rows(name):
    first, again = (KeySource(name, 1000, 7) for _ in range(2))
    keys = first.draw(500)
    np.testing.assert_array_equal(keys, np.concatenate([again.draw(200), again.draw(300)]))
    assert keys.dtype == np.int64 and keys.min() >= 0 and keys.max() < 1000
    assert not np.array_equal(keys, KeySource(name, 1000, 8).draw(500))


def test_a_steeper_zipf_repeats_more_keys():
    unique = [len(np.unique(KeySource(name, 100_000, 1).draw(50_000))) for name in KEYS]
    assert unique == sorted(unique, reverse=True)
    # Of uniform draws 1 - exp(-1/2) of the rows are hit.
    assert abs(unique[0] / 100_000 - (1 - math.exp(-0.5))) < 0.01


def test_the_hottest_key_has_its_share_of_zipf_draws():
    rows, draws = 10_000, 200_000
    counts = np.unique(KeySource("zipf1.05", rows, 3).draw(draws), return_counts=True)[1]
    wanted = 1 / (np.arange(1, rows + 1) ** -1.05).sum()
    assert abs(counts.max() / draws - wanted) < 0.01


@pytest.mark.parametrize("name", KEYS)
def test_the_programs_draw_the_keys_that_the_peers_draw(name):
    server = os.environ.get("HOTROW_SERVER")
    program = Path(server).parent / "row_update_bench" if server else None
    if program is None or not program.exists():
        pytest.skip("the benchmarks are not built")
    shape = Shape(rows=5000, batch=3000, seed=9)
    arguments = ["--rows=5000", "--batch=3000", "--seed=9", f"--checksum={name}"]
    printed = subprocess.run([program, *arguments], check=True, capture_output=True, text=True)
    total = 0
    for key in KeySource(name, shape.rows, shape.seed).draw(shape.batch):
        total = mix(total ^ int(key))
    assert int(printed.stdout) == total


def mix(x):
    mask = 2**64 - 1
    for factor in (0xFF51AFD7ED558CCD, 0xC4CEB9FE1A85EC53):
        x ^= x >> 33
        x = x * factor & mask
    return x ^ x >> 33


# Harness

PEER = """
import sys, json
print("ready", flush=True)
for line in sys.stdin:
    operation, calls = line.split()
    seconds = {seconds} * int(calls)
    answer = {{"wall": seconds, "cpu": seconds / 2}} if operation == "pull" else None
    print(json.dumps(answer), flush=True)
"""


def peer(name, seconds):
    return harness.PeerSpec(name, command=(sys.executable, "-c", PEER.format(seconds=seconds)))


@pytest.mark.parametrize(("clock", "rate"), [("wall", 0.05), ("cpu", 0.1)])
def test_rates_are_rows_over_the_time_of_the_chosen_clock(clock, rate):
    plan = harness.Plan({"pull": 10, "push": 10}, rounds=2, clock=clock)
    results = harness.run([peer("a", 0.02), peer("b", 0.04)], plan, Shape(batch=1000))
    assert results["a"]["pull"].values == pytest.approx([rate, rate])
    assert results["b"]["pull"].median == pytest.approx(rate / 2)
    assert math.isnan(results["a"]["push"].median)
    assert f"{rate / 2:.2f} (2.00x)" in harness.markdown(results, "a", "M rows/s")


def test_a_peer_that_ends_is_named():
    broken = harness.PeerSpec("broken", command=(sys.executable, "-c", "raise SystemExit(3)"))
    with pytest.raises(RuntimeError, match="broken ended with exit code 3"):
        harness.run([broken], harness.Plan({"pull": 1}, 1), Shape())


def test_a_peer_without_its_program_is_left_out_and_said(monkeypatch, capsys):
    monkeypatch.setattr("shutil.which", lambda program: None)
    found = harness.available(PEERS)
    assert {spec.name for spec in PEERS} - {spec.name for spec in found} == {PEERS[5].name}
    assert PEERS[5].module == "redis_peer"
    assert "left out: Redis" in capsys.readouterr().out


def test_a_peers_server_ends_when_the_round_fails():
    with (
        pytest.raises(ZeroDivisionError),
        bare_tcp_peer.connect(Shape(rows=8, dim=2, batch=4), "limit"),
    ):
        _ = 1 / 0
    assert multiprocessing.active_children() == []


class Store:
    """Counts its calls."""

    def __init__(self):
        self.calls = []

    def pull(self, keys):
        self.calls.append("pull")

    def push(self, keys, gradients):
        self.calls.append("push")

    def pull_async(self, keys):
        self.calls.append("start")
        return self

    def result(self):
        self.calls.append("end")


def test_the_worker_does_as_many_calls_as_it_is_told(capsys):
    store = Store()
    work = worker.StoreWork(store, Shape(rows=10, dim=1, batch=2))
    work.warm_calls = 0
    worker.serve(work, io.StringIO("push_pull 2\npull4 6\nfly 1\n"))
    assert store.calls[:4] == ["push", "pull", "push", "pull"]
    started = store.calls[4:].index("end")
    assert started == worker.IN_FLIGHT and store.calls.count("end") == 6
    answers = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert answers[2] is None and answers[0]["wall"] >= 0 and answers[0]["cpu"] >= 0
