"""One congestion tree in networks of 16 to 1024 hosts: the share and wait of the background, tables and marks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from backwater.analysis import plot
from backwater.common.statistics import estimate
from backwater.papers import Metrics, Runs, Seeds
from backwater.papers.number_tables import NumberTable
from backwater.results import Results

from papers.ici.measured import marks, offered, offered_gbps, refusals, switch_peak, throughput, victim_marks
from papers.ici.panels import LABELS, colour
from papers.ici.times import latency

HOSTS = (16, 64, 256, 1024)
SCHEMES = ("dcqcn", "ci", "ici", "ici+")
ISOLATING = ("ci", "ici", "ici+")
ROOT_GBPS = 100


def background_share(run: Results) -> float:
    """What the background gets while the tree is offered, of what it offers."""
    start, end = offered(run)
    return throughput(run, start, end, tree=False) / offered_gbps(run, start, end)


def root_share(run: Results) -> float:
    """What arrives at the root while the tree is offered, of its link."""
    return throughput(run, *offered(run), tree=True) / ROOT_GBPS


def p99_latency_us(run: Results) -> float:
    """The 99th percentile of the latency of the background's packets."""
    return float(latency(run, tree=False).percentiles["p99"])


#: Each measure: its title, its value, and the schemes that have it.
MEASURES: dict[str, tuple[str, Callable[[Results], float], tuple[str, ...]]] = {
    "background_share": ("background, of what it offers", background_share, SCHEMES),
    "root_share": ("root's link in use", root_share, SCHEMES),
    "p99_latency": ("99th percentile of latency [µs]", p99_latency_us, SCHEMES),
    "peak_slots": ("slots in use, most of any switch", lambda run: switch_peak(run, "peak_slots"), ISOLATING),
    "refusals": ("flows refused a slot", lambda run: refusals(run), ISOLATING),
    "marks": ("packets marked", lambda run: marks(run), SCHEMES),
    "victim_marks": ("of them of the background", lambda run: victim_marks(run), SCHEMES),
}
LOG = ("p99_latency",)


def sizes(runs: Runs) -> tuple[int, ...]:
    """The sizes that there are runs of."""
    return tuple(count for count in HOSTS if f"{count} ici+" in runs)


def metrics(runs: Runs) -> Metrics:
    # What a quick look does not run is None.
    found: Metrics = {
        f"{scheme}_{name}_{count}": value(runs[f"{count} {scheme}"]) if count in sizes(runs) else None
        for name, (_, value, schemes) in MEASURES.items()
        for scheme in schemes
        for count in HOSTS
    }
    for scheme in SCHEMES:
        own, of_64 = (found[f"{scheme}_p99_latency_{count}"] for count in (1024, 64))
        both = isinstance(own, float) and isinstance(of_64, float)
        found[f"{scheme}_p99_latency_1024_over_64"] = own / of_64 if both else None  # type: ignore[operator]
    return found


def draw(seeds: Seeds, file: Path) -> None:
    with plot.picture(file, "One congestion tree in networks of 16 to 1024 hosts", 13, 5.6) as made:
        panels = list(made.subplots(2, 4).flat)
        counts = sizes(seeds[0])
        for axes, (name, (title, value, schemes)) in zip(panels, MEASURES.items(), strict=False):
            for scheme in schemes:
                found = [estimate([value(runs[f"{count} {scheme}"]) for runs in seeds]) for count in counts]
                line = {"color": colour(scheme), "ls": plot.dashes(scheme), "label": LABELS[scheme]}
                axes.plot(counts, [one.mean for one in found], marker="o", ms=4, **line)
                low, high = [one.low for one in found], [one.high for one in found]
                axes.fill_between(counts, low, high, color=colour(scheme), alpha=0.12, lw=0)
            axes.set_xscale("log", base=4)
            axes.set_xticks(counts, [str(count) for count in counts])
            axes.minorticks_off()
            axes.set_xlabel("hosts")
            axes.set_title(title, fontsize=9)
            if name in LOG:
                axes.set_yscale("log")
            else:
                axes.set_ylim(bottom=0)
        panels[-1].set_axis_off()
        made.legend(*panels[0].get_legend_handles_labels(), loc="outside lower center", ncols=4, handlelength=3)


def tables(seeds: Seeds) -> Sequence[NumberTable]:
    counts = sizes(seeds[0])
    rows = [
        (title, LABELS[scheme], *(_text([value(runs[f"{count} {scheme}"]) for runs in seeds]) for count in counts))
        for title, value, schemes in MEASURES.values()
        for scheme in schemes
    ]
    headings = ("measure", "scheme", *(f"{count} hosts" for count in counts))
    return [NumberTable(f"Mean ± 95 %, n = {len(seeds)}", headings, tuple(rows), words=2)]


def _text(values: Sequence[float]) -> str:
    found = estimate(values)
    return f"{found.mean:.3g}" if found.half_width is None else f"{found.mean:.3g} ± {found.half_width:.2g}"
