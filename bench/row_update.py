"""P7: updates of a table in process, on one core, beside torch's sparse optimizers and FBGEMM.

Rows of dim 64 with their state, 1 M of them. Updates: batches of 8192 keys with gradients, as a
push brings them. Steps: 2048 bags of 20 keys, forward, backward and update. Rates are of processor
time.

FBGEMM runs when HOTROW_FBGEMM_PYTHON names an interpreter that has fbgemm_gpu (python -m venv, pip
install fbgemm-gpu-cpu with the torch it was built for); otherwise its published ratio to torch
stands in, marked as quoted.
"""

from __future__ import annotations

import argparse
import datetime
import os

from bench import harness, measures
from bench.measures import Bar, Figure, Measure
from bench.workload import Shape

OWN, TORCH, FBGEMM = "Hotrow", "torch", "FBGEMM"
KEYS = ("uniform", "zipf1.05")
# Ours -> the optimizer of torch that it is compared with.
PEER_NAMES = {
    "rowwise_adagrad": "torch Adagrad (it has no row-wise one)",
    "adagrad": "torch Adagrad",
    "adam": "torch SparseAdam",
}
STEP_OPTIMIZERS = ("adagrad", "sgd")
UPDATE_BAR = Bar("peer", at_least=3)
FBGEMM_BAR = Bar("peer", at_least=1.2)
LIMIT = "limit"
# M looked-up rows/s of a full step (torch, FBGEMM) from one published run on one core, dim 64, bags
# of 20: used as the ratio of both, for want of FBGEMM in this run.
QUOTED = {
    "step:adagrad:uniform": (0.88, 1.95),
    "step:adagrad:zipf1.05": (3.7, 6.9),
    "step:sgd:uniform": (3.8, 6.4),
    "step:sgd:zipf1.05": (10.0, 18.0),
}


def peers(fbgemm_python: str | None) -> list[harness.PeerSpec]:
    """Ours, torch, and FBGEMM where there is an interpreter for it."""
    program = (harness.program("row_update_bench"),)
    found = [
        harness.PeerSpec(OWN, command=program, kind="own"),
        harness.PeerSpec(TORCH, "torch_update_peer", kind="local"),
    ]
    if fbgemm_python:
        found.append(harness.PeerSpec(FBGEMM, "fbgemm_peer", kind="local", python=fbgemm_python))
    return found


def update_measures(results: harness.Results) -> list[Measure]:
    """Updates beside torch's optimizers."""
    own = results[OWN]
    limit = Figure.of("memcpy of 3 rows", own[LIMIT])
    found = []
    for optimizer, peer in PEER_NAMES.items():
        for keys in KEYS:
            operation = f"update:{optimizer}:{keys}"
            figure = Figure.of(peer, results[TORCH][operation])
            what = f"update, {optimizer}, {keys}"
            found.append(_measure(own[operation], what, figure, UPDATE_BAR, limit))
    return found


def step_measures(results: harness.Results) -> list[Measure]:
    """Full steps beside FBGEMM, of this run or quoted; torch's in the same run as the limit."""
    own, torch = results[OWN], results[TORCH]
    found = []
    for operation in QUOTED:
        _, optimizer, keys = operation.split(":")
        if FBGEMM in results:
            peer = Figure.of("FBGEMM, fused", results[FBGEMM][operation])
        else:
            peer = quoted(operation, torch[operation].median)
        what = f"step of bags of 20, {optimizer}, {keys}"
        found.append(_measure(own[operation], what, peer, FBGEMM_BAR, None))
        beside = Figure.of("torch", torch[operation])
        found.append(_measure(own[operation], what, beside, None, None))
    return found


def quoted(operation: str, torch_rate: float) -> Figure:
    """What FBGEMM would reach here if it were as much faster than torch as published."""
    torch, fbgemm = QUOTED[operation]
    rate = torch_rate * fbgemm / torch
    return Figure("FBGEMM (quoted ratio to torch, not of this run)", rate, quoted=True)


def _measure(
    own: harness.Series, what: str, peer: Figure, bar: Bar | None, limit: Figure | None
) -> Measure:
    return Measure("P7", what, "M rows/s", own.median, peer, limit, bar, measures.spread_of(own))


def main() -> None:
    """Run and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=7, help="counted rounds (default 7)")
    parser.add_argument("--rows", type=int, default=1_000_000, help="stored rows")
    arguments = parser.parse_args()
    fbgemm_python = os.environ.get("HOTROW_FBGEMM_PYTHON")
    found = []
    print(f"\n{datetime.date.today()}, {harness.machine()}\n")
    updates = {f"update:{o}:{k}": 20 for o in PEER_NAMES for k in KEYS} | {LIMIT: 20}
    steps = {f"step:{o}:{k}": 6 for o in STEP_OPTIMIZERS for k in KEYS}
    for operations, batch, specs, measured in (
        (updates, 8192, peers(None), update_measures),
        (steps, 40960, peers(fbgemm_python), step_measures),
    ):
        plan = harness.Plan(operations, arguments.rounds, clock="cpu")
        results = harness.run(specs, plan, Shape(rows=arguments.rows, batch=batch))
        print(harness.markdown(results, OWN, "M rows/s") + "\n")
        found += measured(results)
    measures.save("row_update", found)


if __name__ == "__main__":
    main()
