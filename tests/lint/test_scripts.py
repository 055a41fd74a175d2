"""The Makefile and the scripts, with stand-ins for what they start."""

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
LOG = 'echo "$(basename "$0") $*" >>"$(dirname "$0")/../log"\n'
REPORT = '<testsuite><testcase name="a" status="run"/></testsuite>'


def write_program(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/usr/bin/env bash\nset -eu\n{text}")
    path.chmod(0o755)


@pytest.fixture
def run(tmp_path: Path) -> Callable[..., subprocess.CompletedProcess]:
    """Run a command in the folder of the test, with its programs first in PATH."""

    def start(*command: str, **variables: str) -> subprocess.CompletedProcess:
        environment = {k: v for k, v in os.environ.items() if not k.startswith(("HOTROW", "MAKE"))}
        environment.pop("LD_PRELOAD", None)  # a sanitizer's runtime: make's faults are not ours
        environment["PATH"] = f"{tmp_path / 'bin'}:{environment['PATH']}"
        return subprocess.run(
            command,
            cwd=tmp_path,
            env=environment | variables,
            capture_output=True,
            text=True,
            timeout=60,
        )

    return start


@pytest.fixture
def logged(tmp_path: Path) -> Callable[[], list[str]]:
    """Tell what the stand-ins were called with since the last look."""

    def take() -> list[str]:
        log = tmp_path / "log"
        lines = log.read_text().splitlines() if log.exists() else []
        log.unlink(missing_ok=True)
        return lines

    return take


def test_make_installs_the_package_when_a_file_changes_comes_or_goes(tmp_path, run, logged):
    shutil.copy(ROOT / "Makefile", tmp_path)
    for script in ("install_packages", "build", "install_python"):
        write_program(tmp_path / "scripts" / f"{script}.sh", LOG)
    write_program(tmp_path / "scripts" / "make_venv.sh", "mkdir -p .venv\n")
    for name in ("a.py", "b.py"):
        (tmp_path / "client").mkdir(exist_ok=True)
        (tmp_path / "client" / name).touch()

    def installs() -> bool:
        result = run("make", "build")
        assert result.returncode == 0, result.stderr
        return "install_python.sh " in logged()

    assert installs()
    assert not installs()
    (tmp_path / "client" / "b.py").unlink()
    assert installs()
    assert not installs()
    old = tmp_path / "client" / "c.py"
    old.touch()
    os.utime(old, (1, 1))
    assert installs()
    assert not installs()


def test_another_environment_configures_the_build_tree_again(tmp_path, run, logged):
    for script in ("build.sh", "common.sh"):
        (tmp_path / "scripts").mkdir(exist_ok=True)
        shutil.copy(ROOT / "scripts" / script, tmp_path / "scripts")
    (tmp_path / "CMakePresets.json").touch()
    write_program(
        tmp_path / "bin" / "cmake",
        LOG
        + 'mkdir -p build/release; [ "$1" = --build ] || touch build/release/build.ninja\n'
        + 'for word; do case $word in -DPython_EXECUTABLE=*) echo "Python_EXECUTABLE:UNINITIALIZED='
        + '${word#*=}" >build/release/CMakeCache.txt ;; esac; done\n',
    )

    def configured(venv: str) -> list[str]:
        result = run("scripts/build.sh", "release", HOTROW_VENV=venv)
        assert result.returncode == 0, result.stderr
        return [line for line in logged() if "--preset" in line]

    assert len(configured("first")) == 1
    assert configured("first") == []
    (again,) = configured("second")
    assert "--fresh" in again
    assert f"-DPython_EXECUTABLE={tmp_path}/second/bin/python" in again
    assert configured("second") == []


def test_a_runner_that_hangs_is_stopped_and_counts_as_a_failure(tmp_path, run):
    for script in ("run_tests.sh", "common.sh", "count_tests.py"):
        (tmp_path / "scripts").mkdir(exist_ok=True)
        shutil.copy(ROOT / "scripts" / script, tmp_path / "scripts")
    write_program(
        tmp_path / "bin" / "ctest",
        f"while [ $# -gt 1 ]; do [ $1 = --output-junit ] && echo '{REPORT}' >$2; shift; done\n",
    )
    write_program(tmp_path / ".venv" / "bin" / "python", "exec sleep 50\n")
    result = run("scripts/run_tests.sh", "release", HOTROW_TEST_SECONDS="1")
    assert result.returncode == 1
    assert result.stdout.splitlines()[-1] == "1 passed, 1 failed"
    assert "stopped after 1 s" in result.stderr
