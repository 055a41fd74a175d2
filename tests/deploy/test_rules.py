"""Every rule holds for the base, and reports each error that is planted for it."""

import deploy_checks as checks
import pytest
from planted import CONTAINER, POD, REMOVED, Planted, change, configure, drop

STS = ("StatefulSet", "spec")
GRPC_RULE = ("NetworkPolicy", "spec", "ingress", 0)
CONTEXT = (*CONTAINER, "securityContext")


def _schema_errors() -> list[Planted]:
    rule = checks.check_schemas
    twin = {"apiVersion": "apps.example.org/v1", "kind": "Deployment", "metadata": {"name": "x"}}
    return [
        Planted(rule, "misspelt field", change(*STS, "replica", to=3), "replica"),
        Planted(rule, "text for a number", change(*STS, "replicas", to="3"), "spec.replicas"),
        Planted(rule, "no selector", change(*STS, "selector", to=REMOVED), "selector"),
        Planted(rule, "field deep inside", change(*CONTAINER, "livenessprobe", to={}), "livenessp"),
        Planted(rule, "unknown kind", change("Service", "kind", to="Servise"), "no schema"),
        Planted(rule, "unknown group", lambda b: b.objects.append(twin), "no schema"),
        Planted(
            rule,
            "a kind that is not ours",
            change("PodMonitor", "kind", to="ServiceMonitor"),
            "there is no schema for ServiceMonitor",
        ),
        Planted(
            rule,
            "newer than the oldest version",
            change(*CONTAINER, "restartPolicyRules", to=[{"action": "Restart"}]),
            "restartPolicyRules",
        ),
        Planted(
            rule,
            "monitor: number for a name",
            change("PodMonitor", "spec", "podMetricsEndpoints", 0, "port", to=9090),
            "9090 is not of type 'string'",
        ),
        Planted(
            rule,
            "monitor: misspelt field",
            change("PodMonitor", "spec", "podMetricEndpoints", to=[]),
            "podMetricEndpoints",
        ),
        Planted(
            rule,
            "monitor: no duration",
            change("PodMonitor", "spec", "podMetricsEndpoints", 0, "interval", to="15"),
            "interval",
        ),
    ]


def _config_errors() -> list[Planted]:
    accepted, environment = checks.check_config_accepted, checks.check_environment
    addresses = checks.check_shard_addresses
    fourth = "  - hotrow-2.hotrow:7070\n"
    return [
        Planted(accepted, "unknown key", configure("tiers:", "tires:"), "tires"),
        Planted(accepted, "key given twice", configure("insecure:", "listen:"), "given twice"),
        Planted(accepted, "not insecure", configure("insecure: true", "insecure: false"), "listen"),
        Planted(accepted, "replica without shard", change(*STS, "replicas", to=4), "pod 3"),
        Planted(
            accepted,
            "another file",
            change(*CONTAINER, "args", 1, to="/etc/hotrow/server.yaml"),
            "names no file",
        ),
        Planted(
            accepted,
            "not mounted",
            change(*CONTAINER, "volumeMounts", 0, "mountPath", to="/etc/other"),
            "names no file",
        ),
        Planted(environment, "no number", change(*CONTAINER, "env", to=[]), "not the number"),
        Planted(
            environment,
            "service links",
            change(*POD, "enableServiceLinks", to=REMOVED),
            "enableServiceLinks",
        ),
        Planted(addresses, "shard without replica", change(*STS, "replicas", to=2), "shards are"),
        Planted(
            addresses,
            "other port",
            configure("hotrow-1.hotrow:7070", "hotrow-1.hotrow:7071"),
            "7071",
        ),
        Planted(addresses, "other Service", change(*STS, "serviceName", to="shards"), "shards are"),
        Planted(
            addresses, "one more shard", configure(fourth, fourth + "  - x:7070\n"), "'x:7070'"
        ),
    ]


def _object_errors() -> list[Planted]:
    updates, storage, references = (
        checks.check_updates,
        checks.check_storage,
        checks.check_references,
    )
    retention = (*STS, "persistentVolumeClaimRetentionPolicy", "whenScaled")
    claim = (*STS, "volumeClaimTemplates", 0, "spec", "accessModes", 0)
    mounts = (*CONTAINER, "volumeMounts")
    return [
        Planted(
            updates, "one by one", change(*STS, "podManagementPolicy", to=REMOVED), "one another"
        ),
        Planted(updates, "rolling", change(*STS, "updateStrategy", to=REMOVED), "lose their rows"),
        Planted(storage, "claims deleted", change(*retention, to="Delete"), "not kept"),
        Planted(storage, "claim of a node", change(*claim, to="ReadWriteOnce"), "one pod only"),
        Planted(storage, "data elsewhere", configure("/var/lib/hotrow", "/data"), "on no claim"),
        Planted(
            storage, "writable configuration", change(*mounts, 0, "readOnly", to=False), "written"
        ),
        Planted(references, "no ConfigMap", drop("ConfigMap"), "there is no ConfigMap"),
        Planted(references, "no volume", change(*POD, "volumes", to=[]), "which is no volume"),
        Planted(references, "not mounted", change(*mounts, 1, to=REMOVED), "is not mounted"),
    ]


def _network_errors() -> list[Planted]:
    policy, services = checks.check_network_policy, checks.check_services
    admin, listen = checks.check_admin_listener, "admin_listen: 127.0.0.1:7071"
    peers = (*GRPC_RULE, "from")
    return [
        Planted(admin, "none", configure(listen, ""), "every worker may drop"),
        Planted(admin, "open", configure(listen, "admin_listen: 0.0.0.0:7071"), "from outside"),
        Planted(policy, "none", drop("NetworkPolicy"), "nobody for credentials"),
        Planted(policy, "everybody", change(*peers, to=[]), "lets everybody in"),
        Planted(policy, "no from", change(*peers, to=REMOVED), "lets everybody in"),
        Planted(policy, "every pod", change(*peers, 0, "podSelector", to={}), "without a label"),
        Planted(policy, "addresses", change(*peers, 1, to={"ipBlock": {}}), "without a label"),
        Planted(
            policy, "namespaces", change(*peers, 0, "namespaceSelector", to={}), "other namespaces"
        ),
        Planted(policy, "every port", change(*GRPC_RULE, "ports", to=[]), "every port"),
        Planted(
            policy, "one way", change("NetworkPolicy", "spec", "policyTypes", 1, to=REMOVED), "open"
        ),
        Planted(policy, "way out", change("NetworkPolicy", "spec", "egress", to=[{}]), "outgoing"),
        Planted(services, "no names", drop("Service", "hotrow"), "no Service hotrow"),
        Planted(services, "none for clients", drop("Service", "hotrow-client"), "for clients"),
        Planted(services, "address", change("Service", "spec", "clusterIP", to=""), "no names"),
        Planted(
            services,
            "names of ready shards only",
            change("Service", "spec", "publishNotReadyAddresses", to=REMOVED),
            "not ready have no names",
        ),
        Planted(
            services,
            "open to the world",
            change("Service", "spec", "type", to="LoadBalancer", name="hotrow-client"),
            "inside of the cluster",
        ),
        Planted(
            services,
            "clients at shards that are not ready",
            change("Service", "spec", "publishNotReadyAddresses", to=True, name="hotrow-client"),
            "sends clients",
        ),
    ]


def _port_errors() -> list[Planted]:
    rule = checks.check_ports
    service = ("Service", "spec", "ports", 0)
    endpoint = ("PodMonitor", "spec", "podMetricsEndpoints", 0, "port")
    return [
        Planted(
            rule, "container", change(*CONTAINER, "ports", 0, "containerPort", to=7071), "grpc is"
        ),
        Planted(rule, "metrics", configure("0.0.0.0:9090", "0.0.0.0:9091"), "port metrics is 9090"),
        Planted(rule, "loopback", configure("listen: 0.0.0.0", "listen: 127.0.0.1"), "reached"),
        Planted(rule, "target", change(*service, "targetPort", to="metrics"), "not to grpc"),
        Planted(rule, "unnamed target", change(*service, "targetPort", to=7071), "not to grpc"),
        Planted(rule, "Service", change(*service, "port", to=80), "not the shards' 7070"),
        Planted(rule, "policy", change(*GRPC_RULE, "ports", 0, "port", to="rpc"), "no port rpc"),
        Planted(rule, "monitor", change(*endpoint, to="grpc"), "not metrics"),
    ]


def _selector_errors() -> list[Planted]:
    rule = checks.check_selectors
    key = "app.kubernetes.io/component"
    labels = {"matchLabels": {key: "client"}}
    spread = (*POD, "topologySpreadConstraints", 0, "labelSelector")
    found = [
        Planted(rule, kind, change(kind, "spec", field, to=labels), "no pod has the label")
        for kind, field in (
            ("PodDisruptionBudget", "selector"),
            ("NetworkPolicy", "podSelector"),
            ("PodMonitor", "selector"),
            ("StatefulSet", "selector"),
        )
    ]
    pod_label = (*STS, "template", "metadata", "labels", key)
    return [
        *found,
        Planted(rule, "Service", change("Service", "spec", "selector", key, to="x"), "no pod has"),
        Planted(rule, "every pod", change("NetworkPolicy", "spec", "podSelector", to={}), "every"),
        Planted(rule, "spread", change(*spread, to=labels), "topologySpreadConstraints: no pod"),
        Planted(rule, "pod", change(*pod_label, to=REMOVED), "StatefulSet/hotrow: no pod has"),
    ]


def _security_errors() -> list[Planted]:
    rule, account = checks.check_pod_security, checks.check_service_account
    pod = (*POD, "securityContext")
    host_path = {"name": "logs", "hostPath": {"path": "/var/log"}}
    return [
        Planted(rule, "root", change(*pod, "runAsNonRoot", to=False), "runAsNonRoot"),
        Planted(rule, "user 0", change(*pod, "runAsUser", to=0), "runAsUser"),
        Planted(rule, "group", change(*pod, "fsGroup", to=REMOVED), "fsGroup"),
        Planted(rule, "seccomp", change(*pod, "seccompProfile", to=REMOVED), "seccompProfile"),
        Planted(rule, "host network", change(*POD, "hostNetwork", to=True), "hostNetwork"),
        Planted(rule, "host path", change(*POD, "volumes", 1, to=host_path), "hostPath"),
        Planted(rule, "host port", change(*CONTAINER, "ports", 0, "hostPort", to=7070), "hostPort"),
        Planted(
            rule, "escalation", change(*CONTEXT, "allowPrivilegeEscalation", to=True), "Escalation"
        ),
        Planted(
            rule, "writable", change(*CONTEXT, "readOnlyRootFilesystem", to=REMOVED), "readOnlyRoot"
        ),
        Planted(
            rule, "rights", change(*CONTEXT, "capabilities", "add", to=["SYS_PTRACE"]), "SYS_PTRACE"
        ),
        Planted(rule, "privileged", change(*CONTEXT, "privileged", to=True), "overrides"),
        Planted(rule, "own user", change(*CONTEXT, "runAsUser", to=0), "runAsUser overrides"),
        Planted(account, "none", drop("ServiceAccount"), "there is no ServiceAccount"),
        Planted(
            account,
            "token of the account",
            change("ServiceAccount", "automountServiceAccountToken", to=REMOVED),
            "mounts its token",
        ),
        Planted(
            account,
            "token of the pod",
            change(*POD, "automountServiceAccountToken", to=True),
            "pod: mounts",
        ),
    ]


def _probe_errors() -> list[Planted]:
    rule = checks.check_probes
    ready = (*CONTAINER, "readinessProbe")
    live = (*CONTAINER, "livenessProbe")
    return [
        Planted(rule, "none", change(*CONTAINER, "startupProbe", to=REMOVED), "startupProbe"),
        Planted(rule, "by HTTP", change(*ready, to={"httpGet": {"port": 9090}}), "not ask by gRPC"),
        Planted(rule, "not served", change(*ready, "grpc", "service", to="readiness"), "readiness"),
        Planted(rule, "another", change(*ready, "grpc", "service", to="live"), "not 'ready'"),
        Planted(rule, "port", change(*ready, "grpc", "port", to=9090), "port 9090"),
        Planted(
            rule,
            "among the clients",
            change(*live, to={"grpc": {"port": 7070, "service": "live"}}),
            "beside the clients",
        ),
        Planted(rule, "page", change(*live, "httpGet", "path", to="/readyz"), "not /livez"),
        Planted(rule, "pages' port", change(*live, "httpGet", "port", to="grpc"), "port grpc"),
        Planted(rule, "impatient", change(*live, "failureThreshold", to=2), "gives up after 20 s"),
    ]


def _life_errors() -> list[Planted]:
    stop, memory = checks.check_stop_time, checks.check_memory
    resources = (*CONTAINER, "resources")
    grace = (*POD, "terminationGracePeriodSeconds")
    return [
        Planted(stop, "no pause", change(*CONTAINER, "lifecycle", to=REMOVED), "sleeps 0 s"),
        Planted(stop, "short grace", change(*grace, to=60), "less than 300"),
        Planted(stop, "long drain", configure("drain_timeout: 60s", "drain_timeout: 5m"), "312"),
        Planted(stop, "at once", change(*STS, "minReadySeconds", to=0), "available at once"),
        Planted(memory, "larger tables", configure("4GiB", "6GiB"), "less than 9.05Gi"),
        Planted(memory, "larger gRPC", configure("1GiB", "3GiB"), "less than 9.05Gi"),
        Planted(memory, "lower limit", change(*resources, "limits", "memory", to="6Gi"), "6.55Gi"),
        Planted(memory, "no limit", change(*resources, "limits", to={}), "no limit"),
        Planted(
            memory, "overcommitted", change(*resources, "requests", "memory", to="2Gi"), "request"
        ),
        Planted(memory, "throttled", change(*resources, "limits", "cpu", to="2"), "throttles"),
        Planted(memory, "no CPU", change(*resources, "requests", "cpu", to=REMOVED), "no request"),
    ]


def _place_errors() -> list[Planted]:
    place, budget, version = (
        checks.check_scheduling,
        checks.check_disruption_budget,
        checks.check_version,
    )
    affinity = (*POD, "affinity", "podAntiAffinity")
    hard = "requiredDuringSchedulingIgnoredDuringExecution"
    spread = (*POD, "topologySpreadConstraints")
    allowed = ("PodDisruptionBudget", "spec")
    labels = ("Service", "metadata", "labels", "app.kubernetes.io/version")
    return [
        Planted(place, "one node", change(*affinity, to={}), "different nodes"),
        Planted(place, "no node", change(*affinity, hard, to=[]), "podAntiAffinity: required"),
        Planted(place, "one zone", change(*spread, to=[]), "over zones"),
        Planted(
            place,
            "no zone",
            change(*spread, 0, "whenUnsatisfiable", to="DoNotSchedule"),
            "required",
        ),
        Planted(budget, "none", drop("PodDisruptionBudget"), "0 instead of one"),
        Planted(budget, "two shards", change(*allowed, "maxUnavailable", to=2), "not 1"),
        Planted(
            budget,
            "held up",
            change(*allowed, "unhealthyPodEvictionPolicy", to=REMOVED),
            "holds up the drain",
        ),
        Planted(version, "no tag", change(*CONTAINER, "image", to="hotrow-server"), "version"),
        Planted(
            version, "latest", change(*CONTAINER, "image", to="hotrow-server:latest"), "latest"
        ),
        Planted(version, "label", change(*labels, to="0.0.9"), "label of version 0.0.9"),
    ]


PLANTED = [
    *_schema_errors(),
    *_config_errors(),
    *_object_errors(),
    *_network_errors(),
    *_port_errors(),
    *_selector_errors(),
    *_security_errors(),
    *_probe_errors(),
    *_life_errors(),
    *_place_errors(),
]


@pytest.mark.parametrize("rule", checks.ALL_RULES, ids=lambda rule: rule.__name__)
def test_the_base_keeps_the_rule(bundle, rule):
    assert rule(bundle) == []


@pytest.mark.parametrize("planted", PLANTED, ids=lambda p: f"{p.rule.__name__}-{p.name}")
def test_a_planted_error_is_reported(bundle, planted):
    broken = bundle.copy()
    planted.breaks(broken)
    assert broken.objects != bundle.objects
    assert any(planted.reported in problem for problem in planted.rule(broken))


def test_every_rule_has_a_planted_error():
    assert {planted.rule for planted in PLANTED} == set(checks.ALL_RULES)
