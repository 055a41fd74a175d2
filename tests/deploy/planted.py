"""Ways to break a rendered deployment."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from deploy_checks.bundle import Bundle

REMOVED = object()
Breakage = Callable[[Bundle], None]
POD = ("StatefulSet", "spec", "template", "spec")
CONTAINER = (*POD, "containers", 0)


@dataclass(frozen=True)
class Planted:
    """An error, the rule that must report it, and words of the report."""

    rule: Callable[[Bundle], list[str]]
    name: str
    breaks: Breakage
    reported: str


def change(*path: Any, to: Any, name: str | None = None) -> Breakage:
    """Set, or remove, what lies at a path: kind, then keys and positions."""

    def breaks(bundle: Bundle) -> None:
        kind, *steps, last = path
        objects = bundle.all(kind)
        node: Any = objects[0] if name is None else bundle.named(kind, name)
        for step in steps:
            node = node.setdefault(step, {}) if isinstance(node, dict) else node[step]
        if to is REMOVED:
            del node[last]
        elif isinstance(node, list) and last == len(node):
            node.append(to)
        else:
            node[last] = to

    return breaks


def drop(kind: str, name: str | None = None) -> Breakage:
    """Remove an object."""

    def breaks(bundle: Bundle) -> None:
        found = bundle.all(kind)[0] if name is None else bundle.named(kind, name)
        bundle.objects.remove(found)

    return breaks


def configure(old: str, new: str) -> Breakage:
    """Replace a part of the configuration file."""

    def breaks(bundle: Bundle) -> None:
        (config_map,) = bundle.all("ConfigMap")
        ((file, text),) = config_map["data"].items()
        assert old in text, old
        config_map["data"][file] = text.replace(old, new)

    return breaks
