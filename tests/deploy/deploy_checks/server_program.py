"""The real hotrow-server: what it says to a configuration, and one that runs on loopback."""

import contextlib
import functools
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from deploy_checks.strict_yaml import load_documents

__all__ = ["RunningServer", "effective_config", "refusal", "running"]

_START_SECONDS = 30.0
_STOP_SECONDS = 30.0
_ASK_HEALTH = Path(__file__).with_name("ask_health.py")


def _environment(variables: dict[str, str]) -> dict[str, str]:
    inherited = {k: v for k, v in os.environ.items() if not k.startswith("HOTROW_")}
    return inherited | variables


def _ask(server: Path, text: str, variables: dict[str, str], flag: str) -> tuple[int, str, str]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "hotrow.yaml"
        path.write_text(text, encoding="utf-8")
        done = subprocess.run(
            [server, "--config", path, flag],
            env=_environment(variables),
            capture_output=True,
            text=True,
            timeout=_START_SECONDS,
        )
    return done.returncode, done.stdout, done.stderr.replace(folder + "/", "").strip()


def refusal(server: Path, text: str, variables: dict[str, str]) -> str | None:
    """Why the server does not take a configuration; None when it does."""
    code, _, error = _ask(server, text, variables, "--check-config")
    return None if code == 0 else error or f"exit status {code}"


@functools.cache
def effective_config(server: Path, text: str) -> dict[str, Any]:
    """All keys with their defaults filled in, as text; empty when the server refuses them."""
    code, out, _ = _ask(server, text, {}, "--print-config")
    return load_documents(out)[0] if code == 0 else {}


@dataclass(frozen=True)
class RunningServer:
    """A server on loopback. `listen` and `metrics` are HOST:PORT."""

    listen: str
    metrics: str
    folder: Path

    def health(self, *services: str) -> dict[str, str]:
        """Ask the gRPC health service, as a kubelet does; "UNKNOWN SERVICE" where it has none."""
        # In a process of its own: its gRPC and the client's are different libraries.
        done = subprocess.run(
            [sys.executable, _ASK_HEALTH, self.listen, *services],
            capture_output=True,
            text=True,
            timeout=60,
        )
        if done.returncode != 0:
            raise RuntimeError(f"ask_health.py: {done.stderr}")
        return json.loads(done.stdout)


@contextlib.contextmanager
def running(server: Path, config: Path, variables: dict[str, str]) -> Iterator[RunningServer]:
    """Run a server with a configuration file whose addresses and folders are replaced."""
    folder = config.parent
    ready_file = folder / "ready.json"
    overrides = {
        "HOTROW_LISTEN": "127.0.0.1:0",
        "HOTROW_METRICS": "127.0.0.1:0",
        "HOTROW_ADMIN_LISTEN": "127.0.0.1:0",
        "HOTROW_DATA_DIR": str(folder / "data"),
        "HOTROW_READY_FILE": str(ready_file),
    }
    environment = _environment(variables | overrides)
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(
            [server, "--config", config], env=environment, stdout=log, stderr=log, cwd=folder
        )
    try:
        deadline = time.monotonic() + _START_SECONDS
        while not ready_file.exists():
            if process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError(f"did not start:\n{(folder / 'log').read_text()}")
            time.sleep(0.01)
        ready = json.loads(ready_file.read_text())
        yield RunningServer(ready["listen"], ready["metrics"], folder)
    finally:
        process.terminate()
        try:
            process.wait(_STOP_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait(_STOP_SECONDS)
