"""What words mean, offline: columns, keys of scenarios and their values, algorithms, claims, codes of messages.

Everything is read from where it is written: the core's codes, dictionary, schema and algorithms, ``papers``, `Exit`,
and the TOML files beside this one.
"""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from functools import cache

from backwater.cli.explaining import algorithms, codes, columns, keys, measures, papers, presets, terms
from backwater.cli.explaining.entry import Entry
from backwater.common.codes import in_front

#: So many words are suggested for one that is not known.
_NEAR = 6


@cache
def entries() -> tuple[Entry, ...]:
    """Every word there is. What a short word means first comes first."""
    kinds = (codes, terms, presets, algorithms, columns, keys, measures, papers)
    return tuple(entry for kind in kinds for entry in kind.entries())


def find(word: str) -> list[Entry]:
    """What a word means: entries of that name, else those whose last parts are it, else the message that it is of."""
    wanted = _plain(word)
    if not wanted:
        return []
    exact = [entry for entry in entries() if wanted in (_plain(name) for name in (entry.word, *entry.aliases))]
    if exact and "." not in wanted:
        # A short word may also be the end of longer ones: `tcd` is an algorithm and a value of a key.
        return exact + [entry for entry in _ending(wanted) if entry not in exact]
    return exact or _ending(wanted) or _of_message(word)


def nearest(word: str) -> list[str]:
    """Words that are spelt like one that is not known, the nearest first."""
    wanted = _plain(word)
    known: dict[str, str] = {}
    for entry in entries():
        for name in (entry.word, *entry.aliases, entry.word.replace("=", ".").replace("/", ".").rsplit(".", 1)[-1]):
            known.setdefault(_plain(name), name if name in entry.aliases else entry.word)
    near = difflib.get_close_matches(wanted, known, n=_NEAR, cutoff=0.6)
    near += [name for name in known if len(wanted) > 2 and wanted in name and name not in near]
    return list(dict.fromkeys(known[name] for name in near))[:_NEAR]


def _plain(word: str) -> str:
    """As words are compared: without case, quotes and brackets; underscores and spaces are hyphens."""
    return "-".join(word.strip().strip("[]`'\"").lower().replace("_", "-").split())


def _ending(wanted: str) -> list[Entry]:
    ends = tuple(f"{separator}{wanted}" for separator in "./=")
    return [entry for entry in entries() if _plain(entry.word).endswith(ends)]


def _of_message(text: str) -> list[Entry]:
    code = in_front(text)
    # What stands in brackets is a code, or the key that is wrong.
    return [entry for entry in entries() if entry.word == code] if code is not None else []


def knows(kind: str) -> bool:
    """Whether there are words of a kind; claims are in a checkout only."""
    return any(entry.kind == kind for entry in entries())


def kinds() -> list[tuple[str, Sequence[Entry]]]:
    """All words by kind."""
    found: dict[str, list[Entry]] = {}
    for entry in entries():
        found.setdefault(entry.kind, []).append(entry)
    return list(found.items())
