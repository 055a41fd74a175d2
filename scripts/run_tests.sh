#!/usr/bin/env bash
# Runs every test against one build tree: run_tests.sh PRESET (release, dev, asan or tsan)
# Last line: "N passed, N failed", C++ and Python together. Fails when a test failed, when a runner
# did not finish, and when a runner found no test.
#   HOTROW_TEST_SECONDS  how long each of the two runners may take (default 1800, asan 3600)
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

preset=${1:?usage: run_tests.sh PRESET}
tree=$build/$preset
reports=$tree/reports
rm -rf "$reports"
mkdir -p "$reports"
export HOTROW_SERVER=$tree/bin/hotrow-server HOTROWCTL=$tree/bin/hotrowctl
export ASAN_OPTIONS=${ASAN_OPTIONS:-abort_on_error=1:strict_string_checks=1}
export UBSAN_OPTIONS=${UBSAN_OPTIONS:-print_stacktrace=1}
export TSAN_OPTIONS=${TSAN_OPTIONS:-halt_on_error=1:second_deadlock_stack=1:ignore_noninstrumented_modules=1:suppressions=$root/scripts/tsan.supp}

[ "$preset" = asan ] && limit_seconds=3600 || limit_seconds=1800
limit_seconds=${HOTROW_TEST_SECONDS:-$limit_seconds}
# Stops a runner that hangs: count_tests.py then misses its report.
bounded() {
  timeout --kill-after=30 "$limit_seconds" "$@" </dev/null && return
  local code=$?
  [ $code != 124 ] && [ $code != 137 ] || say "stopped after $limit_seconds s: $1"
  return $code
}

status=0
bounded ctest --test-dir "$tree" --output-on-failure -j2 --no-tests=error \
  --timeout 600 --output-junit "$reports/ctest.xml" || status=1
written=("$reports/ctest.xml")

# run_pytest [FOLDER...]: those tests besides the ones that always run
run_pytest() {
  # A test that takes longer than five minutes says where it stands.
  bounded "$venv/bin/python" -m pytest --junitxml="$reports/pytest.xml" -q -ra \
    -o faulthandler_timeout=300 tests/python tests/layering_test.py tests/lint "$@" || status=1
  written+=("$reports/pytest.xml")
}

case $preset in
  tsan) ;;  # the interpreter and PyTorch are not instrumented: their reports would mean nothing
  asan)
    # Not tests/deploy: these programs need other libraries than those of the image.
    # The interpreter is not linked with the sanitizer, so its runtime must be loaded first. The
    # interpreter and PyTorch keep memory to their end: leaks are looked for in the C++ tests.
    preload="$(gcc -print-file-name=libasan.so) $(gcc -print-file-name=libubsan.so)"
    PYTHONPATH=$build/asan/python LD_PRELOAD=$preload ASAN_OPTIONS=$ASAN_OPTIONS:detect_leaks=0 run_pytest
    ;;
  *) run_pytest tests/deploy ;;
esac

python3 scripts/count_tests.py "${written[@]}" || status=1
exit $status
