"""Verdicts as text: the claims table for the terminal and as Markdown."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from rich.markup import escape as escape_markup
from rich.table import Table

from backwater.common.late import pl
from backwater.common.quantities import three_digits
from backwater.papers.claims import Judged, Measured, Verdict
from backwater.papers.definitions import Held
from backwater.papers.report import order
from backwater.papers.report.order import every
from backwater.papers.reproduce import Reproduced
from backwater.results import Results

_RICH = {
    Verdict.HOLDS: "green",
    Verdict.DIFFERS: "red",
    Verdict.OPEN: "yellow",
    Verdict.NOT_DECIDABLE: "yellow",
    Verdict.NOT_RUN: "dim",
    Verdict.NOT_CHECKED: "dim",
}
_NUMBERS = ("ours (mean ± 95 %)", "holds if")
_HEADINGS = ("claim", "profile", "what", "paper", *_NUMBERS, "seeds", "verdict")
_SHORT = ("claim", "profile", "what", *_NUMBERS, "seeds", "verdict")
#: What the words of a table mean, and what it counts.
RULE = (
    "A claim holds if the 95 % interval of its number lies within the bound. It differs if the interval lies outside, "
    "and is open if it straddles the bound, or of one seed. Headline results are those of the abstract and the "
    "conclusion. Not counted is what could not have failed."
)
#: The paper at its word, and other settings.
_COLUMNS = ("literal", "ours")
#: What these two columns are.
WHOSE = (
    "literal: profiles that take the paper at its word; ours: those that settle what it leaves open. The paper's page "
    "in papers/ lists them."
)
_DEFINED = ("definition", "what", "paper", "tests", "verdict")


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
    told = f"{three_digits(item.value.mean)}{interval} {item.check.unit}".rstrip()
    which = "best" if item.check.over == "some" else "worst"
    return f"{told} ({item.name}, {which} of {len(item.family)})" if item.family else told


def named(judged: Judged, item: Measured, text: str) -> str:
    """With several checks in a claim, each number carries its name."""
    return text if len(judged.measured) == 1 else f"{item.check.metric.replace('_', ' ')}: {text}"


def _cells(judged: Judged) -> tuple[str, ...]:
    numbers = "\n".join(named(judged, item, ours(item)) for item in judged.measured) or "-"
    bounds = "\n".join(named(judged, item, item.check.bound.text) for item in judged.measured) or "-"
    verdict = judged.word + (f"\n{judged.reason}" if judged.reason else "")
    claim = judged.claim
    return (claim.id, judged.profile, claim.text, claim.paper, numbers, bounds, str(judged.seeds), verdict)


def claims_table(figures: Sequence[Reproduced], held: Sequence[Held] = ()) -> Table:
    """The claims table for the terminal: one line per claim and profile, and per definition, without the prose.

    Where a profile takes the paper at its word, its verdict and those of the others are two columns.
    """
    judged = every(figures)
    beside = order.has_literal(judged)
    table = Table(title="Claims", title_justify="left", header_style="bold")
    for heading in ("claim", "holds if", *_COLUMNS) if beside else ("claim", "profile", *_NUMBERS, "verdict"):
        table.add_column(heading, no_wrap=True)
    for title, rows in order.parts(judged):
        table.add_section()
        table.add_row(f"[bold]{title}[/]")
        for one in order.claims(rows):
            for cells in [_beside(one)] if beside else map(_alone, one):
                table.add_row(*cells)
    table.add_section()
    for item in held:
        cells = (item.definition.id, "tests", f"{len(item.definition.tests)} tests", *(() if beside else ("-",)))
        table.add_row(*map(escape_markup, cells), _coloured(item.verdict))
    return table


def _alone(judged: Judged) -> tuple[str, ...]:
    """A claim under one profile, for the terminal."""
    cells = (judged.claim.id, judged.profile, *_in_short(judged))
    return (*map(escape_markup, cells), _coloured(judged.verdict, _with_place(judged)))


def _with_place(judged: Judged) -> str:
    """A verdict; where one seed left one number open, with the side of the bound that it lies on."""
    if judged.verdict is not Verdict.OPEN or judged.seeds > 1 or len(judged.measured) > 1:
        return judged.word
    return f"{judged.word}, {'within' if all(item.inside for item in judged.measured) else 'outside'}"


def _beside(of: Sequence[Judged]) -> tuple[str, ...]:
    """A claim under all profiles, for the terminal: what the literal ones say, and the others."""
    _, bounds = _in_short(of[0])
    columns = [
        "\n".join(
            f"{_coloured(one.verdict, _with_place(one))} {escape_markup(f'{_in_short(one)[0]}, {one.profile}')}"
            for one in of
            if one.literal is literal
        )
        for literal in (True, False)
    ]
    return (escape_markup(of[0].claim.id), escape_markup(bounds), *(column or "-" for column in columns))


def _coloured(verdict: Verdict, word: str = "") -> str:
    return f"[{_RICH[verdict]}]{escape_markup(word or verdict)}[/]"


def _in_short(judged: Judged) -> tuple[str, str]:
    """The number of a claim and its bound; of a claim with several numbers, how many lie within."""
    if not judged.measured:
        return "-", "-"
    if len(judged.measured) == 1:
        item = judged.measured[0]
        return ours(item), item.check.bound.text
    within = sum(item.inside for item in judged.measured)
    return f"{within} of {len(judged.measured)} within", f"{len(judged.measured)} bounds"


def tally(figures: Sequence[Reproduced]) -> str:
    """How many claims hold, in one line."""
    return order.tally(every(figures))


def of_quick_look(figures: Sequence[Reproduced]) -> str:
    """What ``--quick`` ran, and that it is no verdict: stands beside the counts."""
    seeds = sorted({item.asked for item in figures if item.asked})
    runs = [run for item in figures for by_name in item.runs.values() for run in by_name.values()]
    hosts = sorted({_hosts(run) for run in runs})
    sizes = [_count(seeds, "seed"), *([_count(hosts, "host")] if hosts else [])]
    few = "One seed" if seeds == [1] else "A few seeds"
    return f"quick: {', '.join(sizes)}. {few} on a small network is no verdict"


def _count(numbers: Sequence[int], word: str) -> str:
    shown = " to ".join(map(str, dict.fromkeys((numbers[0], numbers[-1])))) if numbers else "no"
    return f"{shown} {word}{'' if shown == '1' else 's'}"


def _hosts(run: Results) -> int:
    """How many hosts of a run send or receive."""
    ends = (run.flows.select(pl.col(end).cast(pl.String).alias("host")) for end in ("src", "dst"))
    return int(pl.concat(ends).select(pl.col("host").n_unique()).collect().item())


def held_by_tests(held: Sequence[Held]) -> str:
    """How many definitions tests hold, in one line."""
    count = sum(item.verdict is Verdict.HOLDS for item in held)
    return f"{count} of {len(held)} definitions are held by tests of the simulator, which make test runs"


def missing(figures: Sequence[Reproduced]) -> list[str]:
    """What a report lacks, one line for each figure, profile and seed."""
    return [
        f"missing runs of {item.figure.name} under {item.profile}, {text}" for item in figures for text in item.missing
    ]


def markdown(figures: Sequence[Reproduced], title: str, held: Sequence[Held] = (), marks: Sequence[str] = ()) -> str:
    """The claims table as Markdown."""
    told = [tally(figures), "", *([of_quick_look(figures), ""] if any(one.quick for one in every(figures)) else [])]
    lines = [f"# {title}", "", *(f"**{mark}.**\n" for mark in marks), *told]
    if order.has_literal(every(figures)):
        lines += ["## Literal and ours", "", *literal_and_ours(every(figures)), ""]
    for name, rows in order.parts(every(figures)):
        lines += [f"## {name}", "", _row(_HEADINGS), _row("---" for _ in _HEADINGS)]
        lines += [*(_row(_cells(judged)) for judged in rows), ""]
    if held:
        lines += ["## Definitions", "", held_by_tests(held), "", _row(_DEFINED), _row("---" for _ in _DEFINED)]
        lines += [_row(_defined(item)) for item in held]
    for item in figures:
        for table in item.tables:
            title = f"## {item.figure.name} under {item.profile}: {table.title}"
            lines += ["", title, "", _row(table.headings), _row("---" for _ in table.headings)]
            lines += [_row(cells) for cells in table.rows]
    lacks = missing(figures)
    lacks += [
        f"{i.figure.name} under {i.profile} could not be measured or drawn: {i.failure}" for i in figures if i.failure
    ]
    lines += ["", "## Not complete", "", *(f"- {text}" for text in lacks)] if lacks else []
    return "\n".join(lines) + "\n"


def verdicts(
    figures: Sequence[Reproduced], facts: Mapping[str, str], held: Sequence[Held] = (), marks: Sequence[str] = ()
) -> str:
    """The section of a README on a reproduction: what ran when, how many claims hold, and each claim in short."""
    counts = [tally(figures), *([of_quick_look(figures)] if any(one.quick for one in every(figures)) else [])]
    counts += [held_by_tests(held)] if held else []
    made = f"`{facts['reproduce']}`, Backwater {facts['Backwater']}, {facts['date']}; seeds: {facts['seeds']}."
    beside = [*literal_and_ours(every(figures)), ""] if order.has_literal(every(figures)) else []
    parts = [(name, [_short(judged) for judged in rows]) for name, rows in order.parts(every(figures))]
    told = [f"**{mark}.**" for mark in marks]
    return section([made, *told, "; ".join(counts) + ".", RULE, "", *beside], parts)


def section(head: Sequence[str], parts: Iterable[tuple[str, Sequence[tuple[str, ...]]]]) -> str:
    """That section of its parts; what a claim says stands there once, whatever the number of its profiles."""
    lines = ["## Every claim", "", *head]
    for name, rows in parts:
        lines += [f"### {name}", "", _row(_SHORT), _row("---" for _ in _SHORT)]
        before = ""
        for claim, profile, what, *rest in rows:
            lines.append(_row((claim, profile, "" if what == before else what, *rest)))
            before = what
        lines.append("")
    return "\n".join(lines).rstrip("\n") + "\n"


def literal_and_ours(judged: Sequence[Judged]) -> list[str]:
    """Per claim that could have failed the verdicts of the paper taken at its word, and those of other settings."""
    lines = [_row(("claim", *_COLUMNS)), _row("---" for _ in range(3))]
    for of in order.claims([one for one in judged if one.kind.counts]):
        columns = [[one for one in of if one.literal is literal] for literal in (True, False)]
        cells = ("<br>".join(f"{one.verdict} ({one.profile})" for one in column) or "–" for column in columns)
        lines.append(_row((of[0].claim.id, *cells)))
    return lines


def _short(judged: Judged) -> tuple[str, ...]:
    claim, profile, what, _, numbers, *_ = _cells(judged)
    bounds = "\n".join(bound(item.check.bound.text) for item in judged.measured) or "-"
    return (claim, profile, what, numbers, bounds, str(judged.seeds), verdict(judged.word, judged.reason))


def verdict(word: str, reason: str) -> str:
    """A verdict with the first sentence of its reason."""
    first = re.split(r"(?<=[\w)%])\. (?=[A-Z])", reason, maxsplit=1)[0].removesuffix(".")
    return f"{word}: {first}" if first else word


def bound(text: str) -> str:
    """A bound as it is printed: ``≥ 500``."""
    text = re.sub(r"\s*\.\.\s*", " to ", text)
    return text.replace(">=", "≥").replace("<=", "≤").replace("==", "=")


def _defined(item: Held) -> tuple[str, ...]:
    definition = item.definition
    tests = "\n".join(f"`{test}`" for test in definition.tests)
    return (definition.id, definition.text, definition.paper, tests, f"{item.verdict}\n{item.reason}")


def _row(cells: Iterable[str]) -> str:
    return "| " + " | ".join(cell.replace("|", r"\|").replace("\n", "<br>") for cell in cells) + " |"
