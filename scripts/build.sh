#!/usr/bin/env bash
# Configures and builds one preset of CMakePresets.json in $HOTROW_BUILD/PRESET: build.sh PRESET [TARGET...]
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

preset=${1:?usage: build.sh PRESET [TARGET...]}
shift
tree=$build/$preset
python=$venv/bin/python
configure() { cmake "$@" --preset "$preset" -S "$root" -B "$tree" "-DPython_EXECUTABLE=$python"; }
# ninja configures again by itself when a CMake file changes, but not for another preset or clone.
if [ ! -e "$tree/build.ninja" ] || [ CMakePresets.json -nt "$tree/build.ninja" ]; then
  configure
elif ! grep -q "^Python_EXECUTABLE:[A-Z]*=$python\$" "$tree/CMakeCache.txt"; then
  # What was found beside the former interpreter, such as nanobind, must not stay.
  configure --fresh
fi
cmake --build "$tree" ${1:+--target "$@"}
