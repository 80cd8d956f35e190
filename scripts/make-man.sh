#!/usr/bin/env bash
# Writes plumb.1 and one page a verb into FOLDER, from the command's own option tables.
set -euo pipefail
cd "$(dirname "$0")/.."
folder=$1
rm -rf "$folder"
mkdir -p "$folder"
build/plumb help --man >"$folder/plumb.1"
sed -n 's/^COMMAND(\(.*\))$/\1/p' src/cli/commands.def | tr _ - | while read -r verb; do
    build/plumb help --man "$verb" >"$folder/plumb-$verb.1"
done
