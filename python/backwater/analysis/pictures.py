"""Pictures, by the names of their modules, and what their files may be called.

A picture is imported when it is drawn, here and nowhere else: matplotlib takes 0.6 s of CPU to import, three times what
a command takes without it (:mod:`backwater.common.late`).
"""

from __future__ import annotations

import importlib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from backwater.errors import UsageError


def load(name: str, package: str = "analysis") -> Any:
    """A module that draws."""
    return importlib.import_module(f"backwater.{package}.{name}")


def check(file: Path, option: str = "--plot", formats: Iterable[str] = ("png", "pdf", "svg")) -> None:
    """Raise UsageError for a file that no picture can be written to, before anything is run."""
    *some, last = [f".{one}" for one in formats]
    if file.suffix.lower() not in (*some, last):
        raise UsageError(f"{option} {file}: the name must end in {', '.join(some)} or {last}")
    if not file.absolute().parent.is_dir():
        raise UsageError(f"{option} {file}: there is no folder {file.absolute().parent}")
