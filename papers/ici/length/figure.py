"""Figure 4 over the number of messages, and over time."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import polars as pl
from backwater.analysis import plot
from backwater.common.statistics import Estimate, estimate
from backwater.papers import Metrics, Runs, Seeds
from backwater.papers.number_tables import NumberTable
from backwater.results import Results

from papers.ici.measured import MS, half
from papers.ici.panels import LABELS, colour
from papers.ici.times import fct

SCHEMES = ("dcqcn", "ici", "ici+")
MESSAGES = (150_000, 300_000, 600_000, 1_000_000, 2_000_000)
#: What the paper prints, in percent: up to.
PAPER = {"ici": 23, "dcqcn": 31}


def lengths(runs: Runs) -> tuple[int, ...]:
    """The numbers of messages that there are runs of."""
    return tuple(count for count in MESSAGES if f"length ici {count}" in runs)


def p99_us(runs: Runs, scheme: str, count: int) -> float:
    """The 99th percentile of the messages' FCT."""
    return float(fct(runs[f"length {scheme} {count}"]).percentiles["p99"])


def reduction(runs: Runs, other: str, count: int) -> float:
    """By how many percent ICI+'s is below another scheme's."""
    return 100 * (1 - p99_us(runs, "ici+", count) / p99_us(runs, other, count))


def near(runs: Runs, other: str, count: int) -> bool:
    """Whether that is half to twice of what the paper prints."""
    return PAPER[other] / 2 <= reduction(runs, other, count) <= 2 * PAPER[other]


def metrics(runs: Runs) -> Metrics:
    counts = lengths(runs)
    found: Metrics = {f"{scheme}_p99_us_{count}": p99_us(runs, scheme, count) for scheme in SCHEMES for count in counts}
    for other in PAPER:
        found |= {f"reduction_against_{other}_{count}": reduction(runs, other, count) for count in counts}
        found[f"lengths_near_{other}"] = sum(near(runs, other, count) for count in counts)
    found["lengths_near_both"] = sum(all(near(runs, other, count) for other in PAPER) for count in counts)
    for scheme in SCHEMES:
        ends = (p99_us(runs, scheme, counts[at]) for at in (-1, 0))
        found[f"{scheme}_p99_last_over_first"] = next(ends) / next(ends)
    return found


def by_start(run: Results) -> pl.DataFrame:
    """The 99th percentile of FCT, in µs, by the millisecond at which messages start."""
    done = run.flows.filter(half(tree=False), pl.col("fct_ps").is_not_null())
    bins = done.group_by(ms=pl.col("start_ps") // MS)
    return bins.agg(p99=pl.col("fct_ps").quantile(0.99, "higher") / 1e6).sort("ms").collect()


def draw(seeds: Seeds, file: Path) -> None:
    counts = lengths(seeds[0])
    millions = [count / 1e6 for count in counts]
    with plot.picture(file, "Figure 4 over the number of messages", 10.5, 4.2) as made:
        left, right = made.subplots(1, 2)
        for other, percent in PAPER.items():
            found = [estimate([reduction(runs, other, count) for runs in seeds]) for count in counts]
            look = {"color": colour(other), "label": f"against {LABELS[other]}"}
            left.plot(millions, [one.mean for one in found], marker="o", ms=4, **look)
            low, high = [one.low for one in found], [one.high for one in found]
            left.fill_between(millions, low, high, color=colour(other), alpha=0.15, lw=0)
            left.axhline(percent, color=colour(other), ls="--", lw=1)
            text = {"transform": left.get_yaxis_transform(), "ha": "right", "va": "bottom", "size": 7}
            left.text(1, percent, f"paper: up to {percent} % ", **text)
        left.set_xscale("log")
        left.set_xticks(millions, [f"{count:g}" for count in millions])
        left.minorticks_off()
        left.set_xlabel("messages [millions]")
        left.set_ylabel("99th percentile of FCT below [%]")
        left.set_title("By how much ICI+ is better")
        left.legend()
        for scheme in SCHEMES:
            table = by_start(seeds[0][f"length {scheme} {counts[-1]}"])
            line = {"color": colour(scheme), "ls": plot.dashes(scheme), "label": LABELS[scheme]}
            right.plot(table["ms"], table["p99"], lw=1.2, **line)
        right.set_yscale("log")
        right.set_xlabel("start of the message [ms]")
        right.set_ylabel("99th percentile of FCT [µs]")
        right.set_title(f"Over time: {millions[-1]:g} million messages, one seed")
        right.legend()


def tables(seeds: Seeds) -> Sequence[NumberTable]:
    rows = [
        (
            f"{count / 1e6:g}",
            *(_text(estimate([p99_us(runs, scheme, count) for runs in seeds])) for scheme in SCHEMES),
            *(_text(estimate([reduction(runs, other, count) for runs in seeds])) for other in PAPER),
        )
        for count in lengths(seeds[0])
    ]
    levels = (f"{LABELS[scheme]} [µs]" for scheme in SCHEMES)
    headings = ("messages [millions]", *levels, *(f"ICI+ below {LABELS[other]} [%]" for other in PAPER))
    return [NumberTable(f"99th percentile of FCT, mean ± 95 %, n = {len(seeds)}", headings, tuple(rows))]


def _text(value: Estimate) -> str:
    return f"{value.mean:.3g}" if value.half_width is None else f"{value.mean:.3g} ± {value.half_width:.2g}"
