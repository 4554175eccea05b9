"""Scenes of which the trees of blame are known by construction: those of Figure 5 of the TCD paper.

The network is that of its Figure 2: S0 and S1 behind P0 and S2 behind P1 reach T2 through P2; at T2 are R0, R1 (behind
P3) and the hosts A0 to A14.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import polars as pl

if TYPE_CHECKING:
    from backwater.analysis.blame import Blame

FIGURE_2 = """
profile = "authors"
[run]
until = "{until}"
[topology]
kind = "tcd-figure-2"
rate = "40Gbps"
delay = "4us"
"""


_FLOW = """
[[traffic]]
name = "{name}"
kind = "long-lived"
from = "{src}"
to = "{dst}"
"""


_CONSTANT = """
[[traffic]]
name = "{name}"
kind = "constant"
from = "{src}"
to = "{dst}"
rate = "{rate}"
catch-up = {catch_up}
start = "{start}"
"""


_BURSTS = """
[[traffic]]
name = "{name}"
kind = "bursts"
from = {src}
to = "{dst}"
size = "64KB"
rounds = 20
interval = "47.5us"
start = "1ms"
"""


def _constant(name: str, src: str, dst: str, rate: str, *, start: str, catch_up: bool) -> str:
    return _CONSTANT.format(name=name, src=src, dst=dst, rate=rate, start=start, catch_up=str(catch_up).lower())


def figure_3() -> str:
    """F1 and fifteen hosts flood P3; F0 and F2 only pass by, 5 Gbps each."""
    passing = [_constant(f"F{n}", f"S{n}", "R0", "5Gbps", start="1.3ms", catch_up=True) for n in (0, 2)]
    bursts = _BURSTS.format(name="A", src='"A*"', dst="R1")
    return FIGURE_2.format(until="4ms") + _FLOW.format(name="F1", src="S1", dst="R1") + bursts + "".join(passing)


def overlapped_trees() -> str:
    """Half of the hosts flood R0, the others R1; F0 to R0 and F1 to R1 share P0 and P2, which carry both with ease."""
    half = [[f"A{n}" for n in range(first, 15, 2)] for first in (0, 1)]
    bursts = [_BURSTS.format(name=f"to-R{n}", src=json.dumps(half[n]), dst=f"R{n}") for n in (0, 1)]
    flows = [_constant(f"F{n}", f"S{n}", f"R{n}", "15Gbps", start="0us", catch_up=False) for n in (0, 1)]
    return FIGURE_2.format(until="3ms") + "".join([*flows, *bursts])


UNEVEN = """profile = "authors"
[topology]
kind = "leaf-spine"
leaves = 2
spines = 1
hosts-per-leaf = 4
rate = "40Gbps"
delay = "1us"
[[traffic]]
name = "web"
kind = "poisson"
cdf = "web-search"
load = 0.5
until = "3ms"
"""


def spread_tree(how: str, *, tree: bool = True) -> str:
    """Two leaves and two spines, all links 40 Gbps: A and B, 30 Gbps each, to one host, beside V, 8 Gbps, to another.

    Packets, or bursts of them, choose their spine.
    """
    sent = {"A": ("h0", "h3", 30), "B": ("h1", "h3", 30), "V": ("h2", "h4", 8)}
    entries = [
        _constant(name, src, dst, f"{rate}Gbps", start="0us", catch_up=False)
        for name, (src, dst, rate) in sent.items()
        if tree or name != "B"
    ]
    return _SPREAD.format(how=how) + "".join(entries)


_SPREAD = """
profile = "ideal"
[topology]
kind = "leaf-spine"
leaves = 2
spines = 2
hosts-per-leaf = 3
rate = "40Gbps"
delay = "1us"
[run]
until = "2ms"
[switch]
load-balancing = "{how}"
[switch.detector]
kind = "none"
[cc]
kind = "none"
"""


def roots_of(blame: Blame) -> list[str]:
    return sorted(blame.roots.filter(pl.col("crowd_ps") > 0)["root_port"])


def branches_of(blame: Blame, root: str) -> dict[str, dict[str, Any]]:
    return {row["branch"]: row for row in blame.branches.filter(pl.col("root_port") == root).to_dicts()}


def verdicts_of(blame: Blame) -> dict[str, set[str]]:
    seen = blame.flows.filter(pl.col("packets") > 0)
    return {traffic: set(rows["verdict"]) for (traffic,), rows in seen.group_by("traffic")}
