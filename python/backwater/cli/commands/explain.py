"""``backwater explain``: what a word means."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Sequence

from backwater.cli import explaining
from backwater.cli.explaining.entry import Entry
from backwater.cli.options import Json
from backwater.common import terminal
from backwater.common.terminal import Printer
from backwater.errors import Exit

#: Of so many meanings each is told in full; of more, in a line each.
_FEW = 2
#: So many meanings are listed, in so many letters each.
_MANY = 40
_LONG = 110


def explain(word: str | None = None, /, *, json_: Json = False) -> int:
    """Print what a word means: an error, caveat or exit code, a column, a key of scenarios, an algorithm, a claim.

    Works offline. A word that is not known gets suggestions and exit code 2.

    Parameters
    ----------
    word
        The word: `no-effect`, `slowdown`, `flows.slowdown`, `switch.detector.kmin`, `dcqcn`, `TCD-F12a`, `exit-codes`,
        or a message in quotes. Without one, what kinds of words there are.
    json_
        Print JSON: every meaning that was found, or the suggestions.
    """
    if word is None:
        _overview(as_json=json_)
        return Exit.OK
    found = explaining.find(word)
    if not found:
        return _unknown(word, explaining.nearest(word), as_json=json_)
    if json_:
        print(json.dumps({"word": word, "found": [entry.as_json() for entry in found]}, indent=2))
    else:
        _print(found)
    return Exit.OK


def _unknown(word: str, near: Sequence[str], *, as_json: bool) -> int:
    if as_json:
        print(json.dumps({"word": word, "found": [], "nearest": list(near)}, indent=2))
    listed = f"did you mean {', '.join(near)}?" if near else "`backwater explain` lists what there is"
    if re.fullmatch(r"[A-Za-z]{2,4}-[A-Za-z]+\d+\w*", word) and not explaining.knows("claim"):
        listed = "claims of papers are known in a checkout of Backwater, and this is none"
    print(f"error: nothing is called {word!r}; {listed}", file=sys.stderr)
    return Exit.BAD_INPUT


def _print(found: Sequence[Entry]) -> None:
    console = terminal.stdout()
    whole = found if len(found) <= _FEW else found[:1] if _is_name(found) else ()
    for entry in whole:
        _print_whole(console, entry)
    rest = found[len(whole) :]
    if rest:
        if whole:
            console.print("Also:")
        for entry in rest[:_MANY]:
            console.say(f"  {entry.word} ({entry.kind}): {_short(entry.summary)}")
        if len(rest) > _MANY:
            console.say(f"... and {len(rest) - _MANY} more")
        console.say(f"in full: backwater explain {rest[0].word}")


def _short(text: str) -> str:
    return text if len(text) <= _LONG else f"{text[: _LONG - 1].rsplit(' ', 1)[0]} …"


def _is_name(found: Sequence[Entry]) -> bool:
    """Whether the first of several meanings is what the word stands for, and not one of many keys that end in it."""
    return found[0].kind not in ("key", "value", "column")


def _print_whole(console: Printer, entry: Entry) -> None:
    console.say(f"{entry.word} ({entry.kind})")
    console.say(f"  {entry.summary}")
    for name, fact in entry.facts.items():
        if fact:
            console.say(f"  {name}: {fact}")
    if entry.text:
        console.print()
        # As it was written: state machines and tables are aligned.
        console.say(entry.text, soft_wrap=entry.kind == "algorithm")
    console.print()


def _overview(*, as_json: bool) -> None:
    kinds = explaining.kinds()
    if as_json:
        print(json.dumps({kind: [entry.word for entry in entries] for kind, entries in kinds}, indent=2))
        return
    console = terminal.stdout()
    for kind, entries in kinds:
        words = [entry.word for entry in entries]
        few = ", ".join(words if kind in _LISTED else words[:3])
        console.say(f"{len(words)} x {kind}: {few}{'' if kind in _LISTED else ', ...'}")
    console.say("all of them: backwater explain --json; one of them: backwater explain WORD")


#: Kinds of which there are so few that all are named.
_LISTED = ("error", "invariant", "caveat", "note", "exit code", "term", "algorithm", "table")
