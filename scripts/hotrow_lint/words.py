"""Words and calls that do not belong where they stand, and the form of headers."""

import re

from hotrow_lint.cpp_text import without_comments
from hotrow_lint.source_tree import Problem, SourceFile, SourceTree

__all__ = ["check_calls", "check_header_form", "check_words"]

# Unfinished by its own words.
_UNFINISHED = re.compile(
    r"\b(?:TODO|FIXME|XXX|HACK)\b|(?<!room )\bfor now\b|\bnot yet implemented\b"
)
# Words of the glossary's right column that mean nothing else in our code.
_GLOSSARY = {
    "combiner": "pooling",
    "indptr": "offset",
    "topology": "shard map",
    "route_table": "shard map",
    "virtual_shard": "partition",
    "hash_slot": "partition",
    "feature_slot": "feature",
    "slab": "set",
    "fid": "key",
}
_GLOSSARY_WORD = re.compile(
    r"(?<![a-zA-Z])(?:" + "|".join(_GLOSSARY) + r")s?(?![a-zA-Z])", re.IGNORECASE
)
_SLEEP = re.compile(r"\b(?:sleep_for|sleep_until|usleep|nanosleep|SleepFor|time\.sleep)\s*\(")
_OUTPUT = re.compile(r"\bstd::(?:cout|cerr|clog)\b|(?<![\w:.>])(?:std::)?printf\s*\(")
_END = re.compile(r"(?<![\w.>])(?:std::)?(?:abort|_Exit|quick_exit|terminate|exit)\s*\(")
# Programs, which speak to a person and choose an exit status, and the check that ends a process.
_MAY_PRINT = ("server/main.cc", "client/ctl/", "tests/", "bench/")
# A pause is fine between two looks at what no one can wait for (a file, another process), when the
# lines before it give up at a deadline.
_BOUND = re.compile(r"deadline|limit|time_?left", re.IGNORECASE)
_BOUND_WITHIN_LINES = 6
# They name the words that they look for.
_NAMES_WORDS = ("scripts/hotrow_lint/words.py", "tests/lint/")
_MAY_END = ("kernels/base/check.h", *_MAY_PRINT)


def check_words(tree: SourceTree) -> list[Problem]:
    """Nothing is marked unfinished, and the glossary's words are used."""
    problems = []
    for file in tree.files:
        if file.path.startswith(_NAMES_WORDS):
            continue
        for number, line in enumerate(file.lines, start=1):
            unfinished = _UNFINISHED.search(line)
            if unfinished:
                message = f"'{unfinished.group()}': finish it, or file it"
                problems.append(Problem(file.path, number, message))
            word = _GLOSSARY_WORD.search(line) if file.is_product else None
            if word:
                better = _GLOSSARY[word.group().lower().removesuffix("s")]
                problems.append(Problem(file.path, number, f"'{word.group()}': say {better}"))
    return problems


def check_calls(tree: SourceTree) -> list[Problem]:
    """No unbounded sleeps; no output and no end of the process outside of programs."""
    problems = []
    for file in tree.files:
        if not (file.is_product or file.is_test) or file.path.endswith(".proto"):
            continue
        text = without_comments(file.text) if file.is_cpp else file.text
        lines = text.splitlines()
        for number, line in enumerate(lines, start=1):
            found = _objections(file, line)
            before = "\n".join(lines[max(0, number - 1 - _BOUND_WITHIN_LINES) : number - 1])
            if _SLEEP.search(line) and not _BOUND.search(before):
                found.append("a sleep: wait for a condition with a deadline, or inject the clock")
            problems += [Problem(file.path, number, message) for message in found]
    return problems


def _objections(file: SourceFile, line: str) -> list[str]:
    found = []
    if file.is_cpp and _OUTPUT.search(line) and not file.path.startswith(_MAY_PRINT):
        found.append("output outside of a program: return a status, or log")
    if file.is_cpp and _END.search(line) and not file.path.startswith(_MAY_END):
        found.append("ends the process: return a status, or use HOTROW_CHECK")
    return found


def check_header_form(tree: SourceTree) -> list[Problem]:
    """Each header begins with what it is, and has #pragma once."""
    problems = []
    for file in tree.files:
        if not file.is_header:
            continue
        if not file.text.startswith(("//", "/*")):
            problems.append(Problem(file.path, 1, "does not begin with a comment: what is it?"))
        if not re.search(r"^#pragma once$", file.text, re.MULTILINE):
            problems.append(Problem(file.path, 0, "no #pragma once"))
    return problems
