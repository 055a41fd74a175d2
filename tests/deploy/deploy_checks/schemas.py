"""Objects against Kubernetes' own schemas; against ours where it has none."""

import functools
import json
from pathlib import Path

import jsonschema
import kubernetes_validate

from deploy_checks.bundle import Bundle, label

__all__ = ["OLDEST", "check_schemas"]

OLDEST = "1.30"  # the preStop sleep is on by default since then
# The checker looks at the kind and the first word of a group: another group would pass as well.
_GROUPS = {"v1", "apps/v1", "policy/v1", "networking.k8s.io/v1"}
_OWN_SCHEMAS = Path(__file__).parent.parent / "schemas"


def check_schemas(bundle: Bundle) -> list[str]:
    """Every object has a schema and fits it, in the oldest version we serve and the newest."""
    versions = (OLDEST, kubernetes_validate.latest_version())
    return [
        f"{label(found)}: {problem}"
        for found in bundle.objects
        for problem in dict.fromkeys(_problem(json.dumps(found), version) for version in versions)
        if problem
    ]


@functools.cache  # of each planted error all objects but one are the same
def _problem(text: str, version: str) -> str:
    found = json.loads(text)
    api_version, kind = found["apiVersion"], found["kind"]
    own = _OWN_SCHEMAS / f"{kind.lower()}.json"
    try:
        if own.exists():
            schema = json.loads(own.read_text(encoding="utf-8"))
            jsonschema.validate(found, schema, jsonschema.Draft202012Validator)
        elif api_version not in _GROUPS:
            return f"there is no schema for {kind} of {api_version}"
        else:
            kubernetes_validate.validate(found, version, strict=True)
    except kubernetes_validate.SchemaNotFoundError:
        return f"there is no schema for {kind} of {api_version} in Kubernetes {version}"
    except jsonschema.ValidationError as error:  # the other's error is one of these
        return f"{'.'.join(map(str, error.absolute_path))}: {error.message[:200]}"
    return ""
