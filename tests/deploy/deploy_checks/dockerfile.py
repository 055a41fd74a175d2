"""A reader and a linter of Dockerfiles, and of the ignore list beside one."""

import json
import re
from dataclasses import dataclass
from pathlib import Path

__all__ = ["Dockerfile", "Instruction", "lint", "lint_context", "parse"]

USER = "65532:65532"
_KNOWN = frozenset(("ARG", "FROM", "RUN", "COPY", "ADD", "LABEL", "USER", "WORKDIR", "EXPOSE"))
_KNOWN |= {"ENTRYPOINT", "CMD", "ENV", "HEALTHCHECK"}


@dataclass(frozen=True)
class Instruction:
    """One instruction: its upper-case word, the rest joined into one line, its first line."""

    word: str
    rest: str
    line: int

    @property
    def words(self) -> list[str]:
        """The rest as words without flags."""
        return [word for word in self.rest.split() if not word.startswith("--")]


@dataclass(frozen=True)
class Dockerfile:
    """Instructions by stage. `before` the first FROM there are only ARGs."""

    before: list[Instruction]
    stages: list[list[Instruction]]

    def packages(self, stage: int) -> list[str]:
        """Debian packages that a stage asks apt-get for."""
        found = []
        for instruction in self.stages[stage]:
            for install in re.findall(r"apt-get install ([^&|;]*)", instruction.rest):
                found += [word for word in install.split() if not word.startswith("-")]
        return found

    def of(self, stage: int, word: str) -> list[Instruction]:
        """Instructions of one kind."""
        return [found for found in self.stages[stage] if found.word == word]


def parse(text: str) -> Dockerfile:
    """Read a Dockerfile; raises ValueError for an instruction that is not known."""
    before: list[Instruction] = []
    stages: list[list[Instruction]] = []
    for instruction in _instructions(text):
        if instruction.word not in _KNOWN:
            raise ValueError(f"line {instruction.line}: unknown instruction {instruction.word}")
        if instruction.word == "FROM":
            stages.append([])
        (stages[-1] if stages else before).append(instruction)
    return Dockerfile(before, stages)


def _instructions(text: str) -> list[Instruction]:
    found, parts, start = [], [], 0
    for number, line in enumerate(text.splitlines(), start=1):
        if line.lstrip().startswith("#") or (not line.strip() and not parts):
            continue
        start = start if parts else number
        parts.append(line.strip().removesuffix("\\").strip())
        if not line.rstrip().endswith("\\"):
            word, _, rest = " ".join(parts).partition(" ")
            found.append(Instruction(word.upper(), rest.strip(), start))
            parts = []
    return found


def lint(text: str) -> list[str]:
    """Say what is wrong with a multi-stage Dockerfile of a server."""
    file = parse(text)
    if len(file.stages) < 2:
        return ["one stage: the compiler would be in the image"]
    problems = _bases(file)
    for stage in file.stages:
        for instruction in stage:
            problems += [f"line {instruction.line}: {p}" for p in _instruction(instruction)]
    return problems + _last_stage(file)


def _bases(file: Dockerfile) -> list[str]:
    arguments = dict(found.rest.partition("=")[::2] for found in file.before)
    problems = []
    for stage in file.stages:
        named = stage[0].words[0]
        base = re.sub(r"\$\{?(\w+)\}?", lambda match: arguments.get(match[1], ""), named)
        tag = base.rpartition("/")[2].partition(":")[2]
        where = f"line {stage[0].line}: base {base or named}"
        if not tag:
            problems.append(f"{where} has no tag")
        elif tag.split("@")[0] == "latest":
            problems.append(f"{where} changes under us")
        if not named.startswith("$"):
            problems.append(f"{where} cannot be replaced: make it an ARG")
    return problems


def _instruction(found: Instruction) -> list[str]:
    problems = []
    if found.word == "ADD":
        problems.append("ADD fetches and unpacks unasked: COPY")
    if found.word == "WORKDIR" and not found.rest.startswith("/"):
        problems.append("WORKDIR is not absolute")
    if found.word == "COPY" and any(word in (".", "./") for word in found.words[:-1]):
        problems.append("COPY takes the whole checkout: name what the build reads")
    if found.word in ("ENV", "ARG") and re.search(r"TOKEN|SECRET|PASSWORD", found.rest, re.I):
        problems.append("a secret would stay in the image")
    if found.word == "RUN":
        problems += _run(found.rest)
    return problems


def _run(command: str) -> list[str]:
    problems = []
    installs = "apt-get install" in command
    if installs and "--no-install-recommends" not in command:
        problems.append("apt-get install without --no-install-recommends")
    if installs and not re.search(r"apt-get install (\S+ )*-y", command):
        problems.append("apt-get install would ask: -y")
    if installs and "apt-get update" not in command:
        problems.append("apt-get install on an older layer's lists: update in the same RUN")
    fills = installs or "apt-get update" in command or "install_packages.sh" in command
    if fills and not re.search(r"rm -rf /var/lib/apt/lists/\*\s*$", command):
        problems.append("package lists stay in the layer")
    if re.search(r"\b(sudo|curl|wget)\b|apt-get (dist-)?upgrade", command):
        problems.append("fetches or raises what no tag pins")
    return problems


def _last_stage(file: Dockerfile) -> list[str]:
    last = len(file.stages) - 1
    problems = []
    users = file.of(last, "USER")
    if [user.rest for user in users[-1:]] != [USER]:
        problems.append(f"USER: the image does not end as {USER}")
    entries = file.of(last, "ENTRYPOINT")
    if len(entries) != 1 or not _is_exec_form(entries[0].rest):
        problems.append("ENTRYPOINT: not one, or a shell would get the signals")
    if [check.rest for check in file.of(last, "HEALTHCHECK")] != ["NONE"]:
        problems.append("HEALTHCHECK: the orchestrator's probes are the only ones")
    for copy in file.of(last, "COPY"):
        if "--from=build" not in copy.rest.split():
            problems.append(f"line {copy.line}: copies sources into the image")
    problems += [f"{name}: for building only" for name in file.packages(last) if "-dev" in name]
    labels = " ".join(found.rest for found in file.of(last, "LABEL"))
    for name in ("title", "version", "licenses"):
        if f"org.opencontainers.image.{name}=" not in labels:
            problems.append(f"LABEL: no org.opencontainers.image.{name}")
    return problems


def _is_exec_form(text: str) -> bool:
    try:
        words = json.loads(text)
    except ValueError:
        return False
    return isinstance(words, list) and words[:1] != [] and str(words[0]).startswith("/")


def lint_context(text: str, ignore: str, root: Path) -> list[str]:
    """Say where COPY and the ignore list, which names what is let in, do not agree."""
    file = parse(text)
    lines = [line for line in ignore.splitlines() if line and not line.startswith("#")]
    if lines[:1] != ["*"]:
        return ["ignore list: does not begin with *"]
    allowed = {line[1:] for line in lines if line.startswith("!")}
    copied = {
        source.rstrip("/")
        for stage in file.stages
        for copy in stage
        if copy.word == "COPY" and "--from=" not in copy.rest
        for source in copy.words[:-1]
    }
    problems = [f"COPY {name}: is ignored" for name in sorted(copied - allowed)]
    problems += [f"ignore list: nobody copies {name}" for name in sorted(allowed - copied)]
    problems += [f"COPY {name}: does not exist" for name in copied if not (root / name).exists()]
    return problems
