# shellcheck shell=bash disable=SC2034
# Sourced by the other scripts: where things are, and how a step says what it does.
# Sets: root (the checkout), venv and build (HOTROW_VENV and HOTROW_BUILD, made absolute).

set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$root"

absolute() { case $1 in /*) echo "$1" ;; *) echo "$root/$1" ;; esac; }
venv=$(absolute "${HOTROW_VENV:-.venv}")
build=$(absolute "${HOTROW_BUILD:-build}")

say() { echo "hotrow: $*" >&2; }
fail() { say "$*"; exit 1; }
