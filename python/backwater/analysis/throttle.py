"""NICs that throttle themselves (PFT): for how long each was in the congested state, and what that held back.

A NIC knows nothing of destinations: it throttles whatever its host sends. So NICs are looked at by what they send: the
traffic entries, and the roles of the ranks, of their hosts.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from backwater.common import quantities
from backwater.common.late import pl
from backwater.errors import UsageError
from backwater.results import Results, measures
from backwater.results.measures import end_ps, programs


def applies(results: Results) -> bool:
    """Whether NICs throttle themselves."""
    return measures.throttle(results.meta["scenario"])[0] != "none"


def require(results: Results) -> None:
    """Raise UsageError, with what to do, unless the run has sums of what throttles did.

    Used credits may be counted without any throttle.
    """
    if results.has("throttle"):
        return
    sums = "--set probe.throttle=true --set probe.sample=10us"
    if not applies(results):
        raise UsageError(f"{results.folder}: no NIC throttles itself; run with --set host.throttle.kind=pft {sums}")
    raise UsageError(f"{results.folder} has no sums of throttles: run with {sums}")


def unit_bytes(results: Results) -> int:
    """What one credit stands for, in bytes."""
    unit = results.meta["scenario"].get("switch", {}).get("credits", {}).get("unit", "64B")
    return quantities.parse_size(str(unit))


def thresholds(scenario: Mapping[str, Any]) -> dict[str, int]:
    """The thresholds of the two states in credits that are used, by their names; also if they are of available ones."""
    _, pft = measures.throttle(scenario)
    known = {name: int(pft[name]) for name in ("enter", "escape") if name in pft}
    if pft.get("credits") != "available":
        return known
    lane = scenario["switch"]["credits"]
    capacity = quantities.parse_size(str(lane["buffer"])) // quantities.parse_size(str(lane.get("unit", "64B")))
    return {name: capacity - value for name, value in known.items()}


def senders(results: Results) -> dict[str, str]:
    """By host what it sends: the roles of its ranks, and the traffic entries of its other flows."""
    words: dict[str, set[str]] = {}
    if results.has("ranks"):
        roles = results.ranks.select(pl.col("node", "role").cast(pl.String)).unique().collect()
        for node, role in roles.rows():
            words.setdefault(node, set()).add(role)
    entry = pl.col("traffic").cast(pl.String)
    others = results.flows.filter(~entry.is_in(programs(results.meta["scenario"])))
    for node, name in others.select(pl.col("src").cast(pl.String), entry).unique().collect().rows():
        words.setdefault(node, set()).add(name)
    return {node: ", ".join(sorted(found)) for node, found in words.items()}


def throttled(results: Results, table: str) -> pl.LazyFrame:
    """A table of throttles with ``nic``: the host, and the port where a host has several."""
    rows = results.table(table)
    node = pl.col("node").cast(pl.String)
    links = results.meta.get("network", {}).get("links", {})
    counts = Counter([*links.get("a", ()), *links.get("b", ())])
    several = [index for index, count in counts.items() if count > 1]
    if "port_index" not in rows.collect_schema().names():  # written by a version whose NICs had one port
        return rows.with_columns(nic=node)
    by_port = pl.format("{} port {}", node, pl.col("port_index"))
    return rows.with_columns(nic=pl.when(pl.col("node_index").is_in(several)).then(by_port).otherwise(node))


def by_nic(results: Results) -> pl.DataFrame:
    """One row per host that sends something, and what its throttle did in the whole run; first who was held longest.

    Of a host with several ports one row for each whose throttle had something to do: ``nic`` names it.
    ``nic``, ``node``, ``sends`` (see :func:`senders`), ``congested_ps``, ``held_ps``, ``entries``, ``used_max``,
    ``used_mean``, ``rate_bps`` (flits sent over the run), and ``congested`` and ``held`` as shares of the run.
    """
    require(results)
    end = max(end_ps(results), 1)
    length = (pl.col("end_ps") - pl.col("start_ps")).cast(pl.Float64)
    sums = (
        throttled(results, "throttle")
        .group_by("nic", node=pl.col("node").cast(pl.String))
        .agg(
            pl.col("congested_ps", "held_ps", "entries", "sent_flits").sum(),
            pl.col("used_max").max(),
            used_mean=(pl.col("used_mean") * length).sum() / end,
        )
        .collect()
    )
    sends = senders(results)
    every = pl.DataFrame(
        {"node": list(sends), "sends": list(sends.values())}, schema={"node": pl.String, "sends": pl.String}
    )
    found = every.join(sums, on="node", how="full", coalesce=True)
    counts = pl.col("congested_ps", "held_ps", "entries", "sent_flits", "used_max", "used_mean").fill_null(0)
    return (
        found.with_columns(counts, pl.col("sends").fill_null("nothing"), pl.col("nic").fill_null(pl.col("node")))
        .with_columns(
            rate_bps=pl.col("sent_flits") * (unit_bytes(results) * 8e12) / end,
            congested=pl.col("congested_ps") / end,
            held=pl.col("held_ps") / end,
        )
        .sort("held_ps", "congested_ps", "nic", descending=[True, True, False])
    )


def by_sender(nics: pl.DataFrame) -> pl.DataFrame:
    """The same by what NICs send: how many there are, how many were ever ``throttled``, means and the largest share."""
    return (
        nics.group_by("sends")
        .agg(
            nics=pl.len(),
            throttled=(pl.col("congested_ps") > 0).sum(),
            held_ever=(pl.col("held_ps") > 0).sum(),
            congested=pl.col("congested").mean(),
            held=pl.col("held").mean(),
            held_most=pl.col("held").max(),
            entries=pl.col("entries").sum(),
            used_mean=pl.col("used_mean").mean(),
            used_max=pl.col("used_max").max(),
            rate_bps=pl.col("rate_bps").mean(),
        )
        .sort("held", "sends", descending=[True, False])
    )


#: Roles of ranks that have no part in the congestion of GPCNeT: whose NICs should not be throttled.
BYSTANDERS = ("test",)


def bystanders(results: Results, nics: pl.DataFrame) -> str | None:
    """One sentence on the NICs of ranks that only test; None if there are none apart from others."""
    if not results.has("ranks"):
        return None
    found = nics.filter(pl.col("sends").is_in(BYSTANDERS))
    if found.is_empty():
        return None
    throttled, held = (int((found[name] > 0).sum()) for name in ("congested_ps", "held_ps"))
    whose = f"bystanders, the {found.height} NICs whose ranks only test"
    if not throttled:
        return f"{whose}: none was throttled"
    mean, most = (
        quantities.three_digits(100 * value) for value in (_mean(found["held"]), _mean(found["held"].top_k(1)))
    )
    return (
        f"{whose}: {throttled} were throttled, {held} held back, for {mean} % of the run on average, {most} % at most"
    )


def _mean(values: pl.Series) -> float:
    mean = values.mean()
    return float(mean) if isinstance(mean, float | int) else 0.0


def over_time(results: Results, nic: str) -> pl.DataFrame:
    """The periods of one NIC; those in which nothing happened may be missing.

    ``start_ps``, ``end_ps``, ``used_mean``, ``used_max``, ``congested`` and ``held`` as shares of the period,
    ``rate_bps``.
    """
    length = (pl.col("end_ps") - pl.col("start_ps")).cast(pl.Float64)
    return (
        throttled(results, "throttle")
        .filter(pl.col("nic") == nic)
        .select(
            "start_ps",
            "end_ps",
            "used_mean",
            "used_max",
            congested=pl.col("congested_ps") / length,
            held=pl.col("held_ps") / length,
            rate_bps=pl.col("sent_flits") * (unit_bytes(results) * 8e12) / length,
        )
        .sort("start_ps")
        .collect()
    )
