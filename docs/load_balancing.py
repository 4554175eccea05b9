"""What four ways of spreading packets do to a random permutation: the picture and the table of docs/load-balancing.md.

Runs scenarios/spray.toml under each of them, a few seconds in all. The picture carries the numbers it shows, so that a
test can tell whether it is still what the model does.
"""

import argparse
import json
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

import backwater as bw
import polars as pl
from backwater.analysis import plot

SCENARIO = Path(__file__).parents[1] / "scenarios" / "spray.toml"
PICTURE = Path(__file__).with_name("load-balancing.png")
SEEDS = range(1, 5)
#: Four leaves, each with one to each of four spines.
LINKS = 16
#: Each with what it sets.
WAYS: Mapping[str, Sequence[str]] = {
    "ecmp": ["switch.load-balancing=ecmp"],
    "flowlet, 500 µs": ["switch.load-balancing=flowlet"],
    "flowlet, 5 µs": ["switch.load-balancing=flowlet", "switch.flowlet-gap=5us"],
    "spray": ["switch.load-balancing=spray"],
    "adaptive": ["switch.load-balancing=adaptive"],
}
#: Those that do the same are dashed in turn.
LOOKS = (
    (plot.BLACK, "-"),
    (plot.SKY, (0, (4, 1.5))),
    (plot.BLUE, "-"),
    (plot.ORANGE, "-"),
    (plot.GREEN, (0, (2, 2))),
)
#: Of every link from a leaf to a spine, every flow, every flow, over the seeds, sorted.
Values = dict[str, list[float]]
LOAD, SLOWDOWN, EARLY = "load", "slowdown", "early"


def measure() -> dict[str, Values]:
    """Run each way with each seed; what links carried, how slow flows were, what came early."""
    with tempfile.TemporaryDirectory() as folder:
        return {way: _of_runs(_runs(way, Path(folder))) for way in WAYS}


def _runs(way: str, folder: Path) -> list[bw.Results]:
    at = folder / way.replace(" ", "")
    return [bw.run(SCENARIO, seed=seed, out=at / str(seed), overrides=WAYS[way]) for seed in SEEDS]


def _of_runs(runs: Sequence[bw.Results]) -> Values:
    flows = pl.concat(run.flows.select("slowdown", "early_packets_max") for run in runs).collect()
    return {
        LOAD: sorted(round(load, 3) for run in runs for load in _loads(run)),
        SLOWDOWN: sorted(round(value, 3) for value in flows["slowdown"]),
        EARLY: sorted(flows["early_packets_max"]),
    }


def _loads(run: bw.Results) -> list[float]:
    """MB that each link from a leaf to a spine carried, without headers; a port that sent nothing has no row."""
    up = run.ports.filter(
        pl.col("node").cast(pl.String).str.starts_with("leaf"),
        pl.col("peer").cast(pl.String).str.starts_with("spine"),
        pl.col("priority") == run.flows.select(pl.col("priority").first()).collect().item(),
    )
    sent: list[float] = up.select(pl.col("sent_bytes") / 1e6).collect()["sent_bytes"].to_list()
    return sent + [0.0] * (LINKS - len(sent))


def table(found: Mapping[str, Values]) -> str:
    """A row of Markdown for each way."""
    head = (
        "`switch.load-balancing`",
        "fullest link",
        "median slowdown",
        "slowest flow",
        "most that waited for its turn",
    )
    lines = ["| " + " | ".join(head) + " |", "|---" * len(head) + "|"]
    for way, values in found.items():
        load, slow = values[LOAD], values[SLOWDOWN]
        cells = [
            f"{load[-1]:.1f} MB",
            f"{slow[len(slow) // 2]:.2f}",
            f"{slow[-1]:.2f}",
            f"{values[EARLY][-1]:.0f} packets",
        ]
        lines.append(f"| {way} | " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


PANELS: Sequence[tuple[str, str, str]] = (
    (LOAD, "Links from leaves to spines", "carried [MB]"),
    (SLOWDOWN, "Flows: time", "slowdown"),
    (EARLY, "Flows: out of order", "packets that wait, at most"),
)


def draw(found: Mapping[str, Values], file: Path) -> Path:
    """Three panels: each line goes through all links, or flows, from the least to the most."""
    with plot.style():
        made = plot.figure(8.4, 3.2)
        for axes, (what, title, label) in zip(made.subplots(1, 3), PANELS, strict=True):
            for (way, values), (colour, dashes) in zip(found.items(), LOOKS, strict=True):
                y = values[what]
                x = [100 * (place + 0.5) / len(y) for place in range(len(y))]
                axes.plot(x, y, color=colour, ls=dashes, lw=1.8, label=way)
            if what == EARLY:
                axes.set_yscale("symlog", linthresh=1)
                axes.set_ylim(0)
            axes.set_title(title)
            axes.set_ylabel(label)
            axes.set_xlim(0, 100)
            axes.set_xlabel(("links" if what == LOAD else "flows") + ", sorted [%]")
        made.legend(*axes.get_legend_handles_labels(), loc="outside lower center", ncols=len(found), handlelength=4)
        return plot.save(made, file, about=numbers(found))


def numbers(found: Mapping[str, Values]) -> str:
    """What the picture shows, as text that it carries."""
    return json.dumps(found, ensure_ascii=True, separators=(",", ":"))


def main() -> None:
    """Print the table, draw the picture and say where."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=PICTURE, help="picture")
    options = parser.parse_args()
    found = measure()
    print(table(found))
    print(f"written: {draw(found, options.out)}")


if __name__ == "__main__":
    main()
