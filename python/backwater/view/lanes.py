"""Jobs and collectives over time: a lane for each, and within it one for each group of its ranks."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from backwater.common.late import pl
from backwater.results import Results, measures
from backwater.view.encode import Columns

#: So many groups of ranks has a lane within it, so many intervals each of them.
MOST_GROUPS = 16
MOST_STEPS = 400


@dataclass
class Lanes:
    """Lanes on their way into the page; `of` is the lane that one belongs to, -1 for none."""

    named: list[dict[str, Any]] = field(default_factory=list)
    words: list[str] = field(default_factory=list)
    _numbers: dict[str, int] = field(default_factory=dict)
    _rows: list[tuple[int, int, int, int]] = field(default_factory=list)

    def lane(self, name: str, meaning: str, of: int = -1) -> int:
        """A new lane; returns its number."""
        self.named.append({"name": name, "meaning": meaning, "of": of})
        return len(self.named) - 1

    def span(self, lane: int, start_ps: int, end_ps: int, words: str = "") -> None:
        """Add an interval with what stands in it."""
        if words not in self._numbers:
            self._numbers[words] = len(self.words)
            self.words.append(words)
        self._rows.append((lane, start_ps, end_ps, self._numbers[words]))

    def add(self, columns: Columns, tick_ps: int) -> None:
        """Put the intervals into the columns."""
        frame = pl.DataFrame(self._rows, schema=["lane", "start", "end", "word"], orient="row").cast(pl.Int64)
        frame = frame.with_columns(pl.col("start", "end") // tick_ps).sort("lane", "start", maintain_order=True)
        columns.add("lanes.lane", frame["lane"].to_numpy(), delta=True)
        columns.add("lanes.start", frame["start"].to_numpy(), delta=True)
        columns.add("lanes.length", (frame["end"] - frame["start"]).to_numpy())
        columns.add("lanes.word", frame["word"].to_numpy())


def of(results: Results, end_ps: int) -> Lanes:
    """The lanes of a run: its applications in the order of the scenario."""
    found = Lanes()
    iterations = _iterations(results, end_ps)
    scenario = results.meta["scenario"]
    for name in measures.applications(scenario) + measures.jobs(scenario):
        messages = (
            results.flows.filter(pl.col("traffic").cast(pl.String) == name, pl.col("start_ps").is_not_null())
            .select("src_index", start="start_ps", end=pl.col("finish_ps").fill_null(end_ps), src=pl.col("src"))
            .with_columns(pl.col("src").cast(pl.String), pl.col("src_index", "start", "end").cast(pl.Int64))
            .collect()
        )
        if messages.is_empty():
            continue
        if name in iterations:
            lane = found.lane(name, f"{name}: its iterations, from the first begin to the last end")
            for number, start, end in iterations[name]:
                found.span(lane, start, end, f"iteration {number}")
        else:
            lane = found.lane(name, f"{name}: from its first message to its last")
            start, end = messages.select(pl.col("start").min(), pl.col("end").max()).row(0)
            found.span(lane, start, end)
        _groups(found, lane, messages)
    if results.has("timings"):
        _series(found, results)
    return found


def _iterations(results: Results, end_ps: int) -> dict[str, list[tuple[int, int, int]]]:
    """By collective and job the number, start and end of each iteration that began."""
    found: dict[str, list[tuple[int, int, int]]] = {}
    if results.has("collectives"):
        rows = results.collectives.filter(pl.col("start_ps").is_not_null()).select(
            pl.col("traffic").cast(pl.String), "iteration", "start_ps", pl.col("end_ps").fill_null(end_ps)
        )
        for name, number, start, end in rows.collect().iter_rows():
            found.setdefault(name, []).append((number, start, end))
    if results.has("job_steps"):
        steps = results.job_steps.group_by(pl.col("traffic").cast(pl.String), "iteration")
        spans = steps.agg(pl.col("start_ps").min(), pl.col("end_ps").max()).sort("traffic", "iteration")
        for name, number, start, end in spans.collect().iter_rows():
            found.setdefault(name, []).append((number, start, end))
    return found


def _groups(found: Lanes, lane: int, messages: pl.DataFrame) -> None:
    """The messages of groups of hosts: the first that each host sends, the second, and so on."""
    hosts = messages.select("src_index", "src").unique("src_index").sort("src_index")
    size = -(-hosts.height // MOST_GROUPS)
    names = hosts["src"].to_list()
    numbered = hosts.with_columns(group=pl.int_range(pl.len()) // size).select("src_index", "group")
    number = pl.col("start").rank("ordinal").over("src_index")
    steps = (
        messages.join(numbered, on="src_index")
        .with_columns(step=number)
        .group_by("group", "step")
        .agg(pl.col("start").min(), pl.col("end").max())
        .sort("group", "step")
    )
    for (group,), rows in steps.group_by("group", maintain_order=True):
        first, last = names[group * size], names[min(len(names), (group + 1) * size) - 1]
        label = first if first == last else f"{first} … {last}"
        inner = found.lane(label, f"what {label} sent: the first message of each, the second, and so on", lane)
        if rows.height > MOST_STEPS:
            start, end = rows.select(pl.col("start").min(), pl.col("end").max()).row(0)
            found.span(inner, start, end, f"{rows.height} messages each")
            continue
        for step, start, end in rows.select("step", "start", "end").iter_rows():
            found.span(inner, start, end, f"message {step}")


def _series(found: Lanes, results: Results) -> None:
    """What ranks of programs measured by their stopwatches: from when the first set it until the last read it."""
    rows = (
        results.timings.group_by(pl.col("traffic", "series").cast(pl.String), maintain_order=True)
        .agg(pl.col("start_ps").min(), pl.col("end_ps").max())
        .sort("traffic", "start_ps", "series")
        .collect()
    )
    for (name,), series in rows.group_by("traffic", maintain_order=True):
        lane = found.lane(str(name), f"{name}: what its ranks measured")
        for what, start, end in series.select("series", "start_ps", "end_ps").iter_rows():
            found.span(lane, start, end, what)
            found.span(found.lane(what, f"{what}: from the first rank that began to the last one", lane), start, end)
