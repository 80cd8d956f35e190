#!/usr/bin/env bash
# Plants one violation after the other in a throw-away tree and sees each check object, so that
# a check that can no longer fail is noticed.
set -uo pipefail
here=$(cd "$(dirname "$0")" && pwd)
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT

bad=0
tree() { # a clean tree
    rm -rf "${root:?}"/*
    mkdir -p "$root"/{src/{base,kernel,compare,trace,cli},include,examples/c,bench,tests}
    printf '#include "base/b.h"\n' >"$root/src/kernel/k.c"
    printf '/* printf( in a comment, "exit(" too */\nint plumb_b(void);\n' >"$root/src/base/b.h"
    printf '#include "plumb.h"\n#include <stdio.h>\n' >"$root/src/cli/c.c"
    cp "$root/src/cli/c.c" "$root/examples/c/e.c"
    printf 'base:\nkernel: base\ncompare: base kernel\ncompare/verdict:\ncompare/runs: compare/verdict\ncompare/runs/deep:\ntrace: base kernel\ncli:\n' \
        >"$root/src/LAYERS"
}
expect() { # status, what was planted, check, arguments...
    local want=$1 what=$2
    shift 2
    "$here/$@" >/dev/null 2>&1
    if [ $? -ne "$want" ]; then
        echo "$1: exit $want expected with $what" >&2
        bad=1
    fi
}

for check in layers banned length; do
    tree
    expect 0 "a clean tree" "check-$check.sh" "$root"
done

tree && printf '#include "kernel/k.h"\n' >>"$root/src/base/b.h"
expect 1 "base including kernel" check-layers.sh "$root"
tree && printf '#include "trace/t.h"\n' >"$root/src/compare/c2.c"
expect 1 "compare including trace" check-layers.sh "$root"
tree && mkdir -p "$root/src/compare/runs/deep" && printf '#include "trace/t.h"\n' >"$root/src/compare/runs/deep/c3.c"
expect 1 "compare including trace, two folders down" check-layers.sh "$root"
tree && mkdir -p "$root/src/compare/"{runs,verdict} && printf '#include "compare/runs/r.h"\n' >"$root/src/compare/verdict/v.c"
expect 1 "a room including one to its right" check-layers.sh "$root"
tree && mkdir -p "$root/src/compare/runs/deep" && printf '#include "compare/verdict/v.h"\n#include "compare/runs/r.h"\n' >"$root/src/compare/runs/deep/r.c"
expect 0 "a room including those to its left and those it lies in" check-layers.sh "$root"
tree && mkdir -p "$root/src/compare/misc"
expect 1 "an unknown room" check-layers.sh "$root"
tree && mkdir -p "$root/src/compare/runs/deep" && touch "$root/src/compare/runs/deep/b.h"
expect 1 "two files of one name at different depths" check-layers.sh "$root"
tree && printf '#include "base/b.h"\n' >>"$root/src/cli/c.c"
expect 1 "cli including base" check-layers.sh "$root"
tree && printf '#include "base/b.h"\n' >>"$root/examples/c/e.c"
expect 1 "an example including base" check-layers.sh "$root"
tree && mkdir "$root/src/util"
expect 1 "an unknown layer" check-layers.sh "$root"
tree && touch "$root/src/base/k.c"
expect 1 "two files of one name" check-layers.sh "$root"

tree && mkdir -p "$root/src/compare/runs/deep" && printf 'void f(void) { printf("x"); }\n' >"$root/src/compare/runs/deep/p.c"
expect 1 "printf two folders down" check-banned.sh "$root"
tree && printf 'int f(void) { return atoi("1"); }\n' >>"$root/src/cli/c.c"
expect 1 "atoi in the cli" check-banned.sh "$root"
tree && printf 'void f(void) { printf("x"); }\n' >>"$root/src/kernel/k.c"
expect 1 "printf in the library" check-banned.sh "$root"
tree && printf 'void f(void) { exit(1); } /* why */\n' >>"$root/src/kernel/k.c"
expect 1 "exit in the library" check-banned.sh "$root"
tree && printf 'void *f(void) { return malloc(1); }\n' >>"$root/src/kernel/k.c"
expect 1 "malloc outside memory.c" check-banned.sh "$root"
tree && printf 'void f(void) { printf("x"); }\n' >>"$root/src/cli/c.c"
expect 0 "printf in the cli" check-banned.sh "$root"

lines() { yes "    x++;" | head -n "$1"; }
tree && { printf 'void f(void)\n{\n'; lines 69; printf '}\n'; } >>"$root/src/base/b.h"
expect 1 "a function of 71 lines" check-length.sh "$root"
tree && { printf 'void f(void)\n{\n'; lines 68; printf '}\n'; } >>"$root/src/base/b.h"
expect 0 "a function of 70 lines" check-length.sh "$root"
tree && lines 1001 >"$root/src/base/b.h"
expect 1 "a file of 1001 lines" check-length.sh "$root"

symbols() { # source, header
    printf '%s\n' "$1" >"$root/s.c"
    printf '%s\n' "$2" >"$root/s.h"
    ${CC:-gcc} -fPIC -c -o "$root/s.o" "$root/s.c" && ar rcs "$root/s.a" "$root/s.o" &&
        ${CC:-gcc} -shared -o "$root/s.so" "$root/s.o"
}
declared='PLUMB_API int plumb_f(void);'
symbols 'int plumb_f(void) { return 1; }' "$declared"
expect 0 "a clean library" check-symbols.sh "$root/s.a" "$root/s.so" "$root/s.h"
symbols 'int plumb_f(void) { return 1; } int other(void) { return 1; }' "$declared"
expect 1 "a symbol without prefix" check-symbols.sh "$root/s.a" "$root/s.so" "$root/s.h"
symbols 'int plumb_f(void) { return 1; } int plumb_g(void) { return 1; }' "$declared"
expect 1 "an undeclared export" check-symbols.sh "$root/s.a" "$root/s.so" "$root/s.h"
symbols 'int plumb_g(void) { return 1; }' "$declared"
expect 1 "a declared function that is missing" check-symbols.sh "$root/s.a" "$root/s.so" "$root/s.h"
exit $bad
