"""Figure 20: what B0 to B3 and F1 send while P2 is undetermined, and afterwards."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import polars as pl
from backwater.analysis import plot
from backwater.papers import Metrics, Runs, Seeds
from backwater.results import Results, measures
from backwater.results.measures import Interval, Series
from matplotlib.axes import Axes

from papers.tcd.scene import MS, PRIORITY, US, Scene, since

#: Title of each run.
RUNS = {"dcqcn": "DCQCN+TCD (α 1.2)", "dcqcn gentler": "DCQCN+TCD (α 0.5)", "timely": "TIMELY+TCD"}
#: The ports of the five hosts whose flows cross P2.
SENDERS = {"B0": "B0->L0", "B1": "B1->L0", "B2": "B2->L0", "B3": "B3->L0", "F1": "S1->T0"}
#: After a port became undetermined: when no feedback from before is on its way any more.
SETTLED_PS = 100 * US
#: Over which end of the run the shares are measured.
END_PS = 10 * MS
#: Bin of the drawn throughput.
BIN_PS = 200 * US


def undetermined(run: Results) -> list[Interval]:
    """When P2 was undetermined: each time without its first 0.1 ms, if as much is left."""
    found = [i for i in measures.state_intervals(run, "P2", PRIORITY) if i.what == "undetermined"]
    settled = [Interval(i.start_ps + SETTLED_PS, i.end_ps, i.what) for i in found]
    return [i for i in settled if i.end_ps - i.start_ps >= SETTLED_PS]


def sent_bps(run: Results, port: str, begin_ps: int, end_ps: int) -> float:
    """Mean rate of a port between two instants, from the samples between them."""
    frame = run.samples.filter(
        pl.col("port").cast(pl.String) == run.port(port),
        pl.col("priority") == PRIORITY,
        pl.col("time_ps").is_between(begin_ps, end_ps),
    )
    times, sent = frame.sort("time_ps").select("time_ps", "sent_bytes").collect().get_columns()
    if len(times) < 2:
        return np.nan
    return float((sent[-1] - sent[0]) * 8e12 / (times[-1] - times[0]))


def rates(run: Results, begin_ps: int, end_ps: int) -> pl.DataFrame:
    """What B0 to B3 are allowed between two instants: per flow the lowest, the highest and the mean rate."""
    return (
        run.rates.filter(pl.col("traffic").cast(pl.String) == "B", pl.col("time_ps").is_between(begin_ps, end_ps))
        .group_by("flow")
        .agg(
            low=pl.col("rate_bps").min().cast(pl.Float64),
            high=pl.col("rate_bps").max().cast(pl.Float64),
            mean=pl.col("rate_bps").mean(),
        )
        .collect()
    )


def jain(values: Sequence[float]) -> float:
    """Jain's index of fairness: 1 if all are equal, 1 / n if one has all."""
    return float(sum(values) ** 2 / (len(values) * sum(value**2 for value in values)))


def while_undetermined(run: Results) -> dict[str, float | None]:
    """How far the rates of B0 to B3 move, how much of them they send, and how equally, while P2 is undetermined.

    `rate_change_percent` is that of the flow and the time with the largest.
    """
    times = undetermined(run)
    found: dict[str, float | None] = {"undetermined_us": sum(i.end_ps - i.start_ps for i in times) / US}
    if not times:
        return found | {"rate_change_percent": None, "sent_over_rate": None, "jain_while_undetermined": None}
    change, allowed, sent = 0.0, 0.0, np.zeros(4)
    for time in times:
        moved = rates(run, time.start_ps, time.end_ps)
        change = max(change, *(100 * (1 - moved["low"] / moved["high"])))
        length = time.end_ps - time.start_ps
        allowed += float(moved["mean"].sum()) * length
        sent += [sent_bps(run, SENDERS[f"B{i}"], time.start_ps, time.end_ps) * length for i in range(4)]
    return found | {
        "rate_change_percent": change,
        "sent_over_rate": float(sent.sum() / allowed),
        "jain_while_undetermined": jain(sent.tolist()),
    }


def afterwards(run: Results) -> Metrics:
    """What the five flows send at the end, and whether P2 came to be called congested after its last OFF period."""
    scene = Scene(run)
    end = scene.end_ps
    released = scene.release_ps("P2") or scene.bursts_ps
    gbps = {name: sent_bps(run, port, end - END_PS, end) / 1e9 for name, port in SENDERS.items()}
    return {
        "p2_becomes_congested": any(i.what == "congestion" for i in scene.states("P2", released)),
        "least_gbps": min(gbps.values()),
        "most_gbps": max(gbps.values()),
        "f1_gbps": gbps["F1"],
        "jain_at_the_end": jain(list(gbps.values())),
    }


def metrics(runs: Runs) -> Metrics:
    found: Metrics = {}
    for name, run in runs.items():
        facts = while_undetermined(run) | afterwards(run)
        found |= {f"{fact}_{name.replace(' ', '_')}": value for fact, value in facts.items()}
    return found


def draw(seeds: Seeds, file: Path) -> None:
    with plot.picture(file, "Figure 20: B0 to B3 and F1 at P2, from the start of the bursts", 10.2, 5.8) as made:
        grid = made.subplots(3, len(RUNS), sharey="row", squeeze=False, height_ratios=[4, 0.7, 4])
        for column, (name, title) in enumerate(RUNS.items()):
            run = seeds[0][name]
            start, band, whole = (grid[row][column] for row in range(3))
            _throughput(start, run, 4.0)
            _throughput(whole, run, (measures.end_ps(run) - Scene(run).bursts_ps) / MS)
            start.set_title(title)
            _band(band, run)
            whole.set_xlabel("time since the first burst [ms]")
        for row, top in ((0, 41), (2, 16)):
            grid[row][0].set_ylabel("sent [Gbps]")
            grid[row][0].set_ylim(0, top)
        grid[0][0].legend(ncols=2)
        grid[1][0].set_yticks([0.5], ["P2"])
        handles, labels = zip(*[pair for pair in plot.state_legend() if "mark" not in pair[1]], strict=True)
        made.legend(handles, labels, loc="outside lower center", ncols=plot.legend_columns(made, labels))


def _throughput(axes: Axes, run: Results, until_ms: float) -> None:
    """What the five hosts send, in bins of a hundredth of the time shown or so."""
    origin = Scene(run).bursts_ps
    width = 50 * US if until_ms < 10 else BIN_PS * 2
    for colour, (name, port) in zip((*plot.CYCLE[:4], plot.BLACK), SENDERS.items(), strict=True):
        series = since(measures.send_rate(run, port, PRIORITY, width), origin)
        middle = Series(series.time_ps - width // 2, series.value)
        plot.line(axes, middle, unit=1e9, origin_ps=origin, color=colour, label=name, linewidth=0.9)
    axes.axhline(8, color=plot.GREY, ls=":", lw=1)
    axes.set_xlim(0, until_ms)


def _band(axes: Axes, run: Results) -> None:
    """The state of P2 over the first 4 ms."""
    origin = Scene(run).bursts_ps
    plot.band(axes, measures.state_intervals(run, "P2", PRIORITY), (0.5, 1), origin_ps=origin)
    plot.off(axes, measures.off_intervals(run, "P2", PRIORITY), (0, 0.45), origin_ps=origin)
    axes.set_xlim(0, 4)
    axes.set_ylim(0, 1)
    axes.grid(visible=False)
