"""Interleaved rounds over several peers.

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
from collections.abc import Iterable, Sequence
from pathlib import Path

from bench.workload import Shape

ROOT = Path(__file__).resolve().parent.parent
OUT = ROOT / "bench" / "out"
# Of a rate: "wall", or "cpu" for the processor time of a peer that works on one thread, which other
# programs on the machine do not take from it.
CLOCKS = ("wall", "cpu")


def program(name: str) -> str:
    """Path of a C++ benchmark in the release tree."""
    return str(ROOT / os.environ.get("HOTROW_BUILD", "build") / "release" / "bin" / name)


@dataclasses.dataclass(frozen=True)
class PeerSpec:
    """How a peer is named and started.

    Attributes
    ----------
    module, option : str
        Module of bench.peers that drives it, and its option.
    program : str
        What must be installed for it.
    kind : str
        "own", "networked", "local" (in process, no network) or "limit".
    command : tuple of str
        Starts it instead of a module; gets the shape as --name=value.
    python : str
        Interpreter that runs the module.
    """

    name: str
    module: str = ""
    option: str = ""
    program: str = ""
    kind: str = "networked"
    command: tuple[str, ...] = ()
    python: str = sys.executable

    def arguments(self, shape: Shape) -> list[str]:
        """The command line of its process."""
        module = [self.python, "-m", "bench.peers.worker", self.module]
        start = [*self.command] or [*module, *([self.option] if self.option else [])]
        return start + [f"--{key}={value}" for key, value in dataclasses.asdict(shape).items()]


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
    """A running process of one peer."""

    def __init__(self, spec: PeerSpec, shape: Shape) -> None:
        self.spec = spec
        self._process = subprocess.Popen(
            spec.arguments(shape),
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "OMP_NUM_THREADS": "1", "PYTHONWARNINGS": "ignore"},
        )
        while self._line() != "ready":
            pass

    def _line(self) -> str:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError(f"peer {self.spec.name} ended with exit code {self._process.wait()}")
        return line.strip()

    def seconds(self, operation: str, calls: int, clock: str) -> float:
        """Time that ``calls`` calls took; NaN for an operation that the peer does not offer."""
        assert self._process.stdin is not None
        self._process.stdin.write(f"{operation} {calls}\n")
        self._process.stdin.flush()
        answer = json.loads(self._line())
        return math.nan if answer is None else answer[clock]

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


@dataclasses.dataclass(frozen=True)
class Plan:
    """What each peer does: operation -> calls a round, counted rounds, and the clock of rates."""

    operations: dict[str, int]
    rounds: int
    clock: str = "wall"


def run(peers: Sequence[PeerSpec], plan: Plan, shape: Shape) -> Results:
    """M rows/s of each peer and operation: calls x batch over the time that they took."""
    results: Results = {
        peer.name: {operation: Series([]) for operation in plan.operations} for peer in peers
    }
    with contextlib.ExitStack() as stack:
        processes = []
        for spec in peers:
            print(f"starting {spec.name} ...", file=sys.stderr, flush=True)
            process = PeerProcess(spec, shape)
            stack.callback(process.close)
            processes.append(process)
        for round_number in range(plan.rounds + 1):  # the first one warms up and is not counted
            for operation, calls in plan.operations.items():
                for process in processes:
                    seconds = process.seconds(operation, calls, plan.clock)
                    if round_number > 0:
                        rate = calls * shape.batch / seconds / 1e6
                        results[process.spec.name][operation].values.append(rate)
            print(f"round {round_number}/{plan.rounds} done", file=sys.stderr, flush=True)
    return results


def answers(command: Sequence[str], timeout: float = 600) -> list[dict]:
    """Run a program that interleaves its candidates by itself; its lines of JSON."""
    done = subprocess.run(command, check=True, timeout=timeout, stdout=subprocess.PIPE, text=True)
    return [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]


def series_of(lines: Iterable[dict]) -> Results:
    """Results from lines with "candidate", "case" and "values"."""
    results: Results = {}
    for line in lines:
        results.setdefault(line["candidate"], {})[line["case"]] = Series(line["values"])
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
            series = figures.get(operation, Series([]))
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
