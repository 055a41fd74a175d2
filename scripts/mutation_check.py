#!/usr/bin/env python3
"""Prove that each rule of the push protocol has a test that fails without it.

``mutation_check.py [WORD...]`` takes the rules that have one of the words in their names, or all.

Each entry of ``tests/fault/push_mutations.toml`` takes one rule out of the source. For each of them
this applies the change to a copy of the checkout in ``$HOTROW_BUILD/mutations``, builds the test
program that is named and runs the test that is named, which must fail. One that hangs has noticed
nothing: it counts as red only where the entry says ``hangs = true``, for rules without which
something waits for ever. Minutes, with a warm ccache; Python rules need the installed package
(``make build``). Exit status 1 when a test passes or hangs without its rule, or fails with it.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
import tomllib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LIST = "tests/fault/push_mutations.toml"
# A mutation may make a test wait for what never comes.
TEST_SECONDS = 120


@dataclass(frozen=True)
class Mutation:
    """A rule, the change that takes it out, and the test that must notice."""

    rule: str
    file: str
    old: str
    new: str
    program: str  # a test program of the build, or "pytest"
    test: str  # its --gtest_filter, or FILE::FUNCTION
    hangs: bool = False  # without the rule the test may wait for what never comes

    def problem(self, text: str) -> str | None:
        """Why it cannot be applied to the text of its file."""
        if self.old == self.new:
            return "changes nothing"
        found = text.count(self.old)
        return None if found == 1 else f"its old text stands {found} times in {self.file}"


def read_list(path: Path) -> list[Mutation]:
    """Read the rules in their order."""
    return [Mutation(**entry) for entry in tomllib.loads(path.read_text())["mutation"]]


class Checkout:
    """A copy of the checkout with a build tree of its own."""

    def __init__(self, folder: Path) -> None:
        self.source = folder / "source"
        self.tree = self.source / "build" / "release"  # as everywhere: ccache knows the paths

    def refresh(self) -> None:
        """Copy what differs, so that the build only makes that anew."""
        command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
        listed = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True)
        for name in filter(None, listed.stdout.split("\0")):
            original, copy = ROOT / name, self.source / name
            if not original.is_file():
                continue
            if copy.exists() and copy.read_bytes() == original.read_bytes():
                continue
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(original, copy)
        if not (self.tree / "build.ninja").exists():
            options = ["-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release", "-DHOTROW_BENCH=OFF"]
            command = ["cmake", "-S", str(self.source), "-B", str(self.tree), *options]
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL)

    def build(self, program: str) -> bool:
        """Build a test program and what it starts."""
        if program == "pytest":
            package = Path(sysconfig.get_paths()["platlib"]) / "hotrow"
            shutil.copytree(package, self.tree / "python" / "hotrow", dirs_exist_ok=True)
            changed = self.source / "client" / "python" / "hotrow"
            shutil.copytree(changed, self.tree / "python" / "hotrow", dirs_exist_ok=True)
            program = "hotrow-server"
        ninja = ["ninja", "-C", str(self.tree), program]
        done = subprocess.run(ninja, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            print(done.stdout[-2000:], file=sys.stderr)
        return done.returncode == 0

    def run(self, mutation: Mutation) -> str:
        """Run the test: it "passes", "fails" or "hangs"."""
        environment = dict(os.environ)
        if mutation.program == "pytest":
            command = [sys.executable, "-m", "pytest", "-q", "-x", mutation.test]
            environment["PYTHONPATH"] = str(self.tree / "python")
            environment["HOTROW_SERVER"] = str(self.tree / "bin" / "hotrow-server")
        else:
            program = self.tree / "bin" / mutation.program
            command = [str(program), f"--gtest_filter={mutation.test}", "--gtest_fail_fast"]
        try:
            done = subprocess.run(
                command,
                cwd=self.source,
                env=environment,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                timeout=TEST_SECONDS,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return "hangs"
        return "passes" if done.returncode == 0 else "fails"


def check(
    mutations: list[Mutation],
    source: Path,
    build: Callable[[str], bool],
    run: Callable[[Mutation], str],
) -> list[str]:
    """Apply each mutation to `source` in turn and say which rules have no test that fails.

    Parameters
    ----------
    mutations : list of Mutation
        Taken in their order; every file is as before afterwards.
    source : Path
        The tree that is changed.
    build : callable
        Builds a program of it.
    run : callable
        Runs the test of a mutation: "passes", "fails" or "hangs".

    Returns
    -------
    list of str
        One line a problem.
    """
    problems = []
    for mutation in mutations:
        outcome = ""
        path = source / mutation.file
        original = path.read_text()
        problem = mutation.problem(original)
        if problem is None:
            path.write_text(original.replace(mutation.old, mutation.new))
            try:
                if not build(mutation.program):
                    problem = "does not compile"
                else:
                    outcome = run(mutation)
                    if outcome == "passes" or (outcome == "hangs" and not mutation.hangs):
                        problem = f"{mutation.test} {outcome} without it"
            finally:
                path.write_text(original)
        word = {"passes": "GREEN", "fails": "red", "hangs": "HANG"}.get(outcome, "VOID")
        print(f"{word:5} {mutation.rule}", flush=True)
        if problem is not None:
            problems.append(f"{mutation.rule}: {problem}")
    return problems


def main(words: list[str]) -> int:
    """Check the rules that the words choose."""
    chosen = [
        mutation
        for mutation in read_list(ROOT / LIST)
        if not words or any(word.lower() in mutation.rule.lower() for word in words)
    ]
    checkout = Checkout(ROOT / os.environ.get("HOTROW_BUILD", "build") / "mutations")
    checkout.refresh()
    for program in sorted({mutation.program for mutation in chosen}):
        if not checkout.build(program):
            return 1
    problems = [
        f"{mutation.rule}: {mutation.test} does not pass with it"
        for mutation in chosen
        if checkout.run(mutation) != "passes"
    ]
    problems += check(chosen, checkout.source, checkout.build, checkout.run)
    for problem in problems:
        print(problem, file=sys.stderr)
    print(f"{len(chosen)} rules, {len(problems)} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
