"""Tells comments from code in C++ text."""

import re

__all__ = ["LineKinds", "classify_lines", "without_comments"]

# Comments, and the literals in which their marks mean nothing.
_TOKEN = re.compile(
    r"""(?P<comment>//[^\n]*|/\*.*?\*/)"""
    r"""|(?P<literal>R"(?P<mark>[^()\s\\]{0,16})\(.*?\)(?P=mark)"|"(?:\\.|[^"\\\n])*"|"""
    r"""(?<![0-9a-fA-F])'(?:\\.|[^'\\\n])+')""",
    re.DOTALL,
)


class LineKinds:
    """How many lines hold code, and how many hold a comment. A line may hold both."""

    def __init__(self, code: int, comment: int) -> None:
        self.code = code
        self.comment = comment


def without_comments(text: str) -> str:
    """Return the text with each comment and each literal's content blanked, lines kept."""

    def blank(match: re.Match[str]) -> str:
        token = match.group()
        if match["comment"] is not None:
            return re.sub(r"[^\n]", " ", token)
        return token[0] + re.sub(r"[^\n]", " ", token[1:-1]) + token[-1]

    return _TOKEN.sub(blank, text)


def classify_lines(text: str) -> LineKinds:
    """Count lines of code and of comment; blank lines are neither."""
    code = sum(1 for line in without_comments(text).splitlines() if line.strip())
    comment_lines = set()
    for match in _TOKEN.finditer(text):
        if match["comment"] is None:
            continue
        first = text.count("\n", 0, match.start())
        for offset, line in enumerate(match.group().split("\n")):
            if re.search(r"\w", line):
                comment_lines.add(first + offset)
    return LineKinds(code, len(comment_lines))
