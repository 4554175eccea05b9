"""The rows of a table of message sizes in the simulator: one queue pair through one switch, with the fitted profile."""

from __future__ import annotations

import math
import tempfile
from pathlib import Path

from backwater import _core
from backwater.analysis.nic_fit import Fit, Link
from backwater.analysis.nic_table import Row
from backwater.common.late import pl
from backwater.scenario.nic_profile import Values, tables

#: So many bytes are sent at least between the two acknowledgements that a rate is taken from, in so many messages.
_BYTES, _FEWEST, _MOST = 4 << 20, 4, 4096


def simulated(fit: Fit) -> list[float]:
    """Gbps of each row, in the order of the rows."""
    values = fit.values
    return [_gbps(row, fit.link, values) for row in fit.rows]


def scenario(row: Row, link: Link, values: Values, messages: int) -> str:
    """The scenario of a row: so many messages in a closed loop."""
    rate = round(link.rate * 1e6)
    return "\n".join(
        [
            'profile = "roce"',
            f'topology = {{ kind = "star", hosts = 2, rate = "{rate}Kbps", delay = "{round(link.delay * 1e3)}ps" }}',
            f'packet = {{ payload = "{link.payload}B", header = "{link.header}B" }}',
            f'ack = {{ size = "{link.ack}B" }}',
            'cc = { kind = "none" }',
            'switch = { detector = { kind = "none" } }',
            *tables(values),
            "[[traffic]]",
            'name = "loop"',
            'kind = "closed-loop"',
            'from = "h1"',
            'to = "h0"',
            f'size = "{row.size}B"',
            f"depth = {row.depth}",
            f"messages = {messages}",
        ]
    )


def _gbps(row: Row, link: Link, values: Values) -> float:
    """Between two acknowledgements: what begins a run counts for nothing."""
    more = min(max(math.ceil(_BYTES / row.size), _FEWEST), _MOST)
    # Messages that are under way together may come together.
    more = math.ceil(more / row.depth) * row.depth if row.depth <= _FEWEST**2 else more
    text = scenario(row, link, values, row.depth + more)
    with tempfile.TemporaryDirectory() as folder:
        _core.Scenario(text, "calibrate", ".", []).run(folder)
        acked = pl.read_parquet(Path(folder) / "flows.parquet")["acked_ps"].sort()
    return more * row.size * 8e3 / int(acked[-1] - acked[row.depth - 1])
