"""One PUT stream packet by packet: its events, the receive queue at its target, and its halt states."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from backwater.analysis import puts
from backwater.common.late import pl
from backwater.common.quantities import parse_size
from backwater.errors import UsageError
from backwater.results import Results

#: As many events as a picture shows if it is not said from when until when.
_MANY = 2000


@dataclass(frozen=True)
class Trace:
    """The events of one stream, in the order of time.

    `events` has ``time_ps``, ``event`` (see `backwater describe`), ``seq`` and ``state``; `queue` has ``time_ps`` and
    ``queue_bytes`` of the receive queue at the target, whichever stream changed it. `threshold` and `depth` of that
    queue are in bytes, None where there is none.
    """

    src: str
    dst: str
    traffic: str
    policy: str
    events: pl.DataFrame
    queue: pl.DataFrame
    threshold: int | None
    depth: int | None
    #: How many streams the run recorded.
    streams: int

    @property
    def name(self) -> str:
        """The stream as it is named in commands."""
        return f"{self.src}->{self.dst}"

    def within(self, start_ps: int, end_ps: int) -> Trace:
        """The same from a time to another, both included; of the queue also what it was before."""
        inside = pl.col("time_ps").is_between(start_ps, end_ps)
        before = self.queue.filter(pl.col("time_ps") < start_ps).tail(1)
        queue = pl.concat(
            [before.with_columns(time_ps=pl.lit(start_ps, before["time_ps"].dtype)), self.queue.filter(inside)]
        )
        return replace(self, events=self.events.filter(inside), queue=queue)

    def end_ps(self, start_ps: int = 0) -> int:
        """Until when a picture that begins at `start_ps` shows it: as many events as it can hold."""
        times = self.events["time_ps"].filter(self.events["time_ps"] >= start_ps)
        return start_ps if times.is_empty() else int(times[min(_MANY, times.len()) - 1])


def require_puts(results: Results) -> None:
    """Raise UsageError if there was no PUT in the run."""
    if not puts.entries(results):
        raise UsageError(
            f"{results.folder} has no PUT streams: the flows of all its traffic entries are RoCE "
            f'(host.transport or transport = "put" makes them PUTs)'
        )


def of(results: Results, stream: str | None = None) -> Trace:
    """The trace of a stream such as ``h1->h0``: the one with most events if none is named.

    Raises UsageError if the run recorded none, or not this one.
    """
    require_puts(results)
    if not results.has("puts"):
        name = puts.entries(results)[0]
        raise UsageError(
            f"{results.folder} has no trace of PUTs: name traffic entries in probe.puts, such as "
            f"--set 'probe.puts=[\"{name}\"]', and run again"
        )
    names = pl.col("src", "dst", "traffic", "node", "event", "state").cast(pl.String)
    every = results.puts.with_columns(names).sort("time_ps", maintain_order=True)
    found = every.group_by("src", "dst", "traffic").len().sort("len", "src", "dst", descending=[True, False, False])
    known = found.collect()
    if known.is_empty():
        raise UsageError(f"{results.folder} has an empty trace of PUTs: nothing was sent by the entries in probe.puts")
    labels = known.select(label=pl.col("src") + "->" + pl.col("dst"))["label"].to_list()
    if stream is not None and stream not in labels:
        raise UsageError(f"there is no trace of {stream}; there are {', '.join(sorted(labels)[:8])}")
    src, dst, traffic, _ = known.row(labels.index(stream) if stream is not None else 0)
    of_stream = pl.col("src") == src, pl.col("dst") == dst, pl.col("traffic") == traffic
    events = every.filter(*of_stream).select("time_ps", "event", "seq", "state").collect()
    at_target = every.filter(pl.col("node") == dst, pl.col("queue_bytes").is_not_null())
    queue = at_target.select("time_ps", "queue_bytes").collect()
    scenario = results.meta["scenario"]
    policy, threshold = _policy(scenario, traffic)
    depth = scenario.get("host", {}).get("queue")
    bytes_deep = parse_size(depth) if depth else None
    return Trace(src, dst, traffic, policy, events, queue, threshold, bytes_deep, known.height)


def _policy(scenario: Mapping[str, Any], traffic: str) -> tuple[str, int | None]:
    """The policy of an entry's PUTs, and above how many bytes in its receive queue a target tells of congestion."""
    entry: Mapping[str, Any] = next((one for one in scenario.get("traffic", []) if one.get("name") == traffic), {})
    common, own = scenario.get("put", {}), entry.get("put", {})
    policy = str({**common, **own}.get("policy", ""))
    dack = {**common.get("dack", {}), **own.get("dack", {})}
    return policy, parse_size(dack["threshold"]) if policy == "dack" and "threshold" in dack else None
