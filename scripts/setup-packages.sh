#!/usr/bin/env bash
# Installs the Debian packages of the named groups that are not there yet.
#     scripts/setup-packages.sh build [test]
# Does nothing, and quickly, when nothing is missing.
set -euo pipefail

declare -A group=(
    [build]="gcc libc6-dev make pkg-config libisal-dev zlib1g-dev libsqlite3-dev"
    [test]="clang libclang-rt-14-dev llvm-14 clang-format clang-tidy libcmocka-dev valgrind
            libopenmpi-dev openmpi-bin
            git python3 python3-dev python3-venv ca-certificates"
)

wanted=()
for name in "$@"; do
    # shellcheck disable=SC2206  # split into words on purpose
    wanted+=(${group[$name]:?"no such group of packages: $name"})
done

is_installed() {
    # pkg-config is provided by pkgconf on newer systems, python3 may come from elsewhere.
    case $1 in
    pkg-config | make | git) command -v "$1" >/dev/null && return 0 ;;
    esac
    [ "$(dpkg-query -W -f '${db:Status-Abbrev}' "$1" 2>/dev/null)" = "ii " ]
}

missing=()
for package in "${wanted[@]}"; do
    is_installed "$package" || missing+=("$package")
done
[ ${#missing[@]} -gt 0 ] || exit 0

if ! command -v apt-get >/dev/null; then
    echo "setup: this is not a Debian system; install by hand: ${missing[*]}" >&2
    exit 2
fi
as_root=()
if [ "$(id -u)" -ne 0 ]; then
    if ! command -v sudo >/dev/null; then
        echo "setup: not root and no sudo; as root: apt-get install ${missing[*]}" >&2
        exit 2
    fi
    as_root=(sudo)
fi

echo "setup: installing ${missing[*]}"
install() {
    "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
        apt-get install --yes --quiet --no-install-recommends "${missing[@]}"
}
log=$(mktemp)
trap 'rm -f "$log"' EXIT
# The package lists of a fresh machine are empty or old: refresh them if the first try fails.
if ! install >"$log" 2>&1; then
    if ! { "${as_root[@]}" apt-get update --quiet && install; } >"$log" 2>&1; then
        cat "$log" >&2
        echo "setup: apt-get could not install ${missing[*]}; see above" >&2
        exit 2
    fi
fi
