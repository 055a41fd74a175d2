"""Clusters of real server processes on this machine, for tests and demonstrations."""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import random
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import time
import weakref
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any

from hotrow.client import Client, connect
from hotrow.errors import InvalidArgument, Unavailable

READY_TIMEOUT_S = 30.0
STOP_TIMEOUT_S = 120.0  # rows of a full memory go to disk first, where there is one
# Below the range that the kernel takes for outgoing connections (32768 and up on Linux), so that no
# client socket sits on a shard's port while the shard is down.
_PORTS = range(12000, 32000)


class LocalCluster:
    """Shards as processes on loopback; a context manager.

    Parameters
    ----------
    shards : int
        Number of servers, >= 1.
    data_dir : path, optional
        Keeps ports, configuration, data and logs; the same directory comes back under the same
        addresses. None: a temporary folder that is removed at the end.
    config : mapping, optional
        Merged into each server's configuration.
    server : path, optional
        The hotrow-server program. None: HOTROW_SERVER, else build/release/bin of the checkout, else
        PATH.

    Attributes
    ----------
    addresses, metrics_addresses : list of str
        HOST:PORT by shard.
    data_dir : Path

    Raises
    ------
    Unavailable
        There is no server program, or a server did not start; the message ends with its log.
    """

    def __init__(
        self,
        shards: int = 1,
        data_dir: str | os.PathLike[str] | None = None,
        config: Mapping[str, Any] | None = None,
        *,
        server: str | os.PathLike[str] | None = None,
    ) -> None:
        if isinstance(shards, bool) or not isinstance(shards, int) or shards < 1:
            raise InvalidArgument(
                f"shards must be an integer >= 1, not {shards!r}", hint="E.g. LocalCluster(2)."
            )
        self._server = find_server(server)
        self._temporary = data_dir is None
        self.data_dir = Path(data_dir or tempfile.mkdtemp(prefix="hotrow-"))
        self.data_dir.mkdir(parents=True, exist_ok=True)
        ports = _reserve_ports(self.data_dir / "cluster.json", shards)
        self.addresses = [f"127.0.0.1:{port}" for port in ports["grpc"]]
        self.metrics_addresses = [f"127.0.0.1:{port}" for port in ports["metrics"]]
        self._config = dict(config or {})
        self._processes: dict[int, subprocess.Popen[bytes]] = {}
        self._clients: weakref.WeakSet[Client] = weakref.WeakSet()
        self._owner = os.getpid()
        atexit.register(self.close)
        try:
            for shard in range(shards):
                self._launch(shard)
            for shard in range(shards):
                self._wait_ready(shard)
        except BaseException:
            self._kill_all()
            raise

    def connect(self, **options: Any) -> Client:
        """Connect a client, with the options of `hotrow.connect`; closed with the cluster."""
        client = connect(self.addresses, **options)
        self._clients.add(client)
        return client

    def kill(self, shard: int) -> None:
        """End a server at once (SIGKILL)."""
        process = self._process(shard)
        process.kill()
        process.wait(STOP_TIMEOUT_S)

    def stop(self, shard: int) -> int:
        """End a server in order (SIGTERM), wait for it and return its exit code."""
        process = self._process(shard)
        process.send_signal(signal.SIGTERM)
        try:
            return process.wait(STOP_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait(STOP_TIMEOUT_S)
            raise Unavailable(
                f"shard {shard} did not stop within {STOP_TIMEOUT_S:.0f} s of SIGTERM",
                shard=shard,
                hint="It was killed. Its log says what it waited for.",
            ) from None

    def start(self, shard: int) -> None:
        """Start a server again, with the same data directory and addresses."""
        if self.is_running(shard):
            raise InvalidArgument(
                f"shard {shard} runs already", hint="Call stop() or kill() of it before."
            )
        self._launch(shard)
        self._wait_ready(shard)

    def is_running(self, shard: int) -> bool:
        """Whether the server's process lives."""
        return self._process(shard).poll() is None

    def pid(self, shard: int) -> int:
        """Process id of a server."""
        return self._process(shard).pid

    def log(self, shard: int) -> str:
        """Return what a server has logged so far, over all its lives."""
        return self._log_file(shard).read_text(errors="replace")

    def close(self) -> None:
        """Close clients, end all servers, remove a temporary folder. May be called again."""
        atexit.unregister(self.close)
        if os.getpid() != self._owner:
            return  # a forked child does not own the servers
        for client in list(self._clients):
            with contextlib.suppress(Exception):
                client.close()
        self._kill_all()
        if self._temporary:
            shutil.rmtree(self.data_dir, ignore_errors=True)

    def __enter__(self) -> LocalCluster:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"LocalCluster({self.addresses})"

    def _process(self, shard: int) -> subprocess.Popen[bytes]:
        if shard not in self._processes:
            raise InvalidArgument(
                f"shard must be in 0 .. {len(self.addresses) - 1}, not {shard!r}",
                hint="Shards are numbered from 0 in the order of addresses.",
            )
        return self._processes[shard]

    def _log_file(self, shard: int) -> Path:
        return self.data_dir / f"shard-{shard}.log"

    def _ready_file(self, shard: int) -> Path:
        return self.data_dir / f"shard-{shard}.ready"

    def _launch(self, shard: int) -> None:
        self._ready_file(shard).unlink(missing_ok=True)
        settings = _merged(
            {
                "shard": shard,
                "shards": self.addresses,
                "listen": self.addresses[shard],
                "metrics": self.metrics_addresses[shard],
                "data_dir": str(self.data_dir / f"shard-{shard}"),
                "ready_file": str(self._ready_file(shard)),
                "tiers": {"hot_budget": "256MiB"},
            },
            self._config,
        )
        config_file = self.data_dir / f"shard-{shard}.yaml"
        config_file.write_text(json.dumps(settings, indent=2))  # JSON is YAML
        # Variables of the caller's shell must not configure the shards.
        environment = {k: v for k, v in os.environ.items() if not k.startswith("HOTROW_")}
        with self._log_file(shard).open("ab") as log:
            self._processes[shard] = _spawn(self._server, config_file, log, environment)

    def _wait_ready(self, shard: int) -> None:
        process = self._processes[shard]
        deadline = time.monotonic() + READY_TIMEOUT_S
        while not self._ready_file(shard).exists():
            if process.poll() is not None:
                raise self._failure(shard, f"exited with code {process.returncode}")
            if time.monotonic() > deadline:
                raise self._failure(shard, f"was not ready after {READY_TIMEOUT_S:.0f} s")
            time.sleep(0.005)

    def _failure(self, shard: int, what: str) -> Unavailable:
        tail = "\n".join(self.log(shard).splitlines()[-10:])
        return Unavailable(
            f"the server of shard {shard} {what}; its log ends:\n{tail}",
            shard=shard,
            hint=f"The whole log is {self._log_file(shard)}; config= is merged into its settings.",
        )

    def _kill_all(self) -> None:
        for process in self._processes.values():
            if process.poll() is None:
                process.kill()
        for process in self._processes.values():
            process.wait(STOP_TIMEOUT_S)


def find_server(server: str | os.PathLike[str] | None = None) -> Path:
    """Find the hotrow-server program; raises `Unavailable` that says where it looked."""
    named = server or os.environ.get("HOTROW_SERVER")
    if named:
        path = Path(named)
        if not os.access(path, os.X_OK):
            raise Unavailable(f"there is no server program at {path}", hint="Run make build.")
        return path.resolve()
    places = [
        folder / "build" / "release" / "bin" / "hotrow-server"
        for start in (Path(__file__).resolve(), Path.cwd() / "x")
        for folder in start.parents
    ]
    for place in places:
        if os.access(place, os.X_OK):
            return place
    on_path = shutil.which("hotrow-server")
    if on_path:
        return Path(on_path)
    raise Unavailable(
        "no hotrow-server in HOTROW_SERVER, in build/release/bin of the checkout or in PATH",
        hint="Run make build, or set HOTROW_SERVER.",
    )


def _spawn(
    server: Path, config_file: Path, log: IO[bytes], environment: dict[str, str]
) -> subprocess.Popen[bytes]:
    # A crash of this process runs no clean-up: let the kernel end the server then. It does so when
    # the starting thread ends, so only the main thread can ask for it.
    leash = (
        shutil.which("setpriv") if threading.current_thread() is threading.main_thread() else None
    )
    command = [leash, "--pdeathsig", "KILL"] if leash else []
    return subprocess.Popen(
        [*command, server, "--config", config_file],
        stdin=subprocess.DEVNULL,
        stdout=log,
        stderr=subprocess.STDOUT,
        env=environment,
    )


def _reserve_ports(record: Path, shards: int) -> dict[str, list[int]]:
    """Read the ports of a cluster from its record, or choose free ones and write it."""
    if record.exists():
        ports = json.loads(record.read_text())
        if len(ports["grpc"]) != shards:
            raise InvalidArgument(
                f"{record.parent} belongs to a cluster of {len(ports['grpc'])} shards, "
                f"not {shards}",
                hint="Give that number of shards, or another data_dir.",
            )
        return ports
    free = _free_ports(2 * shards)
    ports = {"grpc": free[:shards], "metrics": free[shards:]}
    record.write_text(json.dumps(ports))
    return ports


def _free_ports(count: int) -> list[int]:
    """Choose ports that nobody listens on now; all are held until the last one is found."""
    ports: list[int] = []
    with contextlib.ExitStack() as held:
        for port in random.SystemRandom().sample(_PORTS, len(_PORTS)):
            candidate = held.enter_context(socket.socket())
            try:
                candidate.bind(("127.0.0.1", port))
            except OSError:
                continue
            ports.append(port)
            if len(ports) == count:
                return ports
    raise Unavailable(
        f"there are no {count} free ports",
        hint=f"End what listens on ports {_PORTS.start} .. {_PORTS.stop - 1} of 127.0.0.1.",
    )


def _merged(base: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    result = dict(base)
    for key, value in changes.items():
        old = result.get(key)
        both = isinstance(old, Mapping) and isinstance(value, Mapping)
        result[key] = _merged(old, value) if both else value
    return result
