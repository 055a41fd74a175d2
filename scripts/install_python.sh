#!/usr/bin/env bash
# Builds the Python package and installs it into the environment at HOTROW_VENV.
# install_python.sh [SANITIZERS]: with sanitizers ("address,undefined"), into $HOTROW_BUILD/asan/python
# instead, for PYTHONPATH; the environment keeps the plain one.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

sanitizers=${1:-}
# --no-build-isolation: the pinned nanobind and scikit-build-core of the environment build it.
options=(--no-build-isolation --no-deps --force-reinstall --disable-pip-version-check --quiet)
if [ -n "$sanitizers" ]; then
  target=$build/asan/python
  rm -rf "$target"
  options+=(--target "$target" -C "build-dir=$build/asan/python-build"
            -C "cmake.define.HOTROW_SANITIZE=$sanitizers" -C cmake.build-type=RelWithDebInfo)
  say "building the Python module with $sanitizers"
else
  options+=(-C "build-dir=$build/python")
  say "building and installing the Python package"
fi
"$venv/bin/python" -m pip install "${options[@]}" ./client/python </dev/null
