#!/usr/bin/env bash
# Fuzzes the decoders of all data messages with libFuzzer, AddressSanitizer and UBSan: fuzz.sh [SECONDS]
# Starts from every sample message and from what earlier runs found worth keeping. An input that
# breaks something is written to build/fuzz/found and makes the run fail; run it again with
#   build/fuzz/bin/decode_fuzz build/fuzz/found/FILE
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

seconds=${1:-600}
tree=$build/fuzz
"$root/scripts/build.sh" fuzz decode_fuzz decode_seeds >&2
mkdir -p "$tree/seeds" "$tree/corpus" "$tree/found"
"$tree/bin/decode_seeds" "$tree/seeds"
say "fuzzing for $seconds s"
# Debian's gRPC, Abseil and protobuf are built by g++: its new and our free do not match in all cases.
ASAN_OPTIONS=alloc_dealloc_mismatch=0:${ASAN_OPTIONS:-} "$tree/bin/decode_fuzz" \
  -max_total_time="$seconds" -max_len=65536 -rss_limit_mb=2048 -timeout=10 -print_final_stats=1 \
  -artifact_prefix="$tree/found/" "$tree/corpus" "$tree/seeds"
