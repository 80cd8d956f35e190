#!/usr/bin/env bash
# The main jobs, start to end: two checkpoints of the same network from two frameworks, one layer
# of which is not the same; then `plumb demo`, a network that trains well and one that does not.
# Needs build/plumb and build/lab only.
set -euo pipefail
cd "$(dirname "$0")/.."
plumb=$PWD/build/plumb
demo=$PWD/build/demo
mkdir -p "$demo"
build/bin/examples/c/make_checkpoints "$demo/net.pth" "$demo/net.ckpt"
cd "$demo"

run() { # shows the command, its output and its exit code; fails on any other exit code
    local want=$1
    shift
    printf '\n$ plumb %s\n' "$*"
    local status=0
    "$plumb" "$@" || status=$?
    printf '[exit %d]\n' "$status"
    if [ "$status" -ne "$want" ]; then
        echo "demo: exit $want expected" >&2
        exit 1
    fi
}

echo "A network was trained with PyTorch (net.pth) and migrated to MindSpore (net.ckpt)."
echo "What is in the files?"
run 0 show net.pth
run 0 show --stats net.ckpt
echo
echo "Are they the same network? Names differ between the frameworks; Plumb knows both."
run 1 diff net.pth net.ckpt
echo
echo "Exit 0 would mean: alike (identical or rounding). 1: they differ, as planted here in output"
echo "channel 3 of conv2. 2: trouble, such as a damaged file."
found=$("$plumb" diff --json net.pth net.ckpt || true)
case $found in
*'"conv2.weight"'*different*) ;;
*)
    echo "demo: the planted difference was not found" >&2
    exit 1
    ;;
esac
echo
echo "Carry the PyTorch weights over by the same rules, then compare again."
run 0 convert net.pth migrated.ckpt --to mindspore
run 0 diff net.pth migrated.ckpt

echo
echo "Now training: two small networks, watched while they learn."
rm -rf runs
run 0 demo runs
echo
echo "The files are in build/demo."
