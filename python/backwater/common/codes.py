"""Codes of errors, caveats and notes: what stands in brackets in a message.

The texts are in ``failures.toml`` (what ends a run) and ``codes.toml`` (what is only told).
"""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path


@dataclass(frozen=True)
class Code:
    """One code of the files."""

    id: str
    kind: str
    short: str
    means: str
    todo: str
    #: Finds it in a message; None if the message carries its code.
    match: re.Pattern[str] | None
    #: Files of crates/scenario/src that write its message.
    source: tuple[str, ...]


@cache
def codes() -> tuple[Code, ...]:
    """All codes, in the order of the files."""
    files = [Path(__file__).parent / name for name in ("failures.toml", "codes.toml")]
    read = [one for file in files for one in tomllib.loads(file.read_text(encoding="utf-8"))["code"]]
    return tuple(
        Code(
            one["id"],
            one["kind"],
            one["short"],
            one["means"],
            one["todo"],
            re.compile(one["match"]) if "match" in one else None,
            tuple(one.get("source", ())),
        )
        for one in read
    )


def of_message(text: str) -> str | None:
    """The code of a message, with or without its code or kind in front, if it has one.

    >>> of_message("error[unknown-key]: there is no such key in switch.detector")
    'unknown-key'
    >>> of_message("priority 3 carries traffic but is not in switch.pfc.priorities: it is not lossless")
    'not-lossless'
    """
    if found := re.match(r"\s*(?:\w+)\[([\w.-]+)\]", text):
        return found[1]
    plain = re.sub(r"^\s*(?:error|caveat|note): ", "", text)
    return next((code.id for code in codes() if code.match is not None and code.match.search(plain)), None)


def marked(kind: str, text: str) -> str:
    """A message with its kind and, in brackets, its code.

    >>> marked("caveat", "without effect with cc.kind = none: cc.{alpha}")
    'caveat[no-effect]: without effect with cc.kind = none: cc.{alpha}'
    """
    code = of_message(text)
    return f"{kind}: {text}" if code is None else f"{kind}[{code}]: {text}"
