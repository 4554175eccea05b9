"""Whether a scenario has what a controller of the user's own is notified of: one that is never called controls nothing.

A timer calls it, too, but only a call sets a timer.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from backwater.common import codes
from backwater.extend.abi import ACK, CNP, EVENT_NAMES, SEND
from backwater.extend.errors import UserCodeError


def require_some(place: str, function: str, events: int, scenario: Mapping[str, Any]) -> None:
    """Raise UserCodeError if no flow of a resolved scenario has an event that the function is notified of."""
    tables = [cc for cc in _tables(scenario) if cc.get("custom", {}).get("function") == function]
    if any(events & _events(cc, scenario) for cc in tables):
        return
    where = f"{place}.custom.function = {function!r} is never called: "
    names = [name for name, event in EVENT_NAMES.items() if events & event]
    if not names:
        told = f"it is notified of nothing; choose of {', '.join(EVENT_NAMES)}"
    else:
        lists = ", ".join(f'"{name}"' for name in names)
        reasons = "; ".join(dict.fromkeys(text for cc in tables for text in _reasons(place, events, cc, scenario)))
        told = f"it is notified of [{lists}] only. {reasons}"
    raise codes.as_coded(UserCodeError(where + told), "never-called")


def _tables(scenario: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Those that choose a controller of the user's own."""
    own = (entry.get("cc") for entry in scenario.get("traffic", []))
    yield from (cc for cc in (scenario["cc"], *own) if cc and cc["kind"] == "custom")


def _marks(scenario: Mapping[str, Any]) -> bool:
    """Whether switches may mark packets: a detector does, and congestion isolation has marks of its own."""
    switch = scenario["switch"]
    return bool(switch["detector"]["kind"] != "none" or (switch.get("isolation") or {}).get("kind", "none") != "none")


def _events(cc: Mapping[str, Any], scenario: Mapping[str, Any]) -> int:
    """Which events a flow under this table has."""
    if cc["custom"].get("feedback") == "rtt":
        return SEND | ACK
    if not _marks(scenario):
        return SEND
    return SEND | CNP | (ACK if scenario["ack"]["every"] else 0)


def _reasons(place: str, events: int, cc: Mapping[str, Any], scenario: Mapping[str, Any]) -> Iterator[str]:
    """Why none of these comes, and what to set."""
    custom = f"{place}.custom.feedback"
    if cc["custom"].get("feedback") == "rtt":
        yield f'{custom} = "rtt" sends no CNPs: set {custom} = "cnp", or add "ack" to on='
    elif not _marks(scenario):
        also = f', or {custom} = "rtt" for ACKs with a round-trip time' if events & ACK else ""
        yield f'switch.detector.kind = "none" marks no packet: choose a detector{also}, or {place}.kind = "none"'
    else:
        yield (
            f'No ACK comes, as ack.every = 0: set {custom} = "rtt" for round-trip times, ack.every = 1 for echoes of '
            'marks, or add "cnp" to on='
        )
