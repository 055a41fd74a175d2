#!/usr/bin/env bash
# Formats all C++ and Python files in place; with --check it only says which are not formatted.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

mapfile -t cpp < <(git ls-files --cached --others --exclude-standard -- '*.h' '*.cc' '*.cu' '*.cuh')
case ${1:-} in
  --check)
    status=0
    clang-format-19 --dry-run --Werror "${cpp[@]}" || status=1
    "$venv/bin/ruff" format --check --quiet . || status=1
    [ $status = 0 ] || fail "not formatted: run make format"
    ;;
  '')
    clang-format-19 -i "${cpp[@]}"
    "$venv/bin/ruff" format --quiet .
    ;;
  *) fail "usage: format.sh [--check]" ;;
esac
