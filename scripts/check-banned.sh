#!/usr/bin/env bash
# Functions that have no place here: those that cannot be told a limit or cannot report an
# error, anywhere; printing and ending the process, inside the library; allocation that the
# torture test cannot make fail, outside base/memory.c.
#     scripts/check-banned.sh [ROOT]
set -uo pipefail
cd "${1:-$(dirname "$0")/..}"

unsafe='sprintf|vsprintf|strcpy|strcat|strncpy|strtok|atoi|atol|atof|sscanf|fscanf|scanf|strtol|strtoul|strtoll|strtoull|alloca|gets|system|popen'
talking='printf|vprintf|fprintf|vfprintf|puts|fputs|putchar|perror|exit|_exit|abort|quick_exit'
memory='malloc|calloc|realloc|reallocarray|free|strdup|strndup|asprintf|vasprintf|posix_memalign|aligned_alloc'

bad=0
# A call is the word followed by a parenthesis; comments are taken out first.
search() { # what they are, pattern, files...
    local what=$1 pattern=$2 found
    shift 2
    [ $# -gt 0 ] || return
    found=$(for file in "$@"; do
        awk -v file="$file" -v pattern="(^|[^A-Za-z0-9_])($pattern)[[:space:]]*\\(" '
            {
                text = $0
                if (inside) { if (sub(/^.*\*\//, "", text)) inside = 0; else next }
                while (match(text, /\/\*([^*]|\*[^\/])*\*\//))
                    text = substr(text, 1, RSTART - 1) substr(text, RSTART + RLENGTH)
                if (sub(/\/\*.*$/, "", text)) inside = 1
                sub(/\/\/.*$/, "", text)
                gsub(/"([^"\\]|\\.)*"/, "\"\"", text)
                if (text ~ pattern) print file ":" FNR ": " $0
            }' "$file"
    done)
    if [ -n "$found" ]; then
        echo "$what:" >&2
        echo "$found" >&2
        bad=1
    fi
}

mapfile -t everything < <(find src lab python bench examples tests -name "*.[ch]" 2>/dev/null)
mapfile -t library < <(find src -name '*.[ch]' -not -path 'src/cli/*')
mapfile -t allocating < <(find src -name '*.[ch]' -not -path src/base/memory.c -not -path 'src/cli/*')
search "banned everywhere" "$unsafe" "${everything[@]}"
search "the library does not print or end the process" "$talking" "${library[@]}"
search "allocate through base/memory.h" "$memory" "${allocating[@]}"
exit $bad
