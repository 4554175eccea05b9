"""What each fault of a run cost: packets lost, flows hurt, and how long the goodput of their receivers was down."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from backwater.common import quantities
from backwater.common.late import np, pl
from backwater.results import Results

#: Why packets are dropped by faults of each kind.
_REASONS = {
    "link-down": ["link-down"],
    "switch-down": ["link-down"],
    "loss": ["corrupted"],
    "gray": ["gray"],
    "host-stop": ["dead-node", "link-down"],
    "watchdog": ["watchdog"],
}
#: Goodput is compared with no fewer periods before a fault, and no more.
_FEWEST, _MOST = 10, 100


@dataclass(frozen=True)
class Recovery:
    """Goodput of receivers around a fault, by sampling periods.

    It is down from the first period after the beginning with less than each of the `before` periods before it, until
    one that has not. Chance alone makes one period in `before` + 1 such a one.
    """

    receivers: int
    period_ps: int
    before: int
    #: From the fault's beginning; None if it was never down.
    down_ps: int | None
    #: From the fault's beginning; None if it was never down, or not up again.
    up_ps: int | None
    #: What of the mean before was missing while it was down.
    missing: float | None


@dataclass(frozen=True)
class Fault:
    """A fault, or the watchdog (`number` None): its rows of faults.parquet, and what it cost."""

    number: int | None
    kind: str
    events: pl.DataFrame
    #: One row for each port that lost packets.
    lost: pl.DataFrame
    #: Rows of the flows that lost packets by it, or were at its host meanwhile; None if the tables do not tell.
    flows: pl.DataFrame | None
    #: Median slowdowns of them and of all other flows, of those that finished.
    slowdown: tuple[float | None, float | None]
    recovery: Recovery | None

    @property
    def packets(self) -> int:
        """Packets lost."""
        return int(self.lost["packets"].sum())

    @property
    def begin_ps(self) -> int:
        """When it began."""
        return int((self.events if self.events.height else self.lost)["time_ps"][0])


def of(results: Results, most: int | None = None) -> list[Fault]:
    """The faults that something is recorded of, by number, the watchdog last; of many those that lost most packets."""
    if not results.has("faults"):
        return []
    frame = results.faults.with_columns(pl.col("kind", "event", "node", "port").cast(pl.String)).collect()
    frame = frame.with_columns(pl.col("time_ps", "last_ps").cast(pl.Int64)).sort("time_ps", maintain_order=True)
    groups = frame.partition_by("fault", "kind", maintain_order=True)
    begins = sorted(int(rows["time_ps"][0]) for rows in groups)
    groups = sorted(groups, key=lambda rows: -int(rows["packets"].sum()))[:most]
    groups.sort(key=lambda rows: (rows["fault"][0] is None, rows["fault"][0]))
    tables = _Tables.read(results)
    return [_fault(results, rows, tables, begins) for rows in groups]


@dataclass(frozen=True)
class _Tables:
    """What costs are computed from, read once."""

    flows: pl.DataFrame
    drops: pl.DataFrame | None
    goodput: _Goodput | None

    @classmethod
    def read(cls, results: Results) -> _Tables:
        """Read them; without a table what it tells is None."""
        named = ["flow", "src", "dst", "dst_index", "start_ps", "finish_ps", "slowdown"]
        flows = results.flows.select(named).with_columns(pl.col("src", "dst").cast(pl.String)).collect()
        drops = None
        if results.has("drops"):
            text = pl.col("port", "reason").cast(pl.String)
            columns = ["time_ps", "node_index", "port", "reason", "flow"]
            drops = results.drops.select(columns).with_columns(text, pl.col("time_ps").cast(pl.Int64)).collect()
        return cls(flows, drops, _goodput(results))


def _fault(results: Results, rows: pl.DataFrame, tables: _Tables, begins: list[int]) -> Fault:
    number, kind = rows["fault"][0], rows["kind"][0]
    events, lost = rows.filter(pl.col("event") != "lost"), rows.filter(pl.col("event") == "lost")
    numbers = _flows(results, number, kind, rows, tables)
    slowdown: tuple[float | None, float | None] = (None, None)
    hurt = None
    if numbers is not None:
        known = pl.col("flow").is_in(numbers.implode())
        hurt = tables.flows.filter(known)
        slowdown = (_median(hurt), _median(tables.flows.filter(~known)))
    recovery = None
    if tables.goodput is not None and hurt is not None and hurt.height:
        begin, last = _span(rows)
        recovery = tables.goodput.around(hurt["dst_index"].unique(), begin, last, begins)
    return Fault(number, kind, events, lost, hurt, slowdown, recovery)


def _span(rows: pl.DataFrame) -> tuple[int, int]:
    """From the first to the last time of rows in order."""
    return int(rows["time_ps"][0]), int(rows["time_ps"][-1])


def _median(flows: pl.DataFrame) -> float | None:
    value = flows["slowdown"].drop_nulls().median()
    return float(value) if isinstance(value, int | float) else None


def _flows(results: Results, number: int | None, kind: str, rows: pl.DataFrame, tables: _Tables) -> pl.Series | None:
    """The flows that lost packets by a fault; of one that loses none, those that were at its host meanwhile."""
    lost, flows = rows.filter(pl.col("event") == "lost"), tables.flows
    if lost.height:
        if tables.drops is None:
            return None
        drops = tables.drops.filter(pl.col("reason").is_in(_REASONS[kind]))
        ports = lost.select("node_index", "port", first="time_ps", last="last_ps")
        found = drops.join(ports, on=["node_index", "port"])
        return found.filter(pl.col("time_ps").is_between("first", "last"))["flow"].unique()
    host = _host(results.meta["scenario"], number, flows)
    if host is None:
        return None if kind in ("link-slow", "pause-storm") else flows["flow"].clear()
    begin, end = _span(rows)
    end = end if end > begin else int(results.meta["sim_time_ps"])
    under_way = (pl.col("start_ps") < end) & (pl.col("finish_ps").is_null() | (pl.col("finish_ps") > begin))
    # PAUSE holds what comes to a host; a slow link what goes, too.
    here = pl.col("dst") == host
    return flows.filter(under_way & (here if kind == "pause-storm" else here | (pl.col("src") == host)))["flow"]


def _host(scenario: Mapping[str, Any], number: int | None, flows: pl.DataFrame) -> str | None:
    """The host that a fault is at, or at the link of; None if it is elsewhere."""
    if number is None:
        return None
    entry = scenario["fault"][number]
    ends = [entry["host"]] if "host" in entry else entry.get("link", [])
    hosts = set(flows["src"]) | set(flows["dst"])
    return next((end for end in ends if end in hosts), None)


@dataclass(frozen=True)
class _Goodput:
    """What hosts received, by period: `delivered`."""

    frame: pl.DataFrame
    period_ps: int
    periods: int

    def around(self, receivers: pl.Series, begin: int, last: int, begins: list[int]) -> Recovery | None:
        """The goodput of receivers before and after a fault; None if there are too few periods before it."""
        here = self.frame.filter(pl.col("node_index").is_in(receivers.implode()))
        values = np.zeros(self.periods)
        np.add.at(values, here["period"].to_numpy(), here["received_bytes"].to_numpy())
        some = np.flatnonzero(values)
        if not some.size:
            return None
        first = begin // self.period_ps
        # The first period with goodput is not whole; what another fault may have changed is no measure.
        earlier = max((other // self.period_ps + 1 for other in begins if other < begin), default=0)
        since = max(int(some[0]) + 1, earlier, first - _MOST)
        before = values[since:first]
        if before.size < _FEWEST:
            return None
        later = min((other // self.period_ps for other in begins if other > begin), default=self.periods)
        # Not later than all that happens to the fault, and as long again as a comparison wants.
        horizon = min(later, max(last // self.period_ps, first) + 1 + _FEWEST)
        under = np.flatnonzero(values[first:horizon] < before.min())
        if not under.size:
            return Recovery(receivers.len(), self.period_ps, before.size, None, None, None)
        down = first + int(under[0])
        back = np.flatnonzero(values[down:] >= before.min())
        until = down + int(back[0]) if back.size else self.periods
        missing = 1 - float(values[down:until].mean() / before.mean())
        up = until * self.period_ps - begin if back.size else None
        return Recovery(
            receivers.len(), self.period_ps, before.size, max(0, down * self.period_ps - begin), up, missing
        )


def _goodput(results: Results) -> _Goodput | None:
    sample = results.meta["scenario"].get("probe", {}).get("sample")
    if not results.has("delivered") or sample is None:
        return None
    period = quantities.parse_time(str(sample))
    frame = results.delivered.select(
        "node_index", "received_bytes", period=(pl.col("time_ps") // period).cast(pl.Int64)
    ).collect()
    # The last period is left out if it is not whole.
    periods = int(results.meta["sim_time_ps"]) // period
    return _Goodput(frame.filter(pl.col("period") < periods), period, periods)
