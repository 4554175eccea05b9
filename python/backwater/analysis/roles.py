"""Which hosts have which ranks, congestors and network tests of GPCNeT and roles of programs; how long ranks waited."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from rich.table import Table

from backwater.common import quantities, terminal
from backwater.common.late import pl
from backwater.results import Results, measures


def of(results: Results) -> list[dict[str, Any]]:
    """One row for each role of each traffic entry with ranks: `traffic`, `role`, `ranks`, `nodes` (names, in order)."""
    if not results.has("ranks"):
        return []
    named = pl.col("traffic", "role", "node").cast(pl.String)
    rows = results.ranks.select(named, pl.col("rank", "node_index")).collect().sort("rank")
    found = rows.group_by("traffic", "role", maintain_order=True).agg(
        pl.len().alias("ranks"), pl.col("node").sort_by("node_index").unique(maintain_order=True).alias("nodes")
    )
    return found.sort("traffic", maintain_order=True).to_dicts()


def table(rows: list[dict[str, Any]]) -> Table:
    """The rows, with the names of all hosts."""
    drawn = terminal.table("Ranks: what they are and where", ("traffic", "role"), ("ranks", "hosts"))
    drawn.add_column("which", overflow="fold")
    for row in rows:
        counts = [quantities.count(number) for number in (row["ranks"], len(row["nodes"]))]
        drawn.add_row(row["traffic"], row["role"], *counts, ", ".join(row["nodes"]))
    return drawn


def waits(results: Results) -> Iterator[str]:
    """Of each program which of its ranks waited least, whom others may have waited for, and which most; in words."""
    if not results.has("ranks"):
        return
    congestion = measures.of_kind(results.meta["scenario"], "gpcnet")
    named = pl.col("traffic").cast(pl.String)
    numbers = pl.col("number", "waited_ps").cast(pl.Int64)
    every = results.ranks.select(named, numbers).filter(~named.is_in(congestion)).collect()
    for (name,), ranks in every.sort("traffic", "waited_ps", "number").group_by("traffic", maintain_order=True):
        least, most = ranks.row(0, named=True), ranks.row(-1, named=True)
        if least["waited_ps"] == most["waited_ps"]:
            yield f"{name}: each rank waited for messages and requests for {_time(most['waited_ps'])}"
        else:
            yield (
                f"{name}: rank {least['number']} waited least for messages and requests, {_time(least['waited_ps'])}, "
                f"and rank {most['number']} most, {_time(most['waited_ps'])}"
            )


def _time(ps: int) -> str:
    return quantities.time(ps) if ps else "0"
