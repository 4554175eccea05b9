"""The papers that the algorithms of a scenario come from, as BibTeX. They are listed in ``references.toml``."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from backwater._core import __version__
from backwater.scenario import senders

#: Fields of an entry in the order in which they are printed.
_FIELDS = ("booktitle", "journal", "volume", "number", "pages", "howpublished", "year", "doi", "url", "version")
#: Where a traffic entry says that the reaction point of the scenario is its own.
_SHARED = "cc"


@dataclass(frozen=True)
class Reference:
    """One paper, or the program itself; `because` says which settings it stands behind."""

    key: str
    title: str
    authors: tuple[str, ...]
    fields: Mapping[str, Any]
    because: tuple[str, ...] = ()

    @property
    def kind(self) -> str:
        """The type of its entry in BibTeX."""
        kinds = {"booktitle": "inproceedings", "journal": "article"}
        return next((kind for field, kind in kinds.items() if field in self.fields), "misc")

    def bibtex(self) -> str:
        """Its entry, behind a comment on what it is for."""
        said = {"title": f"{{{self.title}}}", "author": " and ".join(self.authors)}
        said |= {name: self.fields[name] for name in _FIELDS if name in self.fields}
        lines = "".join(f"  {name} = {{{value}}},\n" for name, value in said.items())
        why = f"% {'; '.join(self.because)}\n" if self.because else ""
        return f"{why}@{self.kind}{{{self.key},\n{lines}}}\n"

    def as_json(self) -> dict[str, Any]:
        """What `--json` prints of it."""
        known = {"key": self.key, "type": self.kind, "title": self.title, "authors": list(self.authors)}
        return known | dict(self.fields) | {"because": list(self.because), "bibtex": self.bibtex()}


#: How to cite Backwater; CITATION.cff says the same.
PROGRAM = Reference(
    "backwater",
    "Backwater: a simulator of congestion in lossless networks",
    ("{The Backwater developers}",),
    {"year": 2026, "url": "https://github.com/backwater/backwater", "version": __version__},
)


def of(scenarios: Sequence[Mapping[str, Any]]) -> list[Reference]:
    """The papers behind one scenario or several, each with every default filled in, in the order of the list."""
    settings = [_settings(scenario) for scenario in scenarios]
    found = []
    for paper, used in _listed():
        because = [_text(one) for one in used if any(_holds(one, those) for those in settings)]
        if because:
            found.append(Reference(paper.key, paper.title, paper.authors, paper.fields, tuple(because)))
    return found


@cache
def _listed() -> list[tuple[Reference, list[dict[str, str]]]]:
    text = (Path(__file__).parent / "references.toml").read_text(encoding="utf-8")
    return [
        (Reference(one.pop("key"), one.pop("title"), tuple(one.pop("authors")), one), one.pop("used"))
        for one in tomllib.loads(text)["reference"]
    ]


def _text(used: Mapping[str, str]) -> str:
    return " and ".join(f"{key} = {value}" for key, value in used.items())


def _holds(used: Mapping[str, str], settings: Sequence[Mapping[str, Any]]) -> bool:
    return any(all(value in _values(one, key.split(".")) for key, value in used.items()) for one in settings)


def _settings(scenario: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The scenario once for each traffic entry and job, with the reaction point of that; without one if it has none."""
    whole = {name: part for name, part in scenario.items() if name != "cc"}
    return [whole | {"traffic": entry, "cc": _reaction(scenario, entry)} for entry in senders.of(scenario)]


def _reaction(scenario: Mapping[str, Any], entry: Mapping[str, Any]) -> Any:
    return entry.get("cc", scenario["cc"]) if entry.get("control") == _SHARED else {}


def _values(part: Any, path: Sequence[str]) -> Iterator[Any]:
    """What stands at a path; of a list, in any of its members."""
    if isinstance(part, list):
        for member in part:
            yield from _values(member, path)
    elif not path:
        yield part
    elif isinstance(part, dict) and path[0] in part:
        yield from _values(part[path[0]], path[1:])
