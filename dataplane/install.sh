#!/usr/bin/env bash
# Installs what the data plane is built and tested with, from Debian's packages. Does nothing if all is there; without root it says what is
# missing. Exit codes: 0 all there, 1 cannot be installed here (the last line on stderr says why).
set -uo pipefail

# What is looked for | the package that has it. No DPDK but libdpdk-dev: its drivers (memif, af_packet, tap, null) come with it.
missing() {
	pkg-config --exists 'libdpdk >= 22.11' 2>/dev/null || echo libdpdk-dev
	command -v pkg-config >/dev/null || echo pkg-config
	command -v gcc >/dev/null || echo gcc
	command -v meson >/dev/null || echo meson
	command -v ninja >/dev/null || echo ninja-build
	command -v ip >/dev/null || echo iproute2
	command -v tshark >/dev/null || echo tshark
}

refuse() {
	echo "the data plane cannot be built here: $1" >&2
	exit 1
}

[ "$(uname -s)" = Linux ] || refuse "DPDK's virtual devices want Linux, this is $(uname -s)"
packages=$(missing | sort -u | tr '\n' ' ')
[ -n "${packages// /}" ] || exit 0
command -v apt-get >/dev/null || refuse "no apt-get; install by hand what provides: $packages"
[ "$(id -u)" = 0 ] || refuse "not root; as root run: apt-get install $packages"

install_them() {
	apt-get -o DPkg::Lock::Timeout=300 update -qq &&
		DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=300 install -y -qq --no-install-recommends $packages >/dev/null
}
echo "installing $packages"
# Once more: another apt that runs at the same time can make the first attempt fail half-way.
install_them || { sleep 10; install_them; } || refuse "apt-get could not install: $packages"
packages=$(missing | sort -u | tr '\n' ' ')
[ -z "${packages// /}" ] || refuse "installed, and still missing: $packages"
