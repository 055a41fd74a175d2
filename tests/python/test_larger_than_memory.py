"""A fiftieth of the run that trains a table many times larger than memory."""

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TIMEOUT_SECONDS = 280


def run(*options: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "bench.larger_than_memory", *options],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=TIMEOUT_SECONDS,
        stdin=subprocess.DEVNULL,
    )


def test_a_million_rows_train_in_40_mib():
    # The bound of a call is for machines that do nothing else; here it must only end.
    result = run(
        *("--rows", "1000000", "--hot", "40MiB", "--memory", "0", "--steps", "60"),
        *("--longest", "30"),
    )
    assert result.returncode == 0, result.stdout + result.stderr
    rows = re.search(r"^  cold +([\d,]+) rows", result.stdout, re.MULTILINE)
    assert int(rows[1].replace(",", "")) > 800_000, "most rows lie on disk"
    hit_rate = float(re.search(r"hit rate of the hot tier ([\d.]+)", result.stdout)[1])
    assert 0.3 < hit_rate < 1.0
    peak = float(re.search(r"highest memory ([\d.]+) GiB", result.stdout)[1])
    assert peak < 0.8


def test_a_promise_that_is_broken_is_told():
    result = run(
        *("--rows", "20000", "--hot", "2MiB", "--memory", "0", "--steps", "2", "--longest", "0"),
    )
    assert result.returncode == 1
    assert "BROKEN: a call took" in result.stderr
