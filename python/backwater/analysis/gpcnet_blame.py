"""The ground truth of a run of GPCNeT by what its nodes do: who fed the congestion roots, and who was held back."""

from __future__ import annotations

from typing import Any

from rich.table import Table

from backwater.analysis.blame import Blame
from backwater.common import quantities, terminal
from backwater.common.late import pl

#: What a run must record for it, as overrides.
PROBES = ("probe.blame=true", "probe.pauses=true", "probe.marks=true", "probe.dependencies=true")


def by_role(blame: Blame) -> pl.DataFrame:
    """A row for each role of nodes that send: its `culprits`, `victims`, `unaffected`, and its `share` of the roots.

    A share is of the bytes that fed roots. A node has one role.
    """
    role = pl.col("role").cast(pl.String).first()
    nodes = blame.results.ranks.group_by(src=pl.col("node").cast(pl.String)).agg(role=role).collect()
    sent = blame.feeding.group_by("flow").agg(pl.col("sent_bytes").sum())
    flows = blame.flows.with_columns(pl.col("src").cast(pl.String)).join(nodes, on="src")
    flows = flows.join(sent, on="flow", how="left")
    counts = {f"{word}s" if word != "unaffected" else word: word for word in ("culprit", "victim", "unaffected")}
    rows = flows.group_by("role").agg(
        *((pl.col("verdict") == word).sum().alias(name) for name, word in counts.items()),
        sent_bytes=pl.col("sent_bytes").sum(),
    )
    every = max(1, int(rows["sent_bytes"].sum()))
    return rows.with_columns(share=pl.col("sent_bytes") / every).sort("share", "role", descending=[True, False])


def table(blame: Blame) -> Table:
    """The same for the terminal."""
    headings = ["of the roots' bytes", "culprits", "victims", "unaffected"]
    made = terminal.table("Who fed the congestion roots", ["role"], headings)
    for row in by_role(blame).to_dicts():
        counts = [quantities.count(row[name]) for name in ("culprits", "victims", "unaffected")]
        made.add_row(row["role"], f"{100 * row['share']:.1f} %", *counts)
    made.caption = "flows by the role of the node that sends; culprits fed a root, victims waited for one"
    return made


def values(blame: Blame) -> list[dict[str, Any]]:
    """The same as plain values."""
    return by_role(blame).to_dicts()
