"""Figure 3: every packet of a stream by time and sequence number, under the three policies."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from backwater.analysis import plot, put_picture, put_trace
from backwater.analysis.put_trace import Trace
from backwater.papers import Metrics, Runs, Seeds
from backwater.papers.number_tables import NumberTable
from matplotlib.axes import Axes

from papers.ec.measured import HEADER, LINK_BYTES_PER_NS, POLICIES, US
from papers.ec.panels import LABELS
from papers.ec.traces import DACKS, count, first_us, halted_us, peaks, sent_between

FRAME = 2048 + HEADER
R = 0.5
#: The run, and from when on the paper's policy is steady, in µs.
END_US, STEADY_US = 500, 20
#: How much of each trace is drawn: the paper shows 20 µs of its own policy only.
SHOWN_US = {"opt": 80, "aimd": 80, "dack": 30}
#: What the authors' public simulator shows.
REFERENCE = {
    "first sign of congestion leaves the target [µs]": "5.15",
    "initiator halts [µs]": "9.31",
    "peak of the receive queue, paper's policy [KB]": "67.6",
    "NACKs in 500 µs, OPT": "28",
}


def traces(runs: Runs) -> dict[str, Trace]:
    """The stream of each policy."""
    return {policy: put_trace.of(runs[f"greedy {policy}"]) for policy in POLICIES}


def metrics(runs: Runs) -> Metrics:
    found = traces(runs)
    values: Metrics = {}
    for policy, trace in found.items():
        values |= {
            f"{policy}_dropped": count(trace, "dropped"),
            f"{policy}_lost": count(trace, "dropped", "out-of-order"),
            f"{policy}_resent": count(trace, "resent"),
            f"{policy}_nacks": count(trace, "nack"),
        }
    dack, queue = found["dack"], peaks(found["dack"], STEADY_US)
    carried = R * (END_US - STEADY_US) * 1e3 * LINK_BYTES_PER_NS / FRAME
    nacks, lost = float(values["opt_nacks"] or 0), float(values["opt_lost"] or 0)
    return values | {
        "dack_first_sign_us": first_us(dack, *DACKS),
        "dack_halted_us": halted_us(dack),
        "dack_rate_from_20us_over_r": sent_between(dack, STEADY_US, END_US) / carried,
        "dack_queue_swing_packets": (float(queue.max()) - float(queue.min())) / FRAME,  # type: ignore[arg-type]
        "opt_nack_interval_us": END_US / nacks if nacks else None,
        "aimd_lost_over_opt": float(values["aimd_lost"] or 0) / lost if lost else None,
    }


def draw(seeds: Seeds, file: Path) -> None:
    with plot.picture(file, "Figure 3: PUTs of 2 KB, endpoint at half of the link's rate", 11, 6.4) as made:
        grid: Any = made.subplots(2, 3, sharex="col", gridspec_kw={"height_ratios": (3, 1)})
        for (above, below), (policy, trace) in zip(grid.T, traces(seeds[0]).items(), strict=True):
            end = SHOWN_US[policy] * US
            shown = trace.within(0, end)
            put_picture.packets(above, shown)
            put_picture.queue(below, shown, end)
            above.set(title=LABELS[policy], ylabel="")
            below.set(xlabel="time [µs]", ylabel="", xlim=(0, SHOWN_US[policy]))
            if policy == "dack":
                _times(above, trace)
        grid[0, 0].set_ylabel("sequence number of the PUT")
        grid[1, 0].set_ylabel("receive queue\n[KB]")
        shown_signs = put_picture.signs([event for event in put_picture.LOOKS if event not in ("duplicate", "timeout")])
        made.legend(handles=shown_signs, loc="outside lower center", ncols=5)


def _times(axes: Axes, trace: Trace) -> None:
    """When the first sign of congestion leaves the target, and when it halts the initiator."""
    for what, time in (("first sign leaves", first_us(trace, *DACKS)), ("halt", halted_us(trace))):
        if time is not None:
            axes.axvline(time, color=plot.BLACK, ls="--", lw=0.9)
            axes.annotate(f"{what}: {time:.2f} µs", (time, 1), (-9, -4), xycoords=("data", "axes fraction"),
                          textcoords="offset points", rotation=90, va="top", fontsize=7)  # fmt: skip


def tables(seeds: Seeds) -> Sequence[NumberTable]:
    found = metrics(seeds[0])
    peak = peaks(traces(seeds[0])["dack"], 0).max()
    ours = (
        f"{found['dack_first_sign_us'] or 0:.2f}",
        f"{found['dack_halted_us'] or 0:.2f}",
        f"{float(peak or 0) / 1e3:.1f}",  # type: ignore[arg-type]
        f"{found['opt_nacks']}",
    )
    rows = tuple((name, own, there) for (name, there), own in zip(REFERENCE.items(), ours, strict=True))
    return [NumberTable("the trace in numbers", ("what", "ours", "authors' public simulator"), rows)]
