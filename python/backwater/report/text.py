"""Verdicts as text: the claims table for the terminal and as Markdown."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.markup import escape as escape_markup
from rich.table import Table

from backwater.claims import Judged, Measured, Verdict
from backwater.quantity import three_digits

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from backwater.reproduce import Reproduced

_RICH = {Verdict.HOLDS: "green", Verdict.DIFFERS: "red", Verdict.NOT_DECIDABLE: "yellow", Verdict.NOT_RUN: "dim"}
#: What does not depend on the profile.
_SHARED = ("claim", "what", "paper", "holds if")
_HEADINGS = ("claim", "profile", "what", "paper", "ours (mean ± 95 %)", "holds if", "seeds", "verdict")


def ours(item: Measured) -> str:
    """A measured number with its confidence interval and unit."""
    if item.value is None:
        return "-"
    if item.check.bound.text == "true":
        yes = sum(value == 1 for value in item.value.values)
        return f"true in {yes} of {len(item.value.values)}"
    interval = "" if item.value.half_width is None else f" ± {three_digits(item.value.half_width)}"
    if interval and item.value.identical:
        interval = " ± 0"
    return f"{three_digits(item.value.mean)}{interval} {item.check.unit}".rstrip()


def named(judged: Judged, item: Measured, text: str) -> str:
    """With several checks in a claim, each number carries its name."""
    return text if len(judged.measured) == 1 else f"{item.check.metric.replace('_', ' ')}: {text}"


def _cells(judged: Judged) -> tuple[str, ...]:
    numbers = "\n".join(named(judged, item, ours(item)) for item in judged.measured) or "-"
    bounds = "\n".join(named(judged, item, item.check.bound.text) for item in judged.measured) or "-"
    verdict = str(judged.verdict) + (f"\n{judged.reason}" if judged.reason else "")
    claim = judged.claim
    return (claim.id, judged.profile, claim.text, claim.paper, numbers, bounds, str(judged.seeds), verdict)


def every(figures: Iterable[Reproduced]) -> list[Judged]:
    """Every verdict, profiles of a claim beside each other."""
    return sorted((j for figure in figures for j in figure.judged), key=lambda j: (j.figure, j.claim.id, j.profile))


def claims_table(figures: Sequence[Reproduced]) -> Table:
    """The claims table for the terminal; what two profiles of a claim share is said once."""
    table = Table(title="Claims", title_justify="left", header_style="bold")
    for heading in _HEADINGS:
        table.add_column(heading, overflow="fold", justify="right" if heading == "seeds" else "left")
    before: Judged | None = None
    for judged in every(figures):
        *cells, verdict = _cells(judged)
        if before is not None and before.claim.id == judged.claim.id:
            cells = ["" if heading in _SHARED else cell for heading, cell in zip(_HEADINGS, cells, strict=False)]
        elif before is not None:
            table.add_section()
        table.add_row(*cells, f"[{_RICH[judged.verdict]}]{escape_markup(verdict)}[/]")
        before = judged
    return table


def tally(figures: Sequence[Reproduced]) -> str:
    """How many claims hold, in one line."""
    verdicts = [judged.verdict for judged in every(figures)]
    counts = (f"{verdicts.count(verdict)} {verdict}" for verdict in Verdict if verdict in verdicts)
    return f"{len(verdicts)} verdicts: {', '.join(counts)}"


def missing(figures: Sequence[Reproduced]) -> list[str]:
    """What a report lacks, one line for each figure, profile and seed."""
    return [
        f"missing runs of {item.figure.name} under {item.profile}, {text}" for item in figures for text in item.missing
    ]


def markdown(figures: Sequence[Reproduced], title: str) -> str:
    """The claims table as Markdown."""
    lines = [f"# {title}", "", tally(figures), "", _row(_HEADINGS), _row("---" for _ in _HEADINGS)]
    lines += [_row(_cells(judged)) for judged in every(figures)]
    lacks = missing(figures)
    lacks += [
        f"{i.figure.name} under {i.profile} could not be measured or drawn: {i.failure}" for i in figures if i.failure
    ]
    lines += ["", "## Not complete", "", *(f"- {text}" for text in lacks)] if lacks else []
    return "\n".join(lines) + "\n"


def _row(cells: Iterable[str]) -> str:
    return "| " + " | ".join(cell.replace("|", r"\|").replace("\n", "<br>") for cell in cells) + " |"
