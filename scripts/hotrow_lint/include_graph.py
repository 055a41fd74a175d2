"""Who includes whom."""

import re
from dataclasses import dataclass

from hotrow_lint.cpp_text import without_comments
from hotrow_lint.source_tree import Problem, SourceTree

__all__ = ["Include", "check_include_cycles", "check_include_paths", "includes_of"]

_INCLUDE = re.compile(r'^\s*#\s*include\s+(?:"([^"]+)"|<([^>]+)>)', re.MULTILINE)
# Folders that the build also searches, besides the root of the tree.
_SEARCHED = ("", "client/include/")


@dataclass(frozen=True)
class Include:
    """One include line.

    Attributes
    ----------
    path : str
        Of the including file.
    line : int
    name : str
        As written.
    target : str or None
        Path of the included file; None when it is not in the tree.
    quoted : bool
        Written with quotes, not with angle brackets.
    """

    path: str
    line: int
    name: str
    target: str | None
    quoted: bool


def includes_of(tree: SourceTree) -> list[Include]:
    """Return every include line of every C++ file."""
    found = []
    for file in tree.cpp:
        # Names are literals, so they are read from the text; the blanked text tells comments.
        blanked = without_comments(file.text).splitlines()
        for number, line in enumerate(file.lines, start=1):
            match = _INCLUDE.match(line)
            if match and blanked[number - 1].lstrip().startswith("#"):
                name = match[1] or match[2]
                target = _resolve(tree, name)
                found.append(Include(file.path, number, name, target, match[1] is not None))
    return found


def _resolve(tree: SourceTree, name: str) -> str | None:
    for folder in _SEARCHED:
        if folder + name in tree.by_path:
            return folder + name
    return None


def check_include_paths(tree: SourceTree) -> list[Problem]:
    """Include paths start at the root of the tree, not at the including file."""
    problems = []
    for include in includes_of(tree):
        beside = f"{include.path.rsplit('/', 1)[0]}/{include.name}"
        if include.target is None and (beside in tree.by_path or include.name.startswith(".")):
            message = f'"{include.name}" is relative: write the path from the root'
            problems.append(Problem(include.path, include.line, message))
    return problems


def check_include_cycles(tree: SourceTree) -> list[Problem]:
    """No file includes itself, through whatever others."""
    edges: dict[str, list[str]] = {}
    for include in includes_of(tree):
        if include.target is not None:
            edges.setdefault(include.path, []).append(include.target)
    return [
        Problem(cycle[0], 0, "include cycle: " + " -> ".join(cycle)) for cycle in cycles_of(edges)
    ]


def cycles_of(edges: dict[str, list[str]]) -> list[list[str]]:
    """Return a cycle for each edge that closes one; empty when there is none."""
    done: set[str] = set()
    found = []
    for start in sorted(edges):
        # Depth first without recursion: (node, its successors still to visit).
        path, stack = [start], [iter(edges.get(start, ()))]
        if start in done:
            continue
        while stack:
            following = next(stack[-1], None)
            if following is None:
                done.add(path.pop())
                stack.pop()
            elif following in path:
                found.append([*path[path.index(following) :], following])
            elif following not in done:
                path.append(following)
                stack.append(iter(edges.get(following, ())))
    return found
