"""All objects of a deployment together, and the server that will read their configuration."""

import copy
import itertools
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from deploy_checks.server_program import effective_config

__all__ = ["Bundle", "label", "port_of"]


@dataclass(frozen=True)
class Bundle:
    """Rendered objects. `served` are the health services that a running server answers for."""

    objects: list[dict[str, Any]]
    server: Path
    version: str
    served: frozenset[str]

    def copy(self) -> "Bundle":
        """Return one whose objects can be changed."""
        return Bundle(copy.deepcopy(self.objects), self.server, self.version, self.served)

    def all(self, kind: str) -> list[dict[str, Any]]:
        """Objects of a kind."""
        return [found for found in self.objects if found["kind"] == kind]

    def named(self, kind: str, name: str) -> dict[str, Any] | None:
        """Return the object of that kind and name, if there is one."""
        return next((o for o in self.all(kind) if o["metadata"]["name"] == name), None)

    @property
    def stateful_set(self) -> dict[str, Any]:
        """The one StatefulSet."""
        (found,) = self.all("StatefulSet")
        return found

    @property
    def template(self) -> dict[str, Any]:
        """The pod template."""
        return self.stateful_set["spec"]["template"]

    @property
    def pod(self) -> dict[str, Any]:
        """The specification of the pods."""
        return self.template["spec"]

    @property
    def container(self) -> dict[str, Any]:
        """The one container."""
        (found,) = self.pod["containers"]
        return found

    @property
    def pod_labels(self) -> dict[str, str]:
        """Labels of the pods."""
        return self.template["metadata"]["labels"]

    def container_port(self, name: str) -> int | None:
        """Return the number of a named port of the container."""
        ports = {port["name"]: port["containerPort"] for port in self.container.get("ports", [])}
        return ports.get(name)

    def variables(self, ordinal: int) -> dict[str, str]:
        """Environment of the container in the pod of that number, as Kubernetes fills it in."""
        field = "metadata.labels['apps.kubernetes.io/pod-index']"
        result = {}
        for entry in self.container.get("env", []):
            path = entry.get("valueFrom", {}).get("fieldRef", {}).get("fieldPath")
            result[entry["name"]] = str(ordinal) if path == field else entry.get("value", "")
        return result

    @property
    def config_text(self) -> str:
        """The configuration file that the container's --config names; empty if there is none."""
        arguments = self.container.get("args", [])
        path = Path(dict(itertools.pairwise(arguments)).get("--config", ""))
        for mount in self.container.get("volumeMounts", []):
            volume = next((v for v in self.pod["volumes"] if v["name"] == mount["name"]), {})
            name = volume.get("configMap", {}).get("name")
            config_map = self.named("ConfigMap", name) if name else None
            if config_map and Path(mount["mountPath"]) == path.parent:
                return config_map["data"].get(path.name, "")
        return ""

    @property
    def config(self) -> dict[str, Any]:
        """What the server makes of its configuration; empty when it refuses it."""
        return effective_config(self.server, self.config_text)


def label(found: dict[str, Any]) -> str:
    """Kind and name, for messages."""
    return f"{found['kind']}/{found['metadata']['name']}"


def port_of(address: str) -> int:
    """Port of HOST:PORT."""
    return int(address.rpartition(":")[2])
