"""The rendered base, and the real server that reads its configuration."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from deploy_checks.bundle import Bundle
from deploy_checks.kustomize import render
from deploy_checks.places import BASE, ROOT
from deploy_checks.server_program import RunningServer, running

from hotrow.testing import find_server


@pytest.fixture(scope="session")
def server() -> Path:
    """Return the hotrow-server program."""
    return find_server()


@pytest.fixture(scope="session")
def version() -> str:
    """Return the version of the sources."""
    text = (ROOT / "CMakeLists.txt").read_text(encoding="utf-8")
    return re.search(r"project\(hotrow VERSION ([\d.]+)", text)[1]


@pytest.fixture(scope="session")
def shard(server, version, tmp_path_factory) -> Iterator[RunningServer]:
    """Run the server of pod 1 with the configuration of the base, on loopback."""
    rendered = Bundle(render(BASE), server, version, frozenset())
    config = tmp_path_factory.mktemp("shard") / "hotrow.yaml"
    config.write_text(rendered.config_text, encoding="utf-8")
    with running(server, config, rendered.variables(1)) as started:
        yield started


@pytest.fixture(scope="session")
def bundle(server, version, shard) -> Bundle:
    """Render the base; `served` is what the running server answers for."""
    health = shard.health("", "live", "ready", "readiness", "hotrow")
    served = frozenset(name for name, status in health.items() if status == "SERVING")
    return Bundle(render(BASE), server, version, served)
