#!/usr/bin/env bash
# Installs Open MPI, with which the tests of `backwater trace mpi` run, from Debian's packages. Does nothing if it is there. Exit codes: 0 it is
# there, 1 it cannot be installed here (the last line on stderr says why).
set -uo pipefail

refuse() {
	echo "no MPI program can be run here: $1" >&2
	exit 1
}

there() { command -v mpicc >/dev/null && command -v mpirun >/dev/null && command -v gfortran >/dev/null; }

there && exit 0
packages="openmpi-bin libopenmpi-dev gfortran"
command -v apt-get >/dev/null || refuse "no apt-get; install by hand what provides mpicc, mpirun and gfortran"
[ "$(id -u)" = 0 ] || refuse "not root; as root run: apt-get install $packages"
install_them() {
	apt-get -o DPkg::Lock::Timeout=300 update -qq &&
		DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=300 install -y -qq --no-install-recommends $packages >/dev/null
}
echo "installing $packages"
# Once more: another apt that runs at the same time can make the first attempt fail half-way.
install_them || { sleep 10; install_them; } || refuse "apt-get could not install: $packages"
there || refuse "installed, and mpicc, mpirun or gfortran is still missing"
