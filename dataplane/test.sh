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

./build.sh plain
./build.sh sanitized
. ./sanitizers.sh
for kind in plain sanitized; do
	echo "test-dataplane: tests in C, $kind"
	meson test -C "$builds/$kind" --no-rebuild --quiet --print-errorlogs
done
echo "test-dataplane: whole processes, sanitized"
BACKWATER_SWITCH=$PWD/$builds/sanitized/backwater-switch "$python" -m pytest -q -p no:cacheprovider tests
