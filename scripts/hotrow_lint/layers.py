"""The layers of ARCHITECTURE.md: a folder includes lower layers only, or along an arrow."""

from hotrow_lint.include_graph import Include, includes_of
from hotrow_lint.source_tree import Problem, SourceTree

__all__ = ["ARROWS", "LAYERS", "check_layers"]

# Lowest first. "server" is server/main.cc.
LAYERS = (
    ("kernels/base",),
    ("kernels/space",),
    (
        *("proto/hotrow", "proto/wire"),
        *("kernels/row_store", "kernels/optimizers", "kernels/initializers"),
        *("kernels/dedupe", "kernels/pooling"),
    ),
    ("server/runtime",),
    ("server/durability", "server/tiers"),
    ("server/table",),
    ("server/shard", "server/ops"),
    ("server/rpc", "client/src", "client/include"),
    ("server", "client/python", "client/ctl"),
)

# Allowed within one layer.
ARROWS = frozenset(
    {
        ("proto/wire", "proto/hotrow"),
        ("kernels/row_store", "kernels/optimizers"),
        ("kernels/row_store", "kernels/initializers"),
        ("kernels/pooling", "kernels/dedupe"),
        ("server/durability", "server/tiers"),
        ("client/src", "client/include"),
    }
)

_LEVEL = {folder: level for level, folders in enumerate(LAYERS) for folder in folders}
# These may include anything, and nothing includes them.
_OUTSIDE = ("tests", "bench")
# Libraries that kernels/ must do without: it also builds alone, where there are none.
_LIBRARIES = ("absl/", "google/", "grpc", "fmt/", "spdlog/", "rocksdb/", "xxhash", "prometheus/")


def check_layers(tree: SourceTree) -> list[Problem]:
    """Report every include that goes upward, sideways, from client to server, or out of kernels."""
    problems = []
    for include in includes_of(tree):
        message = _objection(include)
        if message:
            problems.append(Problem(include.path, include.line, message))
    return problems


def _objection(include: Include) -> str | None:
    """Return what is wrong with an include, None when it is fine."""
    source = _folder(include.path)
    if source in _OUTSIDE:
        return None
    if source not in _LEVEL:
        return f"folder {source} is in no layer: give it a place in ARCHITECTURE.md and here"
    if source.startswith("kernels/") and include.name.startswith(_LIBRARIES):
        return f"kernels/ uses no library, but includes {include.name}"
    target = _target_folder(include)
    if target is None or target == source:
        return None
    if target in _OUTSIDE:
        return f"product includes {target}/"
    if target not in _LEVEL:
        return f"folder {target} is in no layer"
    if source.startswith("client/") and target.startswith("server"):
        return f"client includes server: {include.name}"
    if source.startswith("kernels/") and not target.startswith("kernels/"):
        return f"kernels/ builds alone, but includes {include.name}"
    if _LEVEL[target] > _LEVEL[source]:
        return f"upward: {source} includes {target}"
    if _LEVEL[target] == _LEVEL[source] and (source, target) not in ARROWS:
        return f"sideways: {source} includes {target}, and there is no arrow"
    return None


def _target_folder(include: Include) -> str | None:
    if include.target is not None:
        return _folder(include.target)
    # Generated from proto/hotrow, so not in the tree.
    return "proto/hotrow" if include.name.startswith("hotrow/v1/") else None


def _folder(path: str) -> str:
    parts = path.split("/")
    if parts[0] in _OUTSIDE:
        return parts[0]
    return "/".join(parts[: min(2, len(parts) - 1)])
