"""What deploy/README.md tells people to do works."""

import re
import shutil
import subprocess
from pathlib import Path

import deploy_checks as checks
import numpy as np
import pytest
from deploy_checks.bundle import Bundle
from deploy_checks.places import BASE, DEPLOY
from deploy_checks.strict_yaml import load_documents

import hotrow
from hotrow.testing import LocalCluster

GUIDE = (DEPLOY / "README.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", GUIDE, re.DOTALL)


@pytest.mark.skipif(not shutil.which("kubectl"), reason="no kubectl here")
def test_the_overlay_renders_to_a_deployment_that_keeps_the_rules(bundle, tmp_path):
    shutil.copytree(BASE, tmp_path / "base")
    overlay = tmp_path / "my-overlay"
    overlay.mkdir()
    (kustomization,) = blocks("yaml")
    (overlay / "kustomization.yaml").write_text(kustomization)
    third = "  - hotrow-2.hotrow:7070\n"
    more = "".join(f"  - hotrow-{i}.hotrow:7070\n" for i in (3, 4))
    text = (BASE / "hotrow.yaml").read_text().replace(third, third + more)
    (overlay / "hotrow.yaml").write_text(text.replace("hot_budget: 4GiB", "hot_budget: 40GiB"))
    command = ["kubectl", "kustomize", overlay]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    built = Bundle(load_documents(done.stdout), bundle.server, bundle.version, bundle.served)
    assert [problem for rule in checks.ALL_RULES for problem in rule(built)] == []
    assert built.stateful_set["spec"]["replicas"] == 5
    assert not built.all("PodMonitor")
    assert {found["metadata"]["namespace"] for found in built.objects} == {"training"}


def test_rows_come_back_after_all_shards_were_restarted(tmp_path):
    save, restore = (block for block in blocks("python") if "item-" in block)
    keys = np.arange(-50, 50, dtype=np.int64) * 7919
    schema = {"optimizer": hotrow.optimizers.Sgd(lr=1.0), "durability": "memory"}
    with LocalCluster(2) as cluster:
        client = cluster.connect()
        table = client.create_table("item", 4, **schema)
        table.push(keys, np.outer(np.sin(keys), np.arange(1, 5)).astype(np.float32))
        trained = table.pull(keys)
        names = {"np": np, "Path": Path, "folder": tmp_path, "client": client}
        exec(save, names)
        client.close()
        for shard in range(2):
            assert cluster.stop(shard) == 0
        for shard in range(2):
            cluster.start(shard)
        again = cluster.connect().create_table("item", 4, **schema)
        assert not np.array_equal(again.pull(keys), trained)
        exec(restore, names | {"table": again})
        assert again.size() == len(keys)
        np.testing.assert_array_equal(again.pull(keys), trained)


@pytest.mark.parametrize("name", re.findall(r"`([a-z][a-z-]*\.yaml)`", GUIDE))
def test_files_that_are_named_exist(name):
    assert list(DEPLOY.rglob(name))


def test_what_is_dangerous_is_said_before_anything_else():
    start = GUIDE[: GUIDE.index("\n## ")]
    for word in ("in memory only", "loses all rows", "insecure: true", "credentials"):
        assert word in start
