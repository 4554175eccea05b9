"""The events of one PUT stream: when the sign of congestion leaves, when it acts, what is dropped and sent again."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import polars as pl

from papers.ec.measured import US

if TYPE_CHECKING:
    from backwater.results import Results

#: Signs of congestion, as they leave the target.
SIGNS = ("marked-sent", "dack-sent")
HALTED = "H-1"


@dataclass(frozen=True)
class Trace:
    """The events of a run's one stream, in the order of time."""

    events: pl.DataFrame

    @classmethod
    def of(cls, run: Results) -> Trace:
        """Read from the table of PUT events."""
        columns = ["time_ps", "seq", "queue_bytes", pl.col("event", "state").cast(pl.String)]
        return cls(run.table("puts").select(columns).sort("time_ps", maintain_order=True).collect())

    def only(self, *events: str) -> pl.DataFrame:
        """The events of these kinds."""
        return self.events.filter(pl.col("event").is_in(events))

    def count(self, *events: str) -> int:
        """How many there are."""
        return self.only(*events).height

    def first_us(self, *events: str) -> float | None:
        """When the first of them was, in µs."""
        first = self.only(*events)["time_ps"].min()
        return None if first is None else float(first) / US  # type: ignore[arg-type]

    def halted_us(self) -> float | None:
        """When the stream was first throttled."""
        first = self.only("state").filter(pl.col("state") == HALTED)["time_ps"].min()
        return None if first is None else float(first) / US  # type: ignore[arg-type]

    def sent_between(self, start_us: float, end_us: float) -> int:
        """New packets that left in a stretch of time."""
        return self.only("sent").filter(pl.col("time_ps").is_between(int(start_us * US), int(end_us * US))).height

    def queue_from(self, start_us: float) -> pl.Series:
        """Bytes in the receive queue as packets come in, from then on."""
        return self.only("accepted").filter(pl.col("time_ps") >= int(start_us * US))["queue_bytes"]
