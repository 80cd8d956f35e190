#!/usr/bin/env bash
# Runs test programs, prints a line each (the whole output if one fails) and ends with
# "N passed, M failed". A cmocka program counts as many tests as it reports; one that
# dies without a report counts as one failure.
set -uo pipefail
cd "$(dirname "$0")/.."

export ASAN_OPTIONS=${ASAN_OPTIONS:-detect_leaks=1:allocator_may_return_null=1}
export UBSAN_OPTIONS=${UBSAN_OPTIONS:-print_stacktrace=1}
mkdir -p build/tmp
export TMPDIR=$PWD/build/tmp

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

run_one() { # number, program: keeps output, exit code and milliseconds
    local start status
    start=$(date +%s%N)
    "$2" >"$work/$1.out" 2>&1
    status=$?
    echo "$status $((($(date +%s%N) - start) / 1000000))" >"$work/$1.end"
}

# As many at a time as there are processors; the report keeps the order.
number=0
for program in "$@"; do
    while [ "$(jobs -rp | wc -l)" -ge "$(nproc 2>/dev/null || echo 2)" ]; do
        wait -n
    done
    run_one "$number" "$program" &
    number=$((number + 1))
done
wait

passed=0
failed=0
number=0
for program in "$@"; do
    name=${program#*/tests/}
    status=255 ms=0
    [ ! -e "$work/$number.end" ] || read -r status ms <"$work/$number.end"
    output=$(cat "$work/$number.out")
    number=$((number + 1))
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
