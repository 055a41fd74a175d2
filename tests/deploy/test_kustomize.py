"""The renderer of the tests: what it accepts, what it refuses, and that kustomize agrees."""

import shutil
import subprocess
from pathlib import Path

import pytest
from deploy_checks.kustomize import RenderError, render
from deploy_checks.places import BASE, DEPLOY
from deploy_checks.strict_yaml import load_documents

KINDS = {
    "ConfigMap": 1,
    "NetworkPolicy": 1,
    "PodDisruptionBudget": 1,
    "PodMonitor": 1,
    "Service": 2,
    "ServiceAccount": 1,
    "StatefulSet": 1,
}
EVERY_YAML = sorted(DEPLOY.rglob("*.yaml"))


@pytest.fixture
def base(tmp_path) -> Path:
    """Return a copy of the base that a test may break."""
    return Path(shutil.copytree(BASE, tmp_path / "base"))


def edit(base: Path, name: str, old: str, new: str) -> None:
    text = (base / name).read_text(encoding="utf-8")
    assert old in text
    (base / name).write_text(text.replace(old, new, 1), encoding="utf-8")


def test_the_base_has_every_object():
    objects = render(BASE)
    assert {kind: sum(o["kind"] == kind for o in objects) for kind in KINDS} == KINDS
    assert len(objects) == sum(KINDS.values())


@pytest.mark.parametrize("path", EVERY_YAML, ids=lambda path: path.name)
def test_no_key_is_given_twice(path):
    assert load_documents(path.read_text(encoding="utf-8"))


def test_another_configuration_is_another_pod_template(base):
    before = render(base)
    edit(base, "hotrow.yaml", "4GiB", "3GiB")
    after = render(base)
    names = [
        [o["spec"]["template"]["spec"]["volumes"][0] for o in objects if o["kind"] == "StatefulSet"]
        for objects in (before, after)
    ]
    assert names[0] != names[1]


PLANTED = {
    "two kustomizations": ("kustomization.yaml", "labels:", "---\nkind: x\n---\nlabels:", "kind"),
    "two complete ones": ("kustomization.yaml", "resources:", "---\nkind: x\nresources:", "2 doc"),
    "no such file of a ConfigMap": (
        "kustomization.yaml",
        "      - hotrow.yaml\n",
        "      - hotrow.yaml\n      - x.yaml\n",
        "configMapGenerator: .*x.yaml",
    ),
    "key given twice": ("services.yaml", "  clusterIP: None\n", "  clusterIP: None\n" * 2, "twice"),
    "key given twice in the configuration": (
        "kustomization.yaml",
        "kind:",
        "kind: x\nkind:",
        "twice",
    ),
    "no YAML": ("services.yaml", "spec:\n", "spec: [\n", "services.yaml"),
    "unknown field": ("kustomization.yaml", "labels:", "commonLabels: {a: b}\nlabels:", "commonL"),
    "unknown generator field": (
        "kustomization.yaml",
        "  - name: hotrow\n",
        "  - name: hotrow\n    behavior: merge\n",
        "behavior",
    ),
    "labels in selectors": (
        "kustomization.yaml",
        "  - pairs:",
        "  - includeSelectors: true\n    pairs:",
        "includeS",
    ),
    "no such file": (
        "kustomization.yaml",
        "- services.yaml",
        "- services.yaml\n  - x.yaml",
        "x.yaml: No",
    ),
    "file that nobody names": (
        "kustomization.yaml",
        "  - pod-monitor.yaml\n",
        "",
        "pod-monitor.yaml",
    ),
    "no such configuration": (
        "kustomization.yaml",
        "- hotrow.yaml",
        "- server.yaml",
        "hotrow.yaml",
    ),
    "no such ConfigMap": (
        "kustomization.yaml",
        "- name: hotrow",
        "- name: server",
        "no ConfigMap hotrow",
    ),
    "object given twice": (
        "services.yaml",
        "name: hotrow-client",
        "name: hotrow",
        "is given twice",
    ),
    "no kind": ("pod-monitor.yaml", "kind: PodMonitor\n", "", "no object with a kind"),
    "another kind of kustomization": (
        "kustomization.yaml",
        "v1beta1",
        "v1",
        "is not a Kustomization",
    ),
}


@pytest.mark.parametrize("planted", PLANTED.values(), ids=PLANTED)
def test_a_planted_error_is_refused(base, planted):
    name, old, new, reported = planted
    edit(base, name, old, new)
    with pytest.raises(RenderError, match=reported):
        render(base)


@pytest.mark.skipif(
    not shutil.which("kubectl") and not shutil.which("kustomize"), reason="no kustomize here"
)
def test_kustomize_renders_the_same():
    program = ["kustomize", "build"] if shutil.which("kustomize") else ["kubectl", "kustomize"]
    out = subprocess.run([*program, BASE], capture_output=True, text=True, timeout=60, check=True)

    def ordered(objects: list[dict]) -> list[dict]:
        return sorted(objects, key=lambda o: (o["kind"], o["metadata"]["name"]))

    assert ordered(load_documents(out.stdout)) == ordered(render(BASE))
