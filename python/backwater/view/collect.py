"""A results folder made into what the page shows of it: :func:`packed`. What is missing is said with how to get it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import backwater
from backwater.analysis.blame import NEEDED, Blame
from backwater.analysis.blame.tables import cut, read
from backwater.common import codes
from backwater.common.late import np, pl
from backwater.results import Results, measures
from backwater.results.folder import RECORDED_BY
from backwater.view import faults, flows, lanes, network, series, spans, summary, truth
from backwater.view.encode import Columns, pack
from backwater.view.network import Network

#: Times in the page are counted in this, or in more where a run is longer than 2 s.
TICK_PS = 1000
_MOST_TICKS = 2**31 - 2
#: So many intervals of each kind at most.
MOST_SPANS = 300_000

#: What a detector says, by number; `judging` is a released port whose verdict is open.
STATES = ("non-congestion", "congestion", "undetermined", "judging")

#: What the page lacks without a table.
_MISSING = (
    ("pauses", "when ports were paused"),
    ("states", "the states of the detectors"),
    ("marks", "which packets were marked"),
    ("holds", "congestion trees, culprits and victims"),
    ("samples", "how long the queues were at regular times"),
)


@dataclass
class _Run:
    """A run on its way into the page."""

    results: Results
    tick_ps: int
    end_ps: int
    columns: Columns = field(default_factory=Columns)
    notes: list[str] = field(default_factory=list)
    #: On roots that are not listed.
    rest: list[str] = field(default_factory=list)

    def spans(self, table: str, frame: pl.DataFrame, others: tuple[str, ...] = ()) -> None:
        """Add intervals of ports, thinned if they are too many."""
        kept, gap = spans.thinned(frame, ["port", *others], MOST_SPANS, self.end_ps // 8000)
        if gap:
            self.notes.append(f"{table}: intervals less than {gap / 1e6:.3g} µs apart are drawn as one")
        spans.add(self.columns, table, kept.sort("port", "start"), self.tick_ps, others)


def packed(
    results: Results,
    title: str = "",
    differs: Sequence[tuple[str, str, str]] = (),
    alone: Mapping[str, Results] | None = None,
) -> bytes:
    """The run as the page wants it.

    `title` says what it is beside another run, `differs` the settings in which the two differ. `alone` are runs in
    which one application sent alone.
    """
    end_ps = max(1, int(results.meta["sim_time_ps"]))
    run = _Run(results, TICK_PS * (1 + end_ps // (TICK_PS * _MOST_TICKS)), end_ps)
    blame = _blame(run)
    fabric = network.network(results)
    if blame is not None:
        fabric = fabric.with_drains(blame.queues.filter("is_drain"))
    labels = network.add(run.columns, fabric, run.tick_ps)
    _add_gates(run, fabric)
    _add_states(run, fabric)
    points, source, step = series.queues(results, fabric, end_ps)
    series.add_queues(run.columns, points, run.tick_ps)
    if step:
        run.notes.append(f"queues: of every {step / 1e6:.3g} µs the longest is drawn")
    bin_ps = max(run.tick_ps, end_ps // series.BINS)
    series.add_marks(run.columns, results, fabric, bin_ps)
    series.add_rates(run.columns, results, run.tick_ps)
    listed, total = flows.chosen(results, blame)
    traffic = flows.add(run.columns, listed, blame, run.tick_ps)
    if listed.height < total or measures.programs(results.meta["scenario"]):
        series.add_load(run.columns, results, end_ps, run.tick_ps)
    jobs = lanes.of(results, end_ps)
    wrong = faults.add(run.columns, results, fabric.nodes, jobs, run.tick_ps)
    jobs.add(run.columns, run.tick_ps)
    opening = _add_truth(run, fabric, blame, listed, points)
    header = {
        "backwater": str(results.meta.get("version", backwater.__version__)),
        "name": results.folder.absolute().name,
        "title": title,
        "digest": results.digest,
        "complete": results.complete,
        "end_ps": end_ps,
        "tick_ps": run.tick_ps,
        "bin_ps": bin_ps,
        "facts": network.facts(results),
        "command": str(results.meta.get("command", "")),
        "aliases": {str(label): str(alias) for alias, label in results.meta.get("aliases", {}).items()},
        "nodes": fabric.nodes,
        "places": network.places(results, len(fabric.nodes)),
        "ports": labels,
        "traffic": traffic,
        "states": list(STATES),
        "verdicts": list(truth.VERDICTS),
        "queues": source,
        "flows": total,
        "opening": opening,
        "rest": run.rest,
        "missing": _missing(results),
        "summary": summary.of(results, alone or {}, network.sizes(results, fabric), blame),
        "differs": list(differs),
        "faults": wrong,
        "lanes": jobs.named,
        "lane_words": jobs.words,
        "notes": [*run.notes, *map(str, codes.told(results.meta))],
    }
    return pack(header, run.columns)


def _blame(run: _Run) -> Blame | None:
    """Blame, if its tables are there; what makes it less than the whole truth becomes a note."""
    if not all(run.results.has(name) for name in NEEDED):
        return None
    run.notes += cut(run.results)
    return Blame(run.results)


def _missing(results: Results) -> list[dict[str, str]]:
    """What is not there, and what to set to have it."""
    return [
        {"table": table, "setting": RECORDED_BY[table], "lost": lost}
        for table, lost in _MISSING
        if not results.has(table)
    ]


def _add_gates(run: _Run, fabric: Network) -> None:
    """When gates of ports were closed, those of all priorities together."""
    frame = pl.DataFrame(schema={"port": pl.Int64, "start": pl.Int64, "end": pl.Int64})
    if run.results.has("pauses"):
        where = ["node_index", "port_index", "priority"]
        changes = read(run.results, "pauses", ["time_ps", *where, "paused"]).sort(
            *where, "time_ps", maintain_order=True
        )
        following = pl.col("time_ps").shift(-1).over(where).fill_null(run.end_ps)
        closed = changes.with_columns(end=following, key=network.key_of()).filter("paused")
        placed = closed.select("key", "end", pl.Series("port", fabric.numbers(closed["key"])), start="time_ps")
        frame = spans.merged(placed.filter(pl.col("port") >= 0), ["port"])
    run.spans("gates", frame.select("port", "start", "end"))


def _add_states(run: _Run, fabric: Network) -> None:
    """What the detectors said: the worst of the priorities of a port, only where it is not non-congestion."""
    frame = pl.DataFrame(schema={"port": pl.Int64, "start": pl.Int64, "end": pl.Int64, "state": pl.Int64})
    if run.results.has("states"):
        where = ["node_index", "port_index", "priority"]
        changes = read(run.results, "states", ["time_ps", *where, "state"]).sort(*where, "time_ps", maintain_order=True)
        numbers = {name: index for index, name in enumerate(STATES)}
        known = changes.with_columns(
            pl.col("state").replace_strict(numbers, default=0, return_dtype=pl.Int64),
            key=network.key_of(),
            end=pl.col("time_ps").shift(-1).over(where).fill_null(run.end_ps),
        ).filter(pl.col("state") > 0)
        placed = known.select("state", "end", pl.Series("port", fabric.numbers(known["key"])), start="time_ps")
        frame = spans.merged(placed.filter(pl.col("port") >= 0), ["port", "state"])
    run.spans("states", frame.select("port", "start", "end", "state"), ("state",))


def _add_truth(
    run: _Run, fabric: Network, blame: Blame | None, listed: pl.DataFrame, points: pl.DataFrame
) -> dict[str, Any]:
    """Trees, long queues, held periods; returns the moment at which the page opens."""
    if blame is None:
        return _busiest(run, points)
    crowd = blame.crowding.select("queue", "is_held", start="start_ps", end="end_ps").unique()
    placed = crowd.with_columns(pl.Series("port", fabric.of_queues(crowd["queue"]))).filter(pl.col("port") >= 0)
    long = spans.merged(placed.with_columns(held=pl.col("is_held").cast(pl.Int64)), ["port", "held"])
    run.spans("long", long.select("port", "start", "end", "held"), ("held",))
    held = blame.gates.held
    held = held.with_columns(pl.Series("port", fabric.of_queues(held["queue"]))).filter(pl.col("port") >= 0)
    run.spans("held", spans.merged(held.select("port", "start", "end"), ["port"]))
    run.spans("trees", truth.trees(blame, fabric).select("port", "start", "end", "root", "depth"), ("root", "depth"))
    run.rest += truth.add_roots(run.columns, blame, fabric)
    truth.add_waits(run.columns, blame, fabric, listed, run.tick_ps)
    best = truth.largest(blame, fabric)
    return (
        _busiest(run, points)
        if best is None
        else {"root": best[0], "time_ps": best[1], "ports": best[2], "why": "tree"}
    )


def _busiest(run: _Run, points: pl.DataFrame) -> dict[str, Any]:
    """Without a tree: when most gates were closed; else when most bytes waited, or most flows were under way."""
    results, middle = run.results, run.end_ps // 2
    if results.has("pauses") and results.tables["pauses"]["rows"]:
        found = read(results, "pauses", ["time_ps", "paused"])
        closed, opened = (found.filter(pl.col("paused") == flag)["time_ps"].to_numpy() for flag in (True, False))
        time, _ = truth.most_at_once(closed, np.concatenate([opened, [run.end_ps] * max(0, len(closed) - len(opened))]))
        return {"root": -1, "time_ps": time, "why": "pauses"}
    together = points.group_by("time").agg(pl.col("bytes").sum()).sort("bytes", "time")
    if together.height and together["bytes"][-1]:
        return {"root": -1, "time_ps": int(together["time"][-1]), "why": "queues"}
    started = read(results, "flows", ["start_ps", "finish_ps"]).filter(pl.col("start_ps") < run.end_ps)
    if started.height:
        ends = started["finish_ps"].fill_null(run.end_ps)
        time = truth.middle_of_most(started["start_ps"].cast(pl.Int64).to_numpy(), ends.cast(pl.Int64).to_numpy())
        return {"root": -1, "time_ps": time, "why": "flows"}
    return {"root": -1, "time_ps": middle, "why": "middle"}
