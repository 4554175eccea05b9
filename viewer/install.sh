#!/usr/bin/env bash
# What the viewer's tests need besides node: Chromium, from the distribution. Does nothing where it is.
set -euo pipefail

if ! command -v node >/dev/null || ! command -v npm >/dev/null; then
  echo "the viewer is built by node 20 or newer with npm, which are not here (apt-get install nodejs npm)" >&2
  exit 2
fi
if [[ "${1:-}" != --browser ]] || command -v chromium >/dev/null || [[ -n "${CHROMIUM:-}" ]]; then
  exit 0
fi
if [[ $(id -u) != 0 ]] || ! command -v apt-get >/dev/null; then
  echo "the viewer is tested in Chromium, which is not here: apt-get install chromium, or set CHROMIUM to its path" >&2
  exit 2
fi
install() {
  apt-get -o DPkg::Lock::Timeout=300 update -qq &&
    DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=300 install -y -qq chromium
}
install || { sleep 5; install; }
