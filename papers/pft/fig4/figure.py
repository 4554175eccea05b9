"""Figure 4: how many processes have which bandwidth beside congestors, without throttling and with each strategy."""

from papers.pft.histograms import Quantity

_QUANTITY = Quantity("bw", "bandwidth", "MiB/s", title="Figure 4: processes by bandwidth")
metrics, draw, tables = _QUANTITY.metrics, _QUANTITY.draw, _QUANTITY.tables
