"""The slowdown with PFC and without, under five controllers: a picture from the runs that `backwater compare` has left.

Runs that are missing are run. A table says what of each seed is in no mean: drops, what was sent again, timeouts.
"""

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import polars as pl
import scenes
from backwater import Results
from backwater.analysis import plot
from backwater.results import measures
from backwater.results.catalogue import named
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter

NAME = "lossless-or-not"
CONTROLLERS = ("DCQCN", "DCQCN+TCD", "ICI+", "HPCC", "Swift")
#: The fabrics, as names of schemes begin: in words, their colour and sign, and whether it is filled.
FABRICS: dict[str, tuple[str, dict[str, Any]]] = {
    "PFC GBN": ("PFC, go-back-N", {"color": plot.BLUE, "marker": "o"}),
    "PFC SR": ("PFC, selective repeat", {"color": plot.BLUE, "marker": "s", "mfc": "none"}),
    "drop GBN": ("no PFC, go-back-N", {"color": plot.VERMILLION, "marker": "o"}),
    "drop SR": ("no PFC, selective repeat", {"color": plot.VERMILLION, "marker": "s", "mfc": "none"}),
}
PANELS = (("web-search", "web search among 31 hosts"), ("incast", "incasts of 24 to the other one"))
SEEDS = range(1, 6)
#: What is shown of a traffic entry of a run.
SHOWN = named("p99_slowdown unfinished resent_packets timeouts")

#: By scheme, for each seed what is shown of each traffic entry.
Found = dict[str, list[dict[str, dict[str, Any]]]]


def runs(folder: Path, overrides: Sequence[str], without: Sequence[str]) -> dict[str, list[Results]]:
    """Every seed under each scheme but those of some controllers, in the folder of `backwater compare`."""
    return scenes.runs(NAME, folder, SEEDS, overrides, lambda one: one.name.rpartition(" ")[2] not in without)


def measured(found: dict[str, list[Results]]) -> Found:
    """What is shown of them."""
    return {
        scheme: [{row["traffic"]: row for row in measures.of_traffic(run, SHOWN).to_dicts()} for run in seeds]
        for scheme, seeds in found.items()
    }


def table(found: dict[str, list[Results]], values: Found) -> pl.DataFrame:
    """A row per scheme and seed under which something was dropped or sent again."""
    rows = []
    for scheme, seeds in found.items():
        for run, of_entries in zip(seeds, values[scheme], strict=True):
            drops = run.ports.select(pl.col("dropped_packets").sum()).collect().item()
            sums = {f"{name} {one.name}": row[one.name] for name, row in of_entries.items() for one in SHOWN}
            if drops or any(row["resent_packets"] for row in of_entries.values()):
                rows.append({"scheme": scheme, "seed": run.meta["seed"], "dropped by switches": drops} | sums)
    return pl.DataFrame(rows)


def draw(found: Found, file: Path, title: str) -> Path:
    """A panel per traffic entry: the 99th percentile of the slowdown of each seed, a row per controller and fabric."""
    # The fabrics of a controller that are left out have no row.
    rows = [(cc, fabric) for cc in CONTROLLERS for fabric in FABRICS if f"{fabric} {cc}" in found]
    with plot.picture(file, title, 8.4, 0.7 + 0.24 * len(rows), x=0.01, ha="left", fontsize=10) as made:
        panels: Any = made.subplots(1, 2, sharey=True)
        for axes, (traffic, heading) in zip(panels, PANELS, strict=True):
            for place, (cc, fabric) in enumerate(rows):
                values = [seed[traffic]["p99_slowdown"] for seed in found[f"{fabric} {cc}"]]
                axes.plot(values, [place] * len(values), ls="none", ms=4.5, alpha=0.75, **FABRICS[fabric][1])
            middles = []
            for cc in dict.fromkeys(cc for cc, _ in rows):
                mine = [place for place, row in enumerate(rows) if row[0] == cc]
                middles.append((sum(mine) / len(mine), cc))
                if mine[0]:
                    axes.axhline(mine[0] - 0.5, color=plot.GREY, lw=0.5)
            axes.set_xscale("log")
            axes.set_xlim(left=3)
            axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}".replace(",", " ")))
            axes.set_title(heading)
            axes.set_xlabel("99th percentile of FCT (FCT alone = 1)")
            axes.set_yticks([middle for middle, _ in middles], [cc for _, cc in middles])
            axes.tick_params(axis="y", length=0)
            axes.set_ylim(len(rows) - 0.5, -0.5)
            axes.grid(visible=False, axis="y")
            axes.grid(visible=True, axis="x")
        signs = [Line2D([], [], ls="none", **look) for _, look in FABRICS.values()]
        made.legend(signs, [words for words, _ in FABRICS.values()], loc="outside lower center", ncols=4)
    return file


def main() -> None:
    """Draw it, print the table, and say where."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=Path, default=Path("results/compare") / NAME, help="folder of `compare`")
    parser.add_argument("--set", action="append", default=[], help="as `compare` had it")
    parser.add_argument("--without", action="append", default=[], choices=CONTROLLERS, help="a controller")
    parser.add_argument("--memory", default="7 MB of memory in each switch", help="what the title says of it")
    parser.add_argument("--out", type=Path, default=Path(__file__).with_name(f"{NAME}.png"), help="picture")
    options = parser.parse_args()
    found = runs(options.runs, options.set, options.without)
    values = measured(found)
    with pl.Config(tbl_rows=-1, tbl_cols=-1, tbl_width_chars=200):
        print(table(found, values))
    draw(values, options.out, f"{options.memory}: each of {len(SEEDS)} seeds")
    print(f"written: {options.out}; runs: {options.runs}")


if __name__ == "__main__":
    main()
