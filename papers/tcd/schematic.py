"""What the schematic figures and tables of the TCD paper share: packets at a port, its ON periods, states."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import polars as pl
from backwater import _core
from backwater.analysis import plot
from backwater.common import quantities
from backwater.papers import Measurements
from backwater.results import Results, measures
from backwater.results.measures import Interval, Series
from matplotlib.axes import Axes
from matplotlib.patches import Patch
from numpy.typing import NDArray

from papers.tcd.scene import PRIORITY, size_bytes

#: The ports of Figure 2, whose detectors the paper looks at.
PORTS = ("P0", "P1", "P2", "P3")
#: The runs of `three-scenes.toml`, and what each shows.
SCENES = {"one": "one congestion point", "two": "two congestion points", "turns": "all by turns"}
#: The numbers of Figure 6, by the state that a port leaves and the one that it enters.
TRANSITIONS = {
    ("non-congestion", "congestion"): "①",
    ("congestion", "non-congestion"): "②",
    ("non-congestion", "undetermined"): "③",
    ("undetermined", "non-congestion"): "④",
    ("undetermined", "congestion"): "⑤",
    ("congestion", "undetermined"): "⑥",
}
#: The ternary states, as the paper writes them.
STATES = {"non-congestion": "0", "congestion": "1", "undetermined": "∅"}
#: Code points of Table 1 by their words in the table of frames.
CODES = {"not-capable": "00", "capable": "01", "UE": "10", "CE": "11"}


# What a port's wires and gate show.


def crossings(run: Results, port: str, kind: str = "data") -> pl.DataFrame:
    """The packets of a kind that left a port, in that order, with what they were when they came to its switch.

    Columns `arrived_ps`, `left_ps`, `bytes`, `code_in`, `code_out`, `flow`, `seq`; from the frames on the wires.
    """
    node = run.port(port).partition("->")[0]
    frames = data(run, kind)
    into = frames.filter(pl.col("port").str.ends_with(f"->{node}"))
    came = into.select("flow", "seq", arrived_ps="time_ps", code_in="code")
    left = frames.filter(pl.col("port") == run.port(port))
    left = left.select("flow", "seq", left_ps="sent_ps", bytes="wire_bytes", code_out="code")
    return left.join(came, on=["flow", "seq"]).sort("left_ps")


def queue_left(run: Results, port: str, crossed: pl.DataFrame) -> NDArray[np.int64]:
    """The queue that each of these packets left behind at a port, in bytes."""
    node = run.port(port).partition("->")[0]
    towards = run.flows.select("flow", "dst").collect().with_columns(pl.col("flow").cast(pl.UInt64))
    receivers = crossed.select(pl.col("flow").unique()).join(towards, on="flow")["dst"]
    flows = towards.filter(pl.col("dst").is_in(receivers.unique().implode()))["flow"]
    into = data(run).filter(pl.col("port").str.ends_with(f"->{node}"), pl.col("flow").is_in(flows.implode()))
    arrivals = into.sort("time_ps").select("time_ps", pl.col("wire_bytes").cast(pl.Int64).cum_sum())
    total = np.concatenate([[0], arrivals["wire_bytes"].to_numpy()])
    left = crossed["left_ps"].to_numpy()
    # At one instant a wire's turn comes before an arrival; what an idle port passes at once was never in its queue.
    came = total[np.searchsorted(arrivals["time_ps"].to_numpy(), left, side="left")]
    return np.maximum(came - crossed["bytes"].cast(pl.Int64).cum_sum().to_numpy(), 0)


def ingress(run: Results, port: str, out: str) -> Series:
    """The ingress counter behind the link of a port, of flows that go on by the port `out`: after each change.

    It ends with the last departure that was recorded.
    """
    frames = data(run)
    left = frames.filter(pl.col("port") == run.port(out)).select("flow", "seq", at_ps="sent_ps")
    came = frames.filter(pl.col("port") == run.port(port)).join(left.select("flow").unique(), on="flow")
    gone = came.join(left, on=["flow", "seq"])
    size = pl.col("wire_bytes").cast(pl.Int64)
    steps = pl.concat([came.select("time_ps", step=size), gone.select(time_ps="at_ps", step=-size)])
    summed = steps.group_by("time_ps").agg(pl.col("step").sum()).sort("time_ps")
    known = summed.filter(pl.col("time_ps") <= gone["at_ps"].max())
    value = known["step"].cum_sum().to_numpy().astype(np.float64)
    return Series(known["time_ps"].to_numpy().astype(np.int64), value)


def at(series: Series, times_ps: NDArray[np.int64]) -> NDArray[np.float64]:
    """The value of a series of steps at these instants; 0 before its first."""
    place = np.searchsorted(series.time_ps, times_ps, side="right")
    return np.concatenate([[0.0], series.value])[place]


def data(run: Results, kind: str = "data") -> pl.DataFrame:
    """The frames of data, or of another kind, that were recorded, of all recorded ports."""
    frame = run.frames.filter(pl.col("kind").cast(pl.String) == kind)
    columns = ["time_ps", "sent_ps", "wire_bytes", "flow", "seq"]
    return frame.select(*columns, pl.col("port", "code").cast(pl.String)).collect()


def sent_ps(run: Results, port: str) -> NDArray[np.int64]:
    """When each data packet of a port began to leave, in order."""
    here = data(run).filter(pl.col("port") == run.port(port))
    return here["sent_ps"].sort().to_numpy().astype(np.int64)


def on_periods(run: Results, port: str, begin_ps: int = 0) -> list[Interval]:
    """The ON periods of a port: from the end of an OFF period to the start of the next one, from an instant on."""
    off = measures.off_intervals(run, port, PRIORITY)
    found = (Interval(earlier.end_ps, later.start_ps, "ON") for earlier, later in pairwise(off))
    return [period for period in found if period.start_ps >= begin_ps]


def lengths_us(periods: Sequence[Interval]) -> NDArray[np.float64]:
    """Their lengths in microseconds."""
    return np.array([period.end_ps - period.start_ps for period in periods]) / 1e6


# What a port's detector said.


def ternary(run: Results, port: str) -> list[Interval]:
    """The states of a port as the paper has them: a released port without a verdict is undetermined as before."""
    found: list[Interval] = []
    for interval in measures.state_intervals(run, port, PRIORITY):
        what = "undetermined" if interval.what == "judging" else interval.what
        start = found.pop().start_ps if found and found[-1].what == what else interval.start_ps
        found.append(Interval(start, interval.end_ps, what))
    return found


def state_at(run: Results, port: str, time_ps: int) -> str:
    """The state of a port at an instant; of one that does not change any more, its last one."""
    return [interval.what for interval in ternary(run, port) if interval.start_ps <= time_ps][-1]


def transitions(run: Results, port: str) -> list[tuple[int, str]]:
    """When a port made which of the six transitions."""
    return [(now.start_ps, TRANSITIONS[before.what, now.what]) for before, now in pairwise(ternary(run, port))]


def state_legend() -> Iterator[tuple[Any, str]]:
    """Handles and labels for the ternary states and OFF."""
    for state, sign in STATES.items():
        yield Patch(facecolor=plot.STATE_COLOURS[state]), f"{state} ({sign})"
    yield Patch(facecolor=plot.OFF_COLOUR), "OFF (held)"


def max_ton_ps(run: Results) -> int:
    """max(Ton) of a run with one rate and one delay: as given, or of Equation 3."""
    scenario = run.meta["scenario"]
    tcd, pfc = scenario["switch"]["detector"]["tcd"], scenario["switch"]["pfc"]
    if "max-ton" in tcd:
        return quantities.parse_time(tcd["max-ton"])
    gap = f"{size_bytes(pfc['xoff']) - size_bytes(pfc['xon'])}B"
    ends = run.meta["network"]["links"]
    rate, delay = f"{ends['rate_bps'][0]}bps", f"{ends['delay_ps'][0]}ps"
    packet = scenario["packet"]
    mtu = f"{size_bytes(packet['payload']) + size_bytes(packet['header'])}B"
    return int(json.loads(_core.max_ton(rate, delay, mtu, tcd["epsilon"], gap))["max_ton_ps"])


def since_off_ps(run: Results, port: str, times_ps: NDArray[np.int64]) -> NDArray[np.float64]:
    """How long a port had been ON at these instants; infinite where it never was OFF."""
    ends = np.array([period.end_ps for period in measures.off_intervals(run, port, PRIORITY)], np.float64)
    place = np.searchsorted(ends, times_ps, side="right")
    return times_ps - np.concatenate([[-np.inf], ends])[place]


# The flowchart of Figure 9.

#: Its paths, in the order in which it asks.
PATHS = {
    "held": "$T_{on}$ < max($T_{on}$): UE",
    "congested": "not ∅, queue above the threshold: CE",
    "clear": "not ∅, queue at or below it: no mark",
    "drained": "∅, queue at the low threshold: no mark",
    "waiting": "∅, within a period T: no mark",
    "not rising": "∅, T over, not increased: no mark",
    "rising": "∅, T over, increased and above the threshold: CE",
}


@dataclass(frozen=True)
class Decisions:
    """The flowchart followed at one port: which path each packet took, and what differs from what the run recorded."""

    paths: Counter[str]
    #: Of the packets on the path `clear`, those that RED marked by its draw below the threshold.
    drawn: int
    other_codes: int
    other_states: int


def follow(run: Results, port: str) -> Decisions:
    """The flowchart of Figure 9, packet by packet, on the frames of the wires and the ends of OFF periods.

    The queue, Ton and the code points come from the tables of frames and pauses; LAST_STATE is the flowchart's own.
    What comes out is held against the code points of the frames behind the port and against the table of states.
    """
    detector = run.meta["scenario"]["switch"]["detector"]
    threshold, lowest = size_bytes(detector["kmax"]), size_bytes(detector["kmin"])
    low, least = size_bytes(detector["tcd"]["low"]), size_bytes(detector["tcd"]["delta"])
    limit = max_ton_ps(run)
    crossed = crossings(run, port)
    left = crossed["left_ps"].to_numpy().astype(np.int64)
    on, queue = since_off_ps(run, port, left), queue_left(run, port, crossed)
    recorded = recorded_states(run, port, left)
    last, sample, due = "non-congestion", 0, None
    paths: Counter[str] = Counter()
    drawn = other_codes = other_states = 0
    rows = zip(
        left.tolist(), on.tolist(), queue.tolist(), crossed["code_in"], crossed["code_out"], recorded, strict=True
    )
    for now, ton, bytes_left, code_in, code_out, state in rows:
        may_be_drawn = False
        if ton < limit:
            path, last, mark, due = "held", "undetermined", "UE", None
        elif last != "undetermined":
            path = "congested" if bytes_left > threshold else "clear"
            last, mark = ("congestion", "CE") if path == "congested" else ("non-congestion", None)
            may_be_drawn = path == "clear" and bytes_left > lowest
        else:
            if due is None:
                sample, due = bytes_left, now + limit
            path, mark = "waiting", None
            if bytes_left <= low:
                path, last = "drained", "non-congestion"
            elif now >= due:
                rising = bytes_left > sample + least and bytes_left > threshold
                path, last, mark = ("rising", "congestion", "CE") if rising else ("not rising", last, None)
                sample, due = bytes_left, due + limit * (1 + (now - due) // limit)
        paths[path] += 1
        expected = _marked(code_in, mark)
        if may_be_drawn and code_out == "CE" and expected != "CE":
            drawn += 1
        elif code_out != expected:
            other_codes += 1
        other_states += state != last
    return Decisions(paths, drawn, other_codes, other_states)


def _marked(code: str, mark: str | None) -> str:
    """Table 1: UE over 01 alone, CE over 01 and 10."""
    if mark == "CE" and code != "not-capable":
        return "CE"
    return "UE" if mark == "UE" and code == "capable" else code


def recorded_states(run: Results, port: str, times_ps: NDArray[np.int64]) -> list[str]:
    """The states of a port at these instants."""
    states = ternary(run, port)
    place = np.searchsorted([state.start_ps for state in states], times_ps, side="right") - 1
    return [states[index].what for index in place.tolist()]


# The ON-OFF model of Figure 7.


@dataclass(frozen=True)
class OnOff:
    """The quantities of Table 2 at a backlogged port under PFC, measured; rates in bit/s, times in seconds, bytes."""

    c: float
    b1: float
    b0: float
    ri: float
    rd: float
    #: Rd while packets come in, and while none does: the model has one for both.
    rd_on: float
    rd_off: float
    #: From PAUSE to the last arrival, and from RESUME to the first.
    tau_off: float
    tau_on: float
    #: Of all periods, stops and starts alike.
    tau_longest: float
    tau_shortest: float
    ton: float
    toff: float
    periods: int
    #: The means of the counter's maxima and minima, one of each in a period.
    highest: float
    lowest: float

    @property
    def tau(self) -> float:
        """The response time."""
        return (self.tau_off + self.tau_on) / 2

    @property
    def epsilon(self) -> float:
        """The congestion degree."""
        return (self.ri - self.rd) / self.c

    @property
    def model_ton(self) -> float:
        """Equation 1."""
        return (8 * (self.b1 - self.b0) + self.tau * self.rd) / (self.ri - self.rd) + self.tau

    @property
    def model_toff(self) -> float:
        """The same for the OFF period: the counter falls by Rd from its maximum to B0, and τ later packets come."""
        return (8 * (self.b1 - self.b0) + self.tau * (self.ri - self.rd)) / self.rd + self.tau

    @property
    def model_highest(self) -> float:
        """B1, and what comes in during τ beyond what drains."""
        return self.b1 + self.tau * (self.ri - self.rd) / 8

    @property
    def model_lowest(self) -> float:
        """B0, less what drains during τ."""
        return self.b0 - self.tau * self.rd / 8


#: The rate of the source beside in the paper's own case: two flows at line rate, the simplest case of §4.2.
OWN_CASE = "40Gbps"


def by_rate(name: str, values: Mapping[str, float]) -> Measurements:
    """A number of each rate beside, that of the paper's own case under a name of its own."""
    others = {rate: value for rate, value in values.items() if rate != OWN_CASE}
    return {f"{name}_at_line_rate": values[OWN_CASE], name: others}


#: By then the queues of the ON-OFF scene have filled.
STEADY_PS = 4_000_000_000


def on_off(run: Results, port: str = "P2", out: str = "P3") -> OnOff:
    """Table 2's quantities of a port whose packets all go on by `out`, from :data:`STEADY_PS` on."""
    pfc = run.meta["scenario"]["switch"]["pfc"]
    on = on_periods(run, port, STEADY_PS)
    begin, end = on[0].start_ps, on[-1].start_ps
    sent = data(run).filter(pl.col("port") == run.port(port)).sort("sent_ps")
    passed = crossings(run, out).join(sent.select("flow", "seq"), on=["flow", "seq"])
    arrived = sent["time_ps"].to_numpy().astype(np.int64)
    counter = ingress(run, port, out)
    pauses, resumes = (_steady(times, begin, end) for times in pfc_frames(run, port))
    # The last packet of an ON period, and the first of the next one, as they arrive.
    last = arrived[np.searchsorted(arrived, resumes) - 1]
    first = arrived[np.searchsorted(arrived, resumes, side="right")]
    to_stop, to_start = (last - pauses[np.searchsorted(pauses, resumes) - 1])[1:], first - resumes
    return OnOff(
        c=float(measures.by_port(run, [port], PRIORITY)["rate_bps"].item()),
        b1=size_bytes(pfc["xoff"]),
        b0=size_bytes(pfc["xon"]),
        ri=_rate(arrived, sent["wire_bytes"], first[:-1], last[1:]),
        rd=_rate(passed["left_ps"], passed["bytes"], first[:1], first[-1:]),
        rd_on=_rate(passed["left_ps"], passed["bytes"], first[:-1], last[1:]),
        rd_off=_rate(passed["left_ps"], passed["bytes"], last, first),
        tau_off=float(to_stop.mean()) / 1e12,
        tau_on=float(to_start.mean()) / 1e12,
        tau_longest=float(max(to_stop.max(), to_start.max())) / 1e12,
        tau_shortest=float(min(to_stop.min(), to_start.min())) / 1e12,
        ton=float(lengths_us(on[:-1]).mean()) / 1e6,
        toff=float(np.mean([b.start_ps - a.end_ps for a, b in pairwise(on)])) / 1e12,
        periods=len(on) - 1,
        highest=float(np.mean([_within(counter, a, b).max() for a, b in pairwise(resumes)])),
        lowest=float(np.mean([_within(counter, a, b).min() for a, b in pairwise(pauses)])),
    )


def _rate(
    times: pl.Series | NDArray[np.int64], size: pl.Series, begin: NDArray[np.int64], end: NDArray[np.int64]
) -> float:
    """The mean rate in bit/s of packets at these instants, in order, over the stretches from each begin to its end."""
    total = np.concatenate([[0], size.cast(pl.Int64).cum_sum().to_numpy()])
    placed = [total[np.searchsorted(np.asarray(times), edge, side="right")] for edge in (begin, end)]
    return float(8e12 * (placed[1] - placed[0]).sum() / (end - begin).sum())


def pfc_frames(run: Results, port: str) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """When the switch behind a port's link sent PAUSE, and when RESUME."""
    node, _, peer = run.port(port).partition("->")
    sent = run.frames.filter(pl.col("port").cast(pl.String) == f"{peer}->{node}").sort("sent_ps").collect()
    bit = 1 << PRIORITY
    both = (sent.filter(pl.col(word).fill_null(0) & bit != 0)["sent_ps"] for word in ("paused", "resumed"))
    pauses, resumes = (times.to_numpy().astype(np.int64) for times in both)
    return pauses, resumes


def _steady(times: NDArray[np.int64], begin: int, end: int) -> NDArray[np.int64]:
    return times[(times >= begin) & (times < end)]


def _within(series: Series, begin: int, end: int) -> NDArray[np.float64]:
    return series.value[(series.time_ps >= begin) & (series.time_ps < end)]


# Networks drawn from what a run says of its own.

Place = tuple[float, float]


def draw_network(
    axes: Axes,
    run: Results,
    places: Mapping[str, Place],
    ports: Mapping[str, str],
    *,
    labels: Mapping[str, str] | None = None,
    grouped: Mapping[str, Place] | None = None,
) -> None:
    """Nodes and links of a run; each of `ports` (by its label) as an arrow of that colour, with a text beside it.

    Nodes without a place are left out; `grouped` stands for those whose names begin alike, such as ``A0–A14``.
    """
    network = run.meta["network"]
    names, roles = network["nodes"]["name"], network["nodes"]["role"]
    places = {**places, **(grouped or {})}
    for name, place in (grouped or {}).items():
        peer = next(names[b] for a, b in links(run) if names[a] == name.partition("–")[0])
        axes.plot(*zip(place, places[peer], strict=True), color=plot.GREY, lw=2.5, zorder=1)
    for a, b in links(run):
        if names[a] in places and names[b] in places:
            axes.plot(*zip(places[names[a]], places[names[b]], strict=True), color=plot.GREY, lw=1, zorder=1)
    for port, colour in ports.items():
        _arrow(axes, run.port(port), places, colour, (labels or {}).get(port, ""))
    for name, (x, y) in places.items():
        switch = name in names and roles[names.index(name)] == "switch"
        look = "square,pad=0.35" if switch else "round4,pad=0.25"
        face = "#E8EEF4" if switch else "white"
        box = {"boxstyle": look, "facecolor": face, "edgecolor": plot.BLACK, "linewidth": 0.8}
        axes.text(x, y, name, ha="center", va="center", fontsize=8, bbox=box, zorder=3)
    axes.set_axis_off()


def links(run: Results) -> list[tuple[int, int]]:
    """The links of a run's network, each by its two nodes."""
    ends = run.meta["network"]["links"]
    return [*zip(ends["a"], ends["b"], strict=True)]


def _arrow(axes: Axes, port: str, places: Mapping[str, Place], colour: str, label: str) -> None:
    (x0, y0), (x1, y1) = (places[name] for name in port.split("->"))
    start = (x0 + 0.2 * (x1 - x0), y0 + 0.2 * (y1 - y0))
    stop = (x0 + 0.8 * (x1 - x0), y0 + 0.8 * (y1 - y0))
    look = "simple,head_width=0.95,head_length=0.9,tail_width=0.36"
    arrow = {"arrowstyle": look, "facecolor": colour, "edgecolor": plot.BLACK, "lw": 0.7, "shrinkA": 0, "shrinkB": 0}
    axes.annotate("", stop, start, arrowprops=arrow, zorder=2)
    if label:
        middle = ((x0 + x1) / 2, (y0 + y1) / 2)
        axes.annotate(label, middle, (0, 9), textcoords="offset points", ha="center", va="bottom", fontsize=7, zorder=4)
