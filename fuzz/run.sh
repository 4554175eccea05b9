#!/usr/bin/env bash
# Gives one reader random inputs for so long. usage: run.sh READER SECONDS [OPTION OF THE FUZZER]...
set -euo pipefail
cd "$(dirname "$0")/.."
target=$1
seconds=$2
shift 2

seeds=()
[ -d "fuzz/seeds/$target" ] && seeds+=("fuzz/seeds/$target")
words=()
case $target in
scenario)
	seeds+=(scenarios)
	words=(-dict=fuzz/scenario.dict)
	;;
overrides) words=(-dict=fuzz/scenario.dict) ;;
testbed) seeds+=(dataplane/examples) ;;
trace) seeds+=(scenarios/traces) ;;
esac

mkdir -p "fuzz/corpus/$target" "fuzz/artifacts/$target"
log=$(mktemp)
trap 'rm -f "$log"' EXIT
READER=$target cargo fuzz run --dev --sanitizer none reader "fuzz/corpus/$target" "${seeds[@]}" -- "${words[@]}" \
	-artifact_prefix="fuzz/artifacts/$target/" -max_total_time="$seconds" -timeout=20 -rss_limit_mb=4096 "$@" >"$log" 2>&1 ||
	{ cat "$log"; echo "$target: broken, see above" >&2; exit 1; }
echo "$target: $(sed -n 's/^Done \([0-9]*\) runs.*/\1/p' "$log") inputs in $seconds s, none broke it"
