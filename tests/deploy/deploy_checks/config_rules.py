"""The configuration: taken by the real server, and in agreement with the StatefulSet."""

from deploy_checks.bundle import Bundle, port_of
from deploy_checks.server_program import refusal

__all__ = [
    "check_config_accepted",
    "check_environment",
    "check_references",
    "check_shard_addresses",
    "check_storage",
    "check_updates",
]

_POD_INDEX = "metadata.labels['apps.kubernetes.io/pod-index']"


def check_config_accepted(bundle: Bundle) -> list[str]:
    """See that the real server takes the configuration in the environment of every pod."""
    if not bundle.config_text:
        return ["config: --config names no file of a mounted ConfigMap"]
    problems = []
    for ordinal in range(bundle.stateful_set["spec"]["replicas"]):
        reason = refusal(bundle.server, bundle.config_text, bundle.variables(ordinal))
        if reason is not None:
            problems.append(f"config of pod {ordinal}: {reason}")
    return problems


def check_shard_addresses(bundle: Bundle) -> list[str]:
    """`shards` are the names that the headless Service gives to the pods, in their order."""
    spec = bundle.stateful_set["spec"]
    name = bundle.stateful_set["metadata"]["name"]
    port = port_of(bundle.config.get("listen", ":0"))
    wanted = [f"{name}-{i}.{spec.get('serviceName')}:{port}" for i in range(spec["replicas"])]
    actual = (bundle.config.get("shards") or "").split(",")
    return [] if actual == wanted else [f"config: shards are {actual}, the pods {wanted}"]


def check_environment(bundle: Bundle) -> list[str]:
    """Each pod learns its number from its label, and Kubernetes adds no HOTROW_ variables."""
    problems = []
    if bundle.pod.get("enableServiceLinks") is not False:
        problems.append("pod: enableServiceLinks adds HOTROW_ variables of its own")
    paths = {
        entry["name"]: entry.get("valueFrom", {}).get("fieldRef", {}).get("fieldPath")
        for entry in bundle.container.get("env", [])
    }
    if paths.get("HOTROW_SHARD") != _POD_INDEX:
        problems.append("container: HOTROW_SHARD is not the number of the pod")
    return problems


def check_updates(bundle: Bundle) -> list[str]:
    """Shards start together, and no change restarts one by itself."""
    spec = bundle.stateful_set["spec"]
    problems = []
    if spec.get("podManagementPolicy") != "Parallel":
        problems.append("StatefulSet: shards wait for one another")
    if spec.get("updateStrategy", {}).get("type") != "OnDelete":
        problems.append("StatefulSet: a change restarts shards, which lose their rows")
    return problems


def check_storage(bundle: Bundle) -> list[str]:
    """One pod at a time has the claim, it is kept, and it is where the server looks."""
    spec = bundle.stateful_set["spec"]
    problems = []
    retention = spec.get("persistentVolumeClaimRetentionPolicy", {})
    if [retention.get("whenDeleted"), retention.get("whenScaled")] != ["Retain", "Retain"]:
        problems.append("StatefulSet: claims are not kept")
    claims = spec.get("volumeClaimTemplates", [])
    for claim in claims:
        if claim["spec"].get("accessModes") != ["ReadWriteOncePod"]:
            problems.append(f"claim {claim['metadata']['name']}: not for one pod only")
    names = {claim["metadata"]["name"] for claim in claims}
    mounts = bundle.container.get("volumeMounts", [])
    places = {mount["mountPath"] for mount in mounts if mount["name"] in names}
    if bundle.config.get("data_dir") not in places:
        problems.append(f"config: data_dir {bundle.config.get('data_dir')} is on no claim")
    for mount in mounts:
        if mount["name"] not in names and mount.get("readOnly") is not True:
            problems.append(f"container: {mount['mountPath']} can be written")
    return problems


def check_references(bundle: Bundle) -> list[str]:
    """See that what the pods mount exists."""
    problems = []
    volumes = {volume["name"]: volume for volume in bundle.pod.get("volumes", [])}
    claims = {
        claim["metadata"]["name"]
        for claim in bundle.stateful_set["spec"].get("volumeClaimTemplates", [])
    }
    mounted = {mount["name"] for mount in bundle.container.get("volumeMounts", [])}
    known = set(volumes) | claims
    problems += [f"container: mounts {name}, which is no volume" for name in mounted - known]
    problems += [f"volume {name}: is not mounted" for name in sorted(known - mounted)]
    for volume in volumes.values():
        name = volume.get("configMap", {}).get("name")
        if name is not None and bundle.named("ConfigMap", name) is None:
            problems.append(f"volume {volume['name']}: there is no ConfigMap {name}")
    return problems
