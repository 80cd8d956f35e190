#!/usr/bin/env bash
# A source file in a new folder two levels down is found by everything that walks the source: it is
# compiled into the libraries, held to the format, the layers and the banned functions, and a header or
# a Python module there is installed. Tried in a throw-away tree with the real build files.
set -uo pipefail
here=$(cd "$(dirname "$0")/.." && pwd)
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
bad=0
must() { # what, command...
    local what=$1
    shift
    if ! "$@" >"$root/log" 2>&1; then
        echo "check-depth: $what" >&2
        cat "$root/log" >&2
        bad=1
    fi
}

cp -r "$here"/{Makefile,mk,scripts,plumb.pc.in,.clang-format} "$root"
mkdir -p "$root"/{include/plumb/inner,src/base/deep/deeper,python/plumb/deep/deeper,build}
cd "$root" || exit 2
printf 'base:\nbase/deep:\nbase/deep/deeper:\n' >src/LAYERS
printf '#define PLUMB_VERSION "9.9.9"\n#define PLUMB_API __attribute__((visibility("default")))\nPLUMB_API int plumb_deep(void);\n' \
    >include/plumb.h
cp include/plumb.h include/plumb/inner/deep.h
printf '#include "plumb.h"\n\nint plumb_deep(void)\n{\n    return 1;\n}\n' >src/base/deep/deeper/deep.c
touch python/plumb/deep/deeper/__init__.py

make="env -u MAKEFLAGS -u MFLAGS make --no-print-directory -s"
must "the file is compiled into both libraries" $make build/libplumb.a build/libplumb.so
must "the static library has it" sh -c 'nm build/libplumb.a | grep -q " T plumb_deep"'
must "the shared library has it" sh -c 'nm -D build/libplumb.so | grep -q " T plumb_deep"'
must "the file is well formatted" $make format-check
printf 'int    plumb_deep( void );\n' >>src/base/deep/deeper/deep.c
must "the format is checked down there" sh -c "! $make format-check"

# The installer takes what is there; what this tree lacks it gets as empty files.
mkdir -p build/man build/completion
printf '#!/bin/sh\necho\n' >build/plumb
chmod +x build/plumb
touch build/lab build/man/plumb.1 python/plumb/_plumb.abi3.so
printf '#!/bin/sh\n' >scripts/make-man.sh
must "the installer runs" env PREFIX=/usr DESTDIR="$root/place" VERSION=9.9.9 SOVERSION=9 LIBS= \
    PYTHON_HEADER="$root/include/plumb.h" scripts/install.sh
must "a header in a folder is installed" test -f place/usr/include/plumb/inner/deep.h
must "a Python module in a folder is installed" test -f place/usr/share/plumb/python/plumb/deep/deeper/__init__.py
exit $bad
