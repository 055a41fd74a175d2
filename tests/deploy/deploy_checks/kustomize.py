"""The part of kustomize that deploy/ uses; anything else in a kustomization is refused.

Labels on objects, resources, and ConfigMaps from files whose names end in kustomize's hash.
"""

import copy
import hashlib
import json
from pathlib import Path
from typing import Any

import yaml

from deploy_checks.strict_yaml import load_documents

__all__ = ["RenderError", "render"]

KUSTOMIZATION = "kustomization.yaml"
_FIELDS = {"apiVersion", "kind", "labels", "resources", "configMapGenerator"}
_API_VERSION = "kustomize.config.k8s.io/v1beta1"
# Kustomize spells its hash without digits and vowels that could make words.
_HASH_LETTERS = str.maketrans("013ae", "ghkmt")
_CONFIG_MAP_REFERENCES = ("configMap", "configMapRef", "configMapKeyRef")


class RenderError(Exception):
    """Why a kustomization cannot be rendered."""


def render(folder: Path) -> list[dict[str, Any]]:
    """Return the objects of a kustomization, references to generated ConfigMaps renamed."""
    kustomization = _only(folder / KUSTOMIZATION)
    _check_kustomization(kustomization, folder)
    objects = [found for name in kustomization["resources"] for found in _load(folder / name)]
    generated = {
        entry["name"]: _config_map(entry, folder)
        for entry in kustomization.get("configMapGenerator", [])
    }
    for config_map in generated.values():
        objects.append(config_map)
    _add_labels(objects, kustomization.get("labels", []))
    _refuse_twins(objects)
    names = {name: config_map["metadata"]["name"] for name, config_map in generated.items()}
    for found in objects:
        if found["kind"] != "ConfigMap":
            _rename_references(found, names)
    return objects


def _load(path: Path) -> list[Any]:
    try:
        documents = load_documents(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise RenderError(f"{path.name}: {error.strerror}") from error
    except yaml.YAMLError as error:
        raise RenderError(f"{path.name}: {error}") from error
    for document in documents:
        if not isinstance(document, dict) or "kind" not in document:
            raise RenderError(f"{path.name}: a document is no object with a kind")
    return documents


def _only(path: Path) -> dict[str, Any]:
    documents = _load(path)
    if len(documents) != 1:
        raise RenderError(f"{path.name}: {len(documents)} documents instead of one")
    return documents[0]


def _refuse_unknown(where: str, mapping: dict[str, Any], known: set[str]) -> None:
    unknown = sorted(set(mapping) - known)
    if unknown:
        raise RenderError(f"{where}: cannot render {', '.join(unknown)}")


def _check_kustomization(kustomization: dict[str, Any], folder: Path) -> None:
    _refuse_unknown(KUSTOMIZATION, kustomization, _FIELDS)
    if kustomization.get("apiVersion") != _API_VERSION or kustomization["kind"] != "Kustomization":
        raise RenderError(f"{KUSTOMIZATION}: is not a Kustomization of {_API_VERSION}")
    entries = kustomization.get("configMapGenerator", [])
    for entry in entries:
        _refuse_unknown("configMapGenerator", entry, {"name", "files"})
    for entry in kustomization.get("labels", []):
        _refuse_unknown("labels", entry, {"pairs"})
    files = {name for entry in entries for name in entry["files"]}
    files |= {KUSTOMIZATION, *kustomization["resources"]}
    strays = sorted(path.name for path in folder.iterdir() if path.name not in files)
    if strays:
        raise RenderError(f"{KUSTOMIZATION}: does not name {', '.join(strays)}")


def _config_map(entry: dict[str, Any], folder: Path) -> dict[str, Any]:
    try:
        data = {name: (folder / name).read_text(encoding="utf-8") for name in entry["files"]}
    except OSError as error:
        raise RenderError(f"configMapGenerator: {error}") from error
    # Kustomize leaves the name out of its hash.
    hashed = _hash({"data": data, "kind": "ConfigMap", "name": ""})
    name = f"{entry['name']}-{hashed}"
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data}


def _hash(content: dict[str, Any]) -> str:
    # As Go writes JSON, which escapes what HTML could trip over.
    text = json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    for letter in "<>&\u2028\u2029":
        text = text.replace(letter, f"\\u{ord(letter):04x}")
    return hashlib.sha256(text.encode()).hexdigest()[:10].translate(_HASH_LETTERS)


def _add_labels(objects: list[dict[str, Any]], entries: list[dict[str, Any]]) -> None:
    for found in objects:
        labels = found["metadata"].setdefault("labels", {})
        for entry in entries:
            labels.update(copy.deepcopy(entry["pairs"]))


def _refuse_twins(objects: list[dict[str, Any]]) -> None:
    seen: set[tuple[str, str]] = set()
    for found in objects:
        identity = (found["kind"], found["metadata"]["name"])
        if identity in seen:
            raise RenderError(f"{'/'.join(identity)}: is given twice")
        seen.add(identity)


def _rename_references(node: Any, names: dict[str, str]) -> None:
    if isinstance(node, list):
        for item in node:
            _rename_references(item, names)
        return
    if not isinstance(node, dict):
        return
    for key, value in node.items():
        if key in _CONFIG_MAP_REFERENCES and isinstance(value, dict) and "name" in value:
            if value["name"] not in names:
                raise RenderError(f"{key}: there is no ConfigMap {value['name']}")
            value["name"] = names[value["name"]]
        _rename_references(value, names)
