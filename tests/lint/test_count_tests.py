"""The sum of all tests counts what failed, and what did not run at all."""

import subprocess
import sys
from pathlib import Path

import pytest

COUNT = Path(__file__).resolve().parents[2] / "scripts" / "count_tests.py"
PASSED = '<testcase name="a" status="run"/>'
FAILED = '<testcase name="b" status="fail"><failure message="x"/></testcase>'
ERROR = '<testcase name="c"><error message="x"/></testcase>'
SKIPPED = '<testcase name="d"><skipped message="SKIP_REGULAR_EXPRESSION_MATCHED"/></testcase>'
NOT_BUILT = (
    '<testcase name="e" status="notrun"><skipped message="Unable to find executable"/></testcase>'
)


def count(folder: Path, *reports: str | None) -> tuple[int, list[str]]:
    paths = []
    for number, report in enumerate(reports):
        paths.append(folder / f"{number}.xml")
        if report is not None:
            paths[-1].write_text(f"<testsuites><testsuite>{report}</testsuite></testsuites>")
    command = [sys.executable, str(COUNT), *map(str, paths)]
    result = subprocess.run(command, capture_output=True, text=True, timeout=60)
    return result.returncode, result.stdout.splitlines()


@pytest.mark.parametrize(
    ("reports", "status", "line"),
    [
        ((PASSED, PASSED + PASSED), 0, "3 passed, 0 failed"),
        ((PASSED, PASSED + FAILED), 1, "2 passed, 1 failed"),
        ((PASSED + ERROR,), 1, "1 passed, 1 failed"),
        ((PASSED + SKIPPED,), 0, "1 passed, 0 failed"),
        ((PASSED + NOT_BUILT,), 1, "1 passed, 1 failed"),
        ((PASSED, ""), 1, "1 passed, 1 failed"),
        ((PASSED, SKIPPED), 1, "1 passed, 1 failed"),
        ((PASSED, None), 1, "1 passed, 1 failed"),
    ],
)
def test_totals(tmp_path, reports, status, line):
    found, lines = count(tmp_path, *reports)
    assert (found, lines[-1]) == (status, line)


def test_what_was_skipped_is_said_above_the_totals(tmp_path):
    skipped = '<testcase classname="f" name="d"><skipped message="no data"/></testcase>'
    assert count(tmp_path, PASSED + skipped)[1] == ["skipped: f::d: no data", "1 passed, 0 failed"]
