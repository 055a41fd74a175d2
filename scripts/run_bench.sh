#!/usr/bin/env bash
# Runs the short benchmark set: every bench/*_bench.cc, one after the other, then the quick start's
# training beside its local twin. Tables go to standard output and bench/out/, plots to bench/out/.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

out=bench/out
mkdir -p "$out"
export HOTROW_SERVER=$build/release/bin/hotrow-server
for source in bench/*_bench.cc; do
  [ -e "$source" ] || continue
  name=$(basename "$source" .cc)
  say "running $name"
  timeout 300 "$build/release/bin/$name" </dev/null | tee "$out/$name.txt"
done
say "running the quick start's training (plot: $out/training.png)"
timeout 300 "$venv/bin/python" client/python/examples/quickstart.py --plot "$out/training.png" \
  </dev/null | tee "$out/training.txt"
