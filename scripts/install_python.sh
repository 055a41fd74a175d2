#!/usr/bin/env bash
# Builds the Python package and installs it into the environment at HOTROW_VENV.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

say "building and installing the Python package"
# The compiler that the other build trees take, whatever the interpreter was built with: ccache has
# seen most of the files.
export CXX=${CXX:-c++}
# --no-build-isolation: the pinned nanobind and scikit-build-core of the environment build it.
"$venv/bin/python" -m pip install --no-build-isolation --no-deps --force-reinstall --quiet \
  --disable-pip-version-check --config-settings "build-dir=$build/python" ./client/python </dev/null
