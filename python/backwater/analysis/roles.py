"""Which hosts have which ranks: congestors and network tests of GPCNeT, roles of programs."""

from __future__ import annotations

from typing import Any

from rich.table import Table

from backwater.common import quantities, terminal
from backwater.common.late import pl
from backwater.results import Results


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
