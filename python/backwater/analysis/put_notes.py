"""Lines about the PUTs of a run besides its tables: losses, receive queues, streams that stand still."""

from __future__ import annotations

from backwater.analysis import puts
from backwater.common import quantities
from backwater.common.late import pl
from backwater.results import Results
from backwater.results.measures import end_ps

#: A stream stands still if it got nothing across for this part of the run, and sent as many packets meanwhile.
_STILL_PERCENT, _STILL_PACKETS = 20, 10
#: How many of them are named.
_NAMED = 3


def of(results: Results) -> list[str]:
    """One line each; none for a run without PUTs and receive queues."""
    lines = _losses(results) if puts.applies(results) else []
    if puts.applies(results) and results.has("streams"):
        lines += _still(results)
    return lines + (_queues(results) if results.has("endpoints") else [])


def _losses(results: Results) -> list[str]:
    found = puts.numbers(results)
    resent, dropped, at_switches = (
        int(found[name] or 0) for name in ("resent_packets", "target_drops", "switch_drops")
    )
    if not resent and not dropped and not at_switches:
        return ["PUTs: nothing was dropped, nothing sent again"]
    percent = found.get("resent_percent")
    share = "" if percent is None else f" ({quantities.three_digits(percent)} % of all sent)"
    switches = f", {quantities.count(at_switches)} by switches" if at_switches else ""
    again = f"{quantities.count(resent)} packets sent again{share}"
    return [f"PUTs: {again}, {quantities.count(dropped)} dropped by their targets{switches}"]


def _still(results: Results) -> list[str]:
    """The streams that made no progress at the end of the run, though they sent."""
    end = end_ps(results)
    streams = results.streams.with_columns(pl.col("src", "dst").cast(pl.String))
    last = pl.col("end_ps").filter(pl.col("accepted_packets") > 0).max().fill_null(0)
    sent = (pl.col("sent_packets") + pl.col("resent_packets")).filter(pl.col("start_ps") >= last).sum()
    found = (
        streams.group_by("src", "dst", "priority", "kind")
        .agg(since=last, sent=sent)
        .filter((end - pl.col("since").cast(pl.Int64)) * 100 > _STILL_PERCENT * end, pl.col("sent") >= _STILL_PACKETS)
        .sort("since", "src", "dst")
        .collect()
    )
    lines = []
    for row in found.head(_NAMED).to_dicts():
        when = f"after {quantities.time(row['since'])}" if row["since"] else "at all"
        packets = quantities.count(row["sent"])
        lines.append(
            f"no progress: {row['dst']} accepted no PUT of {row['src']} {when}, though {packets} packets were sent"
        )
    more = found.height - len(lines)
    return lines + ([f"no progress: {more} more streams like these"] if more > 0 else [])


def _queues(results: Results) -> list[str]:
    """Which slow host came nearest to its limit, and what it held back."""
    hosts = results.endpoints.group_by(pl.col("node").cast(pl.String)).agg(
        pl.col("peak_bytes").max(), pl.col("holding_ps", "dropped_packets").sum()
    )
    found = hosts.sort(["peak_bytes", "node"], descending=[True, False]).collect()
    if found.is_empty():
        return []
    fullest = found.row(0, named=True)
    held = int(found["holding_ps"].sum())
    back = f"; slow hosts held back their switches for {quantities.time(held)}" if held else ""
    depth = results.meta["scenario"].get("host", {}).get("queue")
    of_depth = f" of {quantities.size(quantities.parse_size(depth))}" if depth else ""
    peak = quantities.size(fullest["peak_bytes"])
    return [f"receive queues: the fullest, at {fullest['node']}, held {peak}{of_depth}{back}"]
