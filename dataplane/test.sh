#!/usr/bin/env bash
# Builds the data plane and tests it: plainly, and with AddressSanitizer and UBSan, which also run the tests of whole processes.
# Where it cannot be built it says why and succeeds, unless DATAPLANE=required. usage: test.sh PYTHON
set -euo pipefail
cd "$(dirname "$0")"
python=$1
builds=../target/dataplane

skip() {
	echo "test-dataplane: not run: $1"
	[ "${DATAPLANE:-}" = required ] && exit 1
	exit 0
}
reason=$(./install.sh 2>&1 >/dev/stderr) || skip "$reason"
command -v cargo >/dev/null || skip "no cargo"

build() {
	local folder=$builds/$1
	shift
	[ -f "$folder/build.ninja" ] || meson setup "$folder" . "$@" >"$folder.log" 2>&1 || { cat "$folder.log" >&2; exit 1; }
	ninja -C "$folder" --quiet
}
mkdir -p "$builds"
build plain
build sanitized -Db_sanitize=address,undefined -Db_lundef=false
export UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1 ASAN_OPTIONS=detect_leaks=1
export LSAN_OPTIONS=suppressions=$PWD/tests/leaks.txt:print_suppressions=0
for kind in plain sanitized; do
	echo "test-dataplane: tests in C, $kind"
	meson test -C "$builds/$kind" --no-rebuild --quiet --print-errorlogs
done
echo "test-dataplane: whole processes, sanitized"
BACKWATER_SWITCH=$PWD/$builds/sanitized/backwater-switch "$python" -m pytest -q -p no:cacheprovider tests
