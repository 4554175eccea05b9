"""Tables and pictures of the scenes of scenarios/lossless-or-uec.toml. Runs that are missing are run."""

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl
import scenes
from backwater import Results
from backwater.analysis import plot, scheme_measures, scheme_pictures, scheme_slowdown
from backwater.common import statistics
from backwater.common.statistics import Estimate
from backwater.experiments import sweep_measures
from backwater.results.catalogue import CATALOGUE, Measure
from backwater.scenario import schemes
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

NAME = "lossless-or-uec"
HERE = Path(__file__).parent
#: A link of a leaf goes down for good while a permutation runs.
FAULT = 'fault=[{kind="link-down", link=["leaf0", "spine0"], at="50us"}]'
#: Who refuses that, and why.
REFUSED = {
    "adaptive DCQCN": "its queue pairs take packets in any order and send nothing twice",
    "ICI+": "a crossbar chooses a way for the first packet of an ingress queue",
    "BFC": "queues of flows that are held do not know a lost link",
}
#: Sizes between which web search is told apart.
SIZES = (100_000, 1_000_000)


@dataclass(frozen=True)
class Scene:
    """What one comparison is of."""

    words: str
    #: The traffic entries that send.
    entries: tuple[str, ...]
    #: What the overview shows: of which entry, and which measure.
    shown: tuple[tuple[str, str], ...]
    overrides: tuple[str, ...] = ()
    refused: Mapping[str, str] | None = None


_SLOWEST = (("permutation", "max_slowdown"),)
SCENES = {
    "incast": Scene(
        "an incast of 36 beside small messages",
        ("incast", "beside"),
        (("beside", "p99_slowdown"), ("incast", "max_slowdown")),
    ),
    "permutation": Scene("a permutation", ("permutation",), _SLOWEST),
    "permutation-4": Scene("a permutation, 4:1", ("permutation",), _SLOWEST, ("topology.spines=4",)),
    "permutation-8": Scene("a permutation, 8:1", ("permutation",), _SLOWEST, ("topology.spines=2",)),
    "failed-link": Scene("a permutation, one link fails", ("permutation",), _SLOWEST, (FAULT,), REFUSED),
    "all-to-all": Scene("an all-to-all", ("all-to-all",), (("all-to-all", "application_ps"),)),
    "all-reduce": Scene("a ring all-reduce", ("all-reduce",), (("all-reduce", "application_ps"),)),
    "web-search": Scene("web search at half load", ("web-search",), (("web-search", "p99_slowdown"),)),
}
#: Of each traffic entry, in tables.
OF_ENTRIES = ("p50_slowdown", "p99_slowdown", "max_slowdown", "application_ps", "goodput_bps", "fairness")
#: Of each traffic entry what was sent again, and for what.
OF_LOSSES = ("resent_packets", "timeouts", "unfinished")
#: Of the network.
OF_NETWORK = ("trims", "switch_drops", "holds_sent", "paused_ps", "peak_queue_bytes", "useful_percent")

#: By measure, the mean over the seeds.
Values = Mapping[str, Estimate]


@dataclass(frozen=True)
class Found:
    """What came out of a scene: by scheme, of each traffic entry, and of the network."""

    entries: Mapping[str, Mapping[str, Values]]
    network: Mapping[str, Values]


def overrides(scene: Scene) -> tuple[str, ...]:
    """What a scene sets, as `--set` takes it."""
    only = ", ".join(f'"{name}"' for name in scene.entries)
    left_out = (f'scheme.{name}.left-out="{why}"' for name, why in (scene.refused or {}).items())
    return (f"run.only=[{only}]", *scene.overrides, *left_out)


def runs_of(scene: str, folder: Path, seeds: Sequence[int]) -> dict[str, list[Results]]:
    """Every seed of a scene under each scheme that takes it."""
    return scenes.runs(NAME, folder / scene, seeds, overrides(SCENES[scene]))


def measured(scene: Scene, runs: Mapping[str, Sequence[Results]]) -> Found:
    """The means over the seeds of all that tables show."""
    network = scheme_measures.outcomes(runs).network
    entries: dict[str, dict[str, Values]] = {}
    for scheme, seeds in runs.items():
        rows = [{row["traffic"]: row for row in sweep_measures.of(run)} for run in seeds]
        entries[scheme] = {
            entry: {
                name: statistics.estimate([float(row[entry][name]) for row in rows], name)
                for name in (*OF_ENTRIES, *OF_LOSSES)
                if all(row[entry][name] is not None for row in rows)
            }
            for entry in scene.entries
        }
    return Found(entries, network)


def table(scene: Scene, found: Found) -> str:
    """A row per scheme, as Markdown; columns that are 0 under all are named below, and who refuses the scene, too."""
    columns: list[tuple[str, Measure, dict[str, Estimate]]] = []
    for entry in scene.entries:
        for name in (*OF_ENTRIES, *OF_LOSSES):
            values = {scheme: of[entry][name] for scheme, of in found.entries.items() if name in of[entry]}
            # The largest of flows enough for a percentile tells of one flow.
            if name == "max_slowdown" and any("p99_slowdown" in of[entry] for of in found.entries.values()):
                continue
            heading = CATALOGUE[name].title
            columns.append((f"{entry}: {heading}" if len(scene.entries) > 1 else heading, CATALOGUE[name], values))
    for name in OF_NETWORK:
        values = {scheme: of[name] for scheme, of in found.network.items() if name in of}
        columns.append((CATALOGUE[name].title, CATALOGUE[name], values))
    zero = [heading for heading, _, values in columns if values and not any(of.mean for of in values.values())]
    shown = [one for one in columns if one[2] and one[0] not in zero]
    lines = [f"| scheme | {' | '.join(heading for heading, _, _ in shown)} |", f"|{'---|' * (1 + len(shown))}"]
    for scheme in found.network:
        cells = [scenes.cell(measure, values.get(scheme)) for _, measure, values in shown]
        lines.append(f"| `{scheme}` | {' | '.join(cells)} |")
    lines += [
        f"| `{scheme}` | refused: {why} |{' |' * (len(shown) - 1)}" for scheme, why in (scene.refused or {}).items()
    ]
    below = [f"0 under all: {', '.join(zero)}."] if zero else []
    return "\n".join((f"**{scene.words.capitalize()}**\n", *lines, "", *below))


def by_size(runs: Mapping[str, Sequence[Results]]) -> str:
    """Median and 99th percentile of the slowdown of small, middle and large flows, as Markdown."""
    found = scheme_slowdown.Comparison(runs, SIZES, given=True).table()
    if found is None:
        return ""
    rows = found.filter(pl.col("bin") != "all sizes")
    bins = rows["bin"].unique(maintain_order=True).to_list()
    heads = [f"{word}: {name}" for word in bins for name in ("median", "p99")]
    lines = [f"| scheme | {' | '.join(heads)} |", f"|{'---|' * (1 + len(heads))}"]
    slowdown = CATALOGUE["p99_slowdown"]
    for scheme in runs:
        mine = {row["bin"]: row for row in rows.filter(pl.col("scheme") == scheme).to_dicts()}
        cells = [scenes.cell(slowdown, _of_bin(mine[word], name)) for word in bins for name in ("median", "p99")]
        lines.append(f"| `{scheme}` | {' | '.join(cells)} |")
    return "\n".join((*lines, ""))


def _of_bin(row: Mapping[str, Any], name: str) -> Estimate | None:
    """A mean and its interval again, of the columns of a table."""
    if row[name] is None:
        return None
    half = row[f"{name}_high"] - row[name]
    return Estimate(row[name], half, (row[f"{name}_low"], row[f"{name}_high"]), 1.0)


def draw(found: Mapping[str, Found], names: Sequence[str], file: Path, title: str) -> Path:
    """The overview: a panel for what each scene shows, a row per scheme; further left is better."""
    panels = [(scene, entry, name) for scene in found for entry, name in SCENES[scene].shown]
    colours, markers = plot.scheme_colours(names), plot.scheme_markers(names)
    across = 3
    down = -(-len(panels) // across)
    with plot.picture(file, title, 10.2, down * (0.7 + 0.17 * len(names)), x=0.01, ha="left", fontsize=10) as made:
        grid: Any = made.subplots(down, across, sharey=True, squeeze=False)
        for axes in grid.flat[len(panels) :]:
            axes.set_axis_off()
        for axes, (scene, entry, name) in zip(grid.flat, panels, strict=False):
            # Times in microseconds.
            scale, unit = (1e6, "µs") if name == "application_ps" else (1.0, "FCT alone = 1")
            ends = []
            for place, scheme in enumerate(names):
                value = found[scene].entries.get(scheme, {}).get(entry, {}).get(name)
                if value is None:
                    at: dict[str, Any] = {"xycoords": ("axes fraction", "data"), "va": "center", "size": 7}
                    axes.annotate("refused", (0.02, place), color=plot.GREY, **at)
                    continue
                look: dict[str, Any] = {"color": colours[scheme], "marker": markers[scheme], "ms": 4.5, "capsize": 2}
                width = [[(value.mean - value.low) / scale], [(value.high - value.mean) / scale]]
                axes.errorbar(value.mean / scale, place, xerr=width, **look)
                ends += [value.low / scale, value.high / scale]
            least, most = min(ends), max(ends)
            if most > 4 * least:
                axes.set_xscale("log")
                axes.set_xlim(least / 1.2, most * 1.4)
                axes.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5), numticks=6))
                axes.xaxis.set_minor_formatter(NullFormatter())
            else:
                axes.set_xlim(0, most * 1.05)
            axes.xaxis.set_major_formatter(FuncFormatter(lambda at, _: f"{at:g}"))
            of = f"{entry}: " if len(SCENES[scene].entries) > 1 else ""
            axes.set_title(SCENES[scene].words if not of else f"incast scene, {entry}", fontsize=9)
            axes.set_xlabel(f"{CATALOGUE[name].title} ({unit})" if name != "application_ps" else f"done after ({unit})")
            axes.set_yticks(range(len(names)), [plot.label(scheme) for scheme in names])
            axes.set_ylim(len(names) - 0.5, -0.5)
            axes.tick_params(axis="y", length=0)
            axes.grid(visible=False, axis="y")
            axes.grid(visible=True, axis="x")
    return file


def main() -> None:
    """Print the tables, draw the pictures, and say where and how long the runs took."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("scenes", nargs="*", default=list(SCENES), help=f"some of {', '.join(SCENES)}")
    parser.add_argument("--runs", type=Path, default=Path("results") / NAME, help="where the runs go")
    parser.add_argument("--seeds", type=int, default=5, help="how many seeds")
    parser.add_argument("--out", type=Path, default=HERE, help="folder of the pictures")
    options = parser.parse_args()
    caption = statistics.caption(options.seeds) if options.seeds > 1 else "one seed"
    found: dict[str, Found] = {}
    spent, count = 0.0, 0
    for scene in options.scenes:
        runs = runs_of(scene, options.runs, range(1, options.seeds + 1))
        found[scene] = measured(SCENES[scene], runs)
        print(table(SCENES[scene], found[scene]))
        if scene == "web-search":
            print(by_size(runs))
        if scene == "incast":
            outcomes = scheme_measures.outcomes(runs)
            title = f"{SCENES[scene].words}: {caption}"
            print(f"written: {scheme_pictures.draw(outcomes, options.out / f'{NAME}-incast.png', title=title)}")
        spent += sum(run.meta["cpu_s"] for seeds in runs.values() for run in seeds)
        count += sum(map(len, runs.values()))
    names = [one.name for one in schemes.of_files([scenes.SCENARIOS / f"{NAME}.toml"])]
    title = f"scenes of 64 hosts at 400 Gbps: {caption}"
    print(f"written: {draw(found, names, options.out / f'{NAME}.png', title)}")
    print(f"{count} runs; their simulations took {spent:.0f} s of CPU time")


if __name__ == "__main__":
    main()
