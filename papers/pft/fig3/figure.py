"""Figure 3: how many processes have which latency beside congestors, without throttling and with each strategy."""

from papers.pft.histograms import Quantity

_QUANTITY = Quantity("lat", "latency", "µs", title="Figure 3: processes by latency")
metrics, draw, tables = _QUANTITY.metrics, _QUANTITY.draw, _QUANTITY.tables
