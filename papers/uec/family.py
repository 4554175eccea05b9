"""What is measured of a run of a published row, and how rows are drawn: what came out there, and here."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import polars as pl
from backwater.analysis import plot
from backwater.papers import Metrics, Runs, Seeds
from backwater.papers.uec_rows import BAND, Row
from backwater.results import Results

#: Digits that the simulator prints of a time.
DIGITS = 6
PS_PER_US = 1e6


def printed(us: float | None) -> float | None:
    """A time as that simulator prints it, by six significant digits.

    >>> printed(176.19952)
    176.2
    """
    return None if us is None else float(f"{us:.{DIGITS}g}")


def done_us(run: Results) -> list[float]:
    """When the last ACK of each finished flow reached its sender, in order."""
    acked = run.flows.select("acked_ps").collect()["acked_ps"].drop_nulls()
    return sorted(float(ps) / PS_PER_US for ps in acked)


def tail_us(run: Results) -> float | None:
    """When the last flow was done; nothing if one was not."""
    done = done_us(run)
    return done[-1] if done and len(done) == run.flows.select(pl.len()).collect().item() else None


def of_run(name: str, run: Results) -> Metrics:
    """What a published row has numbers of."""
    done = done_us(run)
    wanted = ["packets", "resent_packets", "acks"]
    sums = run.flows.select(pl.col(wanted).sum()).collect().row(0, named=True)
    return {
        f"{name} tail": printed(tail_us(run)),
        f"{name} first": printed(done[0] if done else None),
        f"{name} connections": len(done),
        f"{name} new packets": sums["packets"],
        f"{name} sent again": sums["resent_packets"],
        f"{name} ACKs": sums["acks"],
    }


def metrics(runs: Runs) -> Metrics:
    """The same of all rows that were run."""
    found: Metrics = {}
    for name, run in runs.items():
        found |= of_run(name, run)
    return found


def draw(rows: Sequence[Row], seeds: Seeds, file: Path, title: str) -> None:
    """Our time over the published one, row by row, in the order of the file; grey is the published band."""
    shown = [row for row in rows if any(row.name in runs for runs in seeds)]
    with plot.picture(file, title, 10.0, 4.2) as made:
        axes = made.subplots()
        axes.axhspan(*BAND, color="0.9", lw=0, label="published band of versions")
        axes.axhline(1.0, color="0.5", lw=0.8)
        for stem, colour in zip(
            dict.fromkeys(row.name.rpartition("-")[0] for row in shown), (*plot.CYCLE, *plot.CYCLE), strict=False
        ):
            places = [at for at, row in enumerate(shown) if row.name.rpartition("-")[0] == stem]
            for number, runs in enumerate(seeds):
                ours = [(at, tail_us(runs[shown[at].name])) for at in places if shown[at].name in runs]
                known = [(at, us / float(shown[at].tail_us)) for at, us in ours if us is not None]
                label = f"{stem}, ours over published" if number == 0 else None
                axes.plot(*zip(*known, strict=True) if known else ([], []), "o", color=colour, ms=4, label=label)
        axes.set_xticks(range(len(shown)), [row.name.rpartition("-")[2] for row in shown], fontsize=6)
        axes.set_xlabel("row of the published file")
        axes.set_ylabel("last flow done, ours over published")
        axes.legend(fontsize=7)
