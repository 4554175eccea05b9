#!/usr/bin/env bash
# Which glibc does a wheel need, and is it as old as it should be?   packaging/glibc-test.sh WHEEL [MOST]
# Looks at the versions of the symbols that the core asks for, as auditwheel does.
set -euo pipefail
wheel=$(realpath "${1:?give the wheel}")
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
python3 -m zipfile -e "$wheel" "$place"
needed=$(objdump -T "$place"/backwater/_core*.so | grep -o 'GLIBC_[0-9.]*' | cut -d_ -f2 | sort -uV | tail -1)
echo "$(basename "$wheel") needs glibc $needed"
most=${2:-$needed}
[ "$(printf '%s\n%s\n' "$needed" "$most" | sort -V | tail -1)" = "$most" ] || { echo "that is newer than $most" >&2; exit 1; }
