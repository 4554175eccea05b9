"""Table 1: code points before and after a port, counted from the frames on the wires."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
import polars as pl
from backwater.analysis import plot
from backwater.papers import Metrics, Runs, Seeds
from backwater.papers.number_tables import NumberTable
from backwater.results import Results
from matplotlib.axes import Axes
from matplotlib.patches import Rectangle

from papers.tcd import schematic
from papers.tcd.scene import settle

__all__ = ["draw", "metrics", "settle", "tables"]

#: Table 1.
MEANING = {"00": "not TCD-capable", "01": "TCD-capable", "10": "UE", "11": "CE"}
#: The changes that it allows.
ALLOWED = {("01", "10"), ("01", "11"), ("10", "11")}


def counted(run: Results, port: str) -> Counter[tuple[str, str]]:
    """The packets that left a port, by their code points before and after."""
    return _pairs(schematic.crossings(run, port))


def _pairs(crossed: pl.DataFrame) -> Counter[tuple[str, str]]:
    rows = crossed.group_by("code_in", "code_out").len().iter_rows()
    return Counter({(schematic.CODES[before], schematic.CODES[after]): count for before, after, count in rows})


def back(run: Results) -> Counter[tuple[str, str]]:
    """CNPs, which no switch may mark, before and after L0."""
    return _pairs(schematic.crossings(run, "L0->T0", kind="cnp"))


def totals(runs: Runs) -> dict[str, Counter[tuple[str, str]]]:
    """By port, over the scenes; and the CNPs on their way back."""
    found = {port: _sum(counted(runs[scene], port) for scene in schematic.SCENES) for port in schematic.PORTS}
    return found | {"CNPs": _sum(back(runs[scene]) for scene in schematic.SCENES)}


def _sum(counts: Iterable[Counter[tuple[str, str]]]) -> Counter[tuple[str, str]]:
    return sum(counts, Counter[tuple[str, str]]())


def lost(run: Results) -> int:
    """Packets that came with UE to a port in congestion, and left it without CE."""
    found = 0
    for port in schematic.PORTS:
        crossed = schematic.crossings(run, port)
        state = schematic.recorded_states(run, port, crossed["left_ps"].to_numpy().astype(np.int64))
        here = crossed.with_columns(state=pl.Series(state))
        here = here.filter(pl.col("state") == "congestion", pl.col("code_in") == "UE", pl.col("code_out") != "CE")
        found += here.height
    return found


def metrics(runs: Runs) -> Metrics:
    whole = _sum(totals(runs).values())
    changes = {pair: count for pair, count in whole.items() if pair[0] != pair[1]}
    return {
        "packets": sum(whole.values()),
        "other_changes": sum(count for pair, count in changes.items() if pair not in ALLOWED),
        "ue_to_ce": whole["10", "11"],
        "ue_through_congestion_without_ce": sum(lost(runs[scene]) for scene in schematic.SCENES),
    }


def tables(seeds: Seeds) -> Sequence[NumberTable]:
    codes = tuple(MEANING)
    found = totals(seeds[0])
    rows = tuple(
        (place, before, *(str(of[before, after]) for after in codes)) for place, of in found.items() for before in codes
    )
    return [NumberTable("Packets by code point before and after a port", ("port", "before", *codes), rows, words=2)]


def draw(seeds: Seeds, file: Path) -> None:
    found = totals(seeds[0])
    title = "Table 1: packets by code point before and after a port, three scenes together"
    with plot.picture(file, title, 12.6, 3.4) as made:
        grid = made.subplots(1, len(found), sharey=True)
        for axes, (place, counts) in zip(grid, found.items(), strict=True):
            _draw_matrix(axes, counts)
            axes.set_title(place if place != "CNPs" else "CNPs at L0, on their way back")
        grid[0].set_ylabel("before")
        text = "green: Table 1 allows it; white: it does not, and no packet may be there. 00 " + MEANING["00"]
        made.supxlabel(text + "".join(f", {code} {MEANING[code]}" for code in ("01", "10", "11")), fontsize=8)


def _draw_matrix(axes: Axes, counts: Counter[tuple[str, str]]) -> None:
    codes = list(MEANING)
    for row, before in enumerate(codes):
        for column, after in enumerate(codes):
            allowed = before == after or (before, after) in ALLOWED
            count = counts[before, after]
            colour = plot.GREEN if allowed else "white" if not count else plot.VERMILLION
            box = {"facecolor": colour, "alpha": (0.45 if count else 0.12), "edgecolor": plot.GREY}
            axes.add_patch(Rectangle((column - 0.5, row - 0.5), 1, 1, **box))
            axes.text(column, row, f"{count}" if count or allowed else "–", ha="center", va="center", fontsize=8)
    axes.set_xticks(range(len(codes)), codes)
    axes.set_yticks(range(len(codes)), codes)
    axes.set_xlim(-0.5, len(codes) - 0.5)
    axes.set_ylim(len(codes) - 0.5, -0.5)
    axes.set_xlabel("after")
    axes.grid(visible=False)
