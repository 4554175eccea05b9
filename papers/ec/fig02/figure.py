"""Figure 2: the initiator's halt states, with the ACKs that moved it from one to another."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import polars as pl
from backwater.analysis import plot, put_picture, put_trace
from backwater.analysis.put_trace import Trace
from backwater.papers import Metrics, Runs, Seeds
from backwater.papers.number_tables import NumberTable
from matplotlib.axes import Axes
from matplotlib.patches import FancyArrowPatch

from papers.ec.measured import US
from papers.ec.traces import OPEN, only

ONE = "one dack"
#: Runs, and what they are called.
CASES = {ONE: "one sender", "eight dack": "eight senders, together"}
#: The counter's threshold, section II-E.
SIX = 6
#: What an IACK lets go in the state that it leads to.
WORTH = {"H0": 1, "H1": 2}
#: When the target is congested for sure: from when the halt has begun until the endpoint gets fast.
CONGESTED_US = (20, 200)
DACK, IACK = "DACK", "IACK"
#: The signs that an ACK stands for.
SIGNS = {"dack": (DACK,), "iack": (IACK,), "marked": (DACK, IACK)}
#: Where states are drawn.
PLACES = {"H-1": (0.0, 0.0), "H0": (1.0, 0.0), "H1": (2.0, 0.0), OPEN: (1.0, 1.0)}
WORDS = {"H-1": "H(−1)", "H0": "H(0)", "H1": "H(1)", OPEN: "H∞"}
#: Figure 2's arrows: from, sign, to, and how each is bent, or where its loop is.
ARROWS: dict[tuple[str, str, str], float] = {
    (OPEN, DACK, "H-1"): 0.0,
    ("H-1", IACK, "H0"): -0.25,
    ("H0", DACK, "H-1"): -0.25,
    ("H0", IACK, "H1"): 0.0,
    ("H1", DACK, "H-1"): -0.45,
    ("H1", IACK, "H1"): 0.0,
    ("H1", IACK, OPEN): 0.0,
    ("H-1", DACK, "H-1"): 0.0,
    (OPEN, IACK, OPEN): 0.0,
}
#: Those that leave everything as it is.
IDLE = {("H-1", DACK, "H-1"), (OPEN, IACK, OPEN)}


class Step(NamedTuple):
    """A sign that the initiator got: from which state to which it went, and how many IACKs there were in H(1)."""

    time_ps: int
    before: str
    sign: str
    after: str
    count: int

    @property
    def arrow(self) -> tuple[str, str, str]:
        """Its arrow in Figure 2."""
        return self.before, self.sign, self.after

    @property
    def expected(self) -> str:
        """The state that it leads to by section II-E."""
        if self.sign == DACK:
            return "H-1"
        return {"H-1": "H0", "H0": "H1", "H1": OPEN if self.count >= SIX else "H1", OPEN: OPEN}[self.before]


def steps(trace: Trace) -> list[Step]:
    """Each sign that took effect. Between the two of one ACK the initiator is where a DACK leads it."""
    state, count = OPEN, 0
    found: list[Step] = []
    rows = only(trace, *SIGNS, "state", "resent").select("time_ps", "event", "state").rows()
    for (time, event, own), (then, what, following) in itertools.pairwise([*rows, (-1, "", "")]):
        # What else than an ACK changes it: a NACK, the end of a replay, the escape.
        if event not in SIGNS:
            state = own if event == "state" else state
            continue
        final = following if (then, what) == (time, "state") else state
        for place, sign in enumerate(SIGNS[event], start=1):
            after = final if place == len(SIGNS[event]) else "H-1"
            count = count + 1 if state == "H1" else 0
            found.append(Step(time, state, sign, after, count))
            state = after
    return found


def sent_without_iack(trace: Trace) -> int:
    """New packets that left while halted beyond what IACKs let go, and the one that was in the NIC already."""
    events = [(step.time_ps, 0, step) for step in steps(trace)]
    events += [(time, 1, None) for time in only(trace, "sent")["time_ps"].to_list()]
    halted, left, beyond = False, 0, 0
    for _, _, step in sorted(events, key=lambda one: one[:2]):
        if step is None:
            beyond += halted and left <= 0
            left -= halted
        else:
            left = left if halted else 1
            halted = step.after != OPEN
            left += WORTH.get(step.after, 0) if step.sign == IACK else 0
    return beyond


def every(runs: Runs) -> dict[str, list[Trace]]:
    """The streams of each run."""
    found = {}
    for name in CASES:
        sources = runs[name].puts.select(pl.col("src").cast(pl.String).unique().sort()).collect()["src"]
        found[name] = [put_trace.of(runs[name], f"{src}->h0") for src in sources]
    return found


def metrics(runs: Runs) -> Metrics:
    traces = every(runs)
    alone = steps(traces[ONE][0])
    found = [step for streams in traces.values() for trace in streams for step in steps(trace)]
    openings = [step for step in found if step.before != OPEN and step.after == OPEN]
    low, high = (time * US for time in CONGESTED_US)
    congested = [step for step in alone if low <= step.time_ps < high]
    return {
        "steps": len(found),
        "steps_off_figure": sum(step.after != step.expected for step in found),
        "arrows_seen": len({step.arrow for step in found} & (ARROWS.keys() - IDLE)),
        "openings": len(openings),
        "openings_off_six": sum(step.count != SIX for step in openings),
        "sent_without_iack": sum(sent_without_iack(trace) for streams in traces.values() for trace in streams),
        "congested_steps": len(congested),
        "congested_elsewhere": sum(step.after not in ("H-1", "H0") for step in congested),
    }


def draw(seeds: Seeds, file: Path) -> None:
    traces = every(seeds[0])
    alone = traces[ONE][0]
    begin, end = 198 * US, 212 * US
    with plot.picture(file, "Figure 2: the initiator's states, and how many ACKs moved it", 12, 6.2) as made:
        left, right = made.subfigures(1, 2, width_ratios=(1, 1))
        for axes, (name, streams) in zip(left.subplots(2, 1), traces.items(), strict=True):
            _machine(axes, Counter(step.arrow for trace in streams for step in steps(trace)))
            axes.set_title(CASES[name])
        packets, halts = right.subplots(2, 1, gridspec_kw={"height_ratios": (3, 0.22)})
        put_picture.packets(packets, alone.within(begin, end))
        packets.set(title="one sender: the endpoint is fast from 200 µs on", xlim=(begin / US, end / US))
        put_picture.halts(halts, only(alone, "state").filter(pl.col("time_ps") <= end), end)
        halts.set(
            xlabel="time [µs] (the darker, the less may be sent: H(−1), H(0), H(1), H∞)", xlim=(begin / US, end / US)
        )
        shown = put_picture.signs([event for event in put_picture.LOOKS if event in alone.events["event"]])
        right.legend(handles=shown, loc="outside lower center", ncols=4)


def _machine(axes: Axes, counts: Mapping[tuple[str, str, str], int]) -> None:
    """The states and the arrows between them; those that Figure 2 does not have in another colour."""
    for arrow in {*ARROWS, *counts}:
        colour = plot.BLACK if arrow in ARROWS else plot.VERMILLION
        _arrow(axes, arrow, counts.get(arrow, 0), ARROWS.get(arrow, 0.15), colour)
    for state, (x, y) in PLACES.items():
        ink = "white" if state in ("H-1", "H0") else plot.BLACK
        axes.plot(x, y, "o", ms=38, mfc=put_picture.STATE_COLOURS[state], mec=plot.BLACK, zorder=3)
        axes.text(x, y, WORDS[state], ha="center", va="center", fontsize=10, zorder=4, color=ink)
    axes.set(xlim=(-0.8, 2.8), ylim=(-0.6, 1.25), aspect="equal")
    axes.axis("off")


def _arrow(axes: Axes, arrow: tuple[str, str, str], count: int, bend: float, colour: str) -> None:
    before, sign, after = arrow
    (x, y), (to_x, to_y) = PLACES[before], PLACES[after]
    look = {"arrowstyle": "-|>", "mutation_scale": 11, "color": colour, "lw": 1, "zorder": 1}
    words = f"{sign}: {count}" if arrow != ("H1", IACK, OPEN) else f"sixth {sign}: {count}"
    if before == after:
        # Beside the state, away from the others.
        side = -1 if x < 1 else 1
        loop = FancyArrowPatch((x + side * 0.13, y + 0.13), (x + side * 0.13, y - 0.13), shrinkA=2, shrinkB=2,
                               connectionstyle=f"arc3,rad={-side * 1.6}", **look)  # fmt: skip
        axes.add_patch(loop)
        axes.text(x + side * 0.36, y, words, ha="right" if side < 0 else "left", va="center", fontsize=8, color=colour)
        return
    axes.add_patch(
        FancyArrowPatch((x, y), (to_x, to_y), shrinkA=21, shrinkB=21, connectionstyle=f"arc3,rad={bend}", **look)
    )
    # The middle of a bent arrow is off the straight line by half of the bend.
    middle = (x + to_x) / 2 + bend / 2 * (to_y - y), (y + to_y) / 2 - bend / 2 * (to_x - x)
    axes.annotate(words, middle, ha="center", va="center", fontsize=8, color=colour,
                  bbox={"fc": "white", "ec": "none", "pad": 1.5}, zorder=2)  # fmt: skip


def tables(seeds: Seeds) -> Sequence[NumberTable]:
    found = []
    for name, words in CASES.items():
        counts = [Counter(step.arrow for trace in every(runs)[name] for step in steps(trace)) for runs in seeds]
        arrows = sorted({arrow for one in counts for arrow in one} | ARROWS.keys())
        rows = tuple((*_words(arrow), " ".join(str(one[arrow]) for one in counts)) for arrow in arrows)
        found.append(
            NumberTable(f"ACKs by what they did to the initiator: {words}", ("from", "sign", "to", "by seed"), rows)
        )
    return found


def _words(arrow: tuple[str, str, str]) -> tuple[str, str, str]:
    before, sign, after = arrow
    return WORDS[before], sign, WORDS[after]
