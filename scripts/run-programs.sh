#!/usr/bin/env bash
# Runs test programs one after the other, a line each (the whole output if one fails), and
# ends with "N passed, M failed". A cmocka program counts as many tests as it reports; one that
# dies without a report counts as one failure.
set -uo pipefail
cd "$(dirname "$0")/.."

export ASAN_OPTIONS=${ASAN_OPTIONS:-detect_leaks=1:allocator_may_return_null=1}
export UBSAN_OPTIONS=${UBSAN_OPTIONS:-print_stacktrace=1}
mkdir -p build/tmp
export TMPDIR=$PWD/build/tmp

passed=0
failed=0
for program in "$@"; do
    name=${program#*/tests/}
    start=$(date +%s%N)
    output=$("$program" 2>&1)
    status=$?
    ms=$((($(date +%s%N) - start) / 1000000))
    read -r good bad < <(awk '
        /^\[  PASSED  \] [0-9]+ test/ { good += $4 }
        /^\[  FAILED  \] .*[0-9]+ test/ {
            match($0, /[0-9]+ test/)
            bad += substr($0, RSTART, RLENGTH) + 0
        }
        END { print good + 0, bad + 0 }' <<<"$output")
    if [ "$status" -ne 0 ] && [ "$bad" -eq 0 ]; then
        bad=1
    fi
    if [ "$bad" -gt 0 ] || [ $((good + bad)) -eq 0 ]; then
        [ "$bad" -gt 0 ] || bad=1
        printf '%s\n' "$output"
        printf 'FAILED %-36s %s of %s tests, exit %s\n' "$name" "$bad" $((good + bad)) "$status"
    else
        printf 'ok     %-36s %3s tests %6s ms\n' "$name" "$good" "$ms"
    fi
    passed=$((passed + good))
    failed=$((failed + bad))
done
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
