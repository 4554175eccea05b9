#!/usr/bin/env bash
# What `make testbed-rdma` needs beside the data plane: an emulator, perftest, a static busybox. Does nothing if all is there.
set -euo pipefail
packages=(qemu-system-x86 busybox-static rdma-core ibverbs-providers perftest cpio kmod iproute2 tshark)
missing() { dpkg-query -W -f='${db:Status-Status} ${Package}\n' "${packages[@]}" 2>/dev/null | grep -c '^installed ' || true; }
[ "$(missing)" -eq "${#packages[@]}" ] && exit 0
command -v apt-get >/dev/null || { echo "testbed-rdma: needs Debian's packages ${packages[*]}; there is no apt-get here" >&2; exit 1; }
[ "$(id -u)" -eq 0 ] || { echo "testbed-rdma: call it as root once, it installs ${packages[*]}" >&2; exit 1; }
export DEBIAN_FRONTEND=noninteractive
install() { apt-get -o DPkg::Lock::Timeout=300 install -y --no-install-recommends "${packages[@]}"; }
apt-get -o DPkg::Lock::Timeout=300 update -qq
install || { sleep 5; install; }
