"""``backwater throttle``: which NICs of a run throttled themselves, and for how long."""

from __future__ import annotations

import json
from pathlib import Path

from rich.markup import escape
from rich.table import Table

from backwater.analysis import pictures
from backwater.analysis import throttle as measured
from backwater.cli.options import Count, Format, Json, Width
from backwater.common import quantities, terminal
from backwater.common.late import pl
from backwater.common.quantities import three_digits
from backwater.errors import UsageError
from backwater.experiments import gpcnet_runs
from backwater.results import Results


def throttle(
    results: Path,
    /,
    *,
    plot: Path | None = None,
    format_: Format = None,
    width: Width = None,
    nics: str | None = None,
    json_: Json = False,
    top: Count = 12,
) -> None:
    """Print for how long NICs throttled themselves (PFT), by what they send and one by one, and whether bystanders did.

    Needs `probe.throttle` and `probe.sample`; with `probe.throttle-states` the picture shows every change of state.

    Parameters
    ----------
    results
        A results folder, or one of `backwater gpcnet`: then its first run in which NICs throttle themselves.
    plot
        Draw used credits, rates and states over time to this file (.png, .pdf, .svg).
    format_
        Of the picture: png, pdf or svg; what --plot ends in if not given.
    width
        Print it: `3.33in` (or cm, mm, pt) wide, with letters of 7 to 9 points and no title.
    nics
        The NICs that are drawn, by their hosts: `h0,h7`; of each kind of sender the one that was held for longest if
        not given.
    json_
        Print JSON.
    top
        How many NICs to print: first those that were held for longest.
    """
    plot, paper = pictures.to_plot(plot, format_, width)
    run = Results(results) if (results / "run.json").is_file() else _throttled(results)
    found = measured.by_nic(run)
    names = [name.strip() for name in nics.split(",") if name.strip()] if nics is not None else []
    written = paper.draw("throttle_picture", run, plot, names) if plot is not None else None
    by_sender, told = measured.by_sender(found), measured.bystanders(run, found)
    if json_:
        print(json.dumps({"senders": by_sender.to_dicts(), "nics": found.to_dicts(), "bystanders": told}, indent=2))
        return
    console = terminal.stdout()
    console.print(_of_senders(by_sender))
    console.print(_of_nics(found, top))
    if told is not None:
        console.say(told)
    if written is not None:
        console.say(f"written: {written}", soft_wrap=True)


def _throttled(folder: Path) -> Results:
    """The first run of a folder of `backwater gpcnet` in which NICs throttle themselves."""
    if not (folder / gpcnet_runs.FILE).is_file():
        return Results(folder)
    runs = gpcnet_runs.of_folder(folder)
    for name, seeds in runs.items():
        if measured.applies(seeds[0]):
            print(f"{name}, seed {seeds[0].meta['seed']}: {seeds[0].folder}")
            return seeds[0]
    raise UsageError(f"{folder}: NICs throttle themselves under none of {', '.join(runs)}")


def _percent(share: float) -> str:
    return f"{three_digits(100 * share)} %"


def _of_senders(rows: pl.DataFrame) -> Table:
    headings = ("NICs", "throttled", "congested", "held back", "at most", "entries", "mean c", "largest c", "rate")
    made = terminal.table("NICs by what they send", ["sends"], headings)
    for row in rows.to_dicts():
        shares = (_percent(row[name]) for name in ("congested", "held", "held_most"))
        counts = (quantities.count(row[name]) for name in ("entries", "used_mean", "used_max"))
        numbers = (quantities.count(row["nics"]), quantities.count(row["throttled"]))
        made.add_row(escape(row["sends"]), *numbers, *shares, *counts, quantities.rate(row["rate_bps"]))
    made.caption = _NOTE
    return made


_NOTE = (
    "throttled: NICs that were ever in the congested state; congested: part of the run in that state; held back: part "
    "of it in which a packet waited for the throttle alone; entries: into that state; c: used credits; all of them "
    "means over NICs but what is largest"
)


def _of_nics(nics: pl.DataFrame, top: int) -> Table:
    title = "NICs" if nics.height <= top else f"{top} of {nics.height} NICs"
    headings = ("congested", "", "held back", "", "entries", "mean c", "largest c", "rate")
    made = terminal.table(title, ["NIC", "sends"], headings)
    for row in nics.head(top).to_dicts():
        times = []
        for name in ("congested", "held"):
            times += [quantities.time(row[f"{name}_ps"]), _percent(row[name])]
        counts = (quantities.count(row[name]) for name in ("entries", "used_mean", "used_max"))
        made.add_row(escape(row["nic"]), escape(row["sends"]), *times, *counts, quantities.rate(row["rate_bps"]))
    return made
