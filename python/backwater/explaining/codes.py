"""Codes of messages and exit codes: what happened, and what would do.

The texts are in ``failures.toml`` (what ends a run) and ``codes.toml`` (what is only told).
"""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from backwater.errors import MEANS, Exit
from backwater.explaining import Entry

#: What each kind of code leads to.
_LEADS = {
    "error": Exit.BAD_INPUT,
    "invariant": Exit.INVARIANT_BROKEN,
    "caveat": Exit.CAVEATS,
    "note": Exit.OK,
}


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


def entries() -> list[Entry]:
    """The codes of messages, then the exit codes."""
    messages = [
        Entry(
            code.id,
            code.kind,
            code.short,
            f"{code.means}\nWhat to do: {code.todo}",
            {"exit code": f"{_LEADS[code.kind].value} ({_LEADS[code.kind].name})"},
        )
        for code in codes()
    ]
    table = "\n".join(f"{code.value}  {code.name:<17} {MEANS[code]}" for code in Exit)
    every = Entry("exit-codes", "exit code", "What the exit code of a command says.", table, {}, ("exit", "exit-code"))
    single = [
        Entry(f"exit-{code.value}", "exit code", MEANS[code], "", {"name": code.name}, (str(code.value), code.name))
        for code in Exit
    ]
    return [*messages, every, *single]
