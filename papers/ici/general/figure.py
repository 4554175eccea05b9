"""What the paper says of all its workloads: PAUSEs, marks on victims, loss, throughput."""

from __future__ import annotations

from pathlib import Path

from backwater.analysis import plot
from backwater.papers import Family, Measurements, Metrics, Runs, Seeds
from matplotlib.axes import Axes

from papers.ici import messages, trees
from papers.ici.measured import SCHEMES, of, over, pauses, switch_peak, unfinished, victim_marks
from papers.ici.panels import colour, draw_grid

#: The workloads, and how they are called in the picture.
WORKLOADS = {
    "w1": "one tree",
    "w2": "four trees",
    "w3": "Google, tree",
    "w4": "Google, burst",
    "w5": "Google, 4 bursts",
}
#: What ICI+ is held against.
OTHERS = [scheme for scheme in SCHEMES if scheme != "ici+"]
PACKET = 4096


def throughputs(runs: Runs, workload: str) -> Metrics:
    """What background and hot flows get by scheme, over one span for all."""
    if workload in ("w1", "w2"):
        measured = {scheme: trees.measured(run) for scheme, run in runs.items()}
        return {
            f"{s}_{part}_gbps": one[f"{part}_gbps"] for s, one in measured.items() for part in ("background", "hot")
        }
    return messages.shares(runs, bursts=workload != "w3")


def metrics(runs: Runs) -> Measurements:
    found: Metrics = {}
    delivered: Family = {}
    for workload in WORKLOADS:
        by_scheme = of(runs, workload)
        found |= {f"{workload}_{scheme}_pauses": pauses(run) for scheme, run in by_scheme.items()}
        found[f"{workload}_victim_marks"] = victim_marks(by_scheme["ici+"])
        shares = throughputs(by_scheme, workload)
        for part in ("background", "hot"):
            own = trees.number(shares, f"ici+_{part}_gbps")
            for other in OTHERS:
                delivered[f"{workload}_{part} over {other}"] = over(own, trees.number(shares, f"{other}_{part}_gbps"))
    fewer = {
        f"pauses_over_{other}": {workload: _ratio(found, workload, other) for workload in WORKLOADS}
        for other in ("none", "dcqcn", "ci", "ci+dcqcn")
    }
    every = [run for name, run in runs.items() if name.split()[0] in WORKLOADS]
    return (
        found
        | fewer
        | {
            "throughput_over": delivered,
            "unfinished_messages": sum(unfinished(run) for name, run in runs.items() if name[:2] in ("w3", "w4", "w5")),
            "largest_ingress_packets": max(switch_peak(run, "peak_ingress_bytes") for run in every) / PACKET,
            "largest_egress_packets": max(switch_peak(run, "peak_egress_bytes") for run in every) / PACKET,
        }
    )


def _ratio(found: Metrics, workload: str, other: str) -> float:
    """PAUSEs of ICI+ over those of another scheme; 1 if neither has any."""
    own, theirs = (float(found[f"{workload}_{scheme}_pauses"] or 0) for scheme in ("ici+", other))
    return own / theirs if theirs else 1.0 + own


def draw(seeds: Seeds, file: Path) -> None:
    title = "All workloads: PAUSEs, and what ICI+ delivers"
    draw_grid([[draw_pauses, draw_throughput]], seeds, file, title=title)


def draw_pauses(axes: Axes, seeds: Seeds) -> None:
    """PAUSEs by workload and scheme."""
    width = 0.8 / len(SCHEMES)
    for place, workload in enumerate(WORKLOADS):
        for number, scheme in enumerate(SCHEMES):
            values = [pauses(runs[f"{workload} {scheme}"]) for runs in seeds]
            at = place + (number - (len(SCHEMES) - 1) / 2) * width
            axes.bar(at, sum(values) / len(values), width * 0.92, color=colour(scheme), alpha=0.75)
            axes.plot([at] * len(values), values, "o", ms=1.8, color=plot.BLACK, clip_on=False, alpha=0.6)
    _workloads(axes)
    axes.set_yscale("symlog", linthresh=1)
    axes.set_ylim(0)
    axes.set_title("PAUSEs sent")
    axes.set_ylabel("PAUSEs")


def draw_throughput(axes: Axes, seeds: Seeds) -> None:
    """What ICI+ delivers to background and hot flows, over what the scheme does that delivers most in the mean."""
    found = [metrics(runs)["throughput_over"] for runs in seeds]
    for side, part, hatch in ((-1, "background", ""), (1, "hot", "////")):
        for place, workload in enumerate(WORKLOADS):
            each = [[float(one[f"{workload}_{part} over {other}"] or 0) for one in found] for other in OTHERS]
            values = min(each, key=sum)
            at = place + side * 0.2
            axes.bar(at, sum(values) / len(values), 0.38, color=colour("ici+"), alpha=0.7, hatch=hatch)
            axes.plot([at] * len(values), values, "o", ms=2, color=plot.BLACK, clip_on=False, alpha=0.6)
    axes.axhline(0.95, color=plot.GREY, ls=":", lw=1)
    _workloads(axes)
    axes.set_title("ICI+ over the best other scheme (hatched: hot)")
    axes.set_ylabel("throughput over the best other")


def _workloads(axes: Axes) -> None:
    axes.set_xticks(range(len(WORKLOADS)), [name.replace(", ", ",\n") for name in WORKLOADS.values()], fontsize=7)
