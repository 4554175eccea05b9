"""Claims (``papers/*/*/claims.toml``) and definitions (``papers/*/paper.toml``), where the checkout has them."""

from __future__ import annotations

from pathlib import Path

from backwater.cli.explaining.entry import Entry
from backwater.errors import UsageError
from backwater.papers import claims, paper, paper_figure


def entries() -> list[Entry]:
    """One entry for each claim, definition and parameter that a paper leaves open; none in an installed package."""
    try:
        root = paper_figure.papers()
    except UsageError:
        return []
    found = []
    for home in sorted(path.parent for path in root.glob("*/paper.toml")):
        told = paper.load(home)
        for file in sorted(home.glob("*/claims.toml")):
            found += _claims(file, told.short)
        found += [
            Entry(
                one.id,
                "definition",
                one.text,
                f"{told.short}, {one.paper}\nHeld by tests:\n" + "\n".join(f"  {test}" for test in one.tests),
                {"paper": told.title, "shown by": f"backwater report, after backwater reproduce {home.name}"},
            )
            for one in told.definition
        ]
    return found


def _claims(file: Path, short: str) -> list[Entry]:
    system, figure = file.parent.parent.name, file.parent.name
    found = []
    for claim in claims.load(file):
        bounds = "\n".join(f"  {check.metric} {check.bound.text} {check.unit}".rstrip() for check in claim.checks)
        rests = f"Holds if\n{bounds}" if bounds else f"Not decidable: {claim.undecidable}"
        found.append(
            Entry(
                claim.id,
                "claim",
                claim.text,
                f"{short}, {claim.paper}\n{rests}",
                {"figure": figure, "measured by": f"backwater reproduce {system} --figure {figure}"},
            )
        )
    return found
