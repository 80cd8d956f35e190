#!/usr/bin/env bash
# Every global symbol of the static library starts with plumb_, and the shared library exports
# exactly what plumb.h declares.
#     scripts/check-symbols.sh [STATIC SHARED HEADER]
set -euo pipefail
cd "$(dirname "$0")/.."
static=${1:-build/libplumb.a}
shared=${2:-build/libplumb.so}
header=${3:-include/plumb.h}

bad=0
strangers=$(nm --defined-only --extern-only --format=posix "$static" |
    awk 'NF > 2 && $1 !~ /^plumb_/ { print $1 }' | sort -u)
if [ -n "$strangers" ]; then
    echo "$static: global symbols without the prefix plumb_ (static, or a better name):" >&2
    echo "$strangers" >&2
    bad=1
fi

exported=$(nm --dynamic --defined-only --format=posix "$shared" | awk '{ print $1 }' | sort -u)
declared=$(tr '\n' ' ' <"$header" | grep -oE 'PLUMB_API [^;]*;' | grep -oE 'plumb_[a-z0-9_]+\(' |
    tr -d '(' | sort -u)
extra=$(comm -23 <(echo "$exported") <(echo "$declared"))
if [ -n "$extra" ]; then
    echo "$shared exports what $header does not declare:" >&2
    echo "$extra" >&2
    bad=1
fi
missing=$(comm -13 <(echo "$exported") <(echo "$declared"))
if [ -n "$missing" ]; then
    echo "$header declares what $shared does not export:" >&2
    echo "$missing" >&2
    bad=1
fi
exit $bad
