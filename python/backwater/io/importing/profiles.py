"""Which links a profile is meant for."""

from __future__ import annotations

import json
from collections.abc import Collection
from typing import Any

from backwater import _core
from backwater.common import quantities
from backwater.errors import UsageError

#: What fits links of any rate from 25 to 800 Gbps: its buffers and thresholds follow the rate.
PROFILE = "roce"
#: Rate of links where nothing else says one.
RATE = "100Gbps"

#: Controllers that limit what a flow has under way. Messages of ranks share a queue pair, which they cannot work with.
_WINDOWS = ("dctcp", "hpcc", "swift")


def line_rate(profile: str | None) -> str:
    """The rate of the links that a profile is meant for. Raises UsageError for one that does not exist."""
    return RATE if profile is None else str(_profile(profile)["line-rate"]["meant-for"])


def has_windows(profile: str) -> bool:
    """Whether a profile controls congestion by windows."""
    return str(_profile(profile)["cc"]["kind"]) in _WINDOWS


def _profile(name: str) -> dict[str, Any]:
    known: dict[str, dict[str, Any]] = json.loads(_core.profile_defaults())
    if name not in known:
        raise UsageError(f"--profile {name}: there is none of this name; there are {', '.join(known)}")
    return known[name]


def unlike(profile: str, rates_bps: Collection[int]) -> list[str]:
    """A note where a profile is not meant for links of these rates, and its values do not follow them."""
    meant = _profile(profile)["line-rate"]
    least, most = min(rates_bps), max(rates_bps)
    if meant["scale"] or least <= quantities.parse_rate(meant["meant-for"]) <= most:
        return []
    rates = quantities.rate(least) if least == most else f"{quantities.rate(least)} to {quantities.rate(most)}"
    return [f"links keep the rate of the network, {rates}; profile {profile} is meant for {meant['meant-for']}"]
