"""Checks of deploy/: each returns what is wrong, so that tests can plant errors and see them."""

from deploy_checks.config_rules import (
    check_config_accepted,
    check_environment,
    check_references,
    check_shard_addresses,
    check_storage,
    check_updates,
)
from deploy_checks.network_rules import (
    check_admin_listener,
    check_disruption_budget,
    check_network_policy,
    check_ports,
    check_selectors,
    check_services,
)
from deploy_checks.pod_rules import (
    check_memory,
    check_pod_security,
    check_probes,
    check_scheduling,
    check_service_account,
    check_stop_time,
    check_version,
)
from deploy_checks.schemas import check_schemas

__all__ = ["ALL_RULES"]

ALL_RULES = (
    check_schemas,
    check_config_accepted,
    check_environment,
    check_references,
    check_shard_addresses,
    check_storage,
    check_updates,
    check_disruption_budget,
    check_admin_listener,
    check_network_policy,
    check_ports,
    check_selectors,
    check_services,
    check_memory,
    check_pod_security,
    check_probes,
    check_scheduling,
    check_service_account,
    check_stop_time,
    check_version,
)
