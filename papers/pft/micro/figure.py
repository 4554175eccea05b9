"""An incast and its bystanders: credits used over time, goodput of the hot port and of the innocent."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import polars as pl
from backwater.analysis import plot
from backwater.papers import Metrics, Runs, Seeds
from backwater.papers.number_tables import NumberTable
from backwater.results import Results
from matplotlib.axes import Axes

from papers.pft.laws import CAPACITY, ENTER, ESCAPE
from papers.pft.measured import NONE, STRATEGIES, US
from papers.pft.panels import COLOURS, mean

START_US, STEADY_US, END_US = 100, 300, 600
SENDERS = [f"h{number}" for number in range(12, 35)]
#: Who sends to whom nothing but innocent packets.
BYSTANDERS = {"edge": "h2", "tree": "h35", "own": "h12"}
DCQCN = "DCQCN"
THROTTLED = (*STRATEGIES, "AT-RI available", "AT-RI 20")
RUNS = (NONE, *THROTTLED, DCQCN)
LOOKS: dict[str, tuple[str, str]] = {
    **{name: (colour, "-") for name, colour in COLOURS.items()},
    "AT-RI available": (plot.PURPLE, "--"),
    "AT-RI 20": (plot.WINE, "-."),
    DCQCN: (plot.GREEN, "-"),
}
#: A packet there and its CNP back on four idle links of 100 ns, through three switches that pass on what has a header:
#: 8 links, one packet of 2080 B, one frame of 64 B, and six headers of 32 B.
ROUND_TRIP_US = (8 * 100 + (2080 + 64 + 6 * 32) * 8 / 100) / 1e3


def goodput(run: Results, traffic: str, begin_us: float, end_us: float) -> float:
    """Payload that arrived, in Gbps."""
    inside = pl.col("time_ps").is_between(int(begin_us * US), int(end_us * US), closed="left")
    own = pl.col("traffic").cast(pl.String) == traffic
    got = run.delivered.filter(own, inside).select(pl.col("received_bytes").sum()).collect().item()
    return float(got or 0) * 8 / ((end_us - begin_us) * 1e3)


def used(run: Results, nodes: Sequence[str], begin_us: float, end_us: float) -> float:
    """The mean over these NICs and this time of the credits used, in flits."""
    inside = pl.col("start_ps").is_between(int(begin_us * US), int(end_us * US), closed="left")
    table = run.table("throttle").filter(pl.col("node").cast(pl.String).is_in(nodes), inside)
    return float(table.select(pl.col("used_mean").mean()).collect().item() or 0)


def cuts(run: Results) -> list[float]:
    """When each sender was first Congested, or its rate below the link's, in µs since the incast began."""
    if run.meta["scenario"]["host"]["throttle"]["kind"] == "pft":
        node = pl.col("node").cast(pl.String)
        found = run.table("throttle_states").filter(node.is_in(SENDERS), pl.col("congested"))
        times = (
            found.filter(pl.col("time_ps") >= START_US * US).group_by(node.alias("who")).agg(pl.col("time_ps").min())
        )
    else:
        full = pl.col("rate_bps") >= pl.col("rate_bps").max()
        times = run.rates.filter(~full).group_by(who="flow").agg(pl.col("time_ps").min())
    return sorted(time / US - START_US for time in times.select("time_ps").collect()["time_ps"])


def first_held(run: Results) -> float | None:
    """When each sender was first Congested, or its rate below the link's: µs from the start of the incast, in order."""
    held = run.table("throttle").filter(pl.col("node").cast(pl.String).is_in(SENDERS), pl.col("held_ps") > 0)
    first = held.filter(pl.col("end_ps") > START_US * US).select(pl.col("end_ps").min()).collect().item()
    return None if first is None else first / US - START_US


def first_cut(run: Results) -> float | None:
    """Of the first sender."""
    found = cuts(run)
    return found[0] if found else None


def half_cut(run: Results) -> float | None:
    """Of half of the senders."""
    found = cuts(run)
    return found[len(SENDERS) // 2] if len(found) > len(SENDERS) // 2 else None


def over(one: float | None, other: float | None) -> float | None:
    """A ratio, if there is one."""
    return one / other if one is not None and other else None


def metrics(runs: Runs) -> Metrics:
    none = runs[NONE]
    low, high = used(none, ["h2", "h35"], 20, START_US), used(none, SENDERS, STEADY_US, END_US)
    dcqcn, dcqcn_half = first_cut(runs[DCQCN]), half_cut(runs[DCQCN])
    values: Metrics = {
        "uncongested_used_share": low / CAPACITY,
        "congested_over_uncongested": over(high, low),
        "DCQCN_first_cut_over_rtt": over(dcqcn, ROUND_TRIP_US),
        "none_edge_over_before": over(late(none, "edge"), goodput(none, "edge", 20, START_US)),
    }
    for name in RUNS:
        run = runs[name]
        values[f"{name}_hot_over_none"] = over(late(run, "incast"), late(none, "incast"))
        values |= {f"{name}_{who}_over_none": over(late(run, who), late(none, who)) for who in BYSTANDERS}
        if name in THROTTLED:
            values[f"{name}_used_over_none"] = over(used(run, SENDERS, STEADY_US, END_US), high)
            values[f"{name}_first_cut_over_dcqcn"] = over(first_cut(run), dcqcn)
            values[f"{name}_half_cut_over_dcqcn"] = over(half_cut(run), dcqcn_half)
    return values


def late(run: Results, traffic: str) -> float:
    """Goodput of the last half of the run."""
    return goodput(run, traffic, STEADY_US, END_US)


def draw(seeds: Seeds, file: Path) -> None:
    with plot.picture(file, "An incast of 23 from 100 µs on, and its bystanders", 11, 7.4) as made:
        grid: Any = made.subplots(2, 2)
        _traces(grid[0, 0], seeds[0], SENDERS, "the 23 senders")
        _traces(grid[0, 1], seeds[0], [BYSTANDERS["tree"]], "bystander on the tree (h35)")
        _bars(grid[1, 0], seeds)
        _times(grid[1, 1], seeds)
        handles, labels = grid[1, 0].get_legend_handles_labels()
        made.legend(handles, labels, loc="outside lower center", ncols=len(labels))


def _traces(axes: Axes, runs: Runs, nodes: Sequence[str], title: str) -> None:
    """The mean over NICs of the credits used, by sampling period."""
    for name in (NONE, *THROTTLED):
        who = pl.col("node").cast(pl.String).is_in(nodes)
        found = runs[name].table("throttle").filter(who).group_by("start_ps").agg(pl.col("used_mean").mean())
        line = found.sort("start_ps").collect()
        colour, dash = LOOKS[name]
        axes.plot(line["start_ps"] / US, line["used_mean"], color=colour, ls=dash, label=name, lw=1)
    for threshold in (ENTER, ESCAPE):
        axes.axhline(threshold, color=plot.GREY, lw=0.8, ls=":")
    axes.set(
        title=f"credits used: {title}", xlabel="time [µs]", ylabel="flits of 16 B", xlim=(0, END_US), ylim=(0, None)
    )


def _bars(axes: Axes, seeds: Seeds) -> None:
    """Goodput of the hot port and of each bystander."""
    places = ["incast", *BYSTANDERS]
    for number, name in enumerate(RUNS):
        heights = [mean([late(runs[name], traffic) for runs in seeds]) for traffic in places]
        at = [place + (number - len(RUNS) / 2 + 0.5) * 0.1 for place in range(len(places))]
        look = {"color": LOOKS[name][0], "hatch": "///" if " " in name else ""}
        axes.bar(at, heights, 0.09, label=name, edgecolor="white", lw=0, **look)
    labels = ("hot port\n(23 senders)", "edge:\nh2 to h1", "tree:\nh35 to h48", "own:\nh12, a sender")
    axes.set_xticks(range(len(places)), labels)
    axes.set(title="goodput, 300 to 600 µs", ylabel="Gbps")
    axes.tick_params(axis="x", length=0)


def _times(axes: Axes, seeds: Seeds) -> None:
    """How many senders have been cut how long after the incast began."""
    for name in (*THROTTLED, DCQCN):
        found = cuts(seeds[0][name])
        colour, dash = LOOKS[name]
        axes.step(found, range(1, len(found) + 1), where="post", color=colour, ls=dash)
    axes.axvline(ROUND_TRIP_US, color=plot.GREY, ls=":", lw=1)
    axes.annotate("round trip", (ROUND_TRIP_US, 0.5), (3, 0), textcoords="offset points", fontsize=7, color=plot.GREY)
    axes.set(title="senders in Congested; under DCQCN below line rate", xlabel="time since the incast began [µs]")
    axes.set(xscale="log", ylim=(0, len(SENDERS) + 1))


def tables(seeds: Seeds) -> Sequence[NumberTable]:
    rows = []
    for name in RUNS:
        shares = [f"{mean([late(runs[name], traffic) for runs in seeds]):.2f}" for traffic in ("incast", *BYSTANDERS)]
        first = [cut for runs in seeds if (cut := first_cut(runs[name])) is not None]
        half = [cut for runs in seeds if (cut := half_cut(runs[name])) is not None]
        held = [at for runs in seeds if name != DCQCN and (at := first_held(runs[name])) is not None]
        times = [f"{mean(one):.2f}" if one else "never" for one in (first, half, held)]
        kept = "–" if name == DCQCN else f"{mean([used(runs[name], SENDERS, STEADY_US, END_US) for runs in seeds]):.0f}"
        rows.append((name, *shares, kept, *times))
    headings = (
        "",
        "hot port",
        "edge",
        "tree",
        "own",
        "credits used by senders",
        "first cut [µs]",
        "half cut [µs]",
        "held by [µs]",
    )
    return [NumberTable("goodput in Gbps from 300 to 600 µs; when senders were cut", headings, tuple(rows))]
