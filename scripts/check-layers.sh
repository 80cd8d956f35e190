#!/usr/bin/env bash
# Every folder may include only what its layer may see:
#
#   base <- kernel <- model <- format <- run <- compare | trace <- diagnose <- tune
#        <- report <- serve          record: on model and format
#
# A layer sees those to its left, compare and trace do not see each other, and what is
# outside the library (cli, examples, bench) sees plumb.h and its own folder only. Also says
# if two source files have the same name.
#     scripts/check-layers.sh [ROOT]
set -euo pipefail
cd "${1:-$(dirname "$0")/..}"

declare -A sees=(
    [base]=""
    [kernel]="base"
    [model]="base kernel"
    [format]="base kernel model"
    [record]="base kernel model format"
    [run]="base kernel model format"
    [compare]="base kernel model format run"
    [trace]="base kernel model format run"
    [diagnose]="base kernel model format run compare trace"
    [tune]="base kernel model format run compare trace diagnose"
    [report]="base kernel model format run compare trace diagnose tune"
    [serve]="base kernel model format run compare trace diagnose tune report"
    [cli]=""
)

bad=0
complain() {
    echo "$1" >&2
    bad=1
}

for folder in src/*/; do
    layer=$(basename "$folder")
    [ -n "${sees[$layer]+known}" ] || complain "src/$layer: not a layer; see scripts/check-layers.sh"
done

# file:line:included, for includes in quotes
includes() {
    grep -nHoE '^[[:space:]]*#[[:space:]]*include[[:space:]]*"[^"]+"' "$@" 2>/dev/null |
        sed -E 's/[[:space:]]*#[[:space:]]*include[[:space:]]*"([^"]+)"/\1/' || true
}

while IFS=: read -r file line included; do
    layer=$(cut -d/ -f2 <<<"$file")
    case $included in
    plumb.h) continue ;;
    */*) target=${included%%/*} ;;
    *) continue ;; # beside it
    esac
    [ "$target" = "$layer" ] && continue
    case " ${sees[$layer]-} " in
    *" $target "*) ;;
    *) complain "$file:$line: $layer must not include \"$included\"" ;;
    esac
done < <(includes src/*/*.c src/*/*.h src/*/*.def)

while IFS=: read -r file line included; do
    case $included in
    plumb.h) ;;
    */*) complain "$file:$line: only plumb.h and files beside it may be included" ;;
    esac
done < <(includes $(find examples bench lab python -name '*.[ch]' 2>/dev/null) /dev/null)

while read -r name; do
    complain "two files are called $name: $(find src -name "$name" | paste -sd' ')"
done < <(find src -name '*.[ch]' -printf '%f\n' | sort | uniq -d)

exit $bad
