"""What may be installed beside Backwater, what for, and the command that does it."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import Any

from backwater.errors import UsageError

#: Package, what it is for, the extra of `pyproject.toml` that has it.
EXTRAS = (
    ("numba", "controllers and detectors written in Python at native speed", "jit"),
    ("optuna", "backwater tune", "tune"),
    ("ray", "backwater sweep --on ray", "ray"),
)


def load(package: str, lacking: str, error: type[UsageError] = UsageError) -> Any:
    """One of them; where it is not installed, `error` says `lacking`, with the command in the place of {}."""
    group = next(group for name, _, group in EXTRAS if name == package)
    try:
        return importlib.import_module(package)
    except ImportError:
        raise error(lacking.format(install_group(group))) from None


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
