#!/usr/bin/env bash
# Runs suites (make targets) one after the other, keeps going when one fails, and ends with the
# total over all: "N passed, M failed". Each suite ends its own output with such a line; one
# that does not (a compile error, a crash) counts as one failure. Logs and counts are kept in
# build/results.
set -uo pipefail
cd "$(dirname "$0")/.."

results=build/results
rm -rf "$results"
mkdir -p "$results"
jobs=$(nproc 2>/dev/null || echo 2)
total_passed=0
total_failed=0
table=""
for suite in "$@"; do
    echo "== $suite"
    start=$(date +%s)
    ${MAKE:-make} --no-print-directory -s -j"$jobs" "$suite" 2>&1 | tee "$results/$suite.log"
    status=${PIPESTATUS[0]}
    counts=$(grep -E '^[0-9]+ passed, [0-9]+ failed$' "$results/$suite.log" | tail -n 1)
    passed=${counts%% passed*}
    failed=${counts##*, }
    failed=${failed%% failed}
    passed=${passed:-0}
    failed=${failed:-0}
    if [ -z "$counts" ] || { [ "$status" -ne 0 ] && [ "$failed" -eq 0 ]; }; then
        failed=$((failed + 1))
    fi
    echo "$passed $failed" >"$results/$suite"
    total_passed=$((total_passed + passed))
    total_failed=$((total_failed + failed))
    table+=$(printf '%-14s %6d passed %4d failed %5d s' "$suite" "$passed" "$failed" \
        $(($(date +%s) - start)))$'\n'
done
printf '== summary\n%s' "$table"
echo "$total_passed passed, $total_failed failed"
[ "$total_failed" -eq 0 ]
