#!/usr/bin/env bash
# Runs clang-tidy on the product's C++ files: tidy.sh [FILE...]. Takes minutes for all.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

files=("$@")
[ ${#files[@]} -gt 0 ] || mapfile -t files < <(git ls-files -- 'kernels/*.cc' 'proto/*.cc' 'server/*.cc' 'client/*.cc' ':!client/python')
printf '%s\0' "${files[@]}" |
  xargs -0 -n 1 -P "$(nproc)" clang-tidy-19 --quiet -p "$build/thread-safety"
