"""The quick start, run as a user runs it, with small sizes."""

import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[2]
QUICKSTART = ROOT / "client" / "python" / "examples" / "quickstart.py"
TIMEOUT_SECONDS = 240


def run(*options: object) -> subprocess.CompletedProcess:
    command = [sys.executable, str(QUICKSTART), *map(str, options)]
    return subprocess.run(
        command, capture_output=True, text=True, timeout=TIMEOUT_SECONDS, stdin=subprocess.DEVNULL
    )


def figures(output: str, name: str) -> list[float]:
    """Return the numbers of one line of the result table: Hotrow's and the local twin's."""
    line = re.search(rf"^  {re.escape(name)} .*$", output, re.MULTILINE)
    assert line, output
    return [float(number) for number in re.findall(r"[\d,]*\.?\d+", line.group().replace(",", ""))]


def test_a_synthetic_log_trains_as_well_as_its_local_twin(tmp_path):
    plot = tmp_path / "plot.png"
    result = run(
        *("--rows", 20_000, "--batch", 256, "--dim", 8, "--epochs", 1, "--shards", 2),
        *("--plot", plot, "--seed", 3),
    )
    assert result.returncode == 0, result.stdout + result.stderr
    remote, local = figures(result.stdout, "test AUC")
    assert remote == pytest.approx(local, abs=0.01)
    assert remote > 0.6
    best = re.search(r"best possible test AUC .*: (0\.\d+)", result.stdout)
    assert float(best.group(1)) > remote
    assert min(figures(result.stdout, "samples/s")) > 0
    assert re.search(r"Hotrow trains at \d+\.\d\d x", result.stdout)
    assert len(re.findall(r"shard \d: http://127\.0\.0\.1:\d+/metrics", result.stdout)) == 2
    assert "hotrow_rows_pushed_total" in result.stdout
    assert "servers stopped" in result.stdout
    assert plot.read_bytes().startswith(b"\x89PNG")


def test_rows_on_disk_train_like_rows_in_memory():
    options = (*("--rows", 20_000, "--batch", 256, "--dim", 64, "--no-plot"), "--seed", 3)
    small = run(*options, "--memory", "2MiB")
    assert small.returncode == 0, small.stdout + small.stderr
    large = run(*options)
    assert large.returncode == 0, large.stdout + large.stderr
    assert figures(small.stdout, "test AUC") == figures(large.stdout, "test AUC")
    rows_on_disk, _ = figures(small.stdout, "cold tier")
    assert rows_on_disk > 1000
    assert "cold tier" not in large.stdout


def test_a_size_that_is_none_is_refused():
    result = run("--memory", "lots")
    assert result.returncode == 2
    assert "not a size such as 64MiB" in result.stderr


def write_clicks(path: Path, rows: int) -> None:
    draws = np.random.default_rng(7)
    country = draws.integers(0, 4, rows)
    hour = draws.integers(0, 24, rows)
    chance = np.where(country == 0, 0.8, 0.2)
    clicks = (draws.random(rows) < chance).astype(int)
    names = np.array(["de", "fr", "it", "pl"])
    lines = [f"{c},{names[n]},{h},{h * 1.5}" for c, n, h in zip(clicks, country, hour, strict=True)]
    path.write_text("click,country,hour_id,price\n" + "\n".join(lines) + "\n")


@pytest.mark.parametrize("optimizer", ["adam", "sgd", "rowwise_adagrad"])
def test_a_table_of_ones_own(tmp_path, optimizer):
    path = tmp_path / "clicks.csv"
    write_clicks(path, 3000)
    result = run(
        *("--data", path, "--epochs", 2, "--batch", 64, "--dim", 4, "--no-plot"),
        *("--optimizer", optimizer, "--shards", 1),
    )
    assert result.returncode == 0, result.stdout + result.stderr
    assert "2 features, 1 dense columns" in result.stdout
    remote, local = figures(result.stdout, "test AUC")
    assert remote > 0.65
    assert local > 0.65
    assert "best possible" not in result.stdout
    assert not list(tmp_path.glob("*.png"))


def test_a_file_that_cannot_be_read_is_said_in_one_line(tmp_path):
    result = run("--data", tmp_path / "absent.csv")
    assert result.returncode == 2
    assert "no such file" in result.stderr
    assert "Traceback" not in result.stderr


def test_an_impossible_size_is_refused():
    result = run("--rows", 0)
    assert result.returncode == 2
    assert "at least 1" in result.stderr


def test_adult_reaches_the_known_auc(adult_csv):
    result = run("--data", adult_csv, "--batch", 256, "--epochs", 2, "--no-plot")
    assert result.returncode == 0, result.stdout + result.stderr
    remote, local = figures(result.stdout, "test AUC")
    assert remote == pytest.approx(local, abs=0.005)
    assert remote > 0.9
