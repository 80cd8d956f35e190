#!/usr/bin/env bash
# setup-venv.sh [REQUIREMENTS] - puts the frameworks that the tests compare with into one virtual
# environment and links it as build/venv; tests/requirements-NAME.txt, if given, as build/venv-NAME.
# It is kept in the user's cache under a hash of the pinned requirements, so that a second clone does
# not fetch 9 GB again.
set -euo pipefail
cd "$(dirname "$0")/.."

# mindspore has wheels for Python 3.9 to 3.11; Debian 12 has 3.11.
python=
for candidate in ${PYTHON:-python3 /usr/bin/python3 python3.11 python3.10 python3.9}; do
    if "$candidate" -c 'import sys; sys.exit(not (3, 9) <= sys.version_info < (3, 12))' 2>/dev/null; then
        python=$candidate
        break
    fi
done
if [ -z "$python" ]; then
    echo "setup: no Python 3.9, 3.10 or 3.11 found; install one or name it: PYTHON=... make setup-test" >&2
    exit 2
fi
if [ $# -gt 0 ]; then
    name=${1##*/requirements-}
    link=venv-${name%.txt}
    requirements=("$1")
    without_dependencies=()
else
    link=venv
    requirements=(tests/requirements.txt)
    without_dependencies=(tests/requirements-rivals.txt)
fi
cache=${XDG_CACHE_HOME:-$HOME/.cache}/plumb
version=$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
hash=$(cat "${requirements[@]}" "${without_dependencies[@]}" | sha256sum | cut -c1-12)
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
            --requirement "${requirements[0]}"
        if [ ${#without_dependencies[@]} -gt 0 ]; then
            "$venv/bin/pip" install --quiet --disable-pip-version-check --no-deps \
                --requirement "${without_dependencies[0]}"
        fi
        touch "$venv/.complete"
    fi
fi
mkdir -p build
ln -sfn "$venv" "build/$link"
