#!/usr/bin/env bash
# Called by `make install` with PREFIX, DESTDIR, VERSION, SOVERSION, LIBS and PYTHON_HEADER.
set -euo pipefail
cd "$(dirname "$0")/.."
root=$DESTDIR$PREFIX

put() { # mode, source, target
    install -D -m "$1" "$2" "$root/$3"
}
put 755 build/plumb bin/plumb
put 755 build/lab libexec/plumb/lab
put 644 build/libplumb.a lib/libplumb.a
put 755 build/libplumb.so "lib/libplumb.so.$VERSION"
ln -sf "libplumb.so.$VERSION" "$root/lib/libplumb.so.$SOVERSION"
ln -sf "libplumb.so.$SOVERSION" "$root/lib/libplumb.so"
find include -name '*.h' | while read -r header; do
    put 644 "$header" "$header"
done

sed -e "s|@PREFIX@|$PREFIX|" -e "s|@VERSION@|$VERSION|" -e "s|@LIBS@|$LIBS|" plumb.pc.in >build/plumb.pc
put 644 build/plumb.pc lib/pkgconfig/plumb.pc

scripts/make-man.sh build/man
for page in build/man/*.1; do
    put 644 "$page" "share/man/man1/$(basename "$page")"
done
mkdir -p build/completion
build/plumb help --completion bash >build/completion/plumb
put 644 build/completion/plumb share/bash-completion/completions/plumb
build/plumb help --completion zsh >build/completion/_plumb
put 644 build/completion/_plumb share/zsh/site-functions/_plumb

# What `plumb run` puts into the Python of the training; src/cli/capture_place.c looks for it here.
if [ -f "$PYTHON_HEADER" ]; then
    find python/plumb -name '*.py' | while read -r file; do
        put 644 "$file" "share/plumb/$file"
    done
    put 755 python/plumb/_plumb.abi3.so share/plumb/python/plumb/_plumb.abi3.so
else
    echo "install: Python's headers are missing, so plumb run is left out; install python3-dev and repeat"
fi
