"""Flows that a controller of the user's own all but stopped: where that is most of a run, a unit may be another one."""

from __future__ import annotations

from backwater.common import quantities
from backwater.common.codes import Remark
from backwater.common.late import pl
from backwater.results import Results, offered

#: A share of the line rate; built-in controllers allow a hundredth at least by default.
_LEAST = 1e-4


def notes(results: Results) -> list[Remark]:
    """One for the slowest flow, if its controller held it back for most of its time, at less than that share."""
    names = [one["function"] for one in results.meta.get("functions") or () if str(one["place"]).endswith("cc")]
    scenario = results.meta["scenario"]
    common = scenario.get("cc", {}).get("kind") == "custom"
    own = [
        entry["name"]
        for entry in scenario.get("traffic", [])
        if (entry["cc"].get("kind") == "custom" if entry.get("cc") else common)
    ]
    if not names or not own:
        return []
    rates = offered.host_rates(results)
    if not rates:
        return []
    took = pl.col("finish_ps").fill_null(int(results.meta["sim_time_ps"])).cast(pl.Int64) - pl.col("start_ps").cast(
        pl.Int64
    )
    held = results.flows.filter(pl.col("traffic").cast(pl.String).is_in(own)).select(
        "flow", took=took, rate=pl.col("received_bytes") * 8e12 / took, paced=pl.col("paced_ps")
    )
    slow = held.filter(
        pl.col("took") > 0, pl.col("paced") > pl.col("took") / 2, pl.col("rate") < _LEAST * min(rates.values())
    )
    found = slow.sort("took", descending=True).collect()
    end = int(results.meta["sim_time_ps"])
    if found.is_empty() or found["took"][0] < end / 2:
        return []
    rate, took_ps = float(found["rate"][0]), int(found["took"][0])
    said = (
        f"{', '.join(names)} let flow {found['flow'][0]} send at {quantities.rate(rate)} on average for "
        f"{quantities.time(took_ps)}, most of the run: flow.rate_bps is in bit/s (20e9 is 20 Gbps), times are in ps"
    )
    return [Remark("note", "slow-controller", said)]
