#!/usr/bin/env bash
# Does the wheel work where there is nothing but Python? Installs it into an empty virtual environment, then runs it with no
# other program in reach: no compiler, no cargo, no checkout.   packaging/wheel-test.sh WHEEL [PYTHON]
set -euo pipefail
wheel=$(realpath "${1:?give the wheel}")
python=${2:-python3}
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
"$python" -m venv "$place/venv"
"$place/venv/bin/python" -m pip install --quiet --disable-pip-version-check --only-binary :all: "$wheel"
cd "$place"
alone() { env -i HOME="$place" PATH="$place/venv/bin" LANG=C.UTF-8 MPLBACKEND=Agg "$place/venv/bin/$1" "${@:2}"; }

alone backwater --version
alone backwater doctor
alone backwater explain deadlock
alone backwater demo
alone python - <<'PYTHON'
from pathlib import Path

import backwater

found = [results for folder in ("results",) for results in backwater.Results.find(folder)]
assert found, "demo left no results"
assert all(results.complete for results in found)
assert all(results.flows.collect().height for results in found)
pictures = list(Path().glob("*.png"))
assert pictures, "demo drew no picture"
print(f"{len(found)} results folders, {len(pictures)} picture(s)")
PYTHON
echo "the wheel works by itself: $(basename "$wheel")"
