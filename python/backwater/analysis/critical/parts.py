"""Where the wait of a message went, and who is to blame.

The pieces of a wait are recorded, and add up to it exactly. Whom they are laid to is an attribution: the traffic that
left the congested queue meanwhile, as `backwater blame` knows it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice, product
from typing import Any

from backwater.analysis import puts
from backwater.analysis.blame import Blame, losses
from backwater.analysis.blame.tables import queue_of, read
from backwater.analysis.critical.path import Path
from backwater.common import quantities
from backwater.common.late import pl
from backwater.errors import UsageError
from backwater.results import Results

#: Of the source, by the columns of the flows table.
_AT_SOURCE = {
    "connection_wait_ps": "behind earlier messages of its connection",
    "paced_ps": "paced",
    "nic_held_ps": "held back",
    "nic_queue_ps": "behind other frames of its NIC",
    "recovery_ps": "until it was sent again",
}
#: In the network, by the columns of split waits.
_ON_THE_WAY = {
    "gate_ps": "held back",
    "backlog_ps": "in a held queue",
    "queue_ps": "in the queue",
    "drain_ps": "in the receive queue",
}
#: Of a message between ranks, whose queue pair has many.
_BEFORE_IT_LEFT = "at its source"
#: Packets of such queue pairs that are sent again have waits which nobody tells from those of what arrived.
_AGAIN = "on its way or sent again"
_NOTE = (
    "the waits of messages between ranks whose queue pair sent packets again stand in one piece: "
    "what was lost is not told from what waited"
)
#: Shares of traffic below this are not named.
_WORTH = 0.05


@dataclass(frozen=True)
class Blamed:
    """Who a piece of a wait is laid to."""

    #: The port where it began; of a queue itself, that port.
    root: str | None
    #: The part of what left that queue meanwhile that each traffic entry had.
    traffic: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Piece:
    """A piece of a wait: at a place, in picoseconds. What a message waits alone, too, is taken off: a negative one."""

    place: str
    how: str
    ps: int
    #: Where to look for who is to blame: the column, the flow, the egress queue if there is one, from when to when.
    cause: tuple[str, dict[str, Any], int, tuple[int, int]] | None = None


#: So many ways to choose waits are tried.
_TRIED = 10_000


def _that_add_up(waits: list[dict[str, Any]], waited: int) -> list[dict[str, Any]] | None:
    """Of these waits one or none in each queue, which together are as long as this."""
    queues: dict[int, list[dict[str, Any] | None]] = {}
    for wait in waits:
        queues.setdefault(wait["queue"], [None]).append(wait)
    for chosen in islice(product(*queues.values()), _TRIED):
        found = [wait for wait in chosen if wait is not None]
        if sum(wait["end_ps"] - wait["start_ps"] for wait in found) == waited:
            return found
    return None


class Parts:
    """The pieces of the waits of a path's messages."""

    def __init__(self, results: Results, path: Path) -> None:
        self._path = path
        self.notes: list[str] = []
        self._results = results
        messages = path.graph.messages[path.rows]
        self._flows = messages["flow"].unique().to_list()
        place = ("src_index", "src_port_index", "priority")
        columns = ["flow", *losses.SOURCE, *losses.END, "ideal_wait_ps", "acked_ps", *place]
        columns.append("resent_packets")
        known = read(results, "flows", columns).filter(pl.col("flow").is_in(self._flows))
        self._known = {row["flow"]: row for row in known.to_dicts()}
        self._blame: Blame | None = None
        try:
            self._blame = Blame(results)
        except UsageError as error:
            self.notes.append(f"where in the network messages waited is not known: {error}")
        self._waits: dict[int, list[dict[str, Any]]] = {}
        if self._blame is not None:
            found = self._blame
            split = losses.split_waits(results, found.own, found.queues, found.copies, self._flows)
            for row in split.sort("start_ps").to_dicts():
                self._waits.setdefault(row["flow"], []).append(row)
            self._labels = found.labels()

    def of(self, row: int) -> list[Piece]:
        """The pieces of the wait of a row of the messages; they add up to it."""
        message = self._path.graph.messages.row(row, named=True)
        back: list[Piece] = []
        if message["what"] == "acked" and (there := self._received(message)) is not None:
            back = [Piece(message["dst"], "acknowledgement on its way back", message["wait_ps"] - there["wait_ps"])]
            message = there
        again = self._sends_again and self._known[message["flow"]]["resent_packets"]
        if again and (message["message"] is not None or message["what"] == "sent"):
            pieces = [Piece(message["dst"], _AGAIN, message["wait_ps"])]
            self._note(_NOTE)
        elif message["message"] is not None:
            pieces = list(self._between_ranks(message))
        else:
            pieces = self._of_flow(message)
        return [piece for piece in [*pieces, *back] if piece.ps]

    def _of_flow(self, message: dict[str, Any]) -> list[Piece]:
        """The same of a message that is a flow."""
        flow = self._known[message["flow"]]
        pieces = list(self._source(message, flow))
        if message["what"] != "sent":
            pieces += self._network(message)
            pieces.append(Piece(message["dst"], "reordered", flow["reorder_wait_ps"]))
        if self._blame is not None and message["what"] != "sent":
            pieces.append(Piece(message["dst"], "less alone", -flow["ideal_wait_ps"]))
        rest = message["wait_ps"] - sum(piece.ps for piece in pieces)
        where = "not explained" if self._blame is not None or message["what"] == "sent" else "in the network"
        return [*pieces, Piece(message["dst"], where, rest)]

    def _note(self, note: str) -> None:
        if note not in self.notes:
            self.notes.append(note)

    @cached_property
    def _sends_again(self) -> bool:
        """Whether its queue pairs send again what is lost; streams of PUTs tell their losses elsewhere."""
        return self._path.graph.traffic not in puts.entries(self._results)

    def _between_ranks(self, message: dict[str, Any]) -> Iterator[Piece]:
        """The same of a message on a queue pair between ranks: until its last packet left, and that packet's waits."""
        start, whole = message["start_ps"], message["wait_ps"]
        left = self._sent.get((message["flow"], message["message"]))
        before = whole if message["what"] != "received" else left["wait_ps"] if left is not None else 0
        cause = ("beside_ranks", message, 0, (start, left["time_ps"] if left is not None else message["time_ps"]))
        yield Piece(message["src"], _BEFORE_IT_LEFT, before, cause)
        if message["what"] != "received":
            return
        waits = self._waits_of(message, None if left is None else whole - before)
        for wait in waits or ():
            for column, how in _ON_THE_WAY.items():
                cause = (column, message, wait["queue"], (wait["start_ps"], wait["end_ps"]))
                yield Piece(self._labels.get(wait["queue"], "?"), how, wait[column], cause)
        rest = whole - before - sum(wait[column] for wait in waits or () for column in _ON_THE_WAY)
        if waits is None:
            yield Piece(message["dst"], "in the network", rest)
        elif rest < 0:
            yield Piece(message["dst"], "less alone", rest)
        elif left is None:
            yield Piece(message["src"], _BEFORE_IT_LEFT, rest, ("beside_ranks", *cause[1:]))
        else:
            spread = self._results.meta["scenario"]["switch"].get("load-balancing", "ecmp") != "ecmp"
            yield Piece(message["dst"], "reordered" if spread else "not explained", rest)

    def _waits_of(self, message: dict[str, Any], waited: int | None) -> list[dict[str, Any]] | None:
        """The waits of the last packet of a message between ranks; None: nobody knows which of its flow's they are.

        The last packets of a flow's messages are mostly on the way one at a time. Of several, a message has those
        waits, at most one in each queue, that add up to what it waited in the network, if that is known.
        """
        if self._blame is None:
            return None
        spans = self._on_the_way[message["flow"]]
        start, end = spans[message["message"]]
        found = [
            wait for wait in self._waits.get(message["flow"], ()) if start <= wait["start_ps"] <= wait["end_ps"] <= end
        ]
        for number, (other_start, other_end) in spans.items():
            if number != message["message"] and any(
                other_start <= wait["start_ps"] and wait["end_ps"] <= other_end for wait in found
            ):
                return None if waited is None else _that_add_up(found, waited)
        return found

    @cached_property
    def _sent(self) -> dict[tuple[int, int], dict[str, Any]]:
        """Messages between ranks, by flow and number, until their last bit had left."""
        rows = self._path.graph.messages.filter((pl.col("what") == "sent") & pl.col("message").is_not_null())
        return {(row["flow"], row["message"]): row for row in rows.to_dicts()}

    @cached_property
    def _on_the_way(self) -> dict[int, dict[int, tuple[int, int]]]:
        """By flow and number of a message between ranks: from when to when its last packet may have been on the way."""
        spans: dict[int, dict[int, tuple[int, int]]] = {}
        rows = self._path.graph.messages.filter((pl.col("what") == "received") & pl.col("message").is_not_null())
        for flow, number, start, end in rows.select("flow", "message", "start_ps", "time_ps").iter_rows():
            left = self._sent.get((flow, number))
            spans.setdefault(flow, {})[number] = (start if left is None else left["time_ps"], end)
        return spans

    def _received(self, message: dict[str, Any]) -> dict[str, Any] | None:
        """The row of the same message when all of it was there, if that is known."""
        number = pl.col("message").eq_missing(pl.lit(message["message"], pl.Int64))
        rows = self._path.graph.messages.filter((pl.col("flow") == message["flow"]) & number)
        there = rows.filter(pl.col("what") == "received")
        return there.row(0, named=True) if there.height else None

    def _source(self, message: dict[str, Any], flow: dict[str, Any]) -> Iterator[Piece]:
        queue = (flow["src_index"] * 65_536 + flow["src_port_index"]) * 8 + flow["priority"]
        for column, how in _AT_SOURCE.items():
            cause = (column, message, queue, (message["start_ps"], message["time_ps"]))
            yield Piece(message["src"], how, flow[column], cause)

    def _network(self, message: dict[str, Any]) -> Iterator[Piece]:
        for wait in self._waits.get(message["flow"], ()):
            for column, how in _ON_THE_WAY.items():
                cause = (column, message, wait["queue"], (wait["start_ps"], wait["end_ps"]))
                yield Piece(self._labels.get(wait["queue"], "?"), how, wait[column], cause)

    def blamed(self, piece: Piece) -> Blamed | None:
        """Who a piece is laid to; None: nobody, or nobody knows."""
        if piece.cause is None:
            return None
        column, message, queue, span = piece.cause
        match column:
            case "beside_ranks":
                return self._beside_ranks(message, span)
            case "nic_queue_ps":
                return self._beside(message, span)
            case "paced_ps":
                return self._marked(message["flow"])
            case "nic_held_ps" | "gate_ps" | "backlog_ps":
                return self._held(queue, span)
            case "queue_ps" | "drain_ps":
                return self._crowd(queue, span, message["flow"])
        return None

    def _beside(self, message: dict[str, Any], span: tuple[int, int]) -> Blamed | None:
        """Other messages that the same host sent meanwhile; without any these were ACKs, CNPs or credits."""
        own = self._flow_table.filter(pl.col("src") == message["src"])
        own = own.with_columns(left=pl.col("start_ps") + self._at_source(message["src"]))
        left = own.filter(pl.col("flow") == message["flow"])["left"].item()
        overlaps = (pl.col("start_ps") < left) & (pl.col("finish_ps").is_null() | (pl.col("left") > span[0]))
        others = own.filter(overlaps & (pl.col("flow") != message["flow"]))
        return Blamed(message["src"], self._shares(others, "size_bytes")) if others.height else None

    def _beside_ranks(self, message: dict[str, Any], span: tuple[int, int]) -> Blamed | None:
        """Other messages of ranks and flows that the same host sent meanwhile."""
        during = (pl.col("src") == message["src"]) & (pl.col("start_ps") < span[1])
        name = self._path.graph.traffic
        ranks = self._path.graph.messages.filter(during & (pl.col("time_ps") > span[0]))
        ranks = ranks.filter((pl.col("flow") != message["flow"]) | (pl.col("message") != message["message"]))
        ranks = ranks.unique(["flow", "message"]).select("size_bytes", traffic=pl.lit(name))
        flows = self._flow_table.filter(
            during & (pl.col("traffic") != name) & (pl.col("finish_ps").is_null() | (pl.col("finish_ps") > span[0]))
        )
        others = pl.concat([ranks, flows.select("size_bytes", "traffic")])
        return Blamed(message["src"], self._shares(others, "size_bytes")) if others.height else None

    def _at_source(self, host: str) -> pl.Expr:
        """How long the flows of a host were there: their bytes at its rate, and what they waited."""
        packet = self._results.meta["scenario"]["packet"]
        payload, header = (quantities.parse_size(str(packet[key]).replace(" ", "")) for key in ("payload", "header"))
        ports = self._results.ports.filter(pl.col("node").cast(pl.String) == host)
        rate = ports.select(pl.col("rate_bps").min()).collect().item()
        size = pl.max_horizontal("size_bytes", 1)
        wire = (size + (size / payload).ceil() * header) * 8e12 / rate
        return pl.sum_horizontal(wire.cast(pl.Int64), *losses.SOURCE)

    def _marked(self, flow: int) -> Blamed | None:
        """The port that marked most of the flow's packets: its reaction point slowed down for that."""
        if not self._results.has("marks"):
            return None
        marks = self._results.marks.filter((pl.col("flow") == flow) & (pl.col("code").cast(pl.String) == "CE"))
        ports = (
            marks.group_by(pl.col("port").cast(pl.String)).agg(pl.len()).sort("len", "port", descending=[True, False])
        )
        found = ports.head(1).collect()
        return Blamed(found["port"][0]) if found.height else None

    def _held(self, queue: int, span: tuple[int, int]) -> Blamed | None:
        """The root that held this port back for most of the time, and who fed that."""
        if self._blame is None:
            return None
        off = self._blame.gates.off.filter((pl.col("queue") == queue) & (pl.col("off_ps") < span[1]))
        now = off.filter(pl.col("on_ps") > span[0])
        if not now.height:
            now = off.sort("on_ps").tail(1)
        overlap = pl.min_horizontal("on_ps", pl.lit(span[1])) - pl.max_horizontal("off_ps", pl.lit(span[0]))
        rooted = now.with_columns(ps=overlap.clip(lower_bound=1)).join(self._blame.rooted, on="off")
        sums = rooted.group_by("root").agg((pl.col("ps") * pl.col("weight")).sum(), pl.col("off_ps").min())
        if not sums.height:
            return None
        root, _, since = sums.sort("ps", "root", descending=[True, False]).row(0)
        fed = self._crowd(root, (min(since, span[0]), span[1]), None)
        return Blamed(self._labels.get(root), fed.traffic if fed else {})

    def _crowd(self, queue: int, span: tuple[int, int], flow: int | None) -> Blamed | None:
        """What left a queue meanwhile: by its crowd; while it was short, by the followed packets that waited there."""
        if self._blame is None:
            return None
        during = (pl.col("queue") == queue) & (pl.col("start_ps") < span[1]) & (pl.col("end_ps") > span[0])
        found = self._blame.crowding.filter(during & (pl.col("flow") != (-1 if flow is None else flow)))
        if found.height:
            part = pl.min_horizontal("end_ps", pl.lit(span[1])) - pl.max_horizontal("start_ps", pl.lit(span[0]))
            length = (pl.col("end_ps") - pl.col("start_ps")).clip(lower_bound=1)
            bytes_ = found.with_columns(sent=pl.col("sent_bytes") * part.clip(lower_bound=1) / length)
            return Blamed(self._labels.get(queue), self._shares(bytes_, "sent"))
        others = self._followed.filter(during & (pl.col("flow") != (-1 if flow is None else flow)))
        return Blamed(self._labels.get(queue), self._shares(others, "packets"))

    @cached_property
    def _flow_table(self) -> pl.DataFrame:
        names = ["flow", "traffic", "src", "start_ps", "finish_ps", "size_bytes", *losses.SOURCE]
        return read(self._results, "flows", names)

    @cached_property
    def _followed(self) -> pl.DataFrame:
        """Every wait of a followed packet."""
        names = ["start_ps", "end_ps", "node_index", "port_index", "priority", "flow"]
        return read(self._results, "waits", names).select(
            "start_ps", "end_ps", "flow", queue=queue_of(), packets=pl.lit(1)
        )

    def _shares(self, found: pl.DataFrame, by: str) -> dict[str, float]:
        """The share of each traffic entry in what these flows had, the largest first."""
        named = (
            found if "traffic" in found.columns else found.join(self._flow_table.select("flow", "traffic"), on="flow")
        )
        sums = (
            named.group_by("traffic")
            .agg(pl.col(by).sum().cast(pl.Float64))
            .sort(by, "traffic", descending=[True, False])
        )
        total = sums[by].sum()
        shares = {name: part / total for name, part in sums.iter_rows()} if total else {}
        return {name: share for name, share in shares.items() if share >= _WORTH}
