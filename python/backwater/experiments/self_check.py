"""A small run whose digest is known on every machine, and whose time is a score of the machine."""

from __future__ import annotations

import json

from backwater import _core

#: The scenario of the self-check: an incast with every part of profile authors' fabric in motion.
SCENARIO = """\
profile = "authors"
[topology]
kind = "leaf-spine"
leaves = 4
spines = 2
hosts-per-leaf = 8
rate = "100Gbps"
delay = "1us"
[[traffic]]
name = "incast"
kind = "incast"
from = ["h0", "h1", "h2", "h9", "h10", "h11", "h17", "h18", "h19", "h25", "h26"]
to = "h4"
size = "1MB"
start = "0us"
[[traffic]]
name = "beside"
kind = "flow"
from = "h12"
to = "h5"
size = "4MB"
start = "0us"
[switch]
buffer = "4MB"
[run]
until = "5ms"
seed = 1
"""


#: Its digest, on every machine and number of threads. It changes with the model, in the commit that changes it.
DIGEST = "d0f2992d8132ad58"


def seconds() -> float:
    """Seconds of CPU that the self-check takes."""
    return float(json.loads(run(1))["cpu_s"])


def run(threads: int) -> str:
    """The run.json of the run on so many threads."""
    return _core.Scenario(SCENARIO, "self-check", ".", [f"run.threads={threads}"]).run()
