"""YAML that means what it says: a key that is given twice is an error, not the last one."""

from typing import Any

import yaml

__all__ = ["load_documents"]


class _Loader(yaml.SafeLoader):
    pass


def _mapping(loader: _Loader, node: yaml.MappingNode) -> dict[Any, Any]:
    seen: set[Any] = set()
    for key_node, _ in node.value:
        key = loader.construct_object(key_node)
        if key in seen:
            raise yaml.constructor.ConstructorError(
                None, None, f"key {key!r} is given twice", key_node.start_mark
            )
        seen.add(key)
    return loader.construct_mapping(node, deep=True)


_Loader.add_constructor(yaml.resolver.BaseResolver.DEFAULT_MAPPING_TAG, _mapping)


def load_documents(text: str) -> list[Any]:
    """Parse all documents of a text; raises `yaml.YAMLError` with the line."""
    return list(yaml.load_all(text, Loader=_Loader))
