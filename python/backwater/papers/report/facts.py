"""What a report says of itself: version, commit, date, machine, and how to get the same again."""

from __future__ import annotations

import platform
from datetime import UTC, datetime
from pathlib import Path

from backwater._core import __version__
from backwater.experiments.executor import cores
from backwater.papers import provenance


def about() -> list[tuple[str, str]]:
    """Facts of this build, this machine and this moment, as words and values."""
    now = provenance.tree()
    system = f"{platform.system()} {platform.machine()}"
    return [
        ("Backwater", f"version {__version__}{f', {now}' if now else ''}"),
        ("date", datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")),
        ("machine", f"{cores()} cores, {_processor()}, {system}, Python {platform.python_version()}"),
    ]


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or "unknown processor"
