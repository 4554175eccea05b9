"""The tables that blame is computed from, read with what can be wrong with them said in words.

Every frame has a column `queue`: one number for an egress port and priority, the same in all of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from backwater.common import quantities
from backwater.common.late import pl
from backwater.errors import UsageError
from backwater.results import Results
from backwater.results.folder import RECORDED_BY

#: What blame and its score read, and what they read besides where there is such a thing.
_READ = ("pauses", "holds", "crowds", "waits", "marks")
_MAY_READ = ("closures",)


def queue_of(node: str = "node_index", port: str = "port_index", priority: str = "priority") -> pl.Expr:
    """One number for an egress port (of 65 536 at a node) and a priority (of 8)."""
    number = pl.col(node).cast(pl.Int64) * 65_536 + pl.col(port).cast(pl.Int64)
    return number * 8 + pl.col(priority).cast(pl.Int64)


def missing(results: Results, names: Sequence[str]) -> str:
    """Why tables are not there and how to get all that blame reads at once; empty if they are there."""
    absent = [name for name in names if not results.has(name)]
    if not absent:
        return ""
    keys = dict.fromkeys(RECORDED_BY[name] for name in _READ if not results.has(name))
    settings = " ".join(f"--set {key}" for key in keys)
    return (
        f"{results.folder} has no table {', '.join(absent)}: run it again with {settings} and another --out "
        f"(it was made by: {results.meta.get('command', 'backwater run')})"
    )


def cut(results: Results) -> list[str]:
    """What is known to be incomplete: an interrupted run, tables for which probe.budget was too small."""
    notes = [] if results.complete else ["the run was interrupted: this is blame until then"]
    for name in (*_READ, *_MAY_READ):
        notes += [
            f"{caveat['message']}; blame is wrong from there on: raise probe.budget"
            for caveat in results.meta["caveats"]
            if caveat["place"] == name
        ]
    return notes


def read(results: Results, name: str, columns: Sequence[str]) -> pl.DataFrame:
    """Columns of a table, times and numbers as Int64, names as text."""
    try:
        lazy = results.table(name)
        schema = lazy.collect_schema()
        lacking = [column for column in columns if column not in schema]
        if not lacking:
            return lazy.select(_plain(column, schema[column]) for column in columns).collect()
    except (pl.exceptions.PolarsError, OSError) as error:
        reason = str(error).splitlines()[0]
        raise UsageError(f"{results.file(name)} cannot be read ({reason}); run the scenario again") from None
    raise UsageError(
        f"{results.file(name)} has no column {', '.join(lacking)}: it is of another version of Backwater; "
        "run the scenario again"
    )


def _plain(column: str, kind: pl.DataType) -> pl.Expr:
    if kind.is_integer():
        return pl.col(column).cast(pl.Int64)
    return pl.col(column).cast(pl.String) if kind == pl.Categorical else pl.col(column)


def latest(left: pl.DataFrame, right: pl.DataFrame, left_on: str, right_on: str, by: str = "queue") -> pl.DataFrame:
    """Each row of `left` with the last row of `right` of the same `by` that is not later."""
    return left.sort(left_on).join_asof(
        right.sort(right_on),
        left_on=left_on,
        right_on=right_on,
        by=by,
        strategy="backward",
        coalesce=False,
        check_sortedness=False,
    )


def earliest(left: pl.DataFrame, right: pl.DataFrame, left_on: str, right_on: str) -> pl.DataFrame:
    """Each row of `left` with the first row of `right` of the same `queue` that is not earlier."""
    return left.sort(left_on).join_asof(
        right.sort(right_on),
        left_on=left_on,
        right_on=right_on,
        by="queue",
        strategy="forward",
        coalesce=False,
        check_sortedness=False,
    )


def queues(results: Results) -> pl.DataFrame:
    """The egress queues: with label, rate and peer; `at_host`, `is_drain`.

    Last the drains of slow hosts, and hosts that send PAUSE without end, which the ports table does not have.
    """
    ends = read(results, "flows", ["src_index", "dst_index"])
    hosts = pl.concat([ends["src_index"], ends["dst_index"]]).unique().to_list()
    frame = read(
        results, "ports", ["node_index", "port_index", "priority", "port", "rate_bps", "paused_ps", "peer_index"]
    )
    known = frame.select(
        "port",
        "priority",
        "rate_bps",
        "paused_ps",
        "peer_index",
        queue=queue_of(),
        at_host=pl.col("node_index").is_in(hosts),
        is_drain=pl.lit(value=False),
    )
    return pl.concat([known, _drains(results, known)], how="diagonal_relaxed")


def _drains(results: Results, ports: pl.DataFrame) -> pl.DataFrame:
    """The drains of slow hosts, and hosts that storm: egress ports of the ground truth that the ports table has not."""
    place = {"holds": ("blocker_index", "blocker_priority")}
    seen = []
    for name in ("holds", "crowds", "waits"):
        port, priority = place.get(name, ("port_index", "priority"))
        frame = read(results, name, ["node", "node_index", port, priority])
        seen.append(frame.select("node", priority=pl.col(priority), queue=queue_of("node_index", port, priority)))
    found = pl.concat(seen).unique().join(ports, on="queue", how="anti").sort("queue")
    speed = _speed(results.meta["scenario"])
    storms = dict.fromkeys(_storming(results.meta["scenario"]), "sends PAUSE without end")
    label = pl.format("{} ({})", "node", pl.col("node").replace_strict(storms, default=speed, return_dtype=pl.String))
    return found.select(
        "priority",
        "queue",
        port=label,
        rate_bps=pl.when(pl.col("node").is_in(list(storms))).then(None).otherwise(_drain_bps(results.meta["scenario"])),
        paused_ps=pl.lit(0, pl.Int64),
        at_host=pl.lit(value=True),
        is_drain=pl.lit(value=True),
    )


def _storming(scenario: Mapping[str, Any]) -> list[str]:
    """The hosts whose NICs send PAUSE without end."""
    return [fault["host"] for fault in scenario.get("fault", []) if fault["kind"] == "pause-storm"]


def _drain_bps(scenario: Mapping[str, Any]) -> pl.Expr:
    """How fast slow hosts drain; null where that changes, or is not known."""
    host = scenario.get("host", {})
    drain = host.get("drain")
    known = host.get("pattern", {}).get("kind", "constant") == "constant" and drain not in (None, "unlimited")
    return pl.lit(quantities.parse_rate(drain) if known else None, pl.Int64)


def _speed(scenario: Mapping[str, Any]) -> str:
    """How fast slow hosts drain what they receive, in words."""
    host = scenario.get("host", {})
    pattern = host.get("pattern", {})
    if pattern.get("kind") == "trace":
        return "drains as a trace says"
    low = f" or {pattern['low']}" if pattern.get("kind") == "on-off" else ""
    return f"drains {host.get('drain', 'slowly')}{low}"
