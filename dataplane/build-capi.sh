#!/bin/sh
# Called by meson: builds crates/capi and puts its static library where meson wants it, touching it only if it changed. With AddressSanitizer
# where the C is built with it: both share one runtime, and what the Rust does with the C's pointers is watched too.
# usage: build-capi.sh ROOT TARGET_DIR OUTPUT SANITIZERS
set -eu
output=$(realpath -m "$3")
CARGO_TARGET_DIR="${CARGO_TARGET_DIR:-$2}"
export CARGO_TARGET_DIR
cd "$1"
case $4 in
*address*)
	# The toolchain that rust-toolchain.toml pins has the sanitizer, but calls it unstable.
	host=$(rustc -vV | sed -n 's/^host: //p')
	RUSTC_BOOTSTRAP=1 RUSTFLAGS='-Zsanitizer=address' cargo build --quiet --locked -p backwater-capi --profile capi --target "$host"
	built=$CARGO_TARGET_DIR/$host/capi/libbackwater_capi.a
	;;
*)
	cargo build --quiet --locked -p backwater-capi --profile capi
	built=$CARGO_TARGET_DIR/capi/libbackwater_capi.a
	;;
esac
cmp -s "$built" "$output" || cp "$built" "$output"
