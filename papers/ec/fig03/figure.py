"""Figure 3: every packet of a stream by time and sequence number, under the three policies."""

from __future__ import annotations

from typing import TYPE_CHECKING

from backwater import plot
from backwater.number_tables import NumberTable

from papers.ec.measured import HEADER, LINK_BYTES_PER_NS, POLICIES, US
from papers.ec.panels import LABELS, colour
from papers.ec.traces import SIGNS, Trace

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from backwater.results import Results
    from matplotlib.axes import Axes

    from papers.ec.measured import Metrics

FRAME = 2048 + HEADER
R = 0.5
#: The run, and from when on the paper's policy is steady, in µs.
END_US, STEADY_US = 500, 20
#: How much of each trace is drawn: the paper shows 20 µs of its own policy only.
SHOWN_US = {"opt": 100, "aimd": 100, "dack": 40}
#: What the authors' public simulator shows, in µs.
REFERENCE = {
    "first sign leaves": "5.15",
    "initiator halts": "9.31",
    "peak of the queue [KB]": "67.6",
    "NACKs under OPT": "28",
}


def metrics(runs: Mapping[str, Results]) -> Metrics:
    found = {policy: Trace.of(runs[f"greedy {policy}"]) for policy in POLICIES}
    values: Metrics = {}
    for policy, trace in found.items():
        values |= {
            f"{policy}_dropped": trace.count("dropped"),
            f"{policy}_lost": trace.count("dropped", "out-of-order"),
            f"{policy}_resent": trace.count("resent"),
            f"{policy}_nacks": trace.count("nack"),
        }
    dack, queue = found["dack"], found["dack"].queue_from(STEADY_US)
    carried = R * (END_US - STEADY_US) * 1e3 * LINK_BYTES_PER_NS / FRAME
    nacks, lost = float(values["opt_nacks"] or 0), float(values["opt_lost"] or 0)
    return values | {
        "dack_first_sign_us": dack.first_us(*SIGNS),
        "dack_halted_us": dack.halted_us(),
        "dack_rate_from_20us_over_r": dack.sent_between(STEADY_US, END_US) / carried,
        "dack_queue_swing_packets": (float(queue.max()) - float(queue.min())) / FRAME,  # type: ignore[arg-type]
        "opt_nack_interval_us": END_US / nacks if nacks else None,
        "aimd_lost_over_opt": float(values["aimd_lost"] or 0) / lost if lost else None,
    }


def draw(seeds: Sequence[Mapping[str, Results]], file: Path) -> None:
    from matplotlib.lines import Line2D

    with plot.style():
        made = plot.figure(10.5, 4.2)
        for axes, policy in zip(made.subplots(1, 3), POLICIES, strict=True):
            draw_trace(axes, Trace.of(seeds[0][f"greedy {policy}"]), policy)
        made.axes[0].set_ylabel("sequence number of the PUT")
        looks = (
            ("sent", "o", plot.GREY),
            ("sent again", "s", plot.BLACK),
            ("dropped: queue full", "x", plot.VERMILLION),
        )
        handles = [
            Line2D([], [], color=shade, marker=marker, ls="none", ms=5, label=label) for label, marker, shade in looks
        ]
        handles += [Line2D([], [], color=plot.SKY, marker=".", ls="none", ms=6, label="dropped: behind a lost one")]
        handles += [Line2D([], [], color=plot.PURPLE, ls="--", lw=1, label="first sign leaves; halt")]
        made.legend(handles=handles, loc="outside lower center", ncols=len(handles))
        made.suptitle("Figure 3: PUTs of 2 KB, endpoint at half of the link's rate", fontsize=11, fontweight="bold")
        plot.save(made, file)


def draw_trace(axes: Axes, trace: Trace, policy: str) -> None:
    """One stream: what leaves, what is dropped and when, what leaves again."""
    looks = {
        "out-of-order": (plot.SKY, ".", 10),
        "sent": (colour(policy), "o", 9),
        "resent": (plot.BLACK, "s", 7),
        "dropped": (plot.VERMILLION, "x", 22),
    }
    end = SHOWN_US[policy]
    for event, (shade, marker, size) in looks.items():
        found = trace.only(event)
        times = found["time_ps"].to_numpy() / US
        within = times <= end
        axes.scatter(times[within], found["seq"].to_numpy()[within], s=size, c=shade, marker=marker, linewidths=0.9)
    if policy == "dack":
        for time in (trace.first_us(*SIGNS), trace.halted_us()):
            if time is not None:
                axes.axvline(time, color=plot.PURPLE, ls="--", lw=1)
                axes.text(
                    time, axes.get_ylim()[1], f" {time:.2f} µs", rotation=90, va="top", fontsize=7, color=plot.PURPLE
                )
    axes.set(title=LABELS[policy], xlabel="time [µs]", xlim=(0, end), ylim=(0, None))


def tables(seeds: Sequence[Mapping[str, Results]]) -> Sequence[NumberTable]:
    found = metrics(seeds[0])
    peak = Trace.of(seeds[0]["greedy dack"]).queue_from(0).max()
    ours = (
        f"{found['dack_first_sign_us'] or 0:.2f}",
        f"{found['dack_halted_us'] or 0:.2f}",
        f"{float(peak) / 1e3:.1f}",  # type: ignore[arg-type]
        f"{found['opt_nacks']}",
    )
    rows = tuple((name, own, there) for (name, there), own in zip(REFERENCE.items(), ours, strict=True))
    return [NumberTable("times in µs, sizes and counts", ("what", "ours", "authors' public simulator"), rows)]
