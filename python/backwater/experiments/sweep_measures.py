"""What the tables of a sweep can have of a run: measures of each traffic entry, and of the run as a whole."""

from __future__ import annotations

import hashlib
from functools import cache
from pathlib import Path
from typing import Any

from backwater.common import codes, percentiles
from backwater.common.late import pl
from backwater.results import Results, catalogue, measures, offered
from backwater.results.catalogue import CATALOGUE

#: What tables can have.
MEASURES = {name: one for name, one in CATALOGUE.items() if one.meaning}
#: What tables have if a sweep does not say.
DEFAULT = (
    "finished",
    "goodput_bps",
    "mean_fct_ps",
    "p99_slowdown",
    "max_slowdown",
    "ce_packets",
    "ue_packets",
    "pauses",
    "paused_ps",
)
#: What they have as well where PUTs or queue pairs send again what is lost, and what only queue pairs tell of that.
OF_REPEATS = ("resent_packets", "dropped_packets")
OF_PAIRS = ("failed", "duplicate_packets", "nacks", "timeouts")
#: Columns that tables have besides those of the axes, which therefore cannot be called so.
TAKEN = ("scheme", "seed", "traffic", "digest", "status", "caveats", "seeds", *MEASURES)


@cache
def code() -> str:
    """A hash of the code that measures: what another one measured is measured again."""
    modules = (__file__, catalogue.__file__, measures.__file__, offered.__file__, percentiles.__file__)
    texts = (Path(str(module)).read_bytes() for module in modules)
    return hashlib.sha256(b"".join(texts)).hexdigest()[:16]


def facts(results: Results) -> dict[str, Any]:
    """What a sweep wants to know of a complete run, as plain values: `rows` of its tables, and its `caveats`."""
    caveats = [str(caveat) for caveat in codes.told(results.meta)]
    known = {"status": "complete", "caveats": len(caveats), "digest": results.digest}
    return {"code": code(), "rows": [row | known for row in of(results)], "caveats": caveats}


def of(results: Results) -> list[dict[str, Any]]:
    """One row for each traffic entry of a run, in the scenario's order: ``traffic``, and every measure."""
    ports = results.ports.select(
        pl.col("pauses").sum(), pl.col("paused_ps").sum(), pl.col("peak_queue_bytes").max()
    ).collect()
    run = {**ports.row(0, named=True), "sim_time_ps": measures.end_ps(results), **measures.on_the_wire(results)}
    if not measures.holds(results.meta["scenario"]):
        run |= {"pauses": None, "paused_ps": None}
    applications = measures.application_times(results)
    rows = []
    loads = offered.loads(results)
    scenario = results.meta["scenario"]
    if measures.sends_again(scenario):
        run["switch_drops"] = measures.drops(results)
    run["trims"] = measures.trims(results)
    run["recovery_ps"] = measures.recovery(results)
    again, pairs = measures.sends_again(scenario), measures.repeats(scenario)
    unknown = (*(() if again else OF_REPEATS), *(() if pairs else OF_PAIRS))
    known = [one for name, one in MEASURES.items() if name not in unknown]
    for row in measures.of_traffic(results, known).iter_rows(named=True):
        every = {**row, **run, "application_ps": applications.get(row["traffic"])}
        if (load := loads.get(row["traffic"])) is not None:
            every |= {"offered_load": load.drawn, "asked_load": load.asked}
        rows.append({"traffic": row["traffic"], **{key: every.get(key) for key in MEASURES}})
    return rows
