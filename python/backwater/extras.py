"""What may be installed beside Backwater, what for, and the command that does it."""

from __future__ import annotations

import sys
from pathlib import Path

#: Package, what it is for, the extra of `pyproject.toml` that has it.
EXTRAS = (
    ("numba", "controllers and detectors written in Python at native speed", "jit"),
    ("optuna", "backwater tune", "tune"),
    ("ray", "backwater sweep --on ray", "ray"),
)


def install(*packages: str) -> str:
    """The command that installs packages for the Python that runs, which need not be the one that `pip` belongs to."""
    python = Path(sys.executable)
    with_pip = python.with_name("pip")
    here = Path.cwd()
    program = with_pip if with_pip.is_file() else python
    shown = str(program.relative_to(here) if program.is_relative_to(here) else program)
    words = [f"'{package}'" if "[" in package else package for package in packages]
    return " ".join(
        [f"'{shown}'" if " " in shown else shown, *([] if program is with_pip else ["-m pip"]), "install", *words]
    )


def install_group(name: str) -> str:
    """The command for one of the extras: with Backwater there already, pip adds what is missing and nothing else."""
    return install(f"backwater[{name}]")
