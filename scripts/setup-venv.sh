#!/usr/bin/env bash
# Puts the frameworks that the tests compare with into one virtual environment and links
# it as build/venv. It is kept in the user's cache under a hash of the pinned
# requirements, so that a second clone does not fetch 9 GB again.
set -euo pipefail
cd "$(dirname "$0")/.."

python=${PYTHON:-python3}
cache=${XDG_CACHE_HOME:-$HOME/.cache}/plumb
version=$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
hash=$(sha256sum tests/requirements.txt | cut -c1-12)
venv=$cache/venv-$version-$hash

if [ ! -e "$venv/.complete" ]; then
    mkdir -p "$cache"
    # One installer at a time; the second finds the work done.
    exec 9>"$cache/venv.lock"
    flock 9
    if [ ! -e "$venv/.complete" ]; then
        rm -rf "$venv"
        "$python" -m venv "$venv"
        "$venv/bin/pip" install --quiet --disable-pip-version-check \
            --requirement tests/requirements.txt
        touch "$venv/.complete"
    fi
fi
mkdir -p build
ln -sfn "$venv" build/venv
