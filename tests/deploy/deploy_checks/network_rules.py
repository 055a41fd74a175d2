"""Who reaches what: ports, selectors, Services, the network policy and the disruption budget."""

from typing import Any

from deploy_checks.bundle import Bundle, label, port_of

__all__ = [
    "check_admin_listener",
    "check_disruption_budget",
    "check_network_policy",
    "check_ports",
    "check_selectors",
    "check_services",
]


def _selectors(bundle: Bundle) -> list[tuple[str, dict[str, Any]]]:
    """Name every selector that must find the pods."""
    found = [(label(service), service["spec"].get("selector")) for service in bundle.all("Service")]
    for kind in ("StatefulSet", "PodDisruptionBudget", "PodMonitor"):
        for one in bundle.all(kind):
            found.append((label(one), one["spec"].get("selector", {}).get("matchLabels")))
    for policy in bundle.all("NetworkPolicy"):
        found.append((label(policy), policy["spec"].get("podSelector", {}).get("matchLabels")))
    for entry in bundle.pod.get("topologySpreadConstraints", []):
        found.append(("topologySpreadConstraints", entry["labelSelector"].get("matchLabels")))
    affinity = bundle.pod.get("affinity", {}).get("podAntiAffinity", {})
    for term in affinity.get("preferredDuringSchedulingIgnoredDuringExecution", []):
        selector = term["podAffinityTerm"]["labelSelector"]
        found.append(("podAntiAffinity", selector.get("matchLabels")))
    return [(name, selector or {}) for name, selector in found]


def check_selectors(bundle: Bundle) -> list[str]:
    """Every selector finds the pods, and none finds all pods of the namespace."""
    problems = []
    for name, selector in _selectors(bundle):
        if not selector:
            problems.append(f"{name}: selects every pod, or none")
        for key, value in selector.items():
            if bundle.pod_labels.get(key) != value:
                problems.append(f"{name}: no pod has the label {key}={value}")
    return problems


def check_ports(bundle: Bundle) -> list[str]:
    """See that configuration, container, Services, policy and monitor agree on ports."""
    problems = []
    for name, key in (("grpc", "listen"), ("metrics", "metrics")):
        address = bundle.config.get(key, "127.0.0.1:0")
        if bundle.container_port(name) != port_of(address):
            problems.append(
                f"container: port {name} is {bundle.container_port(name)}, {key} is {address}"
            )
        if address.startswith(("127.", "localhost", "[::1]")):
            problems.append(f"config: {key} {address} cannot be reached from outside the pod")
    for service in bundle.all("Service"):
        problems += _service_ports(bundle, service)
    for policy in bundle.all("NetworkPolicy"):
        for rule in policy["spec"].get("ingress", []):
            for entry in rule.get("ports", []):
                if _number(bundle, entry["port"]) is None:
                    problems.append(f"{label(policy)}: the pods have no port {entry['port']}")
    for monitor in bundle.all("PodMonitor"):
        for endpoint in monitor["spec"]["podMetricsEndpoints"]:
            if endpoint.get("port") != "metrics":
                problems.append(f"{label(monitor)}: scrapes {endpoint.get('port')}, not metrics")
    return problems


def _number(bundle: Bundle, port: str | int) -> int | None:
    numbers = [entry["containerPort"] for entry in bundle.container.get("ports", [])]
    if isinstance(port, int):
        return port if port in numbers else None
    return bundle.container_port(port)


def _service_ports(bundle: Bundle, service: dict[str, Any]) -> list[str]:
    problems = []
    grpc = bundle.container_port("grpc")
    for entry in service["spec"].get("ports", []):
        if _number(bundle, entry.get("targetPort", entry["port"])) != grpc:
            problems.append(f"{label(service)}: leads to {entry.get('targetPort')}, not to grpc")
        # The names of single shards bypass the Service, and with it a change of port.
        if entry["port"] != grpc:
            problems.append(f"{label(service)}: port {entry['port']} is not the shards' {grpc}")
    return problems


def check_services(bundle: Bundle) -> list[str]:
    """One headless Service names all shards, one with an address finds a ready one."""
    name = bundle.stateful_set["spec"].get("serviceName")
    headless = bundle.named("Service", name)
    if headless is None:
        return [f"StatefulSet: there is no Service {name}"]
    problems = []
    if headless["spec"].get("clusterIP") != "None":
        problems.append(f"{label(headless)}: has an address, so shards have no names")
    if headless["spec"].get("publishNotReadyAddresses") is not True:
        problems.append(f"{label(headless)}: shards that are not ready have no names")
    others = [service for service in bundle.all("Service") if service is not headless]
    if not others:
        problems.append("Service: there is none for clients")
    for service in others:
        spec = service["spec"]
        if spec.get("type", "ClusterIP") != "ClusterIP" or spec.get("clusterIP") == "None":
            problems.append(f"{label(service)}: is not an address inside of the cluster")
        if spec.get("publishNotReadyAddresses"):
            problems.append(f"{label(service)}: sends clients to shards that are not ready")
    return problems


def check_network_policy(bundle: Bundle) -> list[str]:
    """Only labelled pods of the namespace reach the shards; shards reach nobody."""
    if not bundle.all("NetworkPolicy"):
        return ["NetworkPolicy: there is none, and the server asks nobody for credentials"]
    problems = []
    for policy in bundle.all("NetworkPolicy"):
        spec = policy["spec"]
        if sorted(spec.get("policyTypes", [])) != ["Egress", "Ingress"]:
            problems.append(f"{label(policy)}: policyTypes leave a direction open")
        if spec.get("egress"):
            problems.append(f"{label(policy)}: shards need no outgoing connection")
        for rule in spec.get("ingress", []):
            problems += [f"{label(policy)}: {problem}" for problem in _ingress(bundle, rule)]
    return problems


def _ingress(bundle: Bundle, rule: dict[str, Any]) -> list[str]:
    problems = []
    ports = {_number(bundle, entry["port"]) for entry in rule.get("ports", [])}
    if not rule.get("ports"):
        problems.append("a rule opens every port")
    if not rule.get("from"):
        problems.append("a rule lets everybody in")
    for peer in rule.get("from", []):
        if not peer.get("podSelector", {}).get("matchLabels"):
            problems.append("a rule lets in pods without a label")
        serves_clients = not ports or bundle.container_port("grpc") in ports
        if serves_clients and "namespaceSelector" in peer:
            problems.append("a rule lets other namespaces reach the tables")
    return problems


def check_admin_listener(bundle: Bundle) -> list[str]:
    """Admin calls have a listener of their own, which nobody outside of the pod reaches."""
    address = bundle.config.get("admin_listen") or ""
    if not address:
        return ["config: admin_listen is not set, so every worker may drop tables"]
    if not address.startswith(("127.", "localhost", "[::1]")):
        return [f"config: admin_listen {address} can be reached from outside the pod"]
    return []


def check_disruption_budget(bundle: Bundle) -> list[str]:
    """Drains take one shard at a time and are never held up by a broken one."""
    budgets = bundle.all("PodDisruptionBudget")
    if len(budgets) != 1:
        return [f"PodDisruptionBudget: {len(budgets)} instead of one"]
    spec = budgets[0]["spec"]
    problems = []
    if spec.get("maxUnavailable") != 1 or "minAvailable" in spec:
        problems.append("PodDisruptionBudget: maxUnavailable is not 1")
    if spec.get("unhealthyPodEvictionPolicy") != "AlwaysAllow":
        problems.append("PodDisruptionBudget: a broken shard holds up the drain of its node")
    return problems
