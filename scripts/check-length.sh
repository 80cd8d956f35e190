#!/usr/bin/env bash
# No function over 70 lines, no file over 1000 but the one public header; a file over 600 is mentioned. Relies on the
# format: a function's braces, and only those, stand alone in the first column.
#     scripts/check-length.sh [ROOT]
set -uo pipefail
cd "${1:-$(dirname "$0")/..}"

# shellcheck disable=SC2046  # folders that do not exist yet drop out
find $(ls -d src include lab python bench examples tests 2>/dev/null) -name '*.[ch]' -exec awk '
    function finish() {
        if (last > 1000 && name != "include/plumb.h") { printf "%s: %d lines, at most 1000: split it\n", name, last; bad = 1 }
        else if (last > 600) printf "%s: %d lines, getting long (600)\n", name, last
    }
    FNR == 1 { if (name) finish(); name = FILENAME; start = 0 }
    { last = FNR }
    /^\{$/ { start = FNR; head = previous }
    /^\}$/ && start {
        if (FNR - start + 1 > 70) {
            printf "%s:%d: a function of %d lines, at most 70: %s\n", FILENAME, start,
                FNR - start + 1, head
            bad = 1
        }
        start = 0
    }
    { previous = $0 }
    END { if (name) finish(); exit bad }' {} + >&2
