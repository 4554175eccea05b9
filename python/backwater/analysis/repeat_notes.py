"""Lines about what was dropped, and about queue pairs that send it again."""

from __future__ import annotations

from backwater.analysis import puts
from backwater.common import quantities
from backwater.common.codes import Remark
from backwater.common.late import pl
from backwater.results import Results, measures

#: What is said of them, in this order.
_COUNTED = ("resent_packets", "duplicate_packets", "dropped_packets", "nacks", "timeouts", "failed")


def of(results: Results) -> list[str | Remark]:
    """The lines; none if nothing was dropped, nothing sent again and nobody waited in vain."""
    return [*_drops(results), *_trims(results), *_repeats(results)]


def _trims(results: Results) -> list[str]:
    """How many packets switches trimmed."""
    trims = measures.trims(results)
    return [f"trims: {quantities.counted(trims, 'packet')} cut to the header, for want of room"] if trims else []


def _drops(results: Results) -> list[str]:
    """How many packets the network dropped, by reason, most first; what receivers did not take is told of flows."""
    if not results.has("drop_counts"):
        return []
    reason, packets = pl.col("reason").cast(pl.String), pl.col("packets").sum()
    found = (
        results.drop_counts.filter(~reason.is_in(measures.NO_DROPS))
        .group_by(reason)
        .agg(packets)
        .sort("packets", "reason", descending=[True, False])
    )
    counts = [(str(why), int(count)) for why, count in found.collect().rows() if count]
    if not counts:
        return []
    total = quantities.counted(sum(count for _, count in counts), "packet")
    return [f"drops: {total}: " + ", ".join(f"{why} {quantities.count(count)}" for why, count in counts)]


def _repeats(results: Results) -> list[str | Remark]:
    """Queue pairs that sent again, and those in error."""
    flows = results.flows
    if "failed" not in flows.collect_schema().names():
        return []
    others = ~pl.col("traffic").cast(pl.String).is_in(puts.entries(results))
    sums = flows.filter(others).select(pl.col(*_COUNTED).sum()).collect().row(0)
    resent, twice, discarded, nacks, timeouts, failed = (int(number or 0) for number in sums)
    lines: list[str | Remark] = []
    if resent or nacks or timeouts:
        parts = [
            f"{quantities.counted(resent, 'packet')} sent again",
            f"{quantities.count(twice)} received twice",
            f"{quantities.count(discarded)} discarded out of order",
            quantities.counted(nacks, "NACK"),
            quantities.counted(timeouts, "timeout"),
        ]
        lines.append("queue pairs: " + ", ".join(parts) + _useful(results))
    if failed:
        arrived = flows.filter(others, "failed", pl.col("finish_ps").is_not_null()).select(pl.len()).collect().item()
        told = f"{_in_error(failed, arrived)}. The first: {_first_failed(results, flows.filter(others))}"
        lines.append(Remark("note", "failed-pairs", told))
    return lines


def _in_error(failed: int, arrived: int) -> str:
    """How many queue pairs are in error, and whether their flows end: those of which all bytes have arrived do."""
    pairs = "1 queue pair is" if failed == 1 else f"{quantities.count(failed)} queue pairs are"
    why = "no ACK came after the last retry"
    if not arrived:
        return f"{pairs} in error, and {'its flow never ends' if failed == 1 else 'their flows never end'}: {why}"
    if failed == 1:
        ends = "All of its flow had arrived, which counts as finished"
    elif arrived == failed:
        ends = "All of their flows had arrived, which count as finished"
    else:
        never = failed - arrived
        ends = (
            f"Of {quantities.counted(arrived, 'flow')} all had arrived, which "
            f"{'counts' if arrived == 1 else 'count'} as finished; {quantities.count(never)} never "
            f"{'ends' if never == 1 else 'end'}"
        )
    return f"{pairs} in error: {why}. {ends}"


def _first_failed(results: Results, flows: pl.LazyFrame) -> str:
    """The message of the earliest queue pair in error: of which traffic, from whom, to whom."""
    names = pl.col("traffic", "src", "dst").cast(pl.String)
    failed = flows.filter("failed").sort(pl.col("start_ps").cast(pl.Int64), "flow", nulls_last=True)
    row = failed.select(names, "flow", "size_bytes").head(1).collect().row(0, named=True)
    ends = (_rank(results, row["traffic"], row[end], row["flow"]) for end in ("src", "dst"))
    size = "" if row["size_bytes"] is None else f", {quantities.size(row['size_bytes'])}"
    return f"{row['traffic']}, {' to '.join(ends)}{size}"


def _rank(results: Results, traffic: str, host: str, flow: int) -> str:
    """A host, with its rank in an application if that is known: the one whose step starts the flow, else the first."""
    if not results.has("dependencies"):
        return host
    rows = results.dependencies.filter(
        (pl.col("traffic").cast(pl.String) == traffic) & (pl.col("node").cast(pl.String) == host)
    )
    starts = (pl.col("what").cast(pl.String) == "starts") & (pl.col("flow") == flow)
    rank = rows.select(pl.col("rank").filter(starts).first(), least=pl.col("rank").min()).collect().row(0)
    number = rank[0] if rank[0] is not None else rank[1]
    return host if number is None else f"rank {number} ({host})"


def _useful(results: Results) -> str:
    """How much of the throughput is goodput."""
    wire = measures.on_the_wire(results)
    sent, useful = wire.get("sent_bytes"), wire.get("useful_percent")
    if not sent or useful is None:
        return ""
    return (
        f"; {quantities.three_digits(useful)} % of the {quantities.size(sent)} that hosts sent is payload that arrived"
    )
