"""Reports of a reproduction: the claims table for the terminal, as JSON and as Markdown, and one HTML page."""

from __future__ import annotations

import base64
import json
from html import escape
from typing import TYPE_CHECKING

from rich.markup import escape as escape_markup
from rich.table import Table

from backwater import __version__
from backwater.claims import Judged, Measured, Verdict
from backwater.quantity import three_digits

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

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


def _named(judged: Judged, item: Measured, text: str) -> str:
    """With several checks in a claim, each number carries its name."""
    return text if len(judged.measured) == 1 else f"{item.check.metric.replace('_', ' ')}: {text}"


def _cells(judged: Judged) -> tuple[str, ...]:
    numbers = "\n".join(_named(judged, item, ours(item)) for item in judged.measured) or "-"
    bounds = "\n".join(_named(judged, item, item.check.bound.text) for item in judged.measured) or "-"
    verdict = str(judged.verdict) + (f"\n{judged.reason}" if judged.reason else "")
    claim = judged.claim
    return (claim.id, judged.profile, claim.text, claim.paper, numbers, bounds, str(judged.seeds), verdict)


def _all(figures: Iterable[Reproduced]) -> list[Judged]:
    """Every verdict, profiles of a claim beside each other."""
    return sorted((j for figure in figures for j in figure.judged), key=lambda j: (j.figure, j.claim.id, j.profile))


def claims_table(figures: Sequence[Reproduced]) -> Table:
    """The claims table for the terminal; what two profiles of a claim share is said once."""
    table = Table(title="Claims", title_justify="left", header_style="bold")
    for heading in _HEADINGS:
        table.add_column(heading, overflow="fold", justify="right" if heading == "seeds" else "left")
    before: Judged | None = None
    for judged in _all(figures):
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
    verdicts = [judged.verdict for judged in _all(figures)]
    counts = (f"{verdicts.count(verdict)} {verdict}" for verdict in Verdict if verdict in verdicts)
    return f"{len(verdicts)} verdicts: {', '.join(counts)}"


def write(figures: Sequence[Reproduced], root: Path, title: str) -> list[Path]:
    """Write claims.json, claims.md and report.html."""
    root.mkdir(parents=True, exist_ok=True)
    texts = {
        "claims.json": json.dumps([judged.as_json() for judged in _all(figures)], indent=2) + "\n",
        "claims.md": markdown(figures, title),
        "report.html": html(figures, title),
    }
    for name, text in texts.items():
        (root / name).write_text(text, encoding="utf-8")
    return [root / name for name in texts]


def markdown(figures: Sequence[Reproduced], title: str) -> str:
    """The claims table as Markdown."""
    lines = [f"# {title}", "", tally(figures), "", _row(_HEADINGS), _row("---" for _ in _HEADINGS)]
    lines += [_row(_cells(judged)) for judged in _all(figures)]
    return "\n".join(lines) + "\n"


def _row(cells: Iterable[str]) -> str:
    return "| " + " | ".join(cell.replace("|", r"\|").replace("\n", "<br>") for cell in cells) + " |"


_CSS = """
:root { color-scheme: light dark; --line: #8884; --dim: #777; --holds: #009E73; --differs: #D55E00; --open: #B8860B; }
body { font: 15px/1.5 system-ui, sans-serif; max-width: 1100px; margin: 2rem auto; padding: 0 1rem; }
table { border-collapse: collapse; width: 100%; font-size: 13px; margin: 1rem 0; }
th, td { text-align: left; vertical-align: top; padding: .4rem .5rem; border-bottom: 1px solid var(--line); }
img { max-width: 100%; background: white; border: 1px solid var(--line); }
.dim { color: var(--dim); } .holds { color: var(--holds); font-weight: 600; }
.differs { color: var(--differs); font-weight: 600; } .not-decidable, .not-run { color: var(--open); font-weight: 600; }
"""


def html(figures: Sequence[Reproduced], title: str) -> str:
    """One self-contained page: per figure its setting, pictures, claims, and what the paper leaves open."""
    body = [f"<h1>{escape(title)}</h1>", f"<p>{escape(tally(figures))}. Backwater {__version__}.</p>"]
    for name in dict.fromkeys(item.figure.name for item in figures):
        body += _html_figure([item for item in figures if item.figure.name == name])
    head = f'<meta charset="utf-8"><title>{escape(title)}</title><style>{_CSS}</style>'
    return f'<!doctype html><html lang="en"><head>{head}</head><body>{"".join(body)}</body></html>\n'


def _html_figure(profiles: Sequence[Reproduced]) -> list[str]:
    experiment = profiles[0].figure.experiment
    parts = [
        f"<h2>{escape(experiment.paper)}: {escape(experiment.title)}</h2>",
        f"<p>{escape(experiment.about)}</p>",
    ]
    for item in profiles:
        if item.picture is not None:
            data = base64.b64encode(item.picture.read_bytes()).decode()
            alt = f"{experiment.title}, profile {item.profile}"
            parts.append(f"<h3>profile {escape(item.profile)}</h3>")
            parts.append(f'<img alt="{escape(alt)}" src="data:image/png;base64,{data}">')
            parts.append(_html_digests(item))
    parts.append(_html_table(_HEADINGS, [_html_cells(judged) for judged in _all(profiles)]))
    if experiment.assumption:
        rows = [[escape(getattr(a, key)) for key in _ASSUMPTION] for a in experiment.assumption]
        parts += ["<h3>What the paper leaves open</h3>", _html_table(_ASSUMPTION, rows)]
    return parts


_ASSUMPTION = ("parameter", "value", "why", "sensitivity")


def _html_digests(item: Reproduced) -> str:
    runs = (f"{name} seed {seed}: {run.digest}" for seed, runs in item.runs.items() for name, run in runs.items())
    return f'<details class="dim"><summary>digests</summary>{"<br>".join(map(escape, runs))}</details>'


def _html_cells(judged: Judged) -> list[str]:
    *cells, _ = (escape(cell).replace("\n", "<br>") for cell in _cells(judged))
    word = str(judged.verdict)
    reason = f'<br><span class="dim">{escape(judged.reason)}</span>' if judged.reason else ""
    return [*cells, f'<span class="{word.replace(" ", "-")}">{word}</span>{reason}']


def _html_table(headings: Iterable[str], rows: Iterable[Sequence[str]]) -> str:
    head = "".join(f"<th>{escape(heading)}</th>" for heading in headings)
    lines = "".join(f"<tr>{''.join(f'<td>{cell}</td>' for cell in row)}</tr>" for row in rows)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{lines}</tbody></table>"
