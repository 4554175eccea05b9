"""``run --sweep``: a key over several values, every combination of several keys, each one run per seed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rich.markup import escape
from rich.table import Table

from backwater.analysis import mark_scores, tables
from backwater.common import percentiles, terminal
from backwater.errors import UsageError
from backwater.experiments.plan import Axis
from backwater.results import Results, measures


def axes(texts: Sequence[str]) -> tuple[Axis, ...]:
    """The axes of ``KEY=VALUE,VALUE,...`` texts.

    >>> [axis.steps for axis in axes(["traffic.load=0.2,0.4", "run.seed=1"])]
    [(('0.2',), ('0.4',)), (('1',),)]
    """
    made: dict[str, Axis] = {}
    for text in texts:
        key, sign, values = text.partition("=")
        found = [value.strip() for value in _split(values)]
        if not sign or not key.strip() or not all(found):
            raise UsageError(f"--sweep {text}: write KEY=VALUE,VALUE, such as traffic.load=0.2,0.4,0.6")
        if (name := key.strip()) in made:
            raise UsageError(f"--sweep {name} is given twice; list all of its values once")
        made[name] = Axis((name,), tuple((value,) for value in dict.fromkeys(found)), raw=True)
    return tuple(made.values())


def _split(values: str) -> list[str]:
    """At the commas that are not within brackets, braces or quotes."""
    parts, depth, quote = [""], 0, ""
    for character in values:
        if quote:
            quote = "" if character == quote else quote
        elif character in "\"'":
            quote = character
        else:
            depth += (character in "[{") - (character in "]}")
        if character == "," and depth == 0 and not quote:
            parts.append("")
        else:
            parts[-1] += character
    return parts


def table(groups: Mapping[str, Sequence[Results]], title: str = "Sweep") -> Table:
    """What happened to each traffic entry in every combination: means over the complete seeds, 95 % intervals.

    The score of the marks of a combination has a row of its own.
    """
    scored = any(mark_scores.over_seeds([run for run in runs if run.complete]) for runs in groups.values())
    columns = tables.over_seeds([run for runs in groups.values() for run in runs])
    headings = [one.title for one in columns]
    scores = [heading for _, heading in mark_scores.COLUMNS if scored]
    made = terminal.table(title, ("run", "traffic"), headings + scores)
    few = False
    for name, runs in groups.items():
        complete = [run for run in runs if run.complete]
        summary = tables.seeds_summary(complete) if complete else {}
        for number, (traffic, values) in enumerate(summary.items()):
            counts = [measures.by_traffic(run)["slowdowns"][number] for run in complete]
            cells = tables.seeds_cells(values, columns, counts)
            few = few or any("max of" in cell for cell in cells)
            made.add_row(escape(name) if number == 0 else "", escape(traffic), *cells)
        if summary and scored:
            made.add_row("", mark_scores.ROW, *[""] * len(headings), *mark_scores.cells(complete))
        if not summary:
            made.add_row(escape(name), "no complete run")
        made.add_section()
    every = (run for runs in groups.values() for run in runs if run.complete)
    notes = [*([mark_scores.note(every)] if scored else []), *([percentiles.note(99)] if few else [])]
    made.caption = "\n".join(notes) or None
    return made
