#!/usr/bin/env bash
# Installs into an empty place, then builds and runs examples/c/verdict.c against what is there,
# with pkg-config only: once with the shared and once with the static library. Then records a training with
# what is there, if the frameworks are.
set -uo pipefail
cd "$(dirname "$0")/.."
tree=$PWD
place=$tree/build/install-test
rm -rf "$place"
prefix=$place/usr

passed=0
failed=0
expect() { # what, command...
    local what=$1
    shift
    if "$@" >"$place/log" 2>&1; then
        passed=$((passed + 1))
    else
        echo "FAILED $what"
        cat "$place/log"
        failed=$((failed + 1))
    fi
}
mkdir -p "$place"
expect "make install" ${MAKE:-make} -s install PREFIX="$prefix"
for file in bin/plumb libexec/plumb/lab lib/libplumb.a lib/libplumb.so include/plumb.h lib/pkgconfig/plumb.pc \
    share/man/man1/plumb.1 share/man/man1/plumb-diff.1 share/bash-completion/completions/plumb; do
    expect "$file is installed" test -s "$prefix/$file"
done
expect "the installed command runs" "$prefix/bin/plumb" --version
expect "the completion is a shell script" bash -n "$prefix/share/bash-completion/completions/plumb"

export PKG_CONFIG_PATH=$prefix/lib/pkgconfig
cp examples/c/verdict.c build/fixtures/net.pth build/fixtures/net.ckpt build/fixtures/bad.ckpt "$place"
cd "$place" || exit 2
compiler=${CC:-cc}
# shellcheck disable=SC2046  # flags are words
expect "verdict.c builds with the shared library" \
    "$compiler" -std=c11 -Wall -Wextra -Werror verdict.c $(pkg-config --cflags --libs plumb) -o shared
# shellcheck disable=SC2046
expect "verdict.c builds with the static library" \
    "$compiler" -std=c11 -Wall -Wextra -Werror verdict.c $(pkg-config --cflags plumb) \
    "$prefix/lib/libplumb.a" $(pkg-config --static --libs-only-l plumb | sed 's/-lplumb//') -pthread \
    -o static
# shellcheck disable=SC2046
expect "verdict.c needs no SQLite with the static library" \
    "$compiler" -std=c11 -Wall -Wextra -Werror verdict.c $(pkg-config --cflags plumb) \
    "$prefix/lib/libplumb.a" $(pkg-config --static --libs-only-l plumb | sed 's/-lplumb//; s/-lsqlite3//') \
    -pthread -o without_sqlite
expect "the installed demo trains with the installed lab" \
    sh -c "$prefix/bin/plumb demo tour | grep '^\$ $prefix/bin/../libexec/plumb/lab train'"
expect "and leaves both runs" test -d tour/well -a -d tour/sick
if [ -e "$prefix/share/plumb/python" ]; then
    printf 'import sys\nassert "torch" not in sys.modules and "plumb" not in sys.modules\nprint("untouched")\n' >alone.py
    expect "a script without torch runs under the installed plumb run" \
        sh -c "$prefix/bin/plumb run --out alone -- python3 alone.py | grep ^untouched"
    expect "the installed package is whole" \
        env PYTHONPATH="$prefix/share/plumb/python" python3 -c 'import plumb, plumb.compat.catch; plumb.attach'
    if [ -x "$tree/build/venv/bin/python" ]; then
        expect "a training is recorded by the installed plumb run" \
            "$prefix/bin/plumb" run --level op --steps 0 --out recorded -- "$tree/build/venv/bin/python" \
            "$tree/examples/torch/gpt.py" --steps 2
        expect "and its loss can be shown" sh -c "$prefix/bin/plumb show recorded --series loss | grep loss"
    fi
else
    echo "SKIPPED plumb run: Python's headers are missing"
fi
export LD_LIBRARY_PATH=$prefix/lib
expect "it says identical by framework rules (shared)" sh -c './shared net.pth net.ckpt | grep ^identical'
expect "it says different (static)" sh -c './static net.pth bad.ckpt | grep ^different'
expect "a man page renders" sh -c "! command -v man >/dev/null || man -l $prefix/share/man/man1/plumb.1"

cd - >/dev/null || exit 2
expect "make install with DESTDIR" ${MAKE:-make} -s install DESTDIR="$place/root" PREFIX=/usr
expect "DESTDIR is honoured" test -x "$place/root/usr/bin/plumb"
expect "the pkg-config file does not know DESTDIR" sh -c "! grep -q '$place' '$place/root/usr/lib/pkgconfig/plumb.pc'"
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
