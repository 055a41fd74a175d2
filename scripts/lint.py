#!/usr/bin/env python3
"""Check the tree against the bars of CONTRIBUTING.md: ``lint.py [FOLDER]``.

Prints one line per problem and a line of figures; exit status 1 when there is a problem.
"""

import sys
from pathlib import Path

from hotrow_lint import ALL_CHECKS, figures
from hotrow_lint.source_tree import SourceTree


def main(arguments: list[str]) -> int:
    """Run every check on a folder, by default the checkout that holds this script."""
    root = Path(arguments[0]) if arguments else Path(__file__).resolve().parent.parent
    tree = SourceTree(root)
    if not tree.files:
        print(f"lint: no source files in {root}", file=sys.stderr)
        return 1
    problems = [problem for check in ALL_CHECKS for problem in check(tree)]
    for problem in problems:
        print(problem)
    print(figures(tree))
    print(f"lint: {len(tree.files)} files, {len(problems)} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
