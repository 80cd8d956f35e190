#!/usr/bin/env bash
# The examples keep their promises: the demo runs and finds what was planted.
set -uo pipefail
cd "$(dirname "$0")/.."

passed=0
failed=0
expect() { # what, command...
    local what=$1
    shift
    if "$@"; then
        passed=$((passed + 1))
    else
        echo "FAILED $what"
        failed=$((failed + 1))
    fi
}
scripts/demo.sh >build/demo.log 2>&1
expect "the demo runs (build/demo.log)" test $? -eq 0
expect "the demo finds the planted layer" grep -q 'conv2.weight' build/demo.log
expect "the demo finds where the sick run went wrong" grep -q 'origin  rank 0  step 30  blocks.1.feed' \
    build/demo.log
expect "the demo shows the commands it runs" grep -q '^\$ plumb nan runs/sick$' build/demo.log
expect "the demo leaves its runs" test -d build/demo/runs/well -a -d build/demo/runs/sick
expect "verdict.c has at most 30 lines" test "$(wc -l <examples/c/verdict.c)" -le 30
build/bin/examples/c/verdict build/demo/net.pth build/demo/net.ckpt >build/verdict.log 2>&1
expect "verdict exits with 1 for the demo's files" test $? -eq 1
expect "verdict says different" grep -q '^different: ' build/verdict.log
build/bin/examples/c/verdict build/demo/net.pth build/demo/net.pth >build/verdict.log 2>&1
expect "verdict exits with 0 for a file and itself" test $? -eq 0
expect "verdict says identical" grep -q '^identical: ' build/verdict.log
build/bin/examples/c/verdict build/demo/net.pth build/demo/none >build/verdict.log 2>&1
expect "verdict exits with 2 for a missing file" test $? -eq 2
expect "record_loop.c has at most 40 lines" test "$(wc -l <examples/c/record_loop.c)" -le 40
rm -rf build/toy-run
build/bin/examples/c/record_loop build/toy-run >build/record.log 2>&1
expect "record_loop runs" test $? -eq 0
build/plumb show build/toy-run >build/record.log 2>&1
expect "plumb show reads its run" grep -q 'a run, closed; 1 rank, steps 0 to 49' build/record.log
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
