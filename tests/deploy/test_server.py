"""The real server with the configuration of the base: it serves what the objects rely on."""

import json
import re
import urllib.request

import pytest
from deploy_checks.quantities import quantity, seconds, size_bytes
from deploy_checks.server_program import effective_config, refusal, running


def get(address: str, path: str) -> str:
    with urllib.request.urlopen(f"http://{address}{path}", timeout=10) as response:
        return response.read().decode()


def test_it_serves_the_health_of_live_and_ready(shard):
    health = shard.health("", "live", "ready", "readiness")
    assert health == {
        "": "SERVING",
        "live": "SERVING",
        "ready": "SERVING",
        "readiness": "UNKNOWN SERVICE",
    }


def test_it_serves_metrics_where_the_monitor_looks(shard, bundle):
    (monitor,) = bundle.all("PodMonitor")
    for endpoint in monitor["spec"]["podMetricsEndpoints"]:
        assert "hotrow_build_info" in get(shard.metrics, endpoint["path"])


def test_it_is_the_shard_of_its_pod_among_those_of_the_base(shard, bundle):
    status = json.loads(get(shard.metrics, "/status"))
    addresses = bundle.config["shards"].split(",")
    assert status["shard_map"]["shards"] == addresses
    assert json.loads((shard.folder / "ready.json").read_text())["shard"] == 1


def test_it_writes_only_below_its_data_directory(shard):
    ours = {"hotrow.yaml", "log", "ready.json", "data"}
    assert {path.name for path in shard.folder.iterdir()} == ours
    assert {path.name for path in (shard.folder / "data").iterdir()} == {"IDENTITY", "LOCK"}


def test_a_refused_configuration_says_why(server):
    assert "did you mean 'listen'" in refusal(server, "lisen: 127.0.0.1:1\n", {})
    assert effective_config(server, "lisen: 127.0.0.1:1\n") == {}
    assert refusal(server, "listen: 127.0.0.1:1\n", {}) is None


def test_a_server_that_does_not_start_says_why(server, tmp_path):
    config = tmp_path / "hotrow.yaml"
    config.write_text("shard: 1\n")
    with (
        pytest.raises(RuntimeError, match="not below the number of shards"),
        running(server, config, {}),
    ):
        pass


def test_numbers_with_units():
    assert [quantity(text) for text in ("8Gi", "1500M", "7")] == [2**33, 1_500_000_000, 7]
    assert [size_bytes(text) for text in ("4GiB", "12342042KiB", "0")] == [2**32, 12638251008, 0]
    assert [seconds(text) for text in ("250ms", "60s", "24h")] == [0.25, 60, 86400]
    for read, text in ((quantity, "8GiB"), (size_bytes, "8Gi"), (seconds, "5"), (seconds, "-1s")):
        with pytest.raises(ValueError, match=re.escape(repr(text))):
            read(text)
