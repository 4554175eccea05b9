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
from backwater.papers.reproduce import Reproduced
from backwater.results import Results

_RICH = {
    Verdict.HOLDS: "green",
    Verdict.DIFFERS: "red",
    Verdict.NOT_DECIDABLE: "yellow",
    Verdict.NOT_RUN: "dim",
    Verdict.NOT_CHECKED: "dim",
}
_HEADINGS = ("claim", "profile", "what", "paper", "ours (mean ± 95 %)", "holds if", "seeds", "verdict")
_SHORT = ("claim", "profile", "what", "ours (mean ± 95 %)", "holds if", "seeds", "verdict")
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


def claims_table(figures: Sequence[Reproduced], held: Sequence[Held] = ()) -> Table:
    """The claims table for the terminal: one line per claim and profile, and per definition, without the prose."""
    table = Table(title="Claims", title_justify="left", header_style="bold")
    for heading in ("claim", "profile", "ours (mean ± 95 %)", "holds if", "verdict"):
        table.add_column(heading, no_wrap=True)
    before = ""
    for judged in every(figures):
        if before not in ("", judged.figure):
            table.add_section()
        before = judged.figure
        cells = (judged.claim.id, judged.profile, *_in_short(judged))
        table.add_row(*map(escape_markup, cells), f"[{_RICH[judged.verdict]}]{judged.verdict}[/]")
    table.add_section()
    for item in held:
        cells = (item.definition.id, "tests", f"{len(item.definition.tests)} tests", "-")
        table.add_row(*map(escape_markup, cells), f"[{_RICH[item.verdict]}]{item.verdict}[/]")
    return table


def _in_short(judged: Judged) -> tuple[str, str]:
    """The number of a claim and its bound; of a claim with several numbers, how many lie within."""
    if not judged.measured:
        return "-", "-"
    if len(judged.measured) == 1:
        item = judged.measured[0]
        return ours(item), item.check.bound.text
    holding = sum(item.verdict is Verdict.HOLDS for item in judged.measured)
    return f"{holding} of {len(judged.measured)} within", f"{len(judged.measured)} bounds"


def tally(figures: Sequence[Reproduced]) -> str:
    """How many claims hold, in one line."""
    verdicts = [judged.verdict for judged in every(figures)]
    counts = (f"{verdicts.count(verdict)} {verdict}" for verdict in Verdict if verdict in verdicts)
    return f"{len(verdicts)} verdicts: {', '.join(counts)}"


def of_quick_look(figures: Sequence[Reproduced]) -> str:
    """What ``--quick`` ran, and that its counts are no verdict: stands beside them."""
    seeds = sorted({item.asked for item in figures if item.asked})
    runs = [run for item in figures for by_name in item.runs.values() for run in by_name.values()]
    hosts = sorted({_hosts(run) for run in runs})
    sizes = [_count(seeds, "seed"), *([_count(hosts, "host")] if hosts else [])]
    return f"quick: {', '.join(sizes)}; not a verdict"


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


def markdown(figures: Sequence[Reproduced], title: str, held: Sequence[Held] = ()) -> str:
    """The claims table as Markdown."""
    told = [tally(figures), "", *([of_quick_look(figures), ""] if any(one.quick for one in every(figures)) else [])]
    lines = [f"# {title}", "", *told, _row(_HEADINGS), _row("---" for _ in _HEADINGS)]
    lines += [_row(_cells(judged)) for judged in every(figures)]
    if held:
        lines += ["", "## Definitions", "", held_by_tests(held), "", _row(_DEFINED), _row("---" for _ in _DEFINED)]
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


def verdicts(figures: Sequence[Reproduced], facts: Mapping[str, str], held: Sequence[Held] = ()) -> str:
    """The section of a README on a reproduction: what ran when, how many claims hold, and each claim in short."""
    counts = [tally(figures), *([of_quick_look(figures)] if any(one.quick for one in every(figures)) else [])]
    counts += [held_by_tests(held)] if held else []
    return section(facts, counts, map(_short, every(figures)))


def section(facts: Mapping[str, str], counts: Sequence[str], rows: Iterable[tuple[str, ...]]) -> str:
    """That section of its parts; what a claim says stands there once, whatever the number of its profiles."""
    made = f"`{facts['reproduce']}`, Backwater {facts['Backwater']}, {facts['date']}; seeds: {facts['seeds']}."
    lines = ["## Every claim", "", made, "; ".join(counts) + ".", "", _row(_SHORT), _row("---" for _ in _SHORT)]
    before = ""
    for claim, profile, what, *rest in rows:
        lines.append(_row((claim, profile, "" if what == before else what, *rest)))
        before = what
    return "\n".join(lines) + "\n"


def _short(judged: Judged) -> tuple[str, ...]:
    claim, profile, what, _, numbers, *_ = _cells(judged)
    bounds = "\n".join(bound(item.check.bound.text) for item in judged.measured) or "-"
    return (claim, profile, what, numbers, bounds, str(judged.seeds), verdict(str(judged.verdict), judged.reason))


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
