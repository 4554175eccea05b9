"""Figure 1: frames between initiator and target, and the target's queue, at the threshold of which its ACKs end."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import polars as pl
from backwater.analysis import plot, put_picture, put_trace
from backwater.analysis.put_trace import Trace
from backwater.papers import Metrics, Runs, Seeds
from backwater.papers.number_tables import NumberTable
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from papers.ec.measured import CYCLE_NS, HEADER, NS, US
from papers.ec.traces import DACKS, IACKS, only

RUN = "queue dack"
FRAME = 2048 + HEADER
#: 9 KB, section III-A.
THRESHOLD = 8992
#: As long as two frames of one flit may be on the wire before a third one.
AT_ONCE_PS = 2 * CYCLE_NS * NS
#: What is drawn, in µs.
SHOWN_US = 16.0
#: From when on the second of three instants is looked for.
MIDDLE_US = 8.0
#: Events that are one frame leaving and coming, by the look of that at the initiator; those drawn last lie above.
FRAMES = {"sent": ("sent", "accepted"), "dack": ("dack-sent", "dack"), "marked": ("marked-sent", "marked"),
          "iack": ("iack-sent", "iack")}  # fmt: skip
#: How wide they are: an IACK follows its DACK so soon that both are on one line.
WIDTHS = {"sent": 0.5, "dack": 2.2, "marked": 1.4, "iack": 0.9}
#: What a frame is called.
WORDS = {"sent": "PUT", "iack": "IACK", "marked": "DACK and IACK in one frame", "dack": "DACK"}


class Moment(NamedTuple):
    """An event at the target: the queue from its head, before it and after it."""

    time_ps: int
    event: str
    seq: int
    before: tuple[int, ...]
    queue: tuple[int, ...]


def moments(trace: Trace) -> Iterator[Moment]:
    """What happens at the target, in order, with the queue as acceptance and processing leave it."""
    queue: tuple[int, ...] = ()
    for time, event, seq in (
        only(trace, "accepted", "processed", *IACKS, *DACKS).select("time_ps", "event", "seq").rows()
    ):
        before = queue
        if event == "accepted":
            queue = (*queue, seq)
        elif event == "processed":
            queue = tuple(one for one in queue if one != seq)
        yield Moment(time, event, seq, before, queue)


def below(queue: Sequence[int], threshold: int) -> Sequence[int]:
    """The packets whose first byte is below the threshold."""
    return queue[: -(-threshold // FRAME)]


def metrics(runs: Runs) -> Metrics:
    trace = put_trace.of(runs[RUN])
    threshold = trace.threshold or THRESHOLD
    found = list(moments(trace))
    told = [one for one in found if one.event in IACKS]
    congested = [one for one in told if len(one.queue) * FRAME > threshold]
    began = next((one.time_ps for one in found if len(one.queue) * FRAME > threshold), 0)
    dacks = [one.time_ps for one in found if one.event in DACKS]
    entries = [one.time_ps for one in found if one.event == "accepted" and len(one.before) * FRAME > threshold]
    accepted = {one.seq: one.time_ps for one in found if one.event == "accepted"}
    free = [one for one in told if one.time_ps < began]
    signs = [one for one in found if one.event in (*IACKS, *DACKS)]
    alone = [
        later for sign, later in itertools.pairwise(signs) if later.event == "iack-sent" and sign.event not in DACKS
    ]
    return {
        "congested_iacks": len(congested),
        "iacks_off_threshold": sum(one.seq != below(one.queue, threshold)[-1] for one in congested),
        "iacks_without_dack": sum(len(one.queue) * FRAME > threshold for one in alone),
        "entries": len(entries),
        "entries_without_dack": sum(not any(time <= dack <= time + AT_ONCE_PS for dack in dacks) for time in entries),
        "free_iacks": len(free),
        "free_iacks_late": sum(one.time_ps > accepted.get(one.seq, 0) + AT_ONCE_PS for one in free),
        "free_dacks": sum(time < began for time in dacks),
    }


def draw(seeds: Seeds, file: Path) -> None:
    trace = put_trace.of(seeds[0][RUN])
    threshold = trace.threshold or THRESHOLD
    with plot.picture(
        file, "Figure 1: a target's ACKs by its queue (2 KB, endpoint at half of the link's rate)", 11, 6
    ) as made:
        left, right = made.subfigures(1, 2, width_ratios=(1.55, 1))
        frames, filling = left.subplots(2, 1, sharex=True, gridspec_kw={"height_ratios": (2, 1.1)})
        _frames(frames, trace)
        put_picture.queue(filling, trace.within(0, int(SHOWN_US * US)), int(SHOWN_US * US))
        filling.set(xlabel="time [µs]", xlim=(0, SHOWN_US), ylim=(0, None))
        chosen = instants(trace, threshold)
        for number, (_, moment) in enumerate(chosen):
            filling.axvline(moment.time_ps / US, color=plot.BLACK, ls="--", lw=0.8)
            filling.annotate("ABC"[number], (moment.time_ps / US, 0.8), (-9, -8), xycoords=("data", "axes fraction"),
                             textcoords="offset points", fontsize=8, fontweight="bold")  # fmt: skip
        stacks = right.subplots()
        _stacks(stacks, chosen, acknowledged(trace), threshold)
        shown = [name for name in WORDS if name in trace.events["event"]]
        handles = [Line2D([], [], color=put_picture.LOOKS[name][3], label=WORDS[name]) for name in shown]
        left.legend(handles=handles, loc="outside lower center", ncols=4)
        right.legend(
            handles=[Patch(color=plot.GREEN, label="acknowledged"), Patch(color=plot.GREY, label="not yet")],
            loc="outside lower center", ncols=2,
        )  # fmt: skip


def _frames(axes: Axes, trace: Trace) -> None:
    """Each frame as a line from whoever sends it to whoever gets it."""
    for name, (leaves, comes) in FRAMES.items():
        own = only(trace, leaves).filter(pl.col("time_ps") <= SHOWN_US * US)
        # Of equal numbers, such as those of DACKs, the first that leaves is the first that comes.
        first, last = (
            table.with_columns(turn=pl.int_range(pl.len()).over("seq")) for table in (own, only(trace, comes))
        )
        found = first.join(last, on=["seq", "turn"]).select("time_ps", "time_ps_right").to_numpy() / US
        rail = (1, 0) if leaves == "sent" else (0, 1)
        colour = put_picture.LOOKS[name][3]
        axes.plot(found.T, [[end] * len(found) for end in rail], color=colour, lw=WIDTHS[name])
    axes.set_yticks([0, 1], ["target", "initiator"])
    axes.set(title="frames between initiator and target", ylim=(-0.03, 1.03))
    axes.grid(visible=False)


def instants(trace: Trace, threshold: int) -> list[tuple[str, Moment]]:
    """The last IACK of a target that is not congested, one of a congested target, and the last one that is drawn."""
    told = [one for one in moments(trace) if one.event in IACKS and one.time_ps <= SHOWN_US * US and one.queue]
    free = [one for one in told if len(one.queue) * FRAME <= threshold]
    congested = [one for one in told if len(one.queue) * FRAME > threshold]
    middle = [one for one in congested if one.time_ps >= MIDDLE_US * US]
    found = [("not congested", free[-1:]), ("congested", middle[:1]), ("steady", congested[-1:])]
    return [(name, one) for name, some in found for one in some]


def acknowledged(trace: Trace) -> dict[int, int]:
    """When the IACK of each packet left."""
    rows = only(trace, *IACKS).select("seq", "time_ps").rows()
    return dict(reversed(rows))


def _stacks(axes: Axes, chosen: Sequence[tuple[str, Moment]], told: dict[int, int], threshold: int) -> None:
    """The queue at some instants, head at the bottom, with the packet that the IACK of that instant names."""
    for place, (name, moment) in enumerate(chosen):
        for number, seq in enumerate(moment.queue):
            known = told.get(seq, moment.time_ps + 1) <= moment.time_ps
            axes.bar(place, FRAME / 1e3, 0.62, bottom=number * FRAME / 1e3, color=plot.GREEN if known else plot.GREY,
                     alpha=0.75, edgecolor="white", lw=0.8)  # fmt: skip
            axes.text(place, (number + 0.5) * FRAME / 1e3, f"{seq}", ha="center", va="center", fontsize=7)
        top = len(moment.queue) * FRAME / 1e3
        axes.annotate(f"{'ABC'[place]}: {name}\n{moment.time_ps / US:.2f} µs\nIACK {moment.seq}", (place, top), (0, 4),
                      textcoords="offset points", ha="center", fontsize=7.5)  # fmt: skip
    axes.axhline(threshold / 1e3, color=plot.VERMILLION, ls="--", lw=1)
    axes.annotate("threshold", (1, threshold / 1e3), (-2, 3), xycoords=("axes fraction", "data"),
                  textcoords="offset points", ha="right", fontsize=7)  # fmt: skip
    axes.set(title="the queue, head at the bottom", ylabel="place in the queue [KB]", xlim=(-0.6, 2.8))
    axes.margins(y=0.14)
    axes.set_xticks([])
    axes.grid(visible=False)


def tables(seeds: Seeds) -> Sequence[NumberTable]:
    found = [metrics(runs) for runs in seeds]
    names = {
        "congested_iacks": "IACKs of a congested target",
        "iacks_off_threshold": "of them, with another number than that of the packet below the threshold",
        "iacks_without_dack": "of them, without a DACK before",
        "entries": "packets that entered a congested target",
        "entries_without_dack": "of them, without a DACK at once",
        "free_iacks": "IACKs before the first congestion",
    }
    rows = tuple((words, " ".join(f"{one[name]}" for one in found)) for name, words in names.items())
    return [NumberTable("the first 200 µs", ("what", "by seed"), rows)]
