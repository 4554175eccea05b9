"""How good a detector's marks are, judged by the ground truth.

A CE mark that was set while the port was held is wrong, any other is right: precision. Of the packets that left the
long queue of a root, those that carry CE were found: recall. A UE mark is right while the port is held.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import polars as pl

from backwater.blame.gates import Gates, within
from backwater.blame.tables import queue_of, read

if TYPE_CHECKING:
    from backwater.results import Results


@dataclass(frozen=True)
class Score:
    """Shares from 0 to 1; None where there is nothing to take a share of."""

    #: CE marks, and the share of them that was set at a port that was not held.
    ce_marks: int
    precision: float | None
    #: Data packets that left the long queue of a root, and the share of them that carried CE.
    root_packets: int
    recall: float | None
    #: UE marks, and the share of them that was set at a held port.
    ue_marks: int
    ue_precision: float | None
    #: Flows that received CE, the share of them that fed a root, and the share of those that fed a root which did.
    marked_flows: int
    flow_precision: float | None
    culprits: int
    flow_recall: float | None

    def values(self) -> dict[str, Any]:
        """As plain values."""
        return asdict(self)


def judged_marks(results: Results, gates: Gates) -> pl.DataFrame:
    """The marks: `time_ps`, `queue`, `code`, `is_held`."""
    columns = ["time_ps", "node_index", "port_index", "priority", "code"]
    marks = read(results, "marks", columns).select("time_ps", "code", queue=queue_of())
    return within(marks, gates.held, "time_ps", "is_held")


def score(marks: pl.DataFrame, crowding: pl.DataFrame, received: pl.DataFrame) -> Score:
    """The score of a run; `received` has `flow` and `ce_packets` of every flow."""
    ce, ue = marks.filter(pl.col("code") == "CE"), marks.filter(pl.col("code") == "UE")
    root = crowding.filter(~pl.col("is_held"))
    packets, found = int(root["packets"].sum()), int(root["ce_packets"].sum())
    marked, culprit = received["ce_packets"] > 0, received["flow"].is_in(root["flow"].unique().implode())
    both = int((marked & culprit).sum())
    return Score(
        ce_marks=ce.height,
        precision=_share(ce.height - int(ce["is_held"].sum()), ce.height),
        root_packets=packets,
        recall=_share(found, packets),
        ue_marks=ue.height,
        ue_precision=_share(int(ue["is_held"].sum()), ue.height),
        marked_flows=int(marked.sum()),
        flow_precision=_share(both, int(marked.sum())),
        culprits=int(culprit.sum()),
        flow_recall=_share(both, int(culprit.sum())),
    )


def by_port(marks: pl.DataFrame, crowding: pl.DataFrame) -> pl.DataFrame:
    """Per queue: `ce_marks`, `precision`, `root_packets`, `recall`, `ue_marks`, `ue_precision`."""
    is_ce, held = pl.col("code") == "CE", pl.col("is_held")
    marked = marks.group_by("queue").agg(
        ce_marks=is_ce.sum(),
        precision=(is_ce & ~held).sum() / is_ce.sum(),
        ue_marks=(~is_ce).sum(),
        ue_precision=(~is_ce & held).sum() / (~is_ce).sum(),
    )
    root = crowding.filter(~held).group_by("queue").agg(pl.col("packets", "ce_packets").sum())
    found = root.select("queue", root_packets="packets", recall=pl.col("ce_packets") / pl.col("packets"))
    joined = marked.join(found, on="queue", how="full", coalesce=True)
    counts = pl.col("ce_marks", "ue_marks", "root_packets").fill_null(0)
    return joined.with_columns(counts, pl.col("precision", "ue_precision").fill_nan(None)).sort("queue")


def over_time(marks: pl.DataFrame, crowding: pl.DataFrame, bin_ps: int) -> pl.DataFrame:
    """Per bin of time that has something to share: `time_ps` (its start), `precision`, `recall`.

    The crowds are known in intervals of at most 100 µs, which count where they begin.
    """
    ce = marks.filter(pl.col("code") == "CE").with_columns(_place("time_ps", bin_ps))
    right = ce.group_by("time_ps").agg(precision=(~pl.col("is_held")).mean(), ce_marks=pl.len())
    root = (
        crowding.filter(~pl.col("is_held"))
        .group_by(_place("start_ps", bin_ps))
        .agg(pl.col("packets", "ce_packets").sum())
    )
    found = root.select("time_ps", recall=pl.col("ce_packets") / pl.col("packets"), root_packets="packets")
    return right.join(found, on="time_ps", how="full", coalesce=True).sort("time_ps")


def _place(column: str, bin_ps: int) -> pl.Expr:
    return (pl.col(column) // bin_ps * bin_ps).alias("time_ps")


def _share(part: int, whole: int) -> float | None:
    return part / whole if whole else None
