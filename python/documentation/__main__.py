"""`make reference`: writes the generated pages of docs/reference anew."""

from __future__ import annotations

from pathlib import Path

from documentation.reference import kept

ROOT = Path(__file__).parents[2]

for place, text in kept().items():
    file = ROOT / "docs" / place
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")
