#!/bin/sh
# Called by meson: builds crates/capi and puts its static library where meson wants it, touching it only if it changed.
# usage: build-capi.sh ROOT TARGET_DIR OUTPUT
set -eu
output=$(realpath -m "$3")
CARGO_TARGET_DIR="${CARGO_TARGET_DIR:-$2}"
export CARGO_TARGET_DIR
cd "$1"
cargo build --quiet --locked -p backwater-capi --profile capi
cmp -s "$CARGO_TARGET_DIR/capi/libbackwater_capi.a" "$output" || cp "$CARGO_TARGET_DIR/capi/libbackwater_capi.a" "$output"
