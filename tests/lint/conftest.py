"""Trees made by a test, and a clean one that every check passes."""

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

SCRIPTS = Path(__file__).resolve().parents[2] / "scripts"
sys.path.insert(0, str(SCRIPTS))

from hotrow_lint.source_tree import SourceTree  # noqa: E402

CLEAN = {
    "kernels/base/key.h": """\
// Keys: what names a row.
//
// Thread safety: pure functions.

#pragma once

#include <cstdint>

namespace hotrow {

// Any pattern is a key.
using Key = uint64_t;

// The key that follows, which wraps at the end.
constexpr Key NextKey(Key key) { return key + 1; }

constexpr Key LastKey() { return ~Key{0}; }

}  // namespace hotrow
""",
    "server/table/table.cc": """\
#include "kernels/base/key.h"

namespace hotrow {

Key FirstKey() { return 0; }

}  // namespace hotrow
""",
    "tests/server/table_test.cc": """\
#include "kernels/base/key.h"

#include <gtest/gtest.h>

TEST(Key, FollowsTheOneBefore) {
  EXPECT_EQ(hotrow::NextKey(0), 1);
  EXPECT_EQ(hotrow::NextKey(1), 2);
  EXPECT_EQ(hotrow::NextKey(hotrow::LastKey()), 0);
}

TEST(Key, HasALast) {
  EXPECT_NE(hotrow::LastKey(), 0);
  EXPECT_EQ(~hotrow::LastKey(), 0);
}
""",
}


@pytest.fixture
def plant(tmp_path: Path) -> Callable[[dict[str, str]], SourceTree]:
    """Return a function that makes a clean tree with some files added or replaced."""

    def make(files: dict[str, str]) -> SourceTree:
        for path, text in (CLEAN | files).items():
            (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / path).write_text(text)
        return SourceTree(tmp_path)

    return make
