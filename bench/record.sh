#!/usr/bin/env bash
# The recorder against dd in the same place, and opening a run of five million tensor records.
# Needs 4 GB of disk under build/.
set -euo pipefail
cd "$(dirname "$0")/.."
place=build/bench-record
rm -rf "$place"
mkdir -p "$place"
trap 'rm -rf "$place"' EXIT
bench=build/bin/bench/record

dd if=/dev/zero of="$place/warm" bs=4M count=512 2>/dev/null
rm "$place/warm"
dd if=/dev/zero of="$place/dd" bs=4M count=512 2>&1 | awk '/copied/ { print "dd", $(NF-1), $NF }'
rm "$place/dd"
"$bench" values "$place/values"
rm -rf "$place/values"
"$bench" rows "$place/rows"
rm -rf "$place/rows"
"$bench" make "$place/long"
"$bench" open "$place/long"
