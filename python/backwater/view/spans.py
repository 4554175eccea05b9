"""Intervals of ports: cut to what a page can show, and put into columns."""

from __future__ import annotations

from collections.abc import Sequence

from backwater.common.late import pl
from backwater.view.encode import Columns


def merged(frame: pl.DataFrame, by: Sequence[str], keep: str | None = None, gap: int = 0) -> pl.DataFrame:
    """Intervals `start`, `end` that touch or overlap made one, for each `by`; `keep` is a column whose largest is kept.

    With `gap`, intervals that lie no further apart than that are one, too.
    """
    extra = [pl.col(keep).max()] if keep else []
    ordered = frame.sort(*by, "start")
    before = pl.col("end").cum_max().shift(1).over(by)
    begins = (pl.col("start") > before + gap).fill_null(value=True)
    numbered = ordered.with_columns(_part=begins.cast(pl.Int64).cum_sum())
    joined = numbered.group_by(*by, "_part").agg(pl.col("start").min(), pl.col("end").max(), *extra)
    return joined.drop("_part").sort(*by, "start")


def thinned(frame: pl.DataFrame, by: Sequence[str], most: int, step: int) -> tuple[pl.DataFrame, int]:
    """At most about `most` intervals: those that lie closer than a gap are one; the gap begins at `step` and doubles.

    Returns them with the gap, 0 if nothing had to be merged.
    """
    gap = 0
    while frame.height > most:
        gap = max(step, 2 * gap)
        frame = merged(frame, by, gap=gap)
    return frame, gap


def add(columns: Columns, table: str, frame: pl.DataFrame, tick_ps: int, others: Sequence[str] = ()) -> None:
    """Put intervals (`port`, `start`, `end` in ps, in their order, and `others`) into the columns of a table."""
    columns.add(f"{table}.port", frame["port"].cast(pl.Int64).to_numpy(), delta=True)
    start, end = frame["start"].cast(pl.Int64) // tick_ps, frame["end"].cast(pl.Int64) // tick_ps
    columns.add(f"{table}.start", start.to_numpy(), delta=True)
    columns.add(f"{table}.length", (end - start).to_numpy())
    for name in others:
        columns.add(f"{table}.{name}", frame[name].cast(pl.Int64).to_numpy(), delta=True)
