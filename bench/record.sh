#!/usr/bin/env bash
# What recording costs: tensor values against dd in the same place, opening a run of five million
# tensor records, and the lab's steps with and without. Needs 4 GB of disk under build/ and exits
# with 1 if a figure is not reached.
set -euo pipefail
cd "$(dirname "$0")/.."
place=build/bench-record
rm -rf "$place"
mkdir -p "$place"
trap 'rm -rf "$place"' EXIT
bench=build/bin/bench/record
failed=0

check() { # condition for awk, text
    if awk "BEGIN { exit !($1) }"; then
        echo "  pass  $2"
    else
        echo "  FAIL  $2"
        failed=1
    fi
}
figure() { awk -v name="$1" '$1 == name { print $2 }'; } # from lines "name number unit"

echo "recording"
# First, while the page cache is as it was found: what the others write and remove makes new pages dear.
# Medians of pairs of trainings that take turns every fortieth of a second: processor time, the writer's thread included, is what counts;
# wall time and how far the pairs lie apart are shown beside it.
costs=$("$bench" lab "$place/lab")
of() { figure "$1" <<<"$costs"; }
for pair in watch:1.01 op:1.05; do
    level=${pair%:*}
    check "$(of "$level-processor") <= ${pair#*:}" \
        "the lab's gpt, level $level: $(of "$level-processor") times the processor time (at most ${pair#*:}; pairs $(of "$level-least") to $(of "$level-most")), $(of "$level-wall") times the wall time"
done
median() { sort -n | awk '{ line[NR] = $1 } END { print line[int((NR + 1) / 2)] }'; }
time_dd() { # GB/s of a plain write of as many bytes
    local start
    start=$(date +%s%N)
    dd if=/dev/zero of="$place/dd" bs=4M count=128 2>/dev/null
    awk "BEGIN { printf \"%.2f\\n\", 536.87 * 1e6 / ($(date +%s%N) - $start) }"
    rm "$place/dd"
}
# In turns, and the first does not count: page cache that was never used, or that a virtual machine's
# host took back, is slow. Half a gigabyte a turn is over before the host does.
for round in 0 1 2 3 4 5 6 7 8 9; do
    plain=$(time_dd)
    ours=$("$bench" values "$place/values" | figure values)
    rm -rf "$place/values"
    [ "$round" = 0 ] && continue
    echo "$plain" >>"$place/dd-rates"
    echo "$ours" >>"$place/values-rates"
done
dd_rate=$(median <"$place/dd-rates")
values=$(median <"$place/values-rates")
check "$values >= 1 || $values >= 0.5 * $dd_rate" \
    "tensor values $values GB/s (dd $dd_rate; at least 1 GB/s, or half of dd on a slower disk)"
rows=$("$bench" rows "$place/rows")
check "$(figure op <<<"$rows") < 3000" \
    "an op with three tensors of 16: $(figure op <<<"$rows") ns, $(figure op-known <<<"$rows") if they are known (below 3000); a point of a series: $(figure series <<<"$rows") ns"
rm -rf "$place/rows"

"$bench" make "$place/long"
opened=$("$bench" open "$place/long")
check "$(figure open <<<"$opened") < 200" "a run of $(figure records <<<"$opened") tensor records opens in $(figure open <<<"$opened") ms (below 200)"
check "$(figure peak <<<"$opened") < 50" "with a peak of $(figure peak <<<"$opened") MiB (below 50)"
rm -rf "$place/long"

exit $failed
