#!/usr/bin/env bash
# Builds the data plane into target/dataplane/KIND: plain, or sanitized (with AddressSanitizer and UBSan). usage: build.sh KIND [TARGET]...
set -euo pipefail
cd "$(dirname "$0")"
kind=$1
folder=../target/dataplane/$kind
shift
options=()
[ "$kind" != sanitized ] || options=(-Db_sanitize=address,undefined -Db_lundef=false)
mkdir -p ../target/dataplane
[ -f "$folder/build.ninja" ] || meson setup "$folder" . "${options[@]}" >"$folder.log" 2>&1 || { cat "$folder.log" >&2; exit 1; }
ninja -C "$folder" --quiet "$@"
