"""Figure 2: the fat tree of 120 nodes as it is built, and what the text says of the testbed."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import polars as pl
from backwater.analysis import plot
from backwater.papers import Metrics, Runs, Seeds
from backwater.results import Results
from matplotlib.axes import Axes

#: PCIe Gen3 x16: 16 lanes of 8 GT/s, 128 of 130 bits.
PCIE_GBPS = 16 * 8 * 128 / 130
RUN = "built"


def links(run: Results) -> list[tuple[str, str, float]]:
    """Every direction of every link once: from, to, Gbps."""
    columns = (pl.col("node").cast(pl.String), pl.col("peer").cast(pl.String), pl.col("rate_bps"))
    table = run.table("ports").select(columns).unique().collect()
    return sorted((node, peer, rate / 1e9) for node, peer, rate in table.iter_rows())


def metrics(runs: Runs) -> Metrics:
    run = runs[RUN]
    found = links(run)
    up = Counter(node for node, peer, _ in found if node.startswith("s0.") and peer.startswith("s1."))
    down = Counter(node for node, peer, _ in found if node.startswith("s0.") and peer.startswith("h"))
    ratios = {up[edge] / down[edge] for edge in down}
    scenario = run.meta["scenario"]
    rates = [rate for _, _, rate in found]
    return {
        "nodes": len({node for node, _, _ in found if node.startswith("h")}),
        "edge_links_up_over_nodes": ratios.pop() if len(ratios) == 1 else None,
        "link_gbps_least": min(rates),
        "link_gbps_most": max(rates),
        "clock_mhz": scenario["host"]["throttle"]["pft"]["clock-mhz"],
        "pcie_over_link": PCIE_GBPS / max(rates),
        "processes_per_port": scenario["traffic"][0]["ranks-per-host"],
    }


def _place(name: str, width: int) -> tuple[float, float]:
    """Where a node is drawn: nodes at the bottom, in the order of their numbers."""
    number = int(name.rsplit(".", 1)[-1].removeprefix("h"))
    if name.startswith("h"):
        return number, 0.0
    level = int(name[1])
    count = width if level else 10
    return (number + 0.5) * 120 / count - 0.5, 1.0 + level


def draw(seeds: Seeds, file: Path) -> None:
    found = links(seeds[0][RUN])
    spines = len({node for node, _, _ in found if node.startswith("s1.")})
    with plot.picture(
        file, "Figure 2: XGFT(2; 12, 10; 1, 12), links of 100 Gbps and 100 ns (inferred)", 10.5, 3.6
    ) as made:
        axes = made.subplots()
        for node, peer, _ in found:
            (x, y), (to_x, to_y) = _place(node, spines), _place(peer, spines)
            if y < to_y:
                axes.plot([x, to_x], [y, to_y], color=plot.GREY, lw=0.35, zorder=1)
        for node in sorted({node for node, _, _ in found}):
            _node(axes, node, spines)
        axes.text(-9, 2, "12 switches\nof 10 ports", va="center", ha="right", fontsize=8)
        axes.text(-9, 1, "10 switches\nof 24 ports", va="center", ha="right", fontsize=8)
        axes.text(-9, 0, "120 nodes,\n16 ranks each", va="center", ha="right", fontsize=8)
        axes.set(xlim=(-26, 124), ylim=(-0.25, 2.3))
        axes.axis("off")


def _node(axes: Axes, node: str, spines: int) -> None:
    x, y = _place(node, spines)
    host = node.startswith("h")
    axes.plot([x], [y], marker="o" if host else "s", ms=2.5 if host else 13, color=plot.BLUE if host else plot.ORANGE,
              mec=plot.BLACK, mew=0.3, zorder=2)  # fmt: skip
    if not host:
        axes.text(x, y, node.split(".")[1], ha="center", va="center", fontsize=7, zorder=3)
