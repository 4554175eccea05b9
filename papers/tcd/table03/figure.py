"""Table 3 on Ethernet: the share of victims that get a CE mark, under ECN and under TCD."""

from __future__ import annotations

from papers.tcd.marked import Rows

ROWS = Rows(
    plain="ecn",
    paper={"ecn": 26.6, "tcd": 0.0},
    labels={
        "ecn": "ECN",
        "tcd": "TCD",
        "tcd rise": "TCD,\nflowchart",
        "ecn common": "ECN,\ncommon\nsizes",
        "tcd common": "TCD,\ncommon\nsizes",
    },
    loads=(0.6, 0.8, 1.0, 1.2),
    things="flows",
)
metrics, draw = ROWS.metrics, ROWS.draw
