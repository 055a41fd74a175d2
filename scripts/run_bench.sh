#!/usr/bin/env bash
# Runs the short benchmark set, one after the other, in a few minutes. Tables go to standard output
# and to bench/out/NAME.txt, the ratios of our rates to the peers' to bench/out/bench.png.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

out=bench/out
limit_seconds=240
mkdir -p "$out"
rm -f "$out"/*.txt "$out"/*.json "$out/bench.png"
export HOTROW_SERVER=$build/release/bin/hotrow-server

run() {
  local name=$1
  shift
  say "running $name"
  timeout --kill-after=10 "$limit_seconds" "$@" </dev/null | tee "$out/$name.txt"
}

run pull_push_bench "$venv/bin/python" -m bench.pull_push_bench --rounds 5 --calls 10 --rows 500000
run pull_bandwidth "$venv/bin/python" -m bench.pull_bandwidth
run row_store_bench "$build/release/bin/row_store_bench" 1000000
run kernel_bench "$build/release/bin/kernel_bench" 200000
"$venv/bin/python" -m bench.plot
