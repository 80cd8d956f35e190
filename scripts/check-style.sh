#!/usr/bin/env bash
# Runs every check of the source's shape and counts them.
set -uo pipefail
cd "$(dirname "$0")/.."

passed=0
failed=0
run() {
    if "$@"; then
        passed=$((passed + 1))
    else
        echo "FAILED $*"
        failed=$((failed + 1))
    fi
}
run env MAKEFLAGS= make --no-print-directory -s format-check
run scripts/check-layers.sh
run scripts/check-banned.sh
run scripts/check-symbols.sh
run scripts/check-length.sh
run scripts/check-checks.sh
run scripts/check-depth.sh
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
