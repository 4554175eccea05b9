"""Writes a report: claims.json, counts.json, claims.md, verdicts.md, report.html."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from backwater.common.atomic_files import write_text
from backwater.papers.definitions import Held
from backwater.papers.paper import Paper
from backwater.papers.report import order
from backwater.papers.report.order import every
from backwater.papers.report.page import html
from backwater.papers.report.text import markdown, verdicts
from backwater.papers.reproduce import Reproduced


def write(
    figures: Sequence[Reproduced],
    folder: Path,
    paper: Paper,
    facts: Sequence[tuple[str, str]],
    held: Sequence[Held] = (),
    *,
    quick: bool = False,
    sensitivity: Mapping[str, Any] | None = None,
    marks: Sequence[str] = (),
) -> list[Path]:
    """Write the five files to `folder`; each is whole or not there."""
    folder.mkdir(parents=True, exist_ok=True)
    title = f"Judging {paper.short}{' (--quick: fewer seeds, shorter runs)' if quick else ''}"
    rows = [judged.as_json() for judged in every(figures)] + [item.as_json() for item in held]
    texts = {
        "claims.json": json.dumps(rows, indent=2) + "\n",
        "counts.json": json.dumps(order.counts(every(figures)), indent=2) + "\n",
        "claims.md": markdown(figures, title, held, marks),
        "verdicts.md": verdicts(figures, dict(facts), held, marks),
        "report.html": html(figures, paper, facts, held, quick=quick, sensitivity=sensitivity, marks=marks),
    }
    for name, text in texts.items():
        write_text(folder / name, text)
    return [folder / name for name in texts]
