"""What a start costs: how high the queue rises before the policy has a hold on the stream, against arithmetic."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from backwater.analysis import plot
from backwater.papers import Metrics, Runs, Seeds
from backwater.papers.number_tables import NumberTable
from backwater.results import Results

from papers.ec.measured import HEADER, LINK_BYTES_PER_NS, LINK_GBPS, OVERHEAD_NS, US, drain_gbps, window

THRESHOLD, QUEUE = 8992, 80_992
FRAME = 2048 + HEADER
#: What scenarios/unicast.toml and the profile say: one link, an ACK on a wire (it is no longer than what a switch waits
#: for), until it takes effect.
DELAY_NS, ACK_NS, PROCESSING_NS = 1865, 2.5, 430
#: What a switch that cuts through waits for: 32 B.
CUT_NS = 2.5
#: The start is over by then, at any r.
LATER = 300 * US


def blind_ns() -> float:
    """From the first sign of congestion to the last packet that it could not stop, as that reaches the queue.

    The sign crosses two links and is processed; the packet that is on its way out then, and the one in the staging
    behind it, cross two links.
    """
    frame = FRAME / LINK_BYTES_PER_NS
    back = 2 * (DELAY_NS + ACK_NS) + PROCESSING_NS
    forth = OVERHEAD_NS + frame + 2 * DELAY_NS + CUT_NS + frame
    return back + forth


def peak_bytes(r: float, threshold: int = THRESHOLD) -> float:
    """How high the queue would rise if it were deep enough."""
    return threshold + FRAME + (1 - r) * LINK_BYTES_PER_NS * blind_ns()


def r_of(run: Results) -> float:
    """The endpoint's rate, of the link's."""
    return round(drain_gbps(run) / LINK_GBPS, 3)


def starts(runs: Runs, kind: str) -> dict[float, Results]:
    """The runs of a kind by r."""
    return dict(
        sorted((r_of(run), run) for name, run in runs.items() if name.split()[0] == kind and "T36KB" not in name)
    )


def lost(run: Results, *, later: bool) -> int:
    """Packets dropped at the start, or after it."""
    return (window(run, LATER) if later else window(run, 0, LATER)).lost


def metrics(runs: Runs) -> Metrics:
    cold, incast = starts(runs, "cold"), starts(runs, "cold-incast")
    peaks = {f"{r:g}": window(run, 0).peak / peak_bytes(r) for r, run in cold.items() if peak_bytes(r) <= QUEUE}
    thick = next(run for name, run in runs.items() if "T36KB" in name)
    return {f"cold_{r:g}_lost": lost(run, later=False) for r, run in cold.items()} | {
        "peak_over_formula": peaks,
        "wrong_predictions": sum((peak_bytes(r) > QUEUE) != (lost(run, later=False) > 0) for r, run in cold.items()),
        "lost_later": sum(lost(run, later=True) for run in cold.values()),
        "incast_lost_at_start": lost(incast[0.5], later=False),
        "incast_lost_later": sum(lost(run, later=True) for run in incast.values()),
        "lost_with_four_thresholds": lost(thick, later=False),
    }


def draw(seeds: Seeds, file: Path) -> None:
    cold = starts(seeds[0], "cold")
    with plot.picture(file, "The start of the paper's policy, 2 KB", 9, 3.6) as made:
        left, right = made.subplots(1, 2)
        rs = list(cold)
        left.plot(
            [0.1, 0.9],
            [peak_bytes(0.1) / 1e3, peak_bytes(0.9) / 1e3],
            color=plot.GREY,
            ls="--",
            label="T + p + (1 − r) C L",
        )
        left.axhline(QUEUE / 1e3, color=plot.BLACK, lw=0.8, ls=":", label="the queue, 81 KB")
        peaks = [window(run, 0).peak / 1e3 for run in cold.values()]
        left.plot(rs, peaks, "o", color=plot.SCHEME_COLOURS["dack"], label="peak of the queue")
        left.set(xlabel="endpoint's rate r, share of the link", ylabel="bytes in the queue [KB]", ylim=(0, None))
        left.set_title("how high the queue rises")
        left.legend()
        for kind, label, marker in (
            ("cold", "one sender that never rests", "o"),
            ("cold-incast", "eight senders", "s"),
        ):
            found = starts(seeds[0], kind)
            values = [lost(run, later=False) for run in found.values()]
            right.plot(
                list(found),
                values,
                marker,
                color=plot.SCHEME_COLOURS["dack"],
                label=label,
                mfc="none" if marker == "s" else None,
            )
        right.set(xlabel="endpoint's rate r, share of the link", ylabel="packets", ylim=(-1, None))
        right.set_title("packets dropped in the first 300 µs")
        right.legend()


def tables(seeds: Seeds) -> Sequence[NumberTable]:
    rows = []
    for kind, label in (("cold", "one sender that never rests"), ("cold-incast", "eight senders")):
        for r, run in starts(seeds[0], kind).items():
            formula = f"{peak_bytes(r):.0f}" if kind == "cold" else "–"
            counts = (str(lost(run, later=False)), str(lost(run, later=True)))
            rows.append((label, f"{r:g}", formula, str(window(run, 0).peak), *counts))
    headings = ("workload", "r", "T + p + (1 − r) C L [B]", "peak [B]", "lost until 300 µs", "from then to 1 ms")
    return [NumberTable("starts", headings, tuple(rows))]
