"""The source files of a checkout, and what kind each is."""

import subprocess
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

__all__ = ["Problem", "SourceFile", "SourceTree"]

_CPP = (".h", ".cc", ".cu", ".cuh")
_SUFFIXES = (*_CPP, ".py", ".proto")
_PRODUCT = ("kernels", "proto", "server", "client")
_CHECKED = (*_PRODUCT, "tests", "bench", "scripts")


@dataclass(frozen=True)
class Problem:
    """One thing to mend. `line` is 0 when it is about the whole file, `path` "" about the tree."""

    path: str
    line: int
    message: str

    def __str__(self) -> str:
        place = self.path or "tree"
        return f"{place}:{self.line}: {self.message}" if self.line else f"{place}: {self.message}"


@dataclass(frozen=True)
class SourceFile:
    """One file. `path` is relative to the root of the tree, with forward slashes."""

    path: str
    text: str

    @cached_property
    def lines(self) -> list[str]:
        """Without line ends."""
        return self.text.splitlines()

    @property
    def filled_lines(self) -> int:
        """Number of lines that are not blank."""
        return sum(1 for line in self.lines if line.strip())

    @property
    def is_cpp(self) -> bool:
        """C++ or CUDA."""
        return self.path.endswith(_CPP)

    @property
    def is_header(self) -> bool:
        """A C++ or CUDA header."""
        return self.path.endswith((".h", ".cuh"))

    @property
    def is_product(self) -> bool:
        """Part of what a user gets, examples included."""
        return self.path.startswith(tuple(f"{folder}/" for folder in _PRODUCT))

    @property
    def is_test(self) -> bool:
        """A test of the product. The tests of these checks are not."""
        return self.path.startswith("tests/") and not self.path.startswith("tests/lint/")


class SourceTree:
    """All source files under a root: those git knows or would add, or simply all without git."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.files = [
            SourceFile(path, (root / path).read_text(encoding="utf-8"))
            for path in sorted(_paths(root))
            if path.endswith(_SUFFIXES) and path.split("/")[0] in _CHECKED
        ]

    @cached_property
    def by_path(self) -> dict[str, SourceFile]:
        """Files by their path."""
        return {file.path: file for file in self.files}

    @property
    def cpp(self) -> list[SourceFile]:
        """C++ and CUDA files."""
        return [file for file in self.files if file.is_cpp]


def _paths(root: Path) -> list[str]:
    if (root / ".git").exists():
        command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
        out = subprocess.run(command, cwd=root, check=True, capture_output=True, text=True).stdout
        return [path for path in set(out.split("\0")) if path and (root / path).is_file()]
    return [path.relative_to(root).as_posix() for path in root.rglob("*") if path.is_file()]
