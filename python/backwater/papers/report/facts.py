"""What a report says of itself: version, commit, date, machine, and how to get the same again."""

from __future__ import annotations

import os
import platform
import subprocess
from datetime import UTC, datetime
from pathlib import Path

from backwater._core import __version__
from backwater.experiments.executor import cores


def about() -> list[tuple[str, str]]:
    """Facts of this build, this machine and this moment, as words and values."""
    system = f"{platform.system()} {platform.machine()}"
    return [
        ("Backwater", f"version {__version__}{_commit()}"),
        ("date", datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")),
        ("machine", f"{cores()} cores, {_processor()}, {system}, Python {platform.python_version()}"),
    ]


def _commit() -> str:
    """The commit of the checkout that this package is in, if it is in one and git is there."""
    home = Path(__file__).resolve().parents[4]
    if not (home / ".git").exists():
        return ""
    git = ["git", "-C", str(home)]
    environment = os.environ | {"GIT_OPTIONAL_LOCKS": "0"}
    try:
        found = [
            subprocess.run(  # noqa: S603
                [*git, *words], capture_output=True, text=True, check=True, timeout=10, env=environment
            ).stdout.strip()
            for words in (("rev-parse", "--short=12", "HEAD"), ("status", "--porcelain", "--untracked-files=no"))
        ]
    except (OSError, subprocess.SubprocessError):
        return ""
    commit, changes = found
    return f", commit {commit}{' with changes that are not committed' if changes else ''}"


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or "unknown processor"
