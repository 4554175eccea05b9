"""How Figures 1 and 2 are drawn."""

from __future__ import annotations

from papers.ici import measured
from papers.ici.measured import ISOLATING
from papers.ici.panels import (
    BECNS,
    JAIN,
    MARKS,
    REFUSALS,
    SLOTS,
    VICTIMS,
    background,
    bars,
    becns_and_peaks,
    distribution,
    hot,
    pauses_by_lane,
)
from papers.ici.times import fct, latency

LATENCY = distribution(
    lambda run: latency(run, tree=False), "background packets, from the source's wire", "latency [µs]"
)
MADE = distribution(fct, "background messages", "FCT [µs]")
HOT_LATENCY = distribution(lambda run: latency(run, tree=True), "hot packets, from the source's wire", "latency [µs]")
P99 = bars(
    lambda run: latency(run, tree=False).percentiles["p99"],
    "99th percentile, background packets",
    "latency [µs]",
    scale="log",
)
P99_MADE = bars(
    lambda run: fct(run).percentiles["p99"], "99th percentile, background messages", "FCT [µs]", scale="log"
)
OTHERS = bars(measured.entries_for_others, "entries for flows to other hosts", "entries", ISOLATING, scale="counts")

#: The panels of Figure 1, and all but the last two of Figure 2.
ROWS = (
    (background(), hot(), BECNS, MARKS),
    (LATENCY, MADE, HOT_LATENCY, SLOTS),
    (P99, becns_and_peaks, pauses_by_lane, REFUSALS),
    (JAIN, OTHERS, VICTIMS, P99_MADE),
)
