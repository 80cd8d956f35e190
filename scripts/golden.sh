#!/usr/bin/env bash
# The command line, end to end: runs tests/golden/<case>/cmd in a fresh copy of build/fixtures
# and compares what it printed and its exit code with the files beside it (stdout, stderr,
# exit; a missing one means empty, or 0). With --update it writes them instead.
set -uo pipefail
cd "$(dirname "$0")/.."
root=$PWD
update=${1:-}
export PATH=$root/build/san:$PATH
export ASAN_OPTIONS=${ASAN_OPTIONS:-detect_leaks=1:allocator_may_return_null=1}
unset PLUMB_CPU COLUMNS
export LC_ALL=C.UTF-8 TERM=dumb

passed=0
failed=0
work=build/golden/work
mkdir -p build/golden
same() { # expected, actual: a missing file is an empty one
    if [ -e "$1" ]; then diff -u "$1" "$2"; else diff -u /dev/null "$2"; fi
}
for folder in tests/golden/*/; do
    name=$(basename "$folder")
    rm -rf "$work"
    cp -r build/fixtures "$work"
    ln -s "$root/tests/interop" "$work/interop"
    (cd "$work" && bash -e "$root/$folder/cmd") >build/golden/stdout 2>build/golden/stderr </dev/null
    echo $? >build/golden/exit
    if [ "$update" = --update ]; then
        for part in stdout stderr exit; do
            rm -f "$folder/$part"
            [ ! -s build/golden/$part ] || cp build/golden/$part "$folder/$part"
        done
        [ "$(cat "$folder/exit")" != 0 ] || rm "$folder/exit"
        continue
    fi
    [ -e "$folder/exit" ] && cp "$folder/exit" build/golden/want || echo 0 >build/golden/want
    if same "$folder/stdout" build/golden/stdout && same "$folder/stderr" build/golden/stderr &&
        same build/golden/want build/golden/exit; then
        passed=$((passed + 1))
    else
        echo "FAILED golden $name: $(tail -n 1 "$folder/cmd")"
        failed=$((failed + 1))
    fi
done
if [ "$update" = --update ]; then
    exit 0
fi
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
