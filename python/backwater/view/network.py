"""The network of a run as the page draws it: nodes, and egress ports by number, read from the table of ports."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from backwater.analysis.blame.tables import read
from backwater.common.late import NDArray, np, pl
from backwater.results import Results
from backwater.view.encode import Columns

_TOTALS = ("sent_bytes", "pauses", "paused_ps", "ce_marks", "ue_marks")
#: A queue's number is that of its port times this, plus the priority: see `blame.tables.queue_of`.
_PRIORITIES = 8
_PORTS = 65_536


@dataclass(frozen=True)
class Network:
    """`ports` has one row per egress port, in order of `key` (node and port number); its row is the port's number."""

    nodes: list[str]
    ports: pl.DataFrame

    def numbers(self, keys: pl.Series) -> NDArray[np.int64]:
        """The ports' numbers from their keys; -1 for a key that is none."""
        known = self.ports["key"].to_numpy()
        if not known.size:
            return np.full(len(keys), -1, dtype=np.int64)
        wanted = keys.cast(pl.Int64).fill_null(-1).to_numpy()
        found = np.searchsorted(known, wanted).clip(max=known.size - 1)
        return np.where(known[found] == wanted, found, -1).astype(np.int64)

    def of_queues(self, queues: pl.Series) -> NDArray[np.int64]:
        """The ports' numbers from numbers of queues."""
        return self.numbers(queues // _PRIORITIES)

    def with_drains(self, drains: pl.DataFrame) -> Network:
        """The same with the drains of slow hosts (`queue`, `port`, `priority`) as ports from a host to itself."""
        fresh = drains.select(key=pl.col("queue") // _PRIORITIES, port="port").unique("key", keep="first")
        node = (pl.col("key") // _PORTS).alias("node_index")
        added = fresh.with_columns(node, peer_index=node, is_drain=pl.lit(value=True))
        return Network(self.nodes, pl.concat([self.ports, added], how="diagonal_relaxed").sort("key"))


def key_of(node: str = "node_index", port: str = "port_index") -> pl.Expr:
    """One number for an egress port."""
    return pl.col(node).cast(pl.Int64) * _PORTS + pl.col(port).cast(pl.Int64)


def network(results: Results) -> Network:
    """The network; raises UsageError for a table of another version."""
    where = ["node", "peer", "port", "node_index", "port_index", "peer_index", "priority", "rate_bps"]
    frame = read(results, "ports", [*where, *_TOTALS, "peak_queue_bytes"]).with_columns(key=key_of())
    ports = (
        frame.group_by("key")
        .agg(
            pl.col("node", "peer", "port", "node_index", "peer_index", "rate_bps").first(),
            pl.col(*_TOTALS).sum(),
            pl.col("peak_queue_bytes").max(),
            is_drain=pl.lit(value=False),
        )
        .sort("key")
    )
    ends = pl.concat([ports.select("node", "node_index"), ports.select(node="peer", node_index="peer_index")])
    known = ends.unique().sort("node_index")
    count = int(known["node_index"].max()) + 1 if known.height else 0  # type: ignore[arg-type]
    names = [f"node {index}" for index in range(count)]
    for name, index in known.iter_rows():
        names[index] = name
    return Network(names, ports)


def places(results: Results, count: int) -> dict[str, list[Any]] | None:
    """Where run.json says that nodes stand: `tier`, `group` (None for none), `at` (coordinates, maybe none).

    None if it does not say, or not of as many nodes.
    """
    nodes = results.meta.get("network", {}).get("nodes", {})
    found = {name: nodes.get(name) for name in ("tier", "group", "at")}
    if all(isinstance(values, list) and len(values) == count for values in found.values()):
        return found
    return None


def sizes(results: Results, found: Network) -> tuple[int, int]:
    """How many hosts, which stand in tier 0, and how many switches; without tiers those with one link are hosts."""
    known = places(results, len(found.nodes))
    ports = found.ports.filter(~pl.col("is_drain")).group_by("node_index").len()["len"]
    hosts = known["tier"].count(0) if known else int((ports == 1).sum())
    return hosts, len(found.nodes) - hosts


def add(columns: Columns, found: Network, tick_ps: int) -> list[str]:
    """Put the ports into the columns; returns their labels."""
    ports = found.ports
    filled = ports.with_columns(pl.col(pl.Int64).fill_null(0))
    for name in ("node_index", "peer_index"):
        columns.add(f"ports.{name.removesuffix('_index')}", filled[name].to_numpy(), delta=True)
    columns.add("ports.rate_mbps", (filled["rate_bps"] // 1_000_000).to_numpy())
    columns.add("ports.drain", filled["is_drain"].cast(pl.Int8).to_numpy())
    columns.add("ports.paused", (filled["paused_ps"] // tick_ps).to_numpy())
    for name in ("sent_bytes", "pauses", "ce_marks", "ue_marks", "peak_queue_bytes"):
        columns.add(f"ports.{name}", filled[name].to_numpy())
    return [str(label) for label in ports["port"].to_list()]


def facts(results: Results) -> dict[str, Any]:
    """What kind of run it was, in a few words for the page's head."""
    scenario = results.meta["scenario"]
    switch = scenario.get("switch", {})
    isolation = switch.get("isolation", {}).get("kind")
    found = {
        "topology": scenario.get("topology", {}).get("kind"),
        "detector": switch.get("detector", {}).get("kind"),
        "cc": scenario.get("cc", {}).get("kind"),
        "flow_control": switch.get("flow-control"),
        "isolation": "ici+" if isolation == "ici-plus" else isolation,  # as its paper writes it
        "seed": results.meta["seed"],
    }
    return {name: value for name, value in found.items() if value is not None}
