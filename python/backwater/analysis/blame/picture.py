"""The picture of blame: a lane for each root and branch over time; under them how good the marks were."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import polars as pl
from matplotlib.axes import Axes
from matplotlib.patches import Patch

from backwater.analysis import plot
from backwater.analysis.blame import report
from backwater.analysis.blame.analysis import Blame

#: As many lanes as fit a page: roots first, then the branches that were OFF for longest, switches before a few hosts.
_LANES, _HOSTS = 16, 4
_ROOT, _HELD, _OFF = plot.VERMILLION, plot.SKY, plot.OFF_COLOUR
_PRECISION, _RECALL = plot.BLUE, plot.ORANGE


def draw(blame: Blame, file: Path, bin_ps: int) -> Path:
    """Draw the picture to a file whose ending chooses the format."""
    lanes = _lanes(blame)
    curves = blame.curves(bin_ps) if blame.brief is not None else None
    end_ms = int(blame.results.meta["sim_time_ps"]) / 1e9
    height = 0.28 * max(3, len(lanes)) + (5.1 if curves is not None else 1.4)
    height += 0.0 if curves is None or plot.columns(2) > 1 else 0.5
    with plot.picture(
        file, "Congestion roots and the ports they hold back", 8.6, height, fontsize=12, fontweight="bold"
    ) as made:
        ratios = [0.28 * max(3, len(lanes)), 1.7, 1.7] if curves is not None else [1.0]
        rows = made.subplots(len(ratios), 1, squeeze=False, sharex=True, gridspec_kw={"height_ratios": ratios})
        _bands(rows[0][0], blame, lanes)
        if curves is not None:
            _curves(rows[1][0], blame, curves, bin_ps, ("precision", "recall"))
            _curves(rows[2][0], blame, curves, bin_ps, ("flow_precision", "flow_recall"))
        rows[-1][0].set_xlabel("time [ms]")
        rows[0][0].set_xlim(0, end_ms)
        named = {"root: queue above K, not held": _ROOT, "held": _HELD, "OFF": _OFF}
        patches = [Patch(facecolor=colour, label=name) for name, colour in named.items()]
        made.legend(handles=patches, loc="outside lower center", ncols=plot.columns(len(named), 2))
    return file


def _lanes(blame: Blame) -> list[tuple[int, str]]:
    """The queues that are drawn, from the top."""
    roots = report.shown_roots(blame).filter(pl.col("root_port").is_not_null())
    lanes = dict(roots.select("root", "root_port").head(_LANES // 2).iter_rows())
    branches = blame.branches.group_by("queue", "branch", "at_host").agg(pl.col("weighted_ps").sum())
    ordered = branches.sort("at_host", "weighted_ps", "queue", descending=[False, True, False])
    chosen = pl.concat([ordered.filter(~pl.col("at_host")), ordered.filter("at_host").head(_HOSTS)])
    for queue, name in chosen.select("queue", "branch").iter_rows():
        if len(lanes) < _LANES:
            lanes.setdefault(queue, name)
    return list(lanes.items())


def _bands(axes: Axes, blame: Blame, lanes: Sequence[tuple[int, str]]) -> None:
    held = blame.gates.held.select("queue", start_ps="start", end_ps="end")
    off = blame.gates.off.select("queue", start_ps="off_ps", end_ps="on_ps")
    crowd = blame.crowding.filter(~pl.col("is_held")).select("queue", "start_ps", "end_ps").unique()
    for height, (queue, _) in enumerate(reversed(lanes)):
        for spans, colour, low, tall in ((held, _HELD, 0.1, 0.8), (off, _OFF, 0.3, 0.4), (crowd, _ROOT, 0.1, 0.8)):
            own = spans.filter(pl.col("queue") == queue).sort("start_ps")
            boxes = own.select(pl.col("start_ps") / 1e9, (pl.col("end_ps") - pl.col("start_ps")) / 1e9)
            axes.broken_barh(list(boxes.iter_rows()), (height + low, tall), facecolors=colour, linewidth=0)
    axes.set_ylim(0, max(1, len(lanes)))
    axes.set_yticks([height + 0.5 for height in range(len(lanes))], [name for _, name in reversed(lanes)])
    axes.tick_params(axis="y", length=0)
    axes.grid(visible=False)
    if not lanes:
        axes.text(0.5, 0.5, "no root and no hold", transform=axes.transAxes, ha="center", va="center")


def _curves(axes: Axes, blame: Blame, curves: pl.DataFrame, bin_ps: int, names: tuple[str, str]) -> None:
    """Precision and recall in percent; of flows, a flow counts in each bin for itself."""
    whole = ("precision of CE marks", "recall: packets that left with CE")
    kinds = whole if names[0] == "precision" else ("precision of flows", "recall of flows")
    for name, kind, colour, offset in zip(names, kinds, (_PRECISION, _RECALL), (0.48, 0.52), strict=True):
        known = curves.filter(pl.col(name).is_not_null())
        middle = (known["time_ps"] + offset * bin_ps).to_numpy() / 1e9
        total = None if blame.score is None else getattr(blame.score, name)
        axes.plot(
            middle,
            100 * known[name].to_numpy(),
            color=colour,
            marker="." if known.height < 40 else "",
            linestyle="-" if name.endswith("precision") else "--",
            label=f"{kind}, whole run {report.percent(total)}",
        )
    axes.set_ylim(-4, 104)
    axes.set_ylabel("[%]")
    axes.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=plot.columns(2), borderaxespad=0.2)
