"""One word that `backwater explain` knows."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any


@dataclass(frozen=True)
class Entry:
    """One word and what it means."""

    #: Its full name: `flows.slowdown`, `switch.detector.kmin`, `detector/tcd`, `TCD-F11a`, `deadlock`.
    word: str
    #: What kind of word: `column`, `table`, `key`, `value`, `algorithm`, `claim`, `exit code`, `error`, ...
    kind: str
    #: One line.
    summary: str
    #: All there is to say, besides the facts; may be empty.
    text: str = ""
    #: Short facts by name: type, unit, default, range, source.
    facts: dict[str, str] = field(default_factory=dict)
    #: Other words that mean it.
    aliases: tuple[str, ...] = ()
    #: Of a key what it is if a scenario does not say, by profile, where profiles differ.
    defaults: dict[str, Any] = field(default_factory=dict)

    def as_json(self) -> dict[str, Any]:
        """Plain values."""
        return asdict(self)
