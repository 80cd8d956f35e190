#!/usr/bin/env bash
# Every folder under src, at any depth, may include only what its line in src/LAYERS says. What is
# outside the library (cli, examples, bench, lab, python) sees the public headers and its own folder.
# Also says if two source files have the same name.
#     scripts/check-layers.sh [ROOT]
set -euo pipefail
cd "${1:-$(dirname "$0")/..}"

bad=0
complain() {
    echo "$1" >&2
    bad=1
}

# file:line:included, for includes in quotes
includes() { # folders...
    find "$@" \( -name '*.[ch]' -o -name '*.def' \) -exec grep -nHoE \
        '^[[:space:]]*#[[:space:]]*include[[:space:]]*"[^"]+"' {} + 2>/dev/null |
        sed -E 's/[[:space:]]*#[[:space:]]*include[[:space:]]*"([^"]+)"/\1/' || true
}

# shellcheck disable=SC2016  # the dollars are awk's
{
    find src -mindepth 1 -type d | sed 's|^src/|folder:|'
    includes src
} | awk -F: '
    FNR == NR {
        sub(/#.*/, "")
        if ($1 == "") next
        gsub(/ /, "", $1)
        known[$1] = 1
        count = split($2, names, " ")
        for (i = 1; i <= count; i++) sees[$1, names[i]] = 1
        next
    }
    function within(inner, outer) { return inner == outer || index(inner, outer "/") == 1 }
    function may(from, to,    pair, names) {
        if (within(from, to)) return 1
        for (pair in sees) {
            split(pair, names, SUBSEP)
            if (within(from, names[1]) && within(to, names[2]) && !within(from, names[2])) return 1
        }
        return 0
    }
    function say(text) { print text >"/dev/stderr"; bad = 1 }
    $1 == "folder" {
        if (!($2 in known)) say("src/" $2 ": not a layer; src/LAYERS lists them")
        next
    }
    {
        from = $1
        sub(/^src\//, "", from)
        sub(/\/[^\/]*$/, "", from)
        if ($3 !~ /\// || $3 ~ /^plumb\//) next # beside it, or public
        to = $3
        sub(/\/[^\/]*$/, "", to)
        if (!may(from, to)) say($1 ":" $2 ": " from " must not include \"" $3 "\"")
    }
    END { exit bad }' src/LAYERS - || bad=1

while IFS=: read -r file line included; do
    case $included in
    plumb.h | plumb/*) continue ;;
    esac
    program=${file%%/*}
    # Inside a program a path counts from the program's own folder.
    [ -e "$program/$included" ] || [ -e "$program/src/$included" ] || [ -e "${file%/*}/$included" ] ||
        complain "$file:$line: only the public headers and files of its own program may be included"
done < <(includes $(ls -d examples bench lab python 2>/dev/null) /dev/null)

while read -r name; do
    complain "two files are called $name: $(find src -name "$name" | paste -sd' ')"
done < <(find src -name '*.[ch]' -printf '%f\n' | sort | uniq -d)

exit $bad
