"""The list of mutations fits the source, and its checker reports a rule that no test guards."""

import re
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))

from mutation_check import LIST, Mutation, check, read_list  # noqa: E402

MUTATIONS = read_list(ROOT / LIST)


def test_rules_have_names_of_their_own():
    rules = [mutation.rule for mutation in MUTATIONS]
    assert len(rules) >= 30
    assert len(set(rules)) == len(rules)


@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda mutation: mutation.rule)
def test_a_mutation_can_be_applied_and_its_test_exists(mutation):
    assert mutation.problem((ROOT / mutation.file).read_text()) is None
    if mutation.program == "pytest":
        file, function = mutation.test.split("::")
        assert f"def {function}(" in (ROOT / file).read_text()
        return
    folder = mutation.program.removesuffix("_test")
    tests = "".join(path.read_text() for path in (ROOT / "tests" / folder).glob("*.cc"))
    names = {".".join(pair) for pair in re.findall(r"TEST(?:_F|_P)?\(\s*(\w+),\s*(\w+)\)", tests)}
    assert mutation.test in names


def planted(folder: Path, **changes: object) -> Mutation:
    (folder / "rule.cc").write_text("if (late) return Refuse();\n")
    entry = {
        "rule": "late is refused",
        "file": "rule.cc",
        "old": "if (late) return Refuse();",
        "new": "",
        "program": "some_test",
        "test": "Some.Test",
    }
    return Mutation(**(entry | changes))


@pytest.mark.parametrize("guarded", [True, False])
def test_a_rule_that_no_test_guards_is_reported(tmp_path, guarded):
    mutation = planted(tmp_path)

    def run(_: Mutation) -> str:
        passes = not guarded or "late" in (tmp_path / "rule.cc").read_text()
        return "passes" if passes else "fails"

    problems = check([mutation], tmp_path, lambda _: True, run)
    assert len(problems) == (0 if guarded else 1)
    assert "late" in (tmp_path / "rule.cc").read_text(), "the file is as before"


def test_what_does_not_compile_or_fit_proves_nothing(tmp_path):
    mutation = planted(tmp_path)
    assert "does not compile" in check([mutation], tmp_path, lambda _: False, lambda _: "fails")[0]
    stale = planted(tmp_path, old="if (early)")
    assert "stands 0 times" in check([stale], tmp_path, lambda _: True, lambda _: "fails")[0]
    same = planted(tmp_path, new="if (late) return Refuse();")
    assert "changes nothing" in check([same], tmp_path, lambda _: True, lambda _: "fails")[0]


@pytest.mark.parametrize("hangs", [True, False])
def test_a_test_that_hangs_has_noticed_nothing_unless_the_rule_says_so(tmp_path, capsys, hangs):
    mutation = planted(tmp_path, hangs=hangs)
    problems = check([mutation], tmp_path, lambda _: True, lambda _: "hangs")
    assert len(problems) == (0 if hangs else 1)
    assert capsys.readouterr().out.startswith("HANG")
