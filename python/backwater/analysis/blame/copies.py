"""Of flows that sent packets again: which waits are those of the copy of the last packet that the receiver took."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any

from backwater.analysis import puts
from backwater.analysis.blame.tables import queue_of, read
from backwater.common import quantities
from backwater.common.late import pl
from backwater.results import Results

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

#: So many steps are taken to find the waits of a flow.
_STEPS = 10_000


@dataclass(frozen=True)
class Copies:
    """What is known of the copies of last packets."""

    #: The waits of those that the receiver did not take: `flow`, `queue`, `start_ps`.
    others: pl.DataFrame
    #: The flows of which nobody knows which copy arrived.
    unknown: tuple[int, ...] = ()

    @property
    def notes(self) -> list[str]:
        """That of some flows it is not known, in a sentence."""
        if not self.unknown:
            return []
        flows = quantities.counted(len(self.unknown), "flow")
        return [f"unknown-copy: of {flows} nobody can tell which copy of the last packet arrived; a part may be wrong"]

    def without(self, waits: pl.DataFrame) -> pl.DataFrame:
        """The waits, of which those of other copies are not those of the last packet any more."""
        others = self.others.with_columns(other=True)
        joined = waits.join(others, on=["flow", "queue", "start_ps"], how="left", maintain_order="left")
        return joined.with_columns(last=pl.col("last") & pl.col("other").is_null()).drop("other")


def find(results: Results, parts: Sequence[str]) -> Copies:
    """Look at the flows that sent packets again; `parts`: what is known of them beside the waits on the way.

    A copy waited in each queue once at most, one queue after the other, and between its start and its end. All that
    adds up to what the flow's time leaves for its way.
    """
    nothing = pl.DataFrame(schema={"flow": pl.Int64, "queue": pl.Int64, "start_ps": pl.Int64})
    if "resent_packets" not in results.flows.collect_schema():
        return Copies(nothing)
    flows = _flows(results, parts)
    if not flows.height:
        return Copies(nothing)
    columns = ["start_ps", "end_ps", "node_index", "port_index", "priority", "flow", "last"]
    waits = read(results, "waits", columns).with_columns(queue=queue_of()).filter("last")
    own = flows.join(waits.drop("last"), on="flow", how="left", maintain_order="left")
    within = (pl.col("start_ps") >= pl.col("left_ps")) & (pl.col("end_ps") <= pl.col("there_ps"))
    own = own.with_columns(counts=within.fill_null(value=False))
    length = pl.col("end_ps") - pl.col("start_ps")
    sums = length.filter("counts").sum().over("flow") == pl.col("waited_ps")
    once = pl.col("queue").filter("counts").is_duplicated().any().over("flow").not_()
    clear = own.filter(sums & once)
    others = [clear.filter(pl.col("start_ps").is_not_null() & ~pl.col("counts"))]
    unknown: list[int] = []
    for (flow,), rows in own.filter(~(sums & once)).group_by("flow"):
        known = rows.filter("counts").sort("start_ps", "end_ps").select("queue", "start_ps", "end_ps").rows()
        ways = list(islice(_that_add_up(known, int(rows["waited_ps"][0])), 2))
        if len(ways) != 1:
            unknown.append(int(flow))
        chosen = {(queue, start) for queue, start, _ in (ways[0] if ways else known)}
        left = [(queue, start) not in chosen for queue, start in rows.select("queue", "start_ps").iter_rows()]
        others.append(rows.filter(pl.Series(left) & pl.col("start_ps").is_not_null()))
    return Copies(
        pl.concat([nothing, *(frame.select(nothing.columns) for frame in others)]).unique(), tuple(sorted(unknown))
    )


def _flows(results: Results, parts: Sequence[str]) -> pl.DataFrame:
    """Finished flows of queue pairs that sent packets again: `waited_ps` of the last one, between two instants."""
    source = {"src_index": "node_index", "src_port_index": "port_index"}
    columns = ["flow", "traffic", *source, "start_ps", "size_bytes", "fct_ps", "ideal_fct_ps", "ideal_wait_ps"]
    known = read(results, "flows", [*columns, "resent_packets", *parts])
    known = known.filter(
        (pl.col("resent_packets") > 0)
        & pl.col("fct_ps").is_not_null()
        & pl.col("ideal_fct_ps").is_not_null()
        & ~pl.col("traffic").is_in(puts.entries(results))
    )
    rates = read(results, "ports", [*source.values(), "rate_bps"]).unique()
    known = known.join(rates, left_on=[*source], right_on=[*source.values()], how="left", maintain_order="left")
    packet: dict[str, Any] = results.meta["scenario"]["packet"]
    payload, header = (quantities.parse_size(str(packet[key]).replace(" ", "")) for key in ("payload", "header"))
    wire = (payload + header) * 8e12 / pl.col("rate_bps")
    before = (pl.col("size_bytes") - 1) // payload * wire
    waited = pl.col("fct_ps") - pl.col("ideal_fct_ps") + pl.col("ideal_wait_ps") - pl.sum_horizontal(parts)
    there = pl.col("start_ps") + pl.col("fct_ps") - pl.col("reorder_wait_ps")
    under_way = pl.col("ideal_fct_ps") - pl.col("ideal_wait_ps") - before
    # Half a packet for what is rounded.
    left = there - waited - under_way - wire / 2
    return known.select("flow", waited_ps=waited, there_ps=there, left_ps=left.floor().cast(pl.Int64))


def _that_add_up(waits: list[tuple[int, int, int]], waited: int) -> Iterator[list[tuple[int, int, int]]]:
    """Of these waits, in order of time, those one after the other in queues of their own that are so long together."""
    steps = 0
    open_: list[tuple[int, int, list[tuple[int, int, int]]]] = [(len(waits), waited, [])]
    while open_ and steps < _STEPS:
        steps += 1
        before, left, chosen = open_.pop()
        if left == 0:
            yield chosen
            continue
        for at in range(before):
            queue, start, end = waits[at]
            if end - start > left or any(queue == other for other, *_ in chosen):
                continue
            if not chosen or end <= chosen[-1][1]:
                open_.append((at, left - (end - start), [*chosen, waits[at]]))
