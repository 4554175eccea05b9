"""What each fault of a run cost: packets lost, flows hurt, and how long the goodput of their receivers was down."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from backwater.common import quantities, statistics
from backwater.common.late import np, pl
from backwater.results import Results

#: Why packets are dropped by faults of each kind.
_REASONS = {
    "link-down": ["link-down", "headroom"],
    "switch-down": ["link-down", "headroom"],
    "loss": ["corrupted"],
    "gray": ["gray"],
    "host-stop": ["dead-node", "link-down"],
    "watchdog": ["watchdog", "headroom"],
}
#: Goodput is compared with no fewer periods before a fault, and no more; slowdowns with no fewer flows before it.
_FEWEST, _MOST = 10, 100
#: What chance alone does in more than this share of all runs is not told as a cost.
CHANCE = 0.05


@dataclass(frozen=True)
class Comparison:
    """Slowdowns of a fault's flows that began while it lasted alone, beside those of flows like them before it.

    Like a flow are those of its traffic entry, at its end that is near the fault, and of its size within a factor of
    two. They began before the fault, after all that other faults did, and earlier than any like them that was under way
    when it began: so slow ones are not left out. Flows count that would have ended before the run, were they as slow as
    the slowest of those. One that did not end is slower than all that did.
    """

    flows: int
    #: The median; None if half of them or more did not end.
    slowdown: float | None
    #: How many like them there were, and the median of what was usual for each.
    like: int
    usual: float
    #: In at most this share of runs they are as slow by chance alone.
    chance: float


@dataclass(frozen=True)
class Recovery:
    """Goodput of receivers around a fault, by sampling periods.

    It is down from the first `row` periods in a row after the beginning with less than each of the `before` periods
    before it, until a period that has not. `row` is the least of which chance makes as many in at most `CHANCE` of all
    runs; in how many is `chance`. Looked at are the periods in which each receiver still has flows.
    """

    receivers: int
    period_ps: int
    before: int
    #: How many of those had no goodput at all. Nothing is less: with one of them it cannot be told whether it was down.
    empty: int
    row: int
    chance: float
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
    #: Their median slowdown, of those that finished.
    slowdown: float | None
    comparison: Comparison | None
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
    keys = ["fault", "kind"]
    packets = frame.group_by(keys, maintain_order=True).agg(pl.col("packets").sum())
    chosen = packets.sort("packets", descending=True, maintain_order=True).head(most or packets.height)
    told = frame.join(chosen.select(keys), on=keys, how="semi", nulls_equal=True)
    groups = told.partition_by(keys, maintain_order=True)
    groups.sort(key=lambda rows: (rows["fault"][0] is None, rows["fault"][0]))
    tables = _Tables.read(results, told.filter(pl.col("event") == "lost"))
    ends = frame.filter(pl.col("last_ps").is_not_null()).select(*keys, time_ps="last_ps")
    times = pl.concat([frame.select(*keys, "time_ps"), ends]).unique()
    return [_fault(results, rows, tables, _around(times, rows, tables.end_ps)) for rows in groups]


def _around(times: pl.DataFrame, rows: pl.DataFrame, end: int) -> tuple[int, int]:
    """When another fault did something last before a fault began, and next after that; without one -1, and the end."""
    number, kind, begin = rows["fault"][0], rows["kind"][0], int(rows["time_ps"][0])
    other = pl.col("fault").ne_missing(pl.lit(number, times["fault"].dtype)) | (pl.col("kind") != kind)
    time = pl.col("time_ps")
    before, after = (
        times.filter(other)
        .select(
            before=time.filter(time < begin).max().fill_null(-1), after=time.filter(time > begin).min().fill_null(end)
        )
        .row(0)
    )
    return before, after


@dataclass(frozen=True)
class _Tables:
    """What costs are computed from, read once."""

    flows: pl.DataFrame
    #: The names of hosts that have flows.
    hosts: frozenset[str]
    drops: pl.DataFrame | None
    goodput: _Goodput | None
    end_ps: int

    @classmethod
    def read(cls, results: Results, lost: pl.DataFrame) -> _Tables:
        """Read them, of drops those at the ports of `lost`; without a table what it tells is None."""
        names, numbers = ["traffic", "src", "dst"], ["size_bytes", "start_ps", "finish_ps"]
        flows = results.flows.select(
            "flow", "dst_index", "priority", "slowdown", pl.col(names).cast(pl.String), pl.col(numbers).cast(pl.Int64)
        ).collect()
        drops = None
        if results.has("drops"):
            text = pl.col("port", "reason").cast(pl.String)
            columns = ["time_ps", "node_index", "port", "reason", "flow"]
            every = results.drops.select(columns).with_columns(text, pl.col("time_ps").cast(pl.Int64))
            ports = lost.lazy().select("node_index", "port").unique()
            drops = every.join(ports, on=["node_index", "port"], how="semi").collect()
        hosts = frozenset(flows["src"].unique()) | frozenset(flows["dst"].unique())
        return cls(flows, hosts, drops, _goodput(results), int(results.meta["sim_time_ps"]))


def _fault(results: Results, rows: pl.DataFrame, tables: _Tables, others: tuple[int, int]) -> Fault:
    """`others`: when another fault did something last before it began, and next."""
    number, kind = rows["fault"][0], rows["kind"][0]
    events, lost = rows.filter(pl.col("event") != "lost"), rows.filter(pl.col("event") == "lost")
    begin, last = _span(rows)
    numbers = _flows(results, number, kind, rows, tables)
    if numbers is None:
        return Fault(number, kind, events, lost, None, None, None, None)
    hurt = tables.flows.filter(pl.col("flow").is_in(numbers.implode()))
    end, (since, later) = tables.end_ps, others
    host = None if lost.height else _host(results.meta["scenario"], number, tables.hosts)
    # What begins after another fault has done something is not this one's alone.
    until = min(last if lost.height or last > begin else end, later)
    comparison = _comparison(tables.flows, numbers, host, since, begin, until, end)
    recovery = None
    if tables.goodput is not None and hurt.height:
        receivers = hurt["dst_index"].unique()
        served = _served(tables.flows, receivers, end)
        recovery = tables.goodput.around(receivers, begin, last, others, served)
    return Fault(number, kind, events, lost, hurt, _median(hurt), comparison, recovery)


def _span(rows: pl.DataFrame) -> tuple[int, int]:
    """From the first to the last time of rows in order."""
    return int(rows["time_ps"][0]), max(rows["time_ps"].to_list() + rows["last_ps"].drop_nulls().to_list())


def _served(flows: pl.DataFrame, receivers: pl.Series, end: int) -> int:
    """Until when each of the receivers has flows that have not ended."""
    finish = pl.col("finish_ps").fill_null(end).max()
    here = flows.filter(pl.col("dst_index").is_in(receivers.implode()) & pl.col("start_ps").is_not_null())
    ends: list[int] = here.group_by("dst_index").agg(finish)["finish_ps"].to_list()
    return min(ends)


def _comparison(
    flows: pl.DataFrame, hurt: pl.Series, host: str | None, since: int, begin: int, until: int, end: int
) -> Comparison | None:
    """Flows of a fault that began from `begin` to `until`, beside those like them; None if too few are like them."""
    start, finish = pl.col("start_ps"), pl.col("finish_ps")
    meanwhile = pl.col("flow").is_in(hurt.implode()) & start.is_between(begin, until)
    # Of many faults few last long enough for a flow to begin: then nothing needs to be grouped.
    if flows.filter(meanwhile).is_empty():
        return None
    outward = pl.col("src").eq_missing(pl.lit(host))
    known = flows.filter(pl.col("start_ps").is_not_null() & pl.col("size_bytes").is_not_null()).with_columns(
        outward=outward,
        place=pl.when(outward).then("src").otherwise("dst"),
        size=pl.col("size_bytes").clip(1).log(2).floor(),
        fct=pl.col("finish_ps") - pl.col("start_ps"),
    )
    like = ["traffic", "outward", "place", "size"]
    earlier = known.filter(start < begin)
    met = earlier.filter(finish.is_null() | (finish >= begin)).group_by(like).agg(met=start.min())
    usual = (
        earlier.join(met, on=like, how="left")
        .filter((start > since) & (start < pl.col("met").fill_null(begin)))
        .group_by(like)
        .agg(usual=pl.col("slowdown"), longest=pl.col("fct").max())
        .filter(pl.col("usual").list.len() >= _FEWEST)
    )
    mine = known.filter(meanwhile).join(usual, on=like)
    mine = mine.filter(start <= end - pl.col("longest"))
    if mine.is_empty():
        return None
    values = mine["slowdown"].fill_null(float("inf")).to_list()
    chances = [statistics.rank_chance(value, of) for value, of in zip(values, mine["usual"].to_list(), strict=True)]
    median, expected = float(np.median(values)), float(np.median(mine["usual"].list.median().to_numpy()))
    number = int(mine.unique(like)["usual"].list.len().sum())
    chance = statistics.merged_chance(chances)
    return Comparison(len(values), median if np.isfinite(median) else None, number, expected, chance)


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
    host = _host(results.meta["scenario"], number, tables.hosts)
    if host is None:
        return None
    begin, end = _span(rows)
    end = end if end > begin else tables.end_ps
    under_way = (pl.col("start_ps") < end) & (pl.col("finish_ps").is_null() | (pl.col("finish_ps") > begin))
    here = pl.col("dst") == host
    if kind == "pause-storm":
        # PAUSE holds what comes to a host in its priorities; a slow link what goes, too.
        paused = pl.col("priority").is_in(_paused(results.meta["scenario"], number))
        return flows.filter(under_way & here & paused)["flow"]
    return flows.filter(under_way & (here | (pl.col("src") == host)))["flow"]


def _paused(scenario: Mapping[str, Any], number: int | None) -> list[int]:
    """The priorities that a storm pauses."""
    own: list[int] | None = scenario["fault"][number].get("priorities")
    every: list[int] = scenario["switch"]["pfc"]["priorities"]
    return every if own is None else own


def _host(scenario: Mapping[str, Any], number: int | None, hosts: frozenset[str]) -> str | None:
    """The host that a fault is at, or at the link of; None if it is elsewhere."""
    if number is None:
        return None
    entry = scenario["fault"][number]
    ends = [entry["host"]] if "host" in entry else entry.get("link", [])
    return next((end for end in ends if end in hosts), None)


@dataclass(frozen=True)
class _Goodput:
    """What hosts received, by period: `delivered`."""

    frame: pl.DataFrame
    period_ps: int
    periods: int

    def around(
        self, receivers: pl.Series, begin: int, last: int, others: tuple[int, int], served: int
    ) -> Recovery | None:
        """The goodput of receivers before and after a fault; None if there are too few periods to tell it from chance.

        `others` is when another fault did something last before it began, and next; `served` until when each receiver
        has flows.
        """
        here = self.frame.filter(pl.col("node_index").is_in(receivers.implode()))
        values = np.zeros(self.periods)
        np.add.at(values, here["period"].to_numpy(), here["received_bytes"].to_numpy())
        some = np.flatnonzero(values)
        if not some.size:
            return None
        first = begin // self.period_ps
        # The first period with goodput is not whole; what another fault may have changed is no measure.
        since = max(int(some[0]) + 1, others[0] // self.period_ps + 1, first - _MOST)
        before = values[since:first]
        if before.size < _FEWEST:
            return None
        later = others[1] // self.period_ps
        periods = min(self.periods, served // self.period_ps)
        # Not later than all that happens to the fault, and as long again as a comparison wants.
        horizon = min(later, max(last // self.period_ps, first) + 1 + _FEWEST, periods)
        scanned = horizon - first
        chances = {row: statistics.row_chance(before.size, scanned, row) for row in range(1, scanned + 1)}
        row = next((row for row, chance in chances.items() if chance <= CHANCE), None)
        if row is None:
            return None
        empty = before.size - int(np.count_nonzero(before))
        found = Recovery(receivers.len(), self.period_ps, before.size, empty, row, chances[row], None, None, None)
        under = values[first:horizon] < before.min()
        rows = np.flatnonzero(np.convolve(under, np.ones(row), "valid") == row)
        if not rows.size:
            return found
        down = first + int(rows[0])
        back = np.flatnonzero(values[down:periods] >= before.min())
        until = down + int(back[0]) if back.size else periods
        return replace(
            found,
            down_ps=max(0, down * self.period_ps - begin),
            up_ps=until * self.period_ps - begin if back.size else None,
            missing=1 - float(values[down:until].mean() / before.mean()),
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
