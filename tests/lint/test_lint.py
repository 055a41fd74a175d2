"""Every check of make lint sees an error planted for it, and passes a clean tree."""

import subprocess
import sys
from pathlib import Path

import pytest
from hotrow_lint import ALL_CHECKS
from hotrow_lint.cpp_text import classify_lines, without_comments
from hotrow_lint.include_graph import check_include_cycles, check_include_paths
from hotrow_lint.layers import check_layers
from hotrow_lint.sizes import (
    check_comment_share,
    check_file_lines,
    check_function_lines,
    check_parameters,
    check_test_share,
)
from hotrow_lint.words import check_calls, check_header_form, check_words

LINT = Path(__file__).resolve().parents[2] / "scripts" / "lint.py"


def function(name: str, lines: int) -> str:
    body = "".join(f"  Use({number});\n" for number in range(lines - 2))
    return f"void {name}() {{\n{body}}}\n"


def header(comments: int, code: int) -> str:
    lines = ["// What it is.", "#pragma once"]
    lines += [f"// Comment {number}." for number in range(comments - 1)]
    lines += [f"void Declared{number}();" for number in range(code - 1)]
    return "\n".join(lines) + "\n"


# check, files planted, where the problem is seen, a part of what is said
PLANTED = [
    (check_file_lines, {"server/table/a.cc": "int a;\n" * 401}, "server/table/a.cc", "401 lines"),
    (check_file_lines, {"scripts/a.py": "a = 1\n" * 401}, "scripts/a.py", "401 lines"),
    (
        check_file_lines,
        {f"server/table/a{number}.cc": "int a;\n" * 151 for number in range(9)},
        "",
        "median C++ file has 151",
    ),
    (
        check_function_lines,
        {"server/table/a.cc": function("F", 61)},
        "server/table/a.cc",
        "F: 61 lines",
    ),
    (
        check_function_lines,
        {"server/table/a.cc": "".join(function(f"F{number}", 31) for number in range(9))},
        "",
        "exceed 31 lines",
    ),
    (
        check_parameters,
        {"server/table/a.h": "void F(int a, int b, int c, int d, int e, int f) {}\n"},
        "server/table/a.h",
        "6 parameters",
    ),
    (check_comment_share, {"server/table/a.h": header(1, 30)}, "server/table/a.h", "0.03"),
    (check_comment_share, {"server/table/a.h": header(70, 30)}, "server/table/a.h", "2.33"),
    (check_comment_share, {"server/table/a.h": header(6, 30)}, "", "public headers: 0.3"),
    (check_comment_share, {"server/table/a.h": header(50, 30)}, "", "public headers: 1.4"),
    (check_test_share, {"server/table/a.cc": "int a;\n" * 300}, "", "0.0"),
    (
        check_include_cycles,
        {
            "server/table/a.h": '#include "server/table/b.h"\n',
            "server/table/b.h": '#include "server/table/a.h"\n',
        },
        "server/table/a.h",
        "a.h -> server/table/b.h -> server/table/a.h",
    ),
    (check_include_cycles, {"client/src/a.h": '#include "client/src/a.h"\n'}, "client/src/a.h", ""),
    (
        check_include_paths,
        {"server/table/a.cc": '#include "b.h"\n', "server/table/b.h": ""},
        "server/table/a.cc",
        "relative",
    ),
    (check_include_paths, {"server/table/a.cc": '#include "../b.h"\n'}, "server/table/a.cc", ".."),
    (
        check_layers,
        {"kernels/base/a.h": '#include "server/table/b.h"\n', "server/table/b.h": ""},
        "kernels/base/a.h",
        "kernels/ builds alone",
    ),
    (check_header_form, {"server/table/a.h": "#pragma once\n"}, "server/table/a.h", "comment"),
    (check_header_form, {"server/table/a.h": "// What it is.\n"}, "server/table/a.h", "pragma"),
    (check_words, {"server/table/a.cc": "// TODO: more\n"}, "server/table/a.cc", "TODO"),
    (check_words, {"tests/server/a.cc": "// FIXME\n"}, "tests/server/a.cc", "FIXME"),
    (check_words, {"client/python/a.py": "# for now\n"}, "client/python/a.py", "finish it"),
    (check_words, {"server/table/a.cc": "int slab_count;\n"}, "server/table/a.cc", "say set"),
    (check_words, {"client/src/a.cc": "Topology t;\n"}, "client/src/a.cc", "say shard map"),
    (check_calls, {"server/table/a.cc": "std::this_thread::sleep_for(x);\n"}, "", "a sleep"),
    (check_calls, {"tests/python/a.py": "time.sleep(1)\n"}, "", "a sleep"),
    (check_calls, {"server/table/a.cc": "std::cout << 1;\n"}, "", "output"),
    (check_calls, {"client/src/a.cc": 'printf("a");\n'}, "", "output"),
    (check_calls, {"kernels/base/a.h": "std::abort();\n"}, "", "ends the process"),
    (check_calls, {"client/src/a.cc": "exit(1);\n"}, "", "ends the process"),
]


@pytest.mark.parametrize(("check", "files", "path", "message"), PLANTED)
def test_a_planted_error_is_reported(plant, check, files, path, message):
    problems = [str(problem) for problem in check(plant(files))]
    place = path or ("tree" if any(p.startswith("tree: ") for p in problems) else next(iter(files)))
    assert [p for p in problems if p.startswith(f"{place}:") and message in p], problems


@pytest.mark.parametrize("check", ALL_CHECKS)
def test_a_clean_tree_passes(plant, check):
    assert [str(problem) for problem in check(plant({}))] == []


def test_every_check_has_a_planted_error():
    assert {check for check, *_ in PLANTED} == set(ALL_CHECKS)


@pytest.mark.parametrize(
    ("path", "line"),
    [
        ("server/table/a.cc", "// std::cout and sleep_for(x) in a comment"),
        ("server/table/a.cc", 'const char* kText = "std::abort() printf(";'),
        ("server/table/a.cc", "std::snprintf(buffer, size, format);"),
        ("server/table/a.cc", "stream.exit(); at_exit(); OnExit();"),
        ("server/main.cc", "std::cout << version; std::exit(2);"),
        ("client/ctl/main.cc", "std::printf(text);"),
        ("kernels/base/check.h", "std::abort();"),
        ("server/table/a.cc", "int confidence = fidelity;  // slabstone"),
        ("scripts/a.py", "time.sleep(1)"),
        (
            "tests/python/a.py",
            "while not f():\n    assert clock() < deadline\n    time.sleep(0.01)",
        ),
        ("server/table/a.cc", "// A server has no room for now; try later."),
    ],
)
def test_what_only_looks_like_an_error_passes(plant, path, line):
    tree = plant({path: line + "\n"})
    assert [str(p) for check in (check_calls, check_words) for p in check(tree)] == []


def test_one_long_function_among_many_is_allowed(plant):
    text = "".join(function(f"F{number}", 5) for number in range(70)) + function("Long", 61)
    files = {f"server/table/a{number}.cc": text for number in range(1)}
    files["server/table/b.cc"] = "".join(function(f"G{number}", 5) for number in range(70))
    assert check_function_lines(plant(files)) == []


def test_a_header_of_bodies_is_not_judged_as_a_contract(plant):
    text = "// Bodies.\n#pragma once\n" + function("F", 50)
    assert check_comment_share(plant({"server/table/a.h": text})) == []


def test_comments_and_code_are_told_apart():
    text = 'int a;  // both\n// comment\n\n/* two\n   lines */\nconst char* b = "// code";\n//\n'
    kinds = classify_lines(text)
    assert (kinds.code, kinds.comment) == (2, 4)


def test_blanking_keeps_lines_and_digit_separators():
    text = "int a = 1'000'000; // x\nchar b = '\"'; /* y\n */ int c;\n"
    blanked = without_comments(text)
    assert blanked.count("\n") == text.count("\n")
    assert "1'000'000" in blanked
    assert "int c;" in blanked
    assert "x" not in blanked
    assert "y" not in blanked


def run_lint(folder: Path) -> subprocess.CompletedProcess:
    command = [sys.executable, str(LINT), str(folder)]
    return subprocess.run(command, capture_output=True, text=True, timeout=60)


def test_the_command_passes_a_clean_tree(plant):
    result = run_lint(plant({}).root)
    assert result.returncode == 0, result.stdout + result.stderr
    assert "0 problems" in result.stdout


def test_the_command_fails_on_a_planted_error(plant):
    result = run_lint(plant({"server/table/a.cc": "std::cout << 1;\n"}).root)
    assert result.returncode == 1
    assert "server/table/a.cc:1: output" in result.stdout


def test_the_command_fails_on_an_empty_folder(tmp_path):
    result = run_lint(tmp_path)
    assert result.returncode == 1
    assert "no source files" in result.stderr
