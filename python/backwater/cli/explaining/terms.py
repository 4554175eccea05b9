"""Words of the field, as the project uses them. The texts are in ``terms.toml``."""

from __future__ import annotations

import tomllib
from pathlib import Path

from backwater.cli.explaining.entry import Entry


def entries() -> list[Entry]:
    """All of them, in the order of the file."""
    text = (Path(__file__).parent / "terms.toml").read_text(encoding="utf-8")
    return [
        Entry(one["word"], "term", one["means"], "", {"see also": ", ".join(one["see"])}, tuple(one.get("aliases", ())))
        for one in tomllib.loads(text)["term"]
    ]
