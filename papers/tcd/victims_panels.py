"""How Figures 15 and 18 are drawn: mean FCT by size as bars, mean FCT over the size of the bursts as lines."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from backwater.analysis import plot
from backwater.common.statistics import Estimate, estimate
from backwater.papers import Seeds
from backwater.results import Results
from matplotlib.axes import Axes

from papers.tcd.victims import BINS, BURSTS_KB, by_bin, mean_fct_us, percent_marked, sweep_name


@dataclass(frozen=True)
class Shown:
    """What is shown of victims: names of their time and of themselves, bins of size, how an axis calls those."""

    time: str
    thing: str
    bins: Mapping[str, tuple[float, float]]
    labels: Sequence[str]


FCT = Shown("FCT", "flow", BINS, ("< 10 KB", "10 to 100 KB", "100 KB to 1 MB", "≥ 1 MB"))


def draw_bins(
    seeds: Seeds, schemes: Mapping[str, tuple[str, str]], file: Path, *, title: str, shown: Shown = FCT
) -> None:
    """Mean FCT in each bin of size, a bar per run; `schemes` gives its label and colour by the run's name.

    The mean over the seeds with its 95 % confidence interval. Above the second bar stands how many times shorter it is
    than the first.
    """
    means = {}
    for name in schemes:
        per_seed = [by_bin(runs[name], shown.bins) for runs in seeds]
        means[name] = [estimate([found[size] for found in per_seed]) for size in shown.bins]
    with plot.picture(file, title, max(7.4, 1.4 * len(shown.bins)), 3.8) as made:
        axes = made.add_subplot()
        draw_grouped(axes, means, schemes, shown.labels)
        axes.set_xlabel(f"{shown.thing} size")
        axes.set_ylabel(f"mean {shown.time} of the victims [µs]")


def draw_grouped(
    axes: Axes,
    means: Mapping[str, Sequence[Estimate]],
    schemes: Mapping[str, tuple[str, str]],
    labels: Sequence[str],
) -> None:
    """Groups of bars, one bar per run; above the second of a group how many times smaller it is than the first."""
    width = 0.8 / len(means)
    first = next(iter(means.values()))
    for index, (name, found) in enumerate(means.items()):
        label, colour = schemes[name]
        at = [place + (index - (len(means) - 1) / 2) * width for place in range(len(labels))]
        faint = 1.0 if index < 2 else 0.45
        axes.bar(at, [value.mean for value in found], width * 0.92, color=colour, alpha=faint, label=label)
        _whiskers(axes, at, found)
        if index == 1:
            for place, value, before in zip(at, found, first, strict=True):
                text = f"{before.mean / value.mean:.2f}×"
                axes.annotate(text, (place, value.high), (0, 3), textcoords="offset points", ha="center", size=8)
    axes.set_yscale("log")
    axes.set_xticks(range(len(labels)), labels)
    axes.margins(y=0.12)
    axes.legend(loc="upper left")


def draw_bursts(
    seeds: Seeds, schemes: Mapping[str, tuple[str, str]], file: Path, *, title: str, shown: Shown = FCT
) -> None:
    """Mean FCT of the victims over the size of the bursts, and below it what TCD marks them."""
    with plot.picture(file, title, 6.8, 5.0) as made:
        times, marks = made.subplots(2, 1, sharex=True, height_ratios=[2, 1.1])
        for name, (label, colour) in schemes.items():
            _line(times, lambda size, name=name: _over(seeds, name, size, mean_fct_us), colour, label)
        for code in ("UE", "CE"):
            _line(
                marks,
                lambda size, code=code: _over(seeds, "tcd", size, lambda run: percent_marked(run)[code]),
                plot.MARK_COLOURS[code],
                "UE, no CE" if code == "UE" else "CE",
            )
        times.set_yscale("log")
        times.set_ylabel(f"mean {shown.time} of the victims [µs]")
        times.legend()
        marks.set_ylabel(f"victims' {shown.thing}s\nthat TCD marks [%]")
        marks.set_ylim(0)
        marks.set_xlim(0)
        marks.set_xlabel("size of a burst, of each of A0 to A14 [KB]")
        marks.legend()


def _over(seeds: Seeds, scheme: str, size_kb: int, measure: Callable[[Results], float]) -> Estimate:
    return estimate([measure(runs[sweep_name(scheme, size_kb)]) for runs in seeds])


def _line(axes: Axes, at: Callable[[int], Estimate], colour: str, label: str) -> None:
    """A line through the means, with the confidence interval as a band."""
    found = [at(size) for size in BURSTS_KB]
    axes.plot(BURSTS_KB, [value.mean for value in found], "o-", ms=3.5, color=colour, label=label)
    low, high = [value.low for value in found], [value.high for value in found]
    axes.fill_between(BURSTS_KB, low, high, color=colour, alpha=0.15, lw=0)


def _whiskers(axes: Axes, at: Sequence[float], found: Sequence[Estimate]) -> None:
    for place, value in zip(at, found, strict=True):
        # On a logarithmic axis an interval that reaches below zero has no lower end.
        low = value.low if value.low > 0 else value.mean
        axes.plot([place, place], [low, value.high], color=plot.BLACK, lw=0.9)
