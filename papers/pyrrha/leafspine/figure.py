"""An incast and 23 flows beside it: mean FCTs as published, by the same rules here, and by those that are meant."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from backwater.analysis import plot
from backwater.papers import Measurements, Runs, Seeds
from backwater.papers.number_tables import NumberTable
from backwater.results import Results

from papers import hop_by_hop

PUBLISHED = hop_by_hop.published(Path(__file__).with_name("published.csv"))
#: Kinds of flows in words, the incast first.
KINDS = {
    "incast": "incast",
    "same-host-to-rack": "its sources, to its rack",
    "idle-host-to-rack": "idle hosts, to its rack",
    "same-host-elsewhere": "its sources, elsewhere",
    "bystander": "idle hosts, elsewhere",
}
BESIDE = tuple(KINDS)[1:]
TO_RACK = ("same-host-to-rack", "idle-host-to-rack")
#: Runs with the rules of the public code, by its column.
CODE = {"bfc-32q": "BFC code 31", "floodgate": "Floodgate code", "dst-pfc": "dst-PFC code", "pyrrha": "Pyrrha code"}
#: Rows of the table: scheme, what was published, the run by the same rules, the run by those that are meant.
ROWS = (
    ("PFC", "pfc", None, "PFC"),
    ("BFC, 7 or 32 queues", "bfc", "BFC code", "BFC"),
    ("BFC, 31 or 32 queues", "bfc-32q", "BFC code 31", "BFC"),
    ("Floodgate", "floodgate", "Floodgate code", "Floodgate"),
    ("Pyrrha", "pyrrha", "Pyrrha code", "Pyrrha"),
    ("PFC by destination", "dst-pfc", "dst-PFC code", "dst-PFC"),
)


def mean_of(times: Sequence[float], kinds: Sequence[str]) -> float:
    """The mean of flows of some kinds."""
    chosen = [time for time, kind in zip(times, PUBLISHED["kind"], strict=True) if kind in kinds]
    return sum(chosen) / len(chosen)


def theirs(column: str, kinds: Sequence[str]) -> float:
    """What was published, in µs."""
    return mean_of([float(value) for value in PUBLISHED[column]], kinds)


def ours(run: Results, kinds: Sequence[str]) -> float | None:
    """The same here; None if a flow did not come to its end."""
    times = hop_by_hop.whole(hop_by_hop.flows(run)["acked_us"])
    return None if times is None else mean_of(times, kinds)


def _compared(runs: Runs, pairs: Mapping[str, str]) -> dict[str, float | None]:
    return {
        f"{run}, {kind}": hop_by_hop.ratio(ours(runs[run], [kind]), theirs(column, [kind]))
        for column, run in pairs.items()
        for kind in KINDS
    }


def metrics(runs: Runs) -> Measurements:
    return {
        "code_over_published": _compared(runs, CODE),
        "seven_queues_over_published": _compared(runs, {"bfc": "BFC code"}),
        "bfc_beside_over_published": hop_by_hop.ratio(ours(runs["BFC"], BESIDE), theirs("bfc", BESIDE)),
        "pyrrha_beside_over_published": hop_by_hop.ratio(ours(runs["Pyrrha"], BESIDE), theirs("pyrrha", BESIDE)),
        "to_rack_pyrrha_over_pfc": hop_by_hop.ratio(ours(runs["Pyrrha"], TO_RACK), ours(runs["PFC"], TO_RACK)),
    }


def _mean(seeds: Seeds, run: str, kinds: Sequence[str]) -> float:
    found = hop_by_hop.known([ours(runs[run], kinds) for runs in seeds])
    return sum(found) / len(found) if found else float("nan")


def draw(seeds: Seeds, file: Path) -> None:
    with plot.picture(file, "Flows beside an incast: mean FCT", 8.5, 3.6) as made:
        axes = made.subplots()
        shown = [row for row in ROWS if row[1] != "bfc-32q"]
        series = {
            "public code": [theirs(column, BESIDE) for _, column, _, _ in shown],
            "its rules here": [_mean(seeds, code or meant, BESIDE) for _, _, code, meant in shown],
            "rules that are meant": [_mean(seeds, meant, BESIDE) for _, _, _, meant in shown],
        }
        hop_by_hop.bars(axes, [name.partition(",")[0] for name, *_ in shown], series, "mean FCT [µs]")
        axes.set_yscale("log")
        axes.legend(fontsize=7)


def tables(seeds: Seeds) -> Sequence[NumberTable]:
    rows = []
    for kind, words in KINDS.items():
        for scheme, column, code, meant in ROWS:
            same = "–" if code is None else hop_by_hop.over_seeds([ours(runs[code], [kind]) for runs in seeds])
            own = hop_by_hop.over_seeds([ours(runs[meant], [kind]) for runs in seeds])
            rows.append((words, scheme, hop_by_hop.three(theirs(column, [kind])), same, own))
    headings = ("flows", "scheme", "public code", "its rules here", "rules that are meant")
    return [NumberTable("mean FCT at the sender, in µs", headings, tuple(rows), words=2)]
