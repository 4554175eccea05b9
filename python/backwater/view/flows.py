"""The flows of a run as the page lists them: what each was, what became of it, where its time went."""

from __future__ import annotations

from backwater.analysis.blame import Blame
from backwater.analysis.blame.tables import read
from backwater.common.late import pl
from backwater.results import Results
from backwater.view import truth
from backwater.view.encode import Columns

#: A page lists so many flows at most: those to blame, and those that lost most.
MOST_FLOWS = 8000

_COLUMNS = (
    "flow",
    "traffic",
    "src_index",
    "dst_index",
    "priority",
    "size_bytes",
    "start_ps",
    "finish_ps",
    "ideal_fct_ps",
    "packets",
    "received_bytes",
    "ce_packets",
    "ue_packets",
    "cnps_ce",
    "cnps_ue",
)
_COUNTS = ("packets", "received_bytes", "ce_packets", "ue_packets", "cnps_ce", "cnps_ue")


def chosen(results: Results, blame: Blame | None) -> tuple[pl.DataFrame, int]:
    """The flows that the page lists, in order of their numbers, and how many there are in all."""
    frame = read(results, "flows", list(_COLUMNS)).sort("flow")
    total = frame.height
    if total <= MOST_FLOWS:
        return frame, total
    fct = pl.col("finish_ps") - pl.col("start_ps")
    ranked = frame.with_columns(_lost=fct - pl.col("ideal_fct_ps"), _first=pl.lit(0))
    if blame is not None:
        # A root's biggest feeders are listed, whatever they lost.
        feeders = blame.feeding.group_by("root").head(20)["flow"].unique()
        ranked = ranked.with_columns(_first=pl.col("flow").is_in(feeders.implode()).cast(pl.Int32))
    order = ranked.sort("_first", "_lost", "flow", descending=[True, True, False], nulls_last=True)
    return order.head(MOST_FLOWS).drop("_first", "_lost").sort("flow"), total


def add(columns: Columns, flows: pl.DataFrame, blame: Blame | None, tick_ps: int) -> list[str]:
    """Put flows into the columns; -1 is null. Returns the names of their traffic entries."""
    names = flows["traffic"].unique(maintain_order=True).to_list()
    numbers = {name: index for index, name in enumerate(names)}
    traffic = flows["traffic"].replace_strict(numbers, return_dtype=pl.Int64) if names else flows["flow"]
    columns.add("flows.flow", flows["flow"].to_numpy(), delta=True)
    columns.add("flows.traffic", traffic.to_numpy())
    for name in ("src", "dst"):
        columns.add(f"flows.{name}", flows[f"{name}_index"].to_numpy())
    columns.add("flows.priority", flows["priority"].to_numpy())
    for name in ("start", "finish", "ideal_fct"):
        ticks = (flows[f"{name}_ps"] // tick_ps).fill_null(-1)
        columns.add(f"flows.{name}", ticks.to_numpy(), delta=name == "start")
    columns.add("flows.size_bytes", flows["size_bytes"].fill_null(-1).to_numpy())
    for name in _COUNTS:
        columns.add(f"flows.{name}", flows[name].fill_null(0).to_numpy())
    if blame is not None:
        lost = truth.lost(blame, flows, tick_ps)
        columns.add("flows.verdict", lost["verdict"].to_numpy())
        for part in truth.PARTS:
            columns.add(f"flows.{part.removesuffix('_ps')}", lost[part].to_numpy())
    return [str(name) for name in names]
