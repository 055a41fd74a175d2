#!/usr/bin/env bash
# Installs the Debian packages that a task needs: install_packages.sh [lint] [bench] [test] [fuzz]
# Without arguments: what building needs. Names are the same on Debian 12 and 13.
# Does nothing when all are installed. Without root it prints the one command to run and fails.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

packages=(
  g++ cmake ninja-build ccache pkg-config python3-dev python3-venv
  libgrpc++-dev protobuf-compiler-grpc protobuf-compiler libprotobuf-dev libabsl-dev
  librocksdb-dev libgflags-dev libxxhash-dev libssl-dev zlib1g-dev
  prometheus-cpp-dev libcivetweb-dev libcli11-dev libyaml-cpp-dev libspdlog-dev nlohmann-json3-dev
  libgtest-dev libgmock-dev libbenchmark-dev
)
for task in "$@"; do
  case $task in
    lint) packages+=(clang-19 clang-tidy-19 clang-format-19) ;;
    bench) packages+=(redis-server) ;;
    test) packages+=(prometheus) ;;  # scrapes the servers of the tests; brings promtool
    fuzz) packages+=(clang-19 libclang-rt-19-dev) ;;
    *) fail "install_packages.sh: unknown task '$task' (lint, bench, test, fuzz)" ;;
  esac
done

is_installed() {
  [ "$(dpkg-query -W -f='${db:Status-Status}' "$1" 2>/dev/null)" = installed ]
}

command -v dpkg-query >/dev/null ||
  fail "this is not a Debian system: install the equivalents of: ${packages[*]}"
missing=()
for package in "${packages[@]}"; do is_installed "$package" || missing+=("$package"); done
[ ${#missing[@]} -gt 0 ] || exit 0

if [ "$(id -u)" != 0 ]; then
  say "these packages are missing; run this once, then try again:"
  echo "sudo apt-get install -y ${missing[*]}" >&2
  exit 1
fi
say "installing ${#missing[@]} Debian packages: ${missing[*]}"
export DEBIAN_FRONTEND=noninteractive
# A list from an earlier day may name files that are gone: refresh it before giving up.
# RUNLEVEL: services that come with a package, such as prometheus, are not started.
install() { RUNLEVEL=1 apt-get install -y -q --no-install-recommends "${missing[@]}" </dev/null; }
apt-get update -q </dev/null
install || { apt-get update -q </dev/null && install; }
