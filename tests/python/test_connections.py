"""A flood of connections: whoever comes afterwards is served, without a restart."""

import json
import os
import resource
import signal
import socket
import subprocess
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import pytest

import hotrow
from hotrow.testing import find_server

FLOOD = 300
LIMIT = 128


@contextmanager
def shard(folder, soft: int, hard: int, *flags: str) -> Iterator[dict]:
    """Run a server under a limit of open files; yield its ready file."""
    ready = folder / "ready.json"
    command = [find_server(), "--listen=127.0.0.1:0", "--metrics=127.0.0.1:0"]
    command += [f"--ready-file={ready}", "--tiers-hot-budget=64MiB", *flags]
    with open(folder / "log", "w") as log:
        process = subprocess.Popen(["prlimit", f"--nofile={soft}:{hard}", *command], stderr=log)
    try:
        deadline = time.monotonic() + 30
        while not ready.exists():
            assert process.poll() is None and time.monotonic() < deadline
            time.sleep(0.01)
        yield json.loads(ready.read_text())
    finally:
        process.send_signal(signal.SIGTERM)
        assert process.wait(30) == 0


def flood(address: str) -> list[socket.socket]:
    host, port = address.rsplit(":", 1)
    sockets = []
    for _ in range(FLOOD):
        one = socket.socket()
        one.settimeout(5)
        one.connect((host, int(port)))
        sockets.append(one)
    return sockets


def code(address: str, page: str) -> int:
    with urllib.request.urlopen(f"http://{address}/{page}", timeout=10) as answer:
        return answer.status


@pytest.mark.parametrize(
    "flags",
    [
        pytest.param((), id="the bound is met"),
        pytest.param(("--rpc-max-connections=100000",), id="descriptors run out"),
    ],
)
def test_a_server_takes_connections_again_after_a_flood(tmp_path, flags):
    with shard(tmp_path, LIMIT, LIMIT, *flags) as ready:
        before = hotrow.connect(ready["listen"], timeout=20)
        table = before.create_table("t", 2, optimizer=hotrow.Sgd(lr=1.0))
        flooding = flood(ready["listen"])
        deadline = time.monotonic() + 30
        while len(os.listdir(f"/proc/{ready['pid']}/fd")) < LIMIT // 2:
            assert time.monotonic() < deadline, "the flood was not felt"
            time.sleep(0.01)
        assert np.array_equal(table.pull([1]).shape, [1, 2])  # whoever is there goes on
        if not flags:  # with descriptors to spare, the pages do too: no reason to restart it
            assert code(ready["metrics"], "livez") == 200
        for one in flooding:
            one.close()
        with hotrow.connect(ready["listen"], timeout=20) as after:
            assert after.table("t").dim == 2
        for page in ("livez", "readyz", "healthz"):
            assert code(ready["metrics"], page) == 200
        before.close()


def test_the_soft_limit_of_open_files_is_raised(tmp_path):
    hard = min(resource.getrlimit(resource.RLIMIT_NOFILE)[1], 2048)
    with shard(tmp_path, 64, hard) as ready, open(f"/proc/{ready['pid']}/limits") as limits:
        (line,) = [line for line in limits if line.startswith("Max open files")]
        assert line.split()[3:5] == [str(hard), str(hard)]
    assert f"the limit of open files is {hard}" in (tmp_path / "log").read_text()
