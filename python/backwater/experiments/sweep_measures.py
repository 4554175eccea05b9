"""What the tables of a sweep can have of a run: measures of each traffic entry, and of the run as a whole."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from backwater.common import percentiles

if TYPE_CHECKING:
    from backwater.results import Results


@dataclass(frozen=True)
class Measure:
    """A column; its unit is in its name. `of` what: of each traffic entry, or of the run, the same in all its rows."""

    of: Literal["traffic", "run"]
    meaning: str
    #: Which way is better, for tuning; None where that depends.
    better: Literal["minimize", "maximize"] | None = None


MEASURES: dict[str, Measure] = {
    "flows": Measure("traffic", "Flows."),
    "finished": Measure("traffic", "Flows that finished; null where flows have no end of their own.", "maximize"),
    "packets": Measure("traffic", "Data packets sent."),
    "ce_packets": Measure("traffic", "Packets that arrived marked CE (or FECN)."),
    "ue_packets": Measure("traffic", "Packets that arrived marked UE."),
    "received_bytes": Measure("traffic", "Payload that arrived.", "maximize"),
    "throughput_bps": Measure("traffic", "Payload that arrived, over first start to last finish.", "maximize"),
    "mean_fct_ps": Measure("traffic", "Mean flow completion time of the flows that finished.", "minimize"),
    "p50_fct_ps": Measure("traffic", "Median flow completion time (nearest rank).", "minimize"),
    "p99_fct_ps": Measure("traffic", "99th percentile of the FCT (nearest rank); null of fewer than 100.", "minimize"),
    "max_fct_ps": Measure("traffic", "The longest flow completion time.", "minimize"),
    "mean_slowdown": Measure("traffic", "Mean of FCT over that of the flow alone in the network.", "minimize"),
    "p50_slowdown": Measure("traffic", "Median slowdown (nearest rank).", "minimize"),
    "p99_slowdown": Measure(
        "traffic", "99th percentile of the slowdown (nearest rank); null of fewer than 100.", "minimize"
    ),
    "max_slowdown": Measure("traffic", "The greatest slowdown.", "minimize"),
    "application_ps": Measure(
        "traffic", "Time of an application or collective from its start; null if it did not end.", "minimize"
    ),
    "pauses": Measure("run", "How often gates closed: PAUSEs that took effect, or credits that ran out.", "minimize"),
    "paused_ps": Measure("run", "Time for which gates were closed, summed over all ports.", "minimize"),
    "peak_queue_bytes": Measure("run", "Largest egress queue of all ports.", "minimize"),
    "sim_time_ps": Measure("run", "When the run ended."),
}
#: What tables have if a sweep does not say.
DEFAULT = (
    "finished",
    "throughput_bps",
    "mean_fct_ps",
    "p99_slowdown",
    "ce_packets",
    "ue_packets",
    "pauses",
    "paused_ps",
)
#: Columns that tables have besides those of the axes, which therefore cannot be called so.
TAKEN = ("scheme", "seed", "traffic", "digest", "status", "caveats", "seeds", *MEASURES)


@cache
def code() -> str:
    """A hash of the code that measures: what another one measured is measured again."""
    from backwater.results import measures

    texts = (Path(str(module)).read_bytes() for module in (__file__, measures.__file__, percentiles.__file__))
    return hashlib.sha256(b"".join(texts)).hexdigest()[:16]


def facts(results: Results) -> dict[str, Any]:
    """What a sweep wants to know of a complete run, as plain values: `rows` of its tables, and its `caveats`."""
    caveats = [str(caveat) for caveat in results.meta["caveats"]]
    known = {"status": "complete", "caveats": len(caveats), "digest": results.digest}
    return {"code": code(), "rows": [row | known for row in of(results)], "caveats": caveats}


def of(results: Results) -> list[dict[str, Any]]:
    """One row for each traffic entry of a run, in the scenario's order: ``traffic``, and every measure."""
    import polars as pl

    from backwater.results import measures

    ports = results.ports.select(
        pl.col("pauses").sum(), pl.col("paused_ps").sum(), pl.col("peak_queue_bytes").max()
    ).collect()
    run = {**ports.row(0, named=True), "sim_time_ps": measures.end_ps(results)}
    applications = measures.application_times(results)
    rows = []
    more = {row["traffic"]: row for row in _of_flows(results).iter_rows(named=True)}
    for row in measures.by_traffic(results).iter_rows(named=True):
        name = row["traffic"]
        # Flows without an end of their own have no completion time.
        timed = {key: None if row["finished"] is None else value for key, value in more[name].items()}
        every = {**timed, **row, **run, "application_ps": applications.get(name)}
        rows.append({"traffic": name, **{key: every.get(key) for key in MEASURES}})
    return rows


def _of_flows(results: Results) -> Any:
    import polars as pl

    from backwater.results.measures import nearest_rank

    fct, slowdown = pl.col("fct_ps").drop_nulls(), pl.col("slowdown").drop_nulls()
    return (
        results.flows.group_by(pl.col("traffic").cast(pl.String))
        .agg(
            p50_fct_ps=nearest_rank(fct, 50),
            p99_fct_ps=nearest_rank(fct, 99),
            max_fct_ps=fct.max(),
            mean_slowdown=slowdown.mean(),
            p50_slowdown=nearest_rank(slowdown, 50),
        )
        .collect()
    )
