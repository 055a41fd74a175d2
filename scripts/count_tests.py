#!/usr/bin/env python3
"""Sum up JUnit reports; fails when a test failed or none ran.

The last line is ``N passed, N failed``. What was skipped, and why, is said above it.
"""

import sys
import xml.etree.ElementTree as ET
from pathlib import Path


def count(report: Path) -> tuple[int, int]:
    """Return (passed, failed) of one report. A report that is missing is a failure."""
    if not report.exists():
        print(f"no report {report}: the runner did not finish", file=sys.stderr)
        return 0, 1
    passed = failed = 0
    for case in ET.parse(report).getroot().iter("testcase"):
        skip = case.find("skipped")
        # ctest also calls a test skipped whose program is missing: that is a failure.
        not_built = case.get("status") == "notrun" and "SKIP_" not in _message(skip)
        if case.find("failure") is not None or case.find("error") is not None or not_built:
            failed += 1
        elif skip is not None or case.get("status") == "disabled":
            name = f"{case.get('classname', '')}::{case.get('name', '')}"
            print(f"skipped: {name}: {_message(skip) or case.get('status')}")
        else:
            passed += 1
    if passed + failed == 0:
        print(f"no test ran in {report}", file=sys.stderr)
        failed += 1
    return passed, failed


def _message(skip: ET.Element | None) -> str:
    return "" if skip is None else skip.get("message", "")


def main(paths: list[str]) -> int:
    """Print the totals of all reports; exit status 1 when anything failed."""
    counts = [count(Path(path)) for path in paths]
    passed, failed = (sum(column) for column in zip(*counts, strict=True))
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
