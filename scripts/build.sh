#!/usr/bin/env bash
# Configures and builds one preset of CMakePresets.json in $HOTROW_BUILD/PRESET: build.sh PRESET [TARGET...]
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

preset=${1:?usage: build.sh PRESET [TARGET...]}
shift
tree=$build/$preset
# ninja configures again by itself when a CMake file changes, but not for another preset or clone.
if [ ! -e "$tree/build.ninja" ] || [ CMakePresets.json -nt "$tree/build.ninja" ]; then
  cmake --preset "$preset" -S "$root" -B "$tree" "-DPython_EXECUTABLE=$venv/bin/python"
fi
cmake --build "$tree" ${1:+--target "$@"}
