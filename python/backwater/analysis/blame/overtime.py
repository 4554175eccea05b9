"""The score over time, in bins: of the run, of each port, and of each flow."""

from __future__ import annotations

from backwater.analysis.blame.scoring import shares
from backwater.common.late import pl

#: Crowds are cut at multiples of so many picoseconds.
PERIOD_PS = 100_000_000


def ports(marks: pl.DataFrame, crowding: pl.DataFrame, bin_ps: int) -> pl.DataFrame:
    """Per queue and bin that has something to share: `queue`, `time_ps` and what :func:`scoring.shares` gives."""
    return shares(*_placed(marks, crowding, bin_ps), ["queue", "time_ps"])


def flows(marks: pl.DataFrame, crowding: pl.DataFrame, bin_ps: int) -> pl.DataFrame:
    """Per flow and bin in which it fed a root or a packet of it was marked.

    Columns `flow`, `time_ps`, `is_culprit` (it fed a root in this bin), `is_marked` (a packet of it got CE in it),
    `root_packets` (those it sent through roots' long queues, counted where their interval begins), `ce_marks`.
    """
    bins = _covered(crowding.filter(~pl.col("is_held")), bin_ps)
    first = pl.col("time_ps") == pl.col("start_ps") // bin_ps * bin_ps
    fed = bins.group_by("flow", "time_ps").agg(root_packets=pl.col("packets").filter(first).sum())
    ce = marks.filter(pl.col("code") == "CE").group_by("flow", _place("time_ps", bin_ps)).agg(ce_marks=pl.len())
    joined = fed.join(ce, on=["flow", "time_ps"], how="full", coalesce=True)
    known = joined.with_columns(
        is_culprit=pl.col("root_packets").is_not_null(), is_marked=pl.col("ce_marks").is_not_null()
    )
    filled = known.with_columns(pl.col("root_packets", "ce_marks").fill_null(0))
    order = ["flow", "time_ps", "is_culprit", "is_marked", "root_packets", "ce_marks"]
    return filled.select(order).sort("flow", "time_ps")


def run(marks: pl.DataFrame, crowding: pl.DataFrame, bin_ps: int) -> pl.DataFrame:
    """Per bin `time_ps` (its start) that has something to share.

    What :func:`scoring.shares` gives, and of the flows of the bin `marked_flows`, `flow_precision`, `culprits`,
    `flow_recall`.
    """
    packets = shares(*_placed(marks, crowding, bin_ps), ["time_ps"])
    culprit, marked = pl.col("is_culprit"), pl.col("is_marked")
    each = flows(marks, crowding, bin_ps).group_by("time_ps")
    found = each.agg(
        marked_flows=marked.sum(),
        flow_precision=(culprit & marked).sum() / marked.sum(),
        culprits=culprit.sum(),
        flow_recall=(culprit & marked).sum() / culprit.sum(),
    )
    joined = packets.join(found, on="time_ps", how="full", coalesce=True)
    known = pl.col("flow_precision", "flow_recall").fill_nan(None)
    counts = pl.col("ce_marks", "early_marks", "ue_marks", "root_packets", "marked_flows", "culprits").fill_null(0)
    return joined.with_columns(known, counts).sort("time_ps")


def _placed(marks: pl.DataFrame, crowding: pl.DataFrame, bin_ps: int) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Marks and crowds of roots with the bin `time_ps`; a crowd, of at most 100 µs, counts where it begins."""
    root = crowding.filter(~pl.col("is_held")).with_columns(_place("start_ps", bin_ps))
    return marks.with_columns(_place("time_ps", bin_ps)), root


def _covered(root: pl.DataFrame, bin_ps: int) -> pl.DataFrame:
    """Crowds once for each bin `time_ps` that they reach into.

    A crowd that is cut ends by the first packet of another period, which is none of it.
    """
    period_end = (pl.col("start_ps") // PERIOD_PS + 1) * PERIOD_PS
    last = pl.max_horizontal("start_ps", pl.min_horizontal("end_ps", period_end) - 1)
    first_bin, last_bin = pl.col("start_ps") // bin_ps, last // bin_ps
    bins = root.with_columns(time_ps=pl.int_ranges(first_bin, last_bin + 1)).explode("time_ps")
    return bins.with_columns(pl.col("time_ps") * bin_ps)


def _place(column: str, bin_ps: int) -> pl.Expr:
    return (pl.col(column) // bin_ps * bin_ps).alias("time_ps")
