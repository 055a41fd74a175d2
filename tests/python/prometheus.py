"""A real Prometheus that scrapes pages for the tests, and its HTTP API."""

from __future__ import annotations

import contextlib
import json
import shutil
import subprocess
import time
import urllib.parse
import urllib.request
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from hotrow.testing import _free_ports

_SECONDS = 60.0
_SCRAPE_SECONDS = 0.2


def program(name: str) -> str:
    """Find a program of Debian's package prometheus. A test without it says nothing: it fails."""
    found = shutil.which(name)
    if found is None:
        pytest.fail(f"{name} is not installed: scripts/install_packages.sh test")
    return found


@dataclass(frozen=True)
class Target:
    """What a job scrapes."""

    address: str
    path: str = "/metrics"


class Prometheus:
    """The HTTP API of a running Prometheus."""

    def __init__(self, address: str) -> None:
        self._url = f"http://{address}"

    def api(self, path: str, **parameters: str) -> Any:
        """Return the `data` of an answer."""
        query = urllib.parse.urlencode(parameters)
        with urllib.request.urlopen(f"{self._url}/api/v1/{path}?{query}", timeout=30) as answer:
            body = json.load(answer)
        assert body["status"] == "success", body
        return body["data"]

    def vector(self, query: str) -> list[tuple[dict[str, str], float]]:
        """Return labels and value of each sample."""
        result = self.api("query", query=query)["result"]
        return [(sample["metric"], float(sample["value"][1])) for sample in result]

    def value(self, query: str) -> float:
        """Return the one value of a query; 0 when there is none."""
        found = self.vector(query)
        assert len(found) <= 1, found
        return found[0][1] if found else 0.0

    def types(self, job: str) -> dict[str, str]:
        """Return the type of each family that a job has."""
        entries = self.api("targets/metadata", match_target=f'{{job="{job}"}}')
        return {entry["metric"]: entry["type"] for entry in entries}

    def labels(self, job: str) -> dict[str, set[str]]:
        """Return the label names of each metric name of a job, but those of every target."""
        labels: dict[str, set[str]] = {}
        for series in self.api("series", **{"match[]": f'{{job="{job}"}}'}):
            own = set(series) - {"__name__", "job", "instance"}
            labels.setdefault(series["__name__"], set()).update(own)
        return labels

    def health(self, job: str) -> tuple[str, str]:
        """Return what became of the last scrape: "up" or "down", and the error."""
        targets = self.api("targets", state="active")["activeTargets"]
        (found,) = (target for target in targets if target["labels"]["job"] == job)
        return found["health"], found["lastError"]

    def wait_for_scrape(self, job: str) -> None:
        """Return when a scrape that begins now or later has ended."""
        begin = time.time()
        deadline = time.monotonic() + _SECONDS
        while time.monotonic() < deadline:
            # `up` is written for failed scrapes too, at the time when the scrape began.
            scraped = self.vector(f'timestamp(up{{job="{job}"}})')
            if scraped and scraped[0][1] > begin:
                return
            time.sleep(_SCRAPE_SECONDS / 4)
        pytest.fail(f"Prometheus did not scrape {job} within {_SECONDS:.0f} s")


@contextlib.contextmanager
def running(folder: Path, jobs: Mapping[str, Target]) -> Iterator[Prometheus]:
    """Run Prometheus with one job a target."""
    config = {
        "global": {
            "scrape_interval": f"{int(_SCRAPE_SECONDS * 1000)}ms",
            "scrape_timeout": "200ms",
        },
        "scrape_configs": [
            {
                "job_name": job,
                "metrics_path": target.path,
                "static_configs": [{"targets": [target.address]}],
            }
            for job, target in jobs.items()
        ],
    }
    (folder / "prometheus.yml").write_text(json.dumps(config))  # JSON is YAML
    (port,) = _free_ports(1)
    address = f"127.0.0.1:{port}"
    command = [
        program("prometheus"),
        f"--config.file={folder / 'prometheus.yml'}",
        f"--storage.tsdb.path={folder / 'data'}",
        f"--web.listen-address={address}",
        "--log.level=warn",
    ]
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log)
    try:
        _wait_ready(f"http://{address}/-/ready", process, folder / "log")
        yield Prometheus(address)
    finally:
        process.terminate()
        process.wait(_SECONDS)


def _wait_ready(url: str, process: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + _SECONDS
    while time.monotonic() < deadline:
        with contextlib.suppress(OSError), urllib.request.urlopen(url, timeout=5):
            return
        if process.poll() is not None:
            break
        time.sleep(0.05)
    pytest.fail(f"Prometheus did not start:\n{log.read_text()}")
