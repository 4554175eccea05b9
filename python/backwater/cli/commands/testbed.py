"""``backwater testbed``: Figure 11 of the TCD paper on the software switches."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Literal

from rich.table import Table

from backwater.cli.options import Count, Json
from backwater.common import terminal
from backwater.errors import Exit, require_folder
from backwater.papers import testbed_run
from backwater.papers.testbed import PROFILES
from backwater.papers.testbed_run import Measured


def testbed(
    *,
    runs: Count = 1,
    clock: Literal["step", "clamp", "lockstep", "wall"] | None = None,
    switch: Path = Path("target/dataplane/release/backwater-switch"),
    examples: Path = Path("dataplane/examples"),
    out: Path = Path("results/testbed"),
    json_: Json = False,
) -> int:
    """Run Figure 11 of the TCD paper on the software switches, under PFC and under credits, and judge its claims.

    Writes fig11.png, fig11.csv, claims.json and the counters of all nodes (pfc.json, credits.json), which
    `backwater reproduce tcd --figure fig11` then shows beside the simulation. See docs/testbed.md.

    Parameters
    ----------
    runs
        How often under each flow control. A claim holds if it holds in every one of them.
    clock
        Another clock than that of the configuration (clamp). By lockstep each switch with its hosts is a process of its
        own, over memif. A run by the wall clock that was disturbed is not counted.
    switch
        The program, which `make testbed` builds.
    examples
        The folder with fig11-pfc.toml and fig11-credits.toml.
    out
        Where results go.
    json_
        Print JSON: the claims and their verdicts, as in claims.json.
    """
    require_folder(out, "--out")
    measured = [testbed_run.measure(switch, examples, name, runs, clock, out) for name in PROFILES]
    files = testbed_run.write(measured, out)
    if json_:
        print((out / "claims.json").read_text(encoding="utf-8"))
    else:
        terminal.stdout().print(_table(measured))
    for item in measured:
        if left_out := len(item.runs) - len(item.counted):
            told = f"{left_out} of {len(item.runs)} runs disturbed: not counted, and so not enough of them"
            print(f"{item.flow_control}: {told}", file=sys.stderr)
        print(*item.losses, sep="\n", end="\n" if item.losses else "", file=sys.stderr)
    if not json_:
        print("written: " + ", ".join(map(str, files)))
    if any(item.losses for item in measured):
        return Exit.INVARIANT_BROKEN
    return Exit.OK if all(item.holds for item in measured) else Exit.CAVEATS


def _table(measured: list[Measured]) -> Table:
    table = Table(title="Figure 11 on software switches")
    for heading in ("claim", "flow control", "held in", "measured (worst run)", "bound", "verdict"):
        table.add_column(heading)
    for item in measured:
        for judged in item.judged:
            first = (judged.claim.id, item.flow_control, f"{item.held(judged.claim.id)} of {len(item.runs)} runs")
            if not judged.measured:
                table.add_row(*first, "", "", str(judged.verdict))
            for one in judged.measured:
                value = "–" if one.worst is None else f"{one.worst:.2f}"
                table.add_row(*first, f"{one.check.metric}: {value}", one.check.bound.text, str(one.verdict))
                first = ("", "", "")
    return table
