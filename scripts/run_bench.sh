#!/usr/bin/env bash
# Runs the short benchmark set, one after the other, in a few minutes. What each prints goes to
# standard output and to bench/out/NAME.txt; at the end come one table of all measures with their
# bars (also bench/out/table.md) and one plot (bench/out/bench.png).
# A missed bar is told in the table and is no error; a benchmark that does not finish is.
#   HOTROW_FBGEMM_PYTHON  interpreter with fbgemm_gpu, for P7 (default: its published ratio)
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

out=bench/out
limit_seconds=400
mkdir -p "$out"
rm -f "$out"/*.txt "$out"/*.json "$out"/*.md "$out/bench.png"
export HOTROW_SERVER=$build/release/bin/hotrow-server HOTROW_BUILD=$build
failed=()

# run NAME [OPTION...]: the benchmark bench/NAME.py
run() {
  local name=$1
  shift
  say "running $name ($SECONDS s so far)"
  timeout --kill-after=10 "$limit_seconds" "$venv/bin/python" -m "bench.$name" "$@" </dev/null |
    tee "$out/$name.txt" || failed+=("$name")
}

run pull_bandwidth
run pull_push_bench --rounds 5 --calls 10
run latency
run row_store --rows 1000000
run row_update --rounds 5
run pooling --rounds 5
run many_tables
run quick_start
"$venv/bin/python" -m bench.report
[ ${#failed[@]} = 0 ] || fail "did not finish: ${failed[*]}"
