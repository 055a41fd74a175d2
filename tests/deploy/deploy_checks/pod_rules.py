"""What the pods must look like: rights, probes, memory, their end and their place."""

from typing import Any

from deploy_checks.bundle import Bundle, port_of
from deploy_checks.quantities import quantity, seconds, size_bytes

__all__ = [
    "check_memory",
    "check_pod_security",
    "check_probes",
    "check_scheduling",
    "check_service_account",
    "check_stop_time",
    "check_version",
]

USER = 65532
_LIFE_PROBES = ("startupProbe", "livenessProbe")
_MIN_LIVENESS_SECONDS = 60  # a restart loses the rows: a stall must last
_GOODBYE_SECONDS = 2  # open calls hear that the server stops
_MEMORY_SHARE = 1.25
_KEPT_ANSWERS = 0.3 * 2**30  # at most: a place for each session, and what few answers have beside


def _differences(where: str, actual: dict[str, Any], wanted: dict[str, Any]) -> list[str]:
    return [
        f"{where}: {key} is {actual.get(key)!r}, not {value!r}"
        for key, value in wanted.items()
        if actual.get(key) != value
    ]


def check_pod_security(bundle: Bundle) -> list[str]:
    """See that the pods pass the "restricted" standard, as user 65532 with a read-only root."""
    wanted = {
        "runAsNonRoot": True,
        "runAsUser": USER,
        "runAsGroup": USER,
        "fsGroup": USER,
        "seccompProfile": {"type": "RuntimeDefault"},
    }
    problems = _differences("pod", bundle.pod.get("securityContext", {}), wanted)
    problems += [
        f"pod: {key}" for key in ("hostNetwork", "hostPID", "hostIPC") if key in bundle.pod
    ]
    for volume in bundle.pod.get("volumes", []):
        kinds = set(volume) - {"name"}
        if not kinds <= {"configMap", "emptyDir"}:
            problems.append(f"volume {volume['name']}: {', '.join(kinds)} is not expected here")
    for container in bundle.pod["containers"] + bundle.pod.get("initContainers", []):
        problems += _container_security(container)
    return problems


def _container_security(container: dict[str, Any]) -> list[str]:
    wanted = {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }
    where = f"container {container['name']}"
    context = container.get("securityContext", {})
    problems = _differences(where, context, wanted)
    problems += [
        f"{where}: {key} overrides the pod's" for key in sorted(set(context) - set(wanted))
    ]
    problems += [f"{where}: hostPort" for port in container.get("ports", []) if "hostPort" in port]
    return problems


def check_service_account(bundle: Bundle) -> list[str]:
    """See that the pods have an account of their own and no token of it."""
    problems = []
    name = bundle.pod.get("serviceAccountName", "default")
    account = bundle.named("ServiceAccount", name)
    if account is None:
        problems.append(f"pod: there is no ServiceAccount {name}")
    elif account.get("automountServiceAccountToken") is not False:
        problems.append(f"ServiceAccount/{name}: mounts its token")
    if bundle.pod.get("automountServiceAccountToken") is not False:
        problems.append("pod: mounts the token of its account")
    return problems


def _container_port(bundle: Bundle, port: int | str) -> int | None:
    names = {entry["name"]: entry["containerPort"] for entry in bundle.container.get("ports", [])}
    return names.get(port) if isinstance(port, str) else port


def check_probes(bundle: Bundle) -> list[str]:
    """See that the probes ask for what the server serves, each on the right port.

    Whether clients find a place is asked where they connect, by gRPC; whether the server lives is
    asked where they do not: a restart loses the rows.
    """
    problems = []
    grpc = bundle.container.get("readinessProbe", {}).get("grpc")
    listen = bundle.config.get("listen", ":0")
    if grpc is None:
        problems.append("readinessProbe: does not ask by gRPC")
    else:
        service = grpc.get("service", "")
        if service not in bundle.served:
            problems.append(f"readinessProbe: the server does not serve '{service}'")
        elif service != "ready":
            problems.append(f"readinessProbe: asks for '{service}', not 'ready'")
        if grpc["port"] != port_of(listen):
            problems.append(
                f"readinessProbe: asks on port {grpc['port']}, the server is on {listen}"
            )
    for name in _LIFE_PROBES:
        asks = bundle.container.get(name, {}).get("httpGet")
        if asks is None:
            problems.append(f"{name}: does not ask by HTTP, beside the clients")
        elif asks.get("path") != "/livez":
            problems.append(f"{name}: asks for {asks.get('path')}, not /livez")
        elif _container_port(bundle, asks["port"]) != port_of(bundle.config.get("metrics", ":0")):
            problems.append(
                f"{name}: asks on port {asks['port']}, the pages are on "
                f"{bundle.config.get('metrics')}"
            )
    liveness = bundle.container.get("livenessProbe", {})
    patience = liveness.get("periodSeconds", 10) * liveness.get("failureThreshold", 3)
    if patience < _MIN_LIVENESS_SECONDS:
        problems.append(f"livenessProbe: gives up after {patience} s, too soon to lose the rows")
    return problems


def check_stop_time(bundle: Bundle) -> list[str]:
    """See that a pod has the time to leave the Services and to answer what it accepted."""
    sleep = bundle.container.get("lifecycle", {}).get("preStop", {}).get("sleep", {})
    pause = sleep.get("seconds", 0)
    problems = [] if pause >= 5 else [f"preStop: sleeps {pause} s, Services need about 5 to forget"]
    grace = bundle.pod.get("terminationGracePeriodSeconds", 30)
    needed = pause + seconds(bundle.config.get("drain_timeout", "0s")) + _GOODBYE_SECONDS
    if grace < 300 or grace <= needed:
        problems.append(
            f"terminationGracePeriodSeconds: {grace}, less than 300 or the {needed:.0f} needed"
        )
    if bundle.stateful_set["spec"].get("minReadySeconds", 0) < 1:
        problems.append("minReadySeconds: a pod counts as available at once")
    return problems


def check_memory(bundle: Bundle) -> list[str]:
    """See that the limit holds tables, gRPC, a quarter more and the answers that are kept."""
    resources = bundle.container.get("resources", {})
    limit = resources.get("limits", {}).get("memory")
    if limit is None:
        return ["memory: no limit"]
    problems = []
    if resources.get("requests", {}).get("memory") != limit:
        problems.append("memory: the request is not the limit, so the node may not have it")
    if "cpu" in resources["limits"]:
        problems.append("cpu: a limit throttles the shard, and every worker waits for it")
    if "cpu" not in resources.get("requests", {}):
        problems.append("cpu: no request")
    config = bundle.config
    budget = size_bytes(config.get("tiers", {}).get("hot_budget", "0"))
    rpc = size_bytes(config.get("rpc", {}).get("memory", "0"))
    needed = _MEMORY_SHARE * (budget + rpc) + _KEPT_ANSWERS
    if quantity(limit) < needed:
        problems.append(
            f"memory: the limit {limit} is less than {needed / 2**30:.2f}Gi, 1.25 times and 0.3Gi"
        )
    return problems


def check_scheduling(bundle: Bundle) -> list[str]:
    """Shards prefer different nodes and zones, and still run where there is only one."""
    problems = []
    affinity = bundle.pod.get("affinity", {}).get("podAntiAffinity", {})
    preferred = affinity.get("preferredDuringSchedulingIgnoredDuringExecution", [])
    keys = {term["podAffinityTerm"]["topologyKey"] for term in preferred}
    if "kubernetes.io/hostname" not in keys:
        problems.append("podAntiAffinity: shards do not prefer different nodes")
    if "requiredDuringSchedulingIgnoredDuringExecution" in affinity:
        problems.append("podAntiAffinity: required, so shards may find no node")
    spread = bundle.pod.get("topologySpreadConstraints", [])
    if "topology.kubernetes.io/zone" not in {entry["topologyKey"] for entry in spread}:
        problems.append("topologySpreadConstraints: shards do not spread over zones")
    if any(entry.get("whenUnsatisfiable") != "ScheduleAnyway" for entry in spread):
        problems.append("topologySpreadConstraints: required, so shards may find no node")
    return problems


def check_version(bundle: Bundle) -> list[str]:
    """See that the image has a tag, and tag and labels are the version of the sources."""
    problems = []
    name, _, tag = bundle.container["image"].rpartition(":")
    if not name or tag != bundle.version:
        problems.append(f"image: {bundle.container['image']} is not of version {bundle.version}")
    for found in bundle.objects:
        version = found["metadata"].get("labels", {}).get("app.kubernetes.io/version")
        if version != bundle.version:
            problems.append(f"{found['kind']}: label of version {version}, not {bundle.version}")
    return problems
