"""Tables and pictures of the scenes of scenarios/family.toml. Runs that are missing are run.

Each picture is the one that `backwater compare` draws of the scene.
"""

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import scenes
from backwater import Results
from backwater.analysis import scheme_measures, scheme_pictures
from backwater.analysis.scheme_measures import Outcomes
from backwater.common import quantities, statistics
from backwater.common.statistics import Estimate, with_interval
from backwater.results.catalogue import CATALOGUE

HERE = Path(__file__).parent


@dataclass(frozen=True)
class Scene:
    """What one comparison is of."""

    words: str
    #: The traffic entries that send.
    entries: tuple[str, ...]
    overrides: tuple[str, ...] = ()
    #: Whether only flow control can hold back what comes.
    needs_flow_control: bool = False


SCENES = {
    "one-tree": Scene("one congestion tree", ("victims", "others", "tree")),
    "two-trees": Scene("two trees that overlap", ("victims", "others", "tree", "tree-2")),
    "slow-host": Scene(
        "a slow host",
        ("victims", "others", "to-slow"),
        ("host.drain=50Gbps", "host.of=h0", "host.queue=256KiB"),
        needs_flow_control=True,
    ),
    "incast-mix": Scene("an incast over web search", ("web-search", "incast")),
    "storage": Scene("an all-to-all beside storage", ("all-to-all", "writes")),
}
#: What schemes say that hold nothing back by priorities.
NO_FLOW_CONTROL = "switch.flow-control=none"
DONE = CATALOGUE["application_ps"]
#: Of the network of each scheme.
SHOWN = (
    "paused_ps",
    "holds_sent",
    "becns",
    "peak_queue_bytes",
    "held_precision_percent",
    "held_recall_percent",
    "wrongly_held",
    "wrongly_held_ps",
    "recovery_ps",
)


def runs_of(scene: str, folder: Path, seeds: Sequence[int]) -> dict[str, list[Results]]:
    """Every seed of a scene under each scheme, in the folder of `backwater compare`."""
    wanted = SCENES[scene]
    only = ", ".join(f'"{name}"' for name in wanted.entries)
    return scenes.runs(
        "family",
        folder / scene,
        seeds,
        (f"run.only=[{only}]", *wanted.overrides),
        lambda one: not (wanted.needs_flow_control and NO_FLOW_CONTROL in one.overrides),
    )


def table(scene: str, found: Outcomes) -> str:
    """A row per scheme: slowdowns of each traffic entry, and what the network did, as Markdown."""
    network = [CATALOGUE[name] for name in SHOWN if any(name in of for of in found.network.values())]
    headings = ["scheme", *(f"{name}: {_slowdown(of)}" for name, of in found.traffic.items())]
    ends = [name for name, of in found.traffic.items() if all("application_ps" in values for values in of.values())]
    headings += [*(f"{name}: done after" for name in ends), *(one.title for one in network)]
    lines = [f"| {' | '.join(headings)} |", f"|{'---|' * len(headings)}"]
    for scheme, values in found.network.items():
        cells = [_slow(of[scheme]) for of in found.traffic.values()]
        cells += [scenes.cell(DONE, found.traffic[name][scheme][DONE.name]) for name in ends]
        cells += [scenes.cell(one, values.get(one.name)) for one in network]
        lines.append(f"| `{scheme}` | {' | '.join(cells)} |")
    return f"**{SCENES[scene].words.capitalize()}**\n\n" + "\n".join(lines) + "\n"


def _slowdown(of: dict[str, dict[str, Estimate]]) -> str:
    whole = all("p99_slowdown" in values for values in of.values())
    return "p99 slowdown" if whole else "greatest slowdown"


def _slow(values: dict[str, Estimate]) -> str:
    found = values.get("p99_slowdown") or values.get("max_slowdown")
    return "–" if found is None else with_interval(found, quantities.three_digits)


def main() -> None:
    """Print the tables, draw the pictures, and say where."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("scenes", nargs="*", default=list(SCENES), help=f"some of {', '.join(SCENES)}")
    parser.add_argument("--runs", type=Path, default=Path("results/family"), help="where the runs go")
    parser.add_argument("--seeds", type=int, default=5, help="how many seeds")
    parser.add_argument("--out", type=Path, default=HERE, help="folder of the pictures")
    options = parser.parse_args()
    for scene in options.scenes:
        runs = runs_of(scene, options.runs, range(1, options.seeds + 1))
        found = scheme_measures.outcomes(runs)
        print(table(scene, found))
        title = f"{SCENES[scene].words}: {statistics.caption(options.seeds)}"
        print(f"written: {scheme_pictures.draw(found, options.out / f'family-{scene}.png', title=title)}")


if __name__ == "__main__":
    main()
