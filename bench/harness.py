"""Interleaved rounds over several peers, and the table that comes of them.

Machines are shared and noisy, so every figure is a ratio within one run: round r runs each peer
once, in turn, and the median over rounds is reported with its minimum and maximum.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import math
import os
import platform
import shutil
import statistics
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from bench.peers.worker import Shape

ROOT = Path(__file__).resolve().parent.parent


@dataclasses.dataclass(frozen=True)
class PeerSpec:
    """How a peer is named, which module drives it, its option, and the program that it needs."""

    name: str
    module: str
    option: str = ""
    program: str = ""


def available(peers: Sequence[PeerSpec]) -> list[PeerSpec]:
    """Leave out the peers whose program is not installed, and say so."""
    found = []
    for spec in peers:
        if spec.program and shutil.which(spec.program) is None:
            print(f"left out: {spec.name}: {spec.program} is not installed", flush=True)
        else:
            found.append(spec)
    return found


class PeerProcess:
    """A running client process of one peer."""

    def __init__(self, spec: PeerSpec, shape: Shape) -> None:
        arguments = [f"--{key}={value}" for key, value in dataclasses.asdict(shape).items()]
        self.spec = spec
        self._process = subprocess.Popen(
            [
                sys.executable,
                "-m",
                "bench.peers.worker",
                spec.module,
                *([spec.option] if spec.option else []),
                *arguments,
            ],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "OMP_NUM_THREADS": "1", "PYTHONWARNINGS": "ignore"},
        )
        self._expect("ready")

    def _line(self) -> str:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError(f"peer {self.spec.name} ended with exit code {self._process.wait()}")
        return line.strip()

    def _expect(self, word: str) -> None:
        while self._line() != word:
            pass

    def seconds(self, operation: str, calls: int) -> float:
        """Time that ``calls`` calls took."""
        assert self._process.stdin is not None
        self._process.stdin.write(f"{operation} {calls}\n")
        self._process.stdin.flush()
        return float(self._line())

    def close(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        try:
            self._process.wait(30)
        except subprocess.TimeoutExpired:
            self._process.kill()


@dataclasses.dataclass
class Series:
    """Figures of one peer and operation, one per round."""

    values: list[float]

    @property
    def median(self) -> float:
        clean = [value for value in self.values if not math.isnan(value)]
        return statistics.median(clean) if clean else math.nan

    def __str__(self) -> str:
        if math.isnan(self.median):
            return "-"
        return f"{min(self.values):.2f} / {self.median:.2f} / {max(self.values):.2f}"


Results = dict[str, dict[str, Series]]  # peer name -> operation -> series


def run(
    peers: Sequence[PeerSpec], operations: dict[str, int], shape: Shape, rounds: int
) -> Results:
    """M rows/s of each peer and operation. ``operations`` maps names to calls per round."""
    results: Results = {
        peer.name: {operation: Series([]) for operation in operations} for peer in peers
    }
    with contextlib.ExitStack() as stack:
        processes = []
        for spec in peers:
            print(f"starting {spec.name} ...", file=sys.stderr, flush=True)
            process = PeerProcess(spec, shape)
            stack.callback(process.close)
            processes.append(process)
        for round_number in range(rounds + 1):  # the first round warms up and is not counted
            for operation, calls in operations.items():
                for process in processes:
                    seconds = process.seconds(operation, calls)
                    if round_number > 0:
                        rate = calls * shape.batch / seconds / 1e6
                        results[process.spec.name][operation].values.append(rate)
            print(f"round {round_number}/{rounds} done", file=sys.stderr, flush=True)
    return results


def markdown(results: Results, own: str, unit: str) -> str:
    """Own figure first, then every peer with its figure and the ratio own / peer."""
    operations = list(next(iter(results.values())))
    lines = [
        f"| {unit}, min / median / max (own median / peer median) | "
        + " | ".join(operations)
        + " |"
    ]
    lines.append("|---" * (len(operations) + 1) + "|")
    for name, figures in results.items():
        cells = []
        for operation in operations:
            series = figures[operation]
            ratio = results[own][operation].median / series.median if series.median else math.nan
            cells.append(
                str(series) if name == own or math.isnan(ratio) else f"{series} ({ratio:.2f}x)"
            )
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def machine() -> str:
    """One line on where a run took place."""
    model = "unknown processor"
    with contextlib.suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                model = line.split(":", 1)[1].strip()
                break
    system = f"Linux {platform.release()}, Python {platform.python_version()}"
    return f"{model}, {os.cpu_count()} cores, {system}"


def save(name: str, results: Results) -> Path:
    """Keep the raw figures as JSON under bench/out."""
    path = ROOT / "bench" / "out" / f"{name}.json"
    path.parent.mkdir(exist_ok=True)
    path.write_text(
        json.dumps({p: {o: s.values for o, s in f.items()} for p, f in results.items()}, indent=1)
    )
    return path
