"""The metrics of a live server, as a real Prometheus sees them and as the reference lists them."""

from __future__ import annotations

import contextlib
import http.server
import re
import subprocess
import threading
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import prometheus
import pytest
from prometheus import Prometheus, Target

import hotrow
from hotrow.testing import LocalCluster

REFERENCE = Path(__file__).resolve().parents[2] / "deploy" / "REFERENCE.md"
TABLE = "scraped"


@dataclass(frozen=True)
class Family:
    """A line of the reference."""

    type: str
    labels: frozenset[str]


def documented() -> dict[str, Family]:
    """Return the families that the reference lists."""
    lines = re.findall(
        r"^\| `([a-z_0-9]+)` \| (counter|gauge|histogram) \|([^|]*)\|",
        REFERENCE.read_text(encoding="utf-8"),
        re.MULTILINE,
    )
    return {
        name: Family(kind, frozenset(re.findall(r"`([a-z]+)`", labels)))
        for name, kind, labels in lines
    }


# What may go wrong with a page, and what Prometheus and the checks below must make of it.


def _doubled(page: str) -> str:
    return re.sub(
        r'(hotrow_rows_pulled_total\{table="scraped",tier="hot"\}) (\S+)',
        lambda match: f"{match[1]} {2 * float(match[2])}",
        page,
    )


def _without(page: str) -> str:
    return "".join(
        line for line in page.splitlines(True) if "hotrow_queue_wait_seconds" not in line
    )


def _another_type(page: str) -> str:
    return page.replace("# TYPE hotrow_queue_depth gauge", "# TYPE hotrow_queue_depth counter")


def _more(page: str) -> str:
    return (
        page + "# HELP hotrow_new_total X.\n# TYPE hotrow_new_total counter\nhotrow_new_total 1\n"
    )


def _another_label(page: str) -> str:
    return page.replace("\nhotrow_queue_depth ", '\nhotrow_queue_depth{key="7"} ')


def _twice(page: str) -> str:
    line = re.search(r"^hotrow_sessions \S+\n", page, re.MULTILINE)[0]
    return page.replace(line, line + line)


def _broken(page: str) -> str:
    return page.replace("\nhotrow_sessions ", "\nhotrow_sessions{ ")


PLANTED: dict[str, tuple[Callable[[str], str], str]] = {
    "doubled": (_doubled, "rows_pulled_total"),
    "without": (_without, "hotrow_queue_wait_seconds is missing"),
    "another_type": (_another_type, "hotrow_queue_depth is a counter"),
    "more": (_more, "hotrow_new_total is not in the reference"),
    "another_label": (_another_label, "hotrow_queue_depth has the labels"),
    "twice": (_twice, "twice"),
    "broken": (_broken, "down"),
}


@pytest.fixture(scope="module")
def cluster() -> Iterator[LocalCluster]:
    with LocalCluster(1, config={"tiers": {"disk_budget": "1GiB"}}) as running:
        yield running


@pytest.fixture(scope="module")
def planted(cluster) -> Iterator[str]:
    """Serve the page of the server with an error, by path; gives the address."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = PLANTED[self.path[1:]][0](page_of(cluster)).encode()
            self.send_response(200)
            self.send_header("Content-Type", "text/plain; version=0.0.4")
            self.end_headers()
            with contextlib.suppress(BrokenPipeError):  # Prometheus is being stopped
                self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"127.0.0.1:{server.server_address[1]}"
        server.shutdown()


@pytest.fixture(scope="module")
def scraper(cluster, planted, tmp_path_factory) -> Iterator[Prometheus]:
    jobs = {"hotrow": Target(cluster.metrics_addresses[0])}
    jobs |= {name: Target(planted, f"/{name}") for name in PLANTED}
    # Families of tables have no samples before there is a table that was pulled and pushed.
    client = cluster.connect()
    table = client.create_table(TABLE, 4, optimizer=hotrow.Sgd(lr=1.0), durability="memory")
    table.push([1], np.ones((1, 4), np.float32))
    table.pull([1])
    client.close()
    with prometheus.running(tmp_path_factory.mktemp("prometheus"), jobs) as running:
        yield running


def page_of(cluster: LocalCluster) -> str:
    with urllib.request.urlopen(f"http://{cluster.metrics_addresses[0]}/metrics") as answer:
        return answer.read().decode()


def repeated_samples(page: str) -> list[str]:
    """Series that a page has more than once: Prometheus drops the second without a word."""
    names = [line.rpartition(" ")[0] for line in page.splitlines() if not line.startswith("#")]
    return [f"{name} is there twice" for name in set(names) if names.count(name) > 1]


def family_problems(scraper: Prometheus, job: str) -> list[str]:
    """Compare what Prometheus has of a job with the reference."""
    health, error = scraper.health(job)
    if health != "up":
        return [f"{job} is {health}: {error}"]
    types, labels, problems = scraper.types(job), scraper.labels(job), []
    for name, family in documented().items():
        if name not in types:
            problems.append(f"{name} is missing")
        elif types[name] != family.type:
            problems.append(f"{name} is a {types[name]}, not a {family.type}")
        histogram = family.type == "histogram"
        samples = (
            [name + suffix for suffix in ("_bucket", "_sum", "_count")] if histogram else [name]
        )
        for sample in samples:
            found = labels.get(sample, set()) - ({"le"} if sample.endswith("_bucket") else set())
            if name in types and found != family.labels:
                problems.append(f"{name} has the labels {sorted(found)}")
    problems += [f"{name} is not in the reference" for name in set(types) - set(documented())]
    return problems


# Sums that known calls move by known amounts: query without job -> what it grows by.
def movements(pulls: int, pushes: int, known: int, unknown: int) -> dict[str, int]:
    """Movements by pulls of known and unknown keys and pushes of the known ones, a message each."""
    of_table = f'table="{TABLE}"'
    ok = 'code="OK"'
    stages = {
        f'hotrow_rpc_stage_duration_seconds_count{{method="{method}",stage="{stage}"}}': count
        for method, count in (("Pull", pulls), ("Push", pushes))
        for stage in ("decode", "route", "queue", "host", "encode")
    }
    return stages | {
        f'hotrow_rpc_requests_total{{method="Pull",{ok}}}': pulls,
        f'hotrow_rpc_requests_total{{method="Push",{ok}}}': pushes,
        'hotrow_rpc_duration_seconds_count{method="Pull"}': pulls,
        'hotrow_rpc_duration_seconds_count{method="Push"}': pushes,
        'hotrow_keys_per_request_count{method="Pull"}': pulls,
        'hotrow_keys_per_request_sum{method="Pull"}': pulls * (known + unknown),
        'hotrow_keys_per_request_sum{method="Push"}': pushes * known,
        "hotrow_queue_wait_seconds_count": pulls + pushes,
        f'hotrow_rows_pulled_total{{{of_table},tier="hot"}}': pulls * known,
        f'hotrow_rows_pulled_total{{{of_table},tier="new"}}': pulls * unknown,
        f"hotrow_rows_pushed_total{{{of_table}}}": pushes * known,
        f"hotrow_keys_pushed_total{{{of_table}}}": pushes * known,
        f"hotrow_rows_created_total{{{of_table}}}": known,
        f'hotrow_tier_rows{{{of_table},tier="hot"}}': known,
        f"hotrow_table_rows{{{of_table}}}": known,
        f"hotrow_tier_evictions_total{{{of_table}}}": 0,
        "hotrow_cold_damaged_rows_total": 0,
        'hotrow_optimizer_apply_duration_seconds_count{optimizer="adam"}': 0,
        "hotrow_overload_rejections_total": 0,
        f"hotrow_slot_index_insert_failures_total{{{of_table}}}": 0,
        f"hotrow_gradients_refused_total{{{of_table}}}": 0,
        "hotrow_push_duplicates_total": 0,
        'hotrow_sub_pushes_total{outcome="duplicate"}': 0,
        'hotrow_sub_pushes_total{outcome="refused"}': 0,
        'hotrow_sub_pushes_total{outcome="retried"}': 0,
        "hotrow_push_conflicts_total": 0,
        "hotrow_push_damaged_total": 0,
        "hotrow_log_lines_dropped_total": 0,
    }


def _of_job(query: str, job: str) -> str:
    name, _, labels = query.partition("{")
    return f'{name}{{job="{job}"' + ("," + labels if labels else "}")


class Movement:
    """Calls in known numbers, and what the counters of each job have made of them."""

    PULLS, PUSHES, KNOWN, UNKNOWN = 7, 3, 41, 13

    def __init__(self, cluster: LocalCluster, scraper: Prometheus, jobs: list[str]) -> None:
        self.expected = movements(self.PULLS, self.PUSHES, self.KNOWN, self.UNKNOWN)
        client = cluster.connect()
        table = client.table(TABLE)
        before = self._read(scraper, jobs)
        known = np.arange(10**6, 10**6 + self.KNOWN)
        for _ in range(self.PUSHES):
            table.push(known, np.ones((self.KNOWN, 4), np.float32))
        for _ in range(self.PULLS):
            table.pull(np.arange(10**6, 10**6 + self.KNOWN + self.UNKNOWN))
        after = self._read(scraper, jobs)
        client.close()
        self.grown = {
            job: {q: after[job][q] - before[job][q] for q in self.expected} for job in jobs
        }

    def _read(self, scraper: Prometheus, jobs: list[str]) -> dict[str, dict[str, float]]:
        for job in jobs:
            scraper.wait_for_scrape(job)
        return {
            job: {query: scraper.value(_of_job(query, job)) for query in self.expected}
            for job in jobs
        }

    def problems(self, job: str) -> list[str]:
        """Name the counters that did not grow by what was done."""
        return [
            f"{query} grew by {self.grown[job][query]:g}, not by {expected}"
            for query, expected in self.expected.items()
            if self.grown[job][query] != expected
        ]


@pytest.fixture(scope="module")
def movement(cluster, scraper) -> Movement:
    return Movement(cluster, scraper, ["hotrow", "doubled"])


def test_prometheus_has_the_families_of_the_reference(scraper) -> None:
    scraper.wait_for_scrape("hotrow")
    assert family_problems(scraper, "hotrow") == []


def test_counters_move_by_exactly_what_was_done(movement) -> None:
    assert movement.problems("hotrow") == []


def test_no_sample_comes_twice(cluster, scraper) -> None:
    assert repeated_samples(page_of(cluster)) == []
    assert scraper.health("hotrow") == ("up", "")


def test_ratios_and_states_are_in_their_ranges(scraper, movement) -> None:
    load = scraper.value(f'hotrow_slot_index_load_factor_ratio{{job="hotrow",table="{TABLE}"}}')
    assert 0 < load <= 1
    assert scraper.value(f'hotrow_unique_keys_ratio{{job="hotrow",table="{TABLE}"}}') == 1
    assert scraper.value('sum(hotrow_shard_state{job="hotrow"})') == 1
    assert scraper.value('hotrow_shard_state{job="hotrow",state="serving"}') == 1
    steps = scraper.value('hotrow_push_staleness_steps_count{job="hotrow"}')
    applied = scraper.value('hotrow_sub_pushes_total{job="hotrow",outcome="applied"}')
    assert 0 < steps == applied, "each sub-push was of one table"
    age = scraper.value(
        'hotrow_start_time_seconds{job="hotrow"} - on() process_start_time_seconds{job="hotrow"}'
    )
    assert age == 0, "two names of one moment"


def test_stages_add_up_to_the_duration(scraper, movement) -> None:
    for method in ("Pull", "Push"):
        stages = scraper.value(
            f'sum(hotrow_rpc_stage_duration_seconds_sum{{job="hotrow",method="{method}"}})'
        )
        whole = scraper.value(f'hotrow_rpc_duration_seconds_sum{{job="hotrow",method="{method}"}}')
        assert stages == pytest.approx(whole, rel=1e-6)


def test_promtool_finds_nothing_to_say(cluster) -> None:
    done = subprocess.run(
        [prometheus.program("promtool"), "check", "metrics"],
        input=page_of(cluster),
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@pytest.mark.parametrize("name", PLANTED)
def test_a_planted_error_is_reported(cluster, scraper, movement, name) -> None:
    scraper.wait_for_scrape(name)
    change, reported = PLANTED[name]
    problems = family_problems(scraper, name) + repeated_samples(change(page_of(cluster)))
    if name in movement.grown:
        problems += movement.problems(name)
    assert any(reported in problem for problem in problems), problems
