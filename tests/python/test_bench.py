"""The benchmarks' measures, table and plot, and that they can fail."""

import json
import math
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from bench import (
    harness,
    latency,
    many_tables,
    measures,
    plot,
    pooling,
    pull_bandwidth,
    pull_push_bench,
    quick_start,
    report,
    row_store,
    row_update,
)
from bench.measures import Bar, Figure, Measure
from bench.pull_push_bench import OWN, PEERS

BAR2 = Bar("peer", at_least=2)


def series(value):
    return harness.Series([value / 2, value, value * 2])


def results_of(figures):
    """Results with one figure for each operation of each peer."""
    return {
        peer: {operation: series(value) for operation, value in operations.items()}
        for peer, operations in figures.items()
    }


# Measures


def measure(ours, peer=1.0, bar=None, **more):
    return Measure("P0", "planted", "M rows/s", ours, Figure("peer", peer), bar=bar, **more)


@pytest.mark.parametrize(
    ("bar", "met", "missed"),
    [
        (Bar("peer", at_least=2), 2.0, 1.99),
        (Bar("peer", at_most=1.5), 1.5, 1.51),
        (Bar("peer", at_least=2), 3.0, math.nan),
        (Bar("limit", at_least=0.0001), 1.0, 0.00001),
    ],
)
def test_a_bar_is_met_or_missed_by_the_ratio_of_the_run(bar, met, missed):
    limit = Figure("limit", 1.0)
    assert measure(met, bar=bar, limit=limit).verdict == measures.MET
    assert measure(missed, bar=bar, limit=limit).verdict == measures.MISSED


def test_a_peer_that_was_held_up_in_most_rounds_does_not_meet_our_bar():
    """Medians say 3x, the best rounds 1.5x."""
    held_up = Figure.of("peer", harness.Series([1.0, 1.0, 2.0]))
    judged = Measure("P0", "", "M rows/s", 3.0, held_up, bar=BAR2, spread=(2.9, 3.0))
    assert (judged.ratio("peer"), judged.best_ratio("peer")) == (3.0, 1.5)
    assert judged.verdict == measures.MISSED and judged.margin == 0.75
    times = Figure.of("peer", harness.Series([100.0, 300.0, 300.0]), "us")
    slow = Measure(
        "P0", "", "us", 300.0, times, bar=Bar("peer", at_most=1.5), spread=(200.0, 400.0)
    )
    assert (slow.best_ratio("peer"), slow.verdict) == (2.0, measures.MISSED)


def test_a_bar_without_the_figure_that_it_is_about_is_missed():
    assert measure(5.0, peer=0.0, bar=Bar("peer", at_least=1)).verdict == measures.MISSED
    assert measure(5.0, bar=Bar("limit", at_least=1)).verdict == measures.MISSED
    assert measure(5.0).verdict == measures.NO_BAR


def test_the_file_says_machine_date_and_load_and_gives_the_measures_back(tmp_path):
    kept = [
        measure(2.0, bar=Bar("peer", at_least=1), spread=(1.0, 3.0)),
        measure(3.0, limit=Figure("limit", 4.0)),
    ]
    record = json.loads(measures.save("planted", kept, tmp_path).read_text())
    assert record["machine"] == harness.machine() and record["date"][:2] == "20"
    assert record["load"] >= 0
    assert measures.load(tmp_path / "planted.json") == kept


def test_the_table_shows_figures_ratios_and_bars():
    line = measures.table([measure(3.0, 1.5, Bar("peer", at_least=1.2), spread=(2.0, 4.0))])
    cells = [cell.strip() for cell in line.splitlines()[-1].strip("|").split("|")]
    assert cells == [
        "P0 planted",
        "3 (2 - 4) M rows/s",
        "1.5 peer",
        "-",
        "2.00x",
        "-",
        "-",
        ">= 1.2 x peer",
        "met",
    ]


# Report


@pytest.fixture
def reported(tmp_path, capsys):
    """Report on planted measures: a function from their list to (exit code, what was printed)."""

    def run(*planted):
        measures.save("latency", planted, tmp_path)
        code = report.main(tmp_path)
        return code, capsys.readouterr().out

    return run


def test_a_missed_bar_is_told_but_is_no_error(reported, tmp_path):
    bar = Bar("peer", at_least=2)
    code, printed = reported(measure(3.0, bar=bar), measure(1.0, bar=bar))
    assert code == 0
    lines = [line for line in printed.splitlines() if line.startswith("| P0")]
    assert [line.rsplit("|", 2)[1].strip() for line in lines] == ["met", "MISSED"]
    assert printed.count("MISSED P0 planted") == 1
    assert harness.machine() in printed
    assert (tmp_path / "bench.png").read_bytes().startswith(b"\x89PNG")
    assert "MISSED" in (tmp_path / "table.md").read_text()


@pytest.mark.parametrize(("load", "busy"), [(0.5, False), (99.0, True)])
def test_a_busy_machine_is_told(reported, monkeypatch, load, busy):
    monkeypatch.setattr("os.getloadavg", lambda: (load, load, load))
    monkeypatch.setattr("os.cpu_count", lambda: 2)
    assert ("BUSY MACHINE" in reported(measure(3.0))[1]) == busy


def test_a_wrong_peer_turns_the_verdict(reported):
    """The same figure of ours beside a peer that is planted three times as fast."""
    bar = Bar("peer", at_least=2)
    assert "| met |" in reported(measure(3.0, peer=1.0, bar=bar))[1]
    assert "| met |" not in reported(measure(3.0, peer=3.0, bar=bar))[1]


def test_a_benchmark_that_left_nothing_is_a_missed_line(reported):
    _, printed = reported(measure(3.0))
    missing = [line for line in printed.splitlines() if "NOT MEASURED" in line and "|" in line]
    assert len(missing) == len(report.BENCHMARKS) - 1
    assert all(line.endswith("| MISSED |") for line in missing)


def test_the_report_of_nothing_fails(tmp_path, capsys):
    assert report.main(tmp_path) == 1
    assert "run the benchmarks first" in capsys.readouterr().err


def test_the_plot_shows_the_margin_over_the_bar(tmp_path):
    at_most = measure(2.0, bar=Bar("peer", at_most=1.5))
    at_least = measure(3.0, bar=Bar("peer", at_least=1.5))
    assert [m.margin for m in (at_most, at_least)] == [0.75, 2.0]
    without = [measure(1.0), measures.not_measured("P9", "gone")]
    assert plot.drawn([at_most, *without]) == [at_most]


# What each benchmark makes of its figures


def verdicts(found):
    return [m.verdict for m in found]


def pull_push_results(own, rpc_tcp, shared, local):
    operations = ("pull", "pull4", "push", "push_pull")
    figures = {OWN: own, pull_push_bench.RPC_TCP: rpc_tcp, PEERS[2].name: shared}
    figures |= {PEERS[6].name: local, pull_push_bench.LIMIT: 10.0}
    return results_of({name: dict.fromkeys(operations, value) for name, value in figures.items()})


def test_pulls_are_beside_rpc_over_tcp_and_pushes_beside_the_best_networked_peer():
    found = pull_push_bench.measures_of(pull_push_results(3.0, 2.0, 1.0, 9.0), "uniform")
    assert [m.id for m in found] == ["P2", "P2", "P3", "P3"]
    assert [m.ratio("peer") for m in found] == [1.5] * 4
    assert verdicts(found) == ["met", "met", "MISSED", "MISSED"]
    # In process is no network: it is not the peer. Shared memory is.
    shared = pull_push_bench.measures_of(pull_push_results(3.0, 1.0, 2.9, 9.0), "uniform")
    assert shared[2].peer == Figure(PEERS[2].name, 2.9, 5.8)
    assert verdicts(shared) == ["met", "met", "MISSED", "MISSED"]


def test_the_payload_rate_is_judged_by_the_raw_socket():
    cases = {"1 MiB": 1.0}
    names = ("Hotrow TCP", "Hotrow Unix", "raw TCP request/reply", "raw Unix request/reply")
    figures = dict(zip(names, (1.4, 1.0, 2.0, 4.0), strict=True))
    figures["protobuf bytes stream, TCP"] = 1.0
    results = results_of({name: dict.fromkeys(cases, value) for name, value in figures.items()})
    found = pull_bandwidth.measures_of(results)
    assert [(m.ratio("limit"), m.verdict) for m in found] == [(0.7, "met"), (0.25, "-")]


def test_latency_is_judged_by_the_empty_call_and_by_its_own_middle():
    own = {"256 keys, p50": 140, "256 keys, p99": 800, "8192 keys, p50": 900, "8192 keys, p99": 990}
    empty = dict.fromkeys(own, 100)
    results = results_of(
        {"Hotrow": own, "empty unary gRPC call": empty, "raw TCP, same bytes": empty}
    )
    found = latency.measures_of(results)
    assert verdicts(found) == ["met", "MISSED", "-", "met"]


def test_many_tables_are_judged_by_one():
    case = many_tables.CASE
    for one, verdict in ((100, "met"), (99, "MISSED")):
        results = results_of({"26 tables": {case: 130}, "one table": {case: one}})
        assert verdicts(many_tables.measures_of(results)) == [verdict]


def test_the_row_store_is_judged_by_the_faster_map():
    figures = {"row store": 6.0, row_store.PEERS[0]: 3.0, row_store.PEERS[1]: 5.0, "memcpy": 9.0}
    found = row_store.measures_of(
        results_of({n: {"pull": v} for n, v in figures.items()}), "4 rows"
    )
    assert found[0].peer.value == 5.0 and verdicts(found) == ["MISSED"]


def row_update_results(**rates):
    operations = [f"update:{o}:{k}" for o in row_update.PEER_NAMES for k in row_update.KEYS]
    operations += [*row_update.QUOTED, "limit"]
    return results_of({name: dict.fromkeys(operations, rate) for name, rate in rates.items()})


def test_updates_are_judged_by_torch_and_steps_by_fbgemm():
    results = row_update_results(Hotrow=3.0, torch=1.0, FBGEMM=3.0)
    assert set(verdicts(row_update.update_measures(results))) == {"met"}
    steps = row_update.step_measures(results)
    assert verdicts(steps) == ["MISSED", "-"] * 4 and steps[0].peer.value == 3.0
    slower = row_update_results(Hotrow=2.9, torch=1.0)
    assert set(verdicts(row_update.update_measures(slower))) == {"MISSED"}


def test_without_fbgemm_its_quoted_ratio_to_torch_stands_in_and_says_so():
    steps = row_update.step_measures(row_update_results(Hotrow=3.0, torch=0.88))
    assert steps[0].peer.value == pytest.approx(1.95)
    assert "not of this run" in steps[0].peer.name
    assert {step.verdict for step in steps} == {"quoted", "-"}


def test_pooling_shows_the_worse_of_both_kinds_of_keys():
    operations = pooling.operations(1)
    own = dict.fromkeys(operations, 1.0) | {"forward:max:uniform:1": 0.5}
    results = results_of({"Hotrow": own, "torch": dict.fromkeys(operations, 1.0)})
    found = pooling.measures_of(results, 1)
    assert verdicts(found) == ["met", "met", "MISSED", "met", "met", "met"]
    assert "uniform" in found[2].what and found[2].ratio("peer") == 0.5


def test_the_quick_start_is_read_from_what_it_prints():
    printed = "results:\n  samples/s                 64,557          83,377\n  torch threads 1 1\n"
    (found,) = quick_start.measures_of(printed)
    assert (found.ours, found.peer.value, found.verdict) == (64557, 83377, "MISSED")
    with pytest.raises(ValueError, match="no samples/s"):
        quick_start.measures_of("results:\n")
