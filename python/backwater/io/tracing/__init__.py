"""Recording what an MPI program calls, by a library in C that stands before MPI."""

from __future__ import annotations

import hashlib
import os
import shlex
import shutil
import subprocess
from pathlib import Path
from typing import IO

from backwater.errors import UsageError, reason, require_folder

SOURCE = Path(__file__).parent / "backwater_mpi.c"
#: As in the head of the source.
_FLAGS = ("-shared", "-fPIC", "-O2", "-pthread")


def library(mpicc: str, cache: Path) -> Path:
    """The library for the MPI of this compiler; it is compiled once."""
    compiler = shutil.which(mpicc)
    if compiler is None:
        raise UsageError(
            f"{mpicc} is not there; name the compiler of the program's MPI with --mpicc (Debian: apt-get install "
            "libopenmpi-dev)"
        )
    source = SOURCE.read_bytes()
    # Open MPI and MPICH both say by -show what they call: with which headers and libraries.
    calls = subprocess.run([compiler, "-show"], capture_output=True, text=True, check=False)  # noqa: S603
    key = hashlib.sha256(b"\0".join([source, compiler.encode(), calls.stdout.encode()])).hexdigest()[:16]
    made = cache / "mpi" / f"libbackwater_mpi-{key}.so"
    if made.exists():
        return made
    require_folder(made.parent, "the cache")
    fresh = made.with_suffix(f".{os.getpid()}.so")
    done = subprocess.run(  # noqa: S603
        [compiler, *_FLAGS, "-o", str(fresh), str(SOURCE)], capture_output=True, text=True, check=False
    )
    if done.returncode:
        told = "\n  ".join((done.stderr.strip() or f"exit code {done.returncode}").splitlines()[:12])
        raise UsageError(
            f"{mpicc} cannot compile {SOURCE.name}: {told}\n  = help: MPI 3.0 and newer have what it needs"
        )
    fresh.replace(made)
    return made


def record(command: list[str], library: Path, folder: Path, limit: int, output: IO[str] | None) -> int:
    """Run a command whose ranks write their records into a folder; returns its exit code."""
    before = os.environ.get("LD_PRELOAD", "")
    environment = {
        **os.environ,
        "LD_PRELOAD": f"{library}:{before}" if before else str(library),
        "BACKWATER_MPI_FOLDER": str(folder.absolute()),
        "BACKWATER_MPI_LIMIT": str(limit),
    }
    try:
        return subprocess.run(command, env=environment, stdout=output, check=False).returncode  # noqa: S603
    except OSError as error:
        raise UsageError(f"{shlex.join(command)} cannot be run ({reason(error)}); give the command after --") from None
