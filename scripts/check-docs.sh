#!/usr/bin/env bash
# Runs the commands of every ```console block in docs/ in one fresh copy of the fixtures and
# compares the output with what the page says. A line "..." stands for any lines. With --update the
# pages are rewritten (blocks with "..." are left alone).
set -uo pipefail
cd "$(dirname "$0")/.."
root=$PWD
update=${1:-}
export PATH=$root/build/san:$PATH LC_ALL=C.UTF-8 TERM=dumb
unset PLUMB_CPU COLUMNS

work=build/golden/docs
mkdir -p build/golden
passed=0
failed=0

# One file a command: its first line is the command, the rest what is expected.
split() { # page, folder
    awk -v folder="$2" '
        /^```console$/ { inside = 1; next }
        /^```$/ { inside = 0; next }
        inside && /^\$ / { n++; file = sprintf("%s/%03d", folder, n); print substr($0, 3) >file; next }
        inside { print >>file }' "$1"
}

fits() { # expected, actual
    if grep -qx '\.\.\.' "$1"; then
        # Every line but the dots has to occur, in this order.
        awk 'NR == FNR { if ($0 != "...") want[++n] = $0; next } i < n && $0 == want[i + 1] { i++ } END { exit i != n }' \
            "$1" "$2"
    else
        diff -u "$1" "$2"
    fi
}

for page in docs/*.md; do
    rm -rf "$work" build/golden/commands
    cp -r build/fixtures "$work"
    mkdir build/golden/commands
    ln -s "$root/tests/interop" "$work/interop"
    split "$page" build/golden/commands
    for step in build/golden/commands/*; do
        [ -e "$step" ] || continue
        command=$(head -n 1 "$step")
        tail -n +2 "$step" >build/golden/want
        (cd "$work" && bash -c "$command") >build/golden/got 2>&1 </dev/null
        if [ "$update" = --update ] && ! grep -qx '\.\.\.' build/golden/want; then
            { echo "$command"; cat build/golden/got; } >"$step"
        elif fits build/golden/want build/golden/got; then
            passed=$((passed + 1))
        else
            echo "FAILED $page: $command"
            failed=$((failed + 1))
        fi
    done
    if [ "$update" = --update ]; then
        awk -v folder=build/golden/commands '
            /^```console$/ { inside = 1; print; next }
            /^```$/ { inside = 0 }
            inside && /^\$ / {
                file = sprintf("%s/%03d", folder, ++n)
                prefix = "$ "
                while ((getline line <file) > 0) { print prefix line; prefix = "" }
                next
            }
            !inside { print }' "$page" >build/golden/page && cp build/golden/page "$page"
    fi
done
if [ "$passed" -eq 0 ] && [ -z "$update" ]; then
    echo "FAILED docs: no command was run"
    failed=$((failed + 1))
fi
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
