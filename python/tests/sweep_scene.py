"""A network that is run in some ten milliseconds, and a sweep of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

SCENARIO = """profile = "authors"
[topology]
kind = "star"
hosts = 5
rate = "40Gbps"
delay = "1us"
[[traffic]]
name = "web"
kind = "poisson"
cdf = "hadoop"
load = 0.5
flows = 100
[[traffic]]
name = "incast"
kind = "incast"
from = "*"
to = "h0"
size = "64KB"
"""
SCHEMES = """
[[scheme]]
name = "none"
set = ["cc.kind=none"]
[[scheme]]
name = "DCQCN"
set = ["switch.detector.kind=red", "switch.detector.kmax=20KB"]
"""
SWEEP = """
scenario = "star.toml"
seeds = 2
[axes]
"traffic.web.load" = [0.2, 0.4]
"""


def write(folder: Path, sweep: str = SWEEP, scenario: str = SCENARIO) -> Path:
    """The sweep's file, beside its scenario."""
    (folder / "star.toml").write_text(scenario, encoding="utf-8")
    file = folder / "loads.toml"
    file.write_text(sweep, encoding="utf-8")
    return file
