"""Table 3 on InfiniBand: the share of victims that get a CE mark, under FECN and under TCD."""

from __future__ import annotations

from papers.tcd.marked import Rows

ROWS = Rows(
    plain="fecn",
    paper={"fecn": 13.5, "tcd": 0.0},
    labels={
        "fecn": "FECN",
        "tcd": "TCD",
        "tcd T=Tc": "TCD,\nT = Tc",
        "tcd rise": "TCD,\nflowchart",
    },
    loads=(0.2, 0.3, 0.5, 0.6),
    things="messages",
)
metrics, draw = ROWS.metrics, ROWS.draw
