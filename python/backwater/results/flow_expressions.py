"""What is measured of the flows of a traffic entry, as expressions over the table of flows."""

from __future__ import annotations

from collections.abc import Sequence

from backwater.common import percentiles
from backwater.common.late import pl


def nearest_rank(values: pl.Expr, percent: int) -> pl.Expr:
    """A percentile as in run.json: the smallest value that at least `percent` % of them do not exceed.

    Null of too few (:mod:`backwater.common.percentiles`). `values` has no nulls.
    """
    rank = values.sort().get((values.len() * percent + 99) // 100 - 1, null_on_oob=True)
    return pl.when(values.len() >= percentiles.least(percent)).then(rank)


class Flows:
    """The flows of a traffic entry, as measures ask for them; those of some entries have no ends of their own."""

    def __init__(self, supplied: Sequence[str], programs: Sequence[str], end_ps: int) -> None:
        self.count: pl.Expr = pl.len()
        self.timed: pl.Expr = pl.col("fct_ps").count()
        self.slowdown: pl.Expr = pl.col("slowdown").drop_nulls()
        self.p99_slowdown: pl.Expr = nearest_rank(self.slowdown, 99)
        name = pl.col("traffic").first().cast(pl.String)
        self._sized = ~name.is_in([*supplied, *programs])
        self.finite: pl.Expr = pl.when(self._sized).then(pl.col("size_bytes").count()).otherwise(0)
        self.finished: pl.Expr = pl.when(self._sized).then(pl.col("finish_ps").count())
        self.unfinished: pl.Expr = pl.when(self._sized).then(pl.col("size_bytes").count() - pl.col("finish_ps").count())
        # A channel between ranks has no start of its own.
        start = pl.when(name.is_in(programs)).then(0).otherwise(pl.col("start_ps").min())
        span = pl.col("finish_ps").fill_null(end_ps).max() - start
        times = pl.col("finish_ps").fill_null(end_ps) - pl.col("start_ps")
        rates = pl.col("received_bytes") / times
        alike = (pl.col("size_bytes").n_unique() == 1) & (pl.col("start_ps").n_unique() == 1) & (pl.len() > 1)
        some = (times.min() > 0) & (pl.col("received_bytes").sum() > 0)
        #: Jain et al., DEC-TR-301, 1984: the square of the sum over the number times the sum of the squares.
        self.fairness: pl.Expr = pl.when(self._sized, alike, some).then(
            rates.sum().pow(2) / (pl.len() * rates.pow(2).sum())
        )
        self.goodput: pl.Expr = pl.when(span > 0).then(pl.col("received_bytes").sum() * 8e12 / span)

    def mean(self, column: str) -> pl.Expr:
        """Of flows with ends."""
        return pl.when(self._sized).then(pl.col(column).mean())

    def most(self, column: str) -> pl.Expr:
        """Of flows with ends."""
        return pl.when(self._sized).then(pl.col(column).max())

    def rank(self, column: str, percent: int) -> pl.Expr:
        """A percentile, of flows with ends."""
        return pl.when(self._sized).then(nearest_rank(pl.col(column).drop_nulls(), percent))

    def sum(self, column: str) -> pl.Expr:
        """Of all flows."""
        return pl.col(column).sum()

    def share(self, column: str) -> pl.Expr:
        """In percent of all packets."""
        packets = pl.col("packets").sum()
        return pl.when(packets > 0).then(100 * pl.col(column).sum() / packets)
