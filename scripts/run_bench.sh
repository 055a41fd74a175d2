#!/usr/bin/env bash
# Runs the short benchmark set, one after the other: every bench/*_bench.py and bench/pull_bandwidth.py,
# then the quick start's training beside its local twin. Tables go to standard output and bench/out/,
# the plot to bench/out/training.png.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

out=bench/out
limit_seconds=900
mkdir -p "$out"
export HOTROW_SERVER=$build/release/bin/hotrow-server
for source in bench/pull_bandwidth.py bench/*_bench.py; do
  name=$(basename "$source" .py)
  say "running $name"
  timeout "$limit_seconds" "$venv/bin/python" -m "bench.$name" </dev/null | tee "$out/$name.txt"
done
say "running the quick start's training (plot: $out/training.png)"
timeout "$limit_seconds" "$venv/bin/python" client/python/examples/quickstart.py \
  --plot "$out/training.png" </dev/null | tee "$out/training.txt"
