#!/usr/bin/env bash
# What the viewer is built and tested with: node 20.19 or newer with npm and, with --browser, Chromium from the distribution.
# Does nothing where all is there.
set -euo pipefail

new_enough() {
  command -v npm >/dev/null && node -e 'const [a, b] = process.versions.node.split(".").map(Number); process.exit(a > 20 || (a === 20 && b >= 19) ? 0 : 1)' 2>/dev/null
}

wanted=()
command -v node >/dev/null && command -v npm >/dev/null || wanted+=(nodejs npm)
if [[ "${1:-}" == --browser && -z "${CHROMIUM:-}" ]] && ! command -v chromium >/dev/null; then
  wanted+=(chromium)
fi

if ((${#wanted[@]})); then
  if [[ $(id -u) != 0 ]] || ! command -v apt-get >/dev/null; then
    echo "the viewer needs ${wanted[*]}, which cannot be installed without root: apt-get install ${wanted[*]}" >&2
    exit 2
  fi
  install() {
    apt-get -o DPkg::Lock::Timeout=300 update -qq &&
      DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=300 install -y -qq "${wanted[@]}"
  }
  install || { sleep 5; install; }
fi

new_enough || { echo "the viewer needs node 20.19 or newer with npm; here is $(node --version 2>/dev/null || echo none)" >&2; exit 2; }
