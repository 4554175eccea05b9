#!/usr/bin/env bash
# Gives the parsers of the data path mutated frames for so long, with AddressSanitizer and UBSan. Where it cannot be built it says why and
# succeeds, unless DATAPLANE=required. usage: fuzz.sh SECONDS [OPTION OF THE FUZZER]...
set -euo pipefail
cd "$(dirname "$0")"
seconds=$1
shift

skip() {
	echo "parsers of the data plane: not fuzzed: $1"
	[ "${DATAPLANE:-}" = required ] && exit 1
	exit 0
}
reason=$(./install.sh 2>&1 >/dev/stderr) || skip "$reason"
command -v cargo >/dev/null || skip "no cargo"

./build.sh sanitized fuzz_parsers
. ./sanitizers.sh
artifacts=../fuzz/artifacts/parsers
mkdir -p "$artifacts"
log=$(mktemp)
trap 'rm -f "$log"' EXIT
../target/dataplane/sanitized/fuzz_parsers "$@" -max_total_time="$seconds" -artifact_prefix="$artifacts/" ../fuzz/seeds/frame >"$log" 2>&1 ||
	{ cat "$log"; echo "parsers of the data plane: broken, see above" >&2; exit 1; }
echo "parsers of the data plane: $(sed -n 's/^Done \([0-9]*\) runs.*/\1/p' "$log") inputs in $seconds s, none broke it"
