"""Algorithms: what their files say at their heads. Reference, states, parameters with sources, known deviations."""

from __future__ import annotations

import json
import re

from backwater import _core
from backwater.cli.explaining.entry import Entry


def entries() -> list[Entry]:
    """One entry for each file of the control crate that has a head; the folder's own file stands for the folder."""
    found = []
    for file in json.loads(_core.algorithms()):
        word = file["path"].removesuffix(".rs").removesuffix("/mod")
        text = _without_links(file["text"])
        if text and word != "lib":
            summary = " ".join(text.split("\n\n")[0].split())
            rest = text.partition("\n\n")[2]
            facts = {"file": f"crates/control/src/{file['path']}"}
            found.append(Entry(word, "algorithm", summary, rest, facts, (word.rsplit("/", 1)[-1],)))
    return found


def _without_links(text: str) -> str:
    """Links of Rust's documentation lead nowhere here: [`Tcd::credits`] is `Tcd::credits`."""
    return re.sub(r"\[(`[^`]*`)\](?:\((?:[^()]|\(\))*\))?", r"\1", text).strip()
