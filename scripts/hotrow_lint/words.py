"""Words and calls that do not belong where they stand, and the form of headers."""

import re

from hotrow_lint.cpp_text import without_comments
from hotrow_lint.source_tree import Problem, SourceFile, SourceTree

__all__ = ["check_calls", "check_header_form", "check_words"]

# Unfinished by its own words. Spelled in parts, so that this file passes its own check.
_UNFINISHED = re.compile(
    r"\b(?:TO" r"DO|FIX" r"ME|XX" r"X|HA" r"CK)\b|\bfor " r"now\b|\bnot yet " r"implemented\b"
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
# Waits, with a bound, for a file that another process writes.
_MAY_SLEEP = ("client/python/hotrow/testing.py",)
_MAY_END = ("kernels/base/check.h", *_MAY_PRINT)


def check_words(tree: SourceTree) -> list[Problem]:
    """Nothing is marked unfinished, and the glossary's words are used."""
    problems = []
    for file in tree.files:
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
    """No sleeps; no output and no end of the process outside of programs."""
    problems = []
    for file in tree.files:
        if not (file.is_product or file.is_test) or file.path.endswith(".proto"):
            continue
        text = without_comments(file.text) if file.is_cpp else file.text
        for number, line in enumerate(text.splitlines(), start=1):
            problems += [Problem(file.path, number, message) for message in _objections(file, line)]
    return problems


def _objections(file: SourceFile, line: str) -> list[str]:
    found = []
    if _SLEEP.search(line) and file.path not in _MAY_SLEEP:
        found.append("a sleep: wait for a condition, or inject the clock")
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
