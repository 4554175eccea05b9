"""From which queue on the ground truth of a run calls a queue long: K, in words for whatever depends on it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from backwater.common import quantities
from backwater.results import Results

#: So many rates are named; a network with more gets the range.
_NAMED = 3
#: What a threshold follows from.
_WHY = {
    "round-trip": "the longest round trip of {trip} and a packet from each port",
    "memory": "half of what may wait from one link",
    "given": "probe.blame-threshold",
}


def values(results: Results) -> dict[str, Any] | None:
    """What `run.json` says of K: `round_trip_ps`, and `thresholds` by rate; None without a ground truth."""
    found: dict[str, Any] | None = results.meta.get("ground_truth")
    return found


def text(results: Results) -> str:
    """K in a few words, such as ``K = 56.1 KB at 100 Gbps``; empty if the run does not say."""
    found = values(results)
    if not found or not found["thresholds"]:
        return ""
    rates: dict[int, list[int]] = {}
    for row in found["thresholds"]:
        rates.setdefault(row["rate_bps"], []).append(row["threshold_bytes"])
    every = [size for sizes in rates.values() for size in sizes]
    if len(set(every)) == 1 or len(rates) == 1 or len(rates) > _NAMED:
        return f"K = {_range(every)}"
    return "K = " + ", ".join(
        f"{_range(rates[rate])} at {quantities.rate(rate)}" for rate in sorted(rates, reverse=True)
    )


def _range(sizes: Sequence[int]) -> str:
    """Ports of one rate differ where their switches have other numbers of ports."""
    least, most = quantities.size(min(sizes)), quantities.size(max(sizes))
    return least if least == most else f"{least} to {most}"


def line(results: Results) -> str:
    """K and why it is that, for the report of one run; empty if the run does not say."""
    found, said = values(results), text(results)
    if found is None or not said:
        return ""
    trip = quantities.time(found["round_trip_ps"])
    why = dict.fromkeys(row["from"] for row in found["thresholds"])
    return f"a queue is long above {said}: {', or '.join(_WHY[one].format(trip=trip) for one in why)}"


def of_all(runs: Iterable[Results]) -> str:
    """K of several runs, for the note below a table; where it differs that is said, as their scores do not compare."""
    said = list(dict.fromkeys(filter(None, map(text, runs))))
    if len(said) > 1:
        return f"K differs between the runs, and so does what counts as long: {'; '.join(said)}"
    return said[0] if said else ""
