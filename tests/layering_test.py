"""The include graph of the tree obeys the layers of ARCHITECTURE.md."""

import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "scripts"))

from hotrow_lint.include_graph import check_include_cycles, includes_of  # noqa: E402
from hotrow_lint.layers import check_layers  # noqa: E402
from hotrow_lint.source_tree import SourceTree  # noqa: E402


def planted(folder: Path, files: dict[str, str]) -> SourceTree:
    for path, text in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)
    return SourceTree(folder)


def test_the_tree_obeys_its_layers():
    tree = SourceTree(ROOT)
    assert len(includes_of(tree)) > 50, "the graph was not read"
    assert [str(problem) for problem in check_layers(tree)] == []


def test_the_tree_has_no_include_cycle():
    assert [str(problem) for problem in check_include_cycles(SourceTree(ROOT))] == []


ALLOWED = [
    ("kernels/row_store/a.cc", "kernels/base/b.h"),
    ("kernels/row_store/a.cc", "kernels/optimizers/b.h"),
    ("kernels/pooling/a.cc", "kernels/dedupe/b.h"),
    ("server/durability/a.cc", "server/tiers/b.h"),
    ("server/rpc/a.cc", "server/ops/b.h"),
    ("server/main.cc", "server/rpc/b.h"),
    ("client/python/src/a.cc", "client/src/b.h"),
    ("client/src/a.cc", "client/include/hotrow/b.h"),
    ("tests/server/a.cc", "client/src/b.h"),
    ("bench/a.cc", "server/shard/b.h"),
]
FORBIDDEN = [
    ("kernels/base/a.cc", "kernels/row_store/b.h", "upward"),
    ("kernels/dedupe/a.cc", "kernels/pooling/b.h", "sideways"),
    ("kernels/optimizers/a.cc", "kernels/row_store/b.h", "sideways"),
    ("kernels/row_store/a.cc", "proto/wire/b.h", "builds alone"),
    ("proto/wire/a.cc", "server/table/b.h", "upward"),
    ("server/tiers/a.cc", "server/durability/b.h", "sideways"),
    ("server/shard/a.cc", "server/ops/b.h", "sideways"),
    ("server/table/a.cc", "server/shard/b.h", "upward"),
    ("server/rpc/a.cc", "client/src/b.h", "sideways"),
    ("client/src/a.cc", "server/runtime/b.h", "client includes server"),
    ("client/ctl/a.cc", "server/rpc/b.h", "client includes server"),
    ("server/rpc/a.cc", "tests/server/b.h", "product includes tests"),
    ("server/extra/a.cc", "kernels/base/b.h", "in no layer"),
]


@pytest.mark.parametrize(("source", "target"), ALLOWED)
def test_an_allowed_edge_passes(tmp_path, source, target):
    name = target.removeprefix("client/include/")
    tree = planted(tmp_path, {source: f'#include "{name}"\n', target: "#pragma once\n"})
    assert len(includes_of(tree)) == 1
    assert check_layers(tree) == []


@pytest.mark.parametrize(("source", "target", "objection"), FORBIDDEN)
def test_a_planted_edge_is_seen(tmp_path, source, target, objection):
    text = f'// A comment.\n#include <vector>\n#include "{target}"\n'
    tree = planted(tmp_path, {source: text, target: "#pragma once\n"})
    problems = [problem for problem in check_layers(tree) if objection in problem.message]
    assert [(problem.path, problem.line) for problem in problems][-1:] == [(source, 3)]


def test_a_library_in_kernels_is_seen(tmp_path):
    tree = planted(tmp_path, {"kernels/base/a.h": '#include "absl/status/status.h"\n'})
    assert "uses no library" in check_layers(tree)[0].message


def test_a_commented_include_is_no_edge(tmp_path):
    text = '// #include "server/rpc/b.h"\n/*\n#include "server/rpc/b.h"\n*/\n'
    tree = planted(tmp_path, {"kernels/base/a.h": text, "server/rpc/b.h": ""})
    assert check_layers(tree) == []


def test_a_planted_cycle_is_seen(tmp_path):
    files = {
        "server/table/a.h": '#include "server/table/b.h"\n',
        "server/table/b.h": '#include "server/table/c.h"\n',
        "server/table/c.h": '#include "server/table/a.h"\n#include <map>\n',
    }
    problems = check_include_cycles(planted(tmp_path, files))
    assert len(problems) == 1
    for path in files:
        assert path in problems[0].message


def test_a_diamond_is_no_cycle(tmp_path):
    files = {
        "server/table/a.h": '#include "server/table/b.h"\n#include "server/table/c.h"\n',
        "server/table/b.h": '#include "server/table/d.h"\n',
        "server/table/c.h": '#include "server/table/d.h"\n',
        "server/table/d.h": "#pragma once\n",
    }
    assert check_include_cycles(planted(tmp_path, files)) == []
