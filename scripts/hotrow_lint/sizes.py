"""Sizes: files, functions, parameters, and the shares of comments and tests."""

import math
import statistics
from collections.abc import Iterable
from fnmatch import fnmatch

import lizard

from hotrow_lint.cpp_text import classify_lines
from hotrow_lint.source_tree import Problem, SourceFile, SourceTree

__all__ = [
    "check_comment_share",
    "check_file_lines",
    "check_function_lines",
    "check_parameters",
    "check_test_share",
    "figures",
]

MAX_FILE_LINES = 400
MAX_MEDIAN_FILE_LINES = 150
LONG_FUNCTION_LINES = 60
MAX_LONG_FUNCTIONS = 0.01  # of all functions
MAX_P90_FUNCTION_LINES = 30
MAX_PARAMETERS = 5
# Comment lines for each line of code, over all public headers together, and of any one of them.
COMMENT_SHARE = (0.4, 0.8)
COMMENT_SHARE_OF_ONE = (0.15, 2.0)
# A header with less code than this is judged only together with the others.
JUDGED_CODE_LINES = 25
# A header is a body, not a contract, when more of its code than this lies inside functions.
BODY_SHARE = 0.5
MIN_TEST_SHARE = 0.6

PUBLIC_HEADERS = ("client/include/*/*.h", "kernels/*/*.h", "proto/wire/*.h", "server/*/*.h")


def check_file_lines(tree: SourceTree) -> list[Problem]:
    """No file is too long, and the median C++ file is short."""
    problems = [
        Problem(file.path, 0, f"{len(file.lines)} lines, at most {MAX_FILE_LINES}")
        for file in tree.files
        if len(file.lines) > MAX_FILE_LINES
    ]
    median = _median_file_lines(tree)
    if median > MAX_MEDIAN_FILE_LINES:
        message = f"the median C++ file has {median:.0f} lines, at most {MAX_MEDIAN_FILE_LINES}"
        problems.append(Problem("", 0, message))
    return problems


def check_function_lines(tree: SourceTree) -> list[Problem]:
    """Nine of ten functions are short, and hardly one is long."""
    lengths = [(function.length, file, function) for file, function in _functions(tree.files)]
    if not lengths:
        return []
    problems = []
    p90 = _p90([length for length, _, _ in lengths])
    if p90 > MAX_P90_FUNCTION_LINES:
        message = f"a tenth of all functions exceed {p90} lines, at most {MAX_P90_FUNCTION_LINES}"
        problems.append(Problem("", 0, message))
    long = [entry for entry in lengths if entry[0] > LONG_FUNCTION_LINES]
    if len(long) > MAX_LONG_FUNCTIONS * len(lengths):
        problems += [
            Problem(file.path, function.start_line, f"{function.name}: {length} lines, at most 60")
            for length, file, function in long
        ]
    return problems


def check_parameters(tree: SourceTree) -> list[Problem]:
    """No C++ function takes more than five parameters: a struct with named fields does."""
    return [
        Problem(
            file.path,
            function.start_line,
            f"{function.name}: {len(function.full_parameters)} parameters, at most"
            f" {MAX_PARAMETERS}; take a struct",
        )
        for file, function in _functions(tree.cpp)
        if len(function.full_parameters) > MAX_PARAMETERS
    ]


def check_comment_share(tree: SourceTree) -> list[Problem]:
    """Public headers say what they promise, and no more than that."""
    problems = []
    low, high = COMMENT_SHARE_OF_ONE
    for file in _public_headers(tree):
        kinds = classify_lines(file.text)
        share = kinds.comment / max(kinds.code, 1)
        if kinds.code >= JUDGED_CODE_LINES and not low <= share <= high:
            message = f"{share:.2f} comment lines a line of code, not within {low} and {high}"
            problems.append(Problem(file.path, 0, message))
    share = _comment_share(tree)
    low, high = COMMENT_SHARE
    if share is not None and not low <= share <= high:
        message = f"public headers: {share:.2f} comment lines a line of code, not {low} to {high}"
        problems.append(Problem("", 0, message))
    return problems


def check_test_share(tree: SourceTree) -> list[Problem]:
    """There is enough test code for the product code."""
    share = _test_share(tree)
    if share is None or share >= MIN_TEST_SHARE:
        return []
    message = f"{share:.2f} test lines a product line, at least {MIN_TEST_SHARE}"
    return [Problem("", 0, message)]


def figures(tree: SourceTree) -> str:
    """Return the measures behind the bars in one line."""
    functions = [function.length for _, function in _functions(tree.files)]
    over = sum(1 for length in functions if length > LONG_FUNCTION_LINES)
    return (
        f"lint: median C++ file {_median_file_lines(tree):.0f} lines;"
        f" {len(functions)} functions, p90 {_p90(functions)} lines, {over} over"
        f" {LONG_FUNCTION_LINES}; comment share {_comment_share(tree) or 0:.2f};"
        f" test share {_test_share(tree) or 0:.2f}"
    )


def _functions(files: Iterable[SourceFile]) -> list[tuple[SourceFile, object]]:
    return [
        (file, function)
        for file in files
        if not file.path.endswith(".proto")
        for function in lizard.analyze_file.analyze_source_code(file.path, file.text).function_list
    ]


def _public_headers(tree: SourceTree) -> list[SourceFile]:
    return [
        file
        for file in tree.files
        if any(fnmatch(file.path, pattern) for pattern in PUBLIC_HEADERS) and not _is_body(file)
    ]


def _is_body(header: SourceFile) -> bool:
    """Tell whether most of a header's code lies inside functions that are more than one-liners."""
    inside = sum(function.nloc for _, function in _functions([header]) if function.nloc > 3)
    return inside > BODY_SHARE * max(classify_lines(header.text).code, 1)


def _median_file_lines(tree: SourceTree) -> float:
    return statistics.median([len(file.lines) for file in tree.cpp] or [0])


def _p90(lengths: list[int]) -> int:
    ordered = sorted(lengths)
    return ordered[math.ceil(0.9 * len(ordered)) - 1] if ordered else 0


def _comment_share(tree: SourceTree) -> float | None:
    kinds = [classify_lines(file.text) for file in _public_headers(tree)]
    code = sum(kind.code for kind in kinds)
    return sum(kind.comment for kind in kinds) / code if code else None


def _test_share(tree: SourceTree) -> float | None:
    product = sum(file.filled_lines for file in tree.files if file.is_product)
    tests = sum(file.filled_lines for file in tree.files if file.is_test)
    return tests / product if product else None
