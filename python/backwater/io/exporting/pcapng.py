"""Frames on the wires of chosen ports as a capture that Wireshark opens."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from backwater import _core
from backwater.common import atomic_files, quantities
from backwater.common.late import pl
from backwater.errors import UsageError
from backwater.results import Results

#: Bits of a quantum of PFC (IEEE 802.3, annex 31B).
_QUANTUM_BITS = 512
_LONGEST_PAUSE = 0xFFFF
#: ECN bits of our code points: not capable, capable (ECT(1)), UE (ECT(0)), CE.
_ECN = {"not-capable": 0, "capable": 1, "UE": 2, "CE": 3}
#: What PUT streams send, in the words of RoCE. No standard has frames that hold queues or give back windows: they look
#: like CIMs here.
_BETWEEN_SWITCHES = ("hold", "aside", "free", "merge", "return")
_LIKE = {"put": "data", "put-ack": "ack", "put-nack": "nack", "halt": "cnp"} | dict.fromkeys(_BETWEEN_SWITCHES, "cim")


def write(run: Results, out: Path, ports: list[str], snap: int) -> tuple[int, list[str]]:
    """Write the frames of these ports, or of all that were recorded; returns how many, and the ports."""
    if not run.has("frames"):
        raise UsageError(
            f"{run.folder} has no table of frames; run the scenario again with the ports to capture, such as "
            "--set 'probe.frames=[\"P2\"]'"
        )
    frames = run.frames.sort("sent_ps", "node_index", "port_index").with_columns(pl.col("port").cast(pl.String))
    known = frames.select(pl.col("port").unique().sort()).collect()["port"].to_list()
    chosen = [run.port(port) for port in ports] or known
    for port in chosen:
        if port not in known:
            raise UsageError(
                f"no frame of {port!r} was recorded; {run.folder} has those of {', '.join(known) or 'none'}"
            )
    rows = frames.filter(pl.col("port").is_in(chosen)).collect()
    flows = run.flows.sort("flow").select("src_index", "dst_index", "packets", "size_bytes").collect().rows()
    place = {port: number for number, port in enumerate(chosen)}
    peers = dict(run.ports.select(pl.col("port").cast(pl.String), "peer_index").unique().collect().iter_rows())
    quanta = _quanta(run)
    made = [_row(row, place, peers, flows, quanta) for row in rows.iter_rows(named=True)]
    with atomic_files.asked(out) as part:
        count = _core.write_capture(str(part), chosen, made, snap)
    return count, chosen


def _quanta(run: Results) -> dict[str, int]:
    """How long a PAUSE is by each port, in quanta of its link; the longest where it lasts until RESUME."""
    pfc: dict[str, Any] = run.meta["scenario"]["switch"]["pfc"]
    if pfc["form"] != "timed":
        return {}

    pause = quantities.parse_time(pfc["pause"])
    rates = run.ports.select(pl.col("port").cast(pl.String), "rate_bps").unique().collect().iter_rows()
    return {port: min(_LONGEST_PAUSE, -(-pause * rate // (_QUANTUM_BITS * 10**12))) for port, rate in rates}


def _row(
    row: dict[str, Any],
    place: dict[str, int],
    peers: dict[str, int],
    flows: list[tuple[int, int, int, int | None]],
    quanta: dict[str, int],
) -> tuple[int, int, int, str, int, int, int, int, int, int, int]:
    kind, port = str(row["kind"]), row["port"]
    numbers = (0, 0, 0)
    flow, source, destination = 0, row["node_index"], peers[port]
    if row["flow"] is not None and kind not in _BETWEEN_SWITCHES:
        flow = row["flow"]
        source, destination, packets, size = flows[flow]
        last = size is not None and row["seq"] == packets - 1
        numbers = (row["seq"], int(last), 0)
        if kind in ("ack", "nack", "cnp", "put-ack", "put-nack"):
            source, destination = destination, source
    elif kind == "pfc":
        numbers = (row["paused"], row["resumed"], quanta.get(port, _LONGEST_PAUSE))
    elif kind == "credit":
        numbers = (row["priority"] or 0, row["fctbs"], row["fccl"])
    ecn = _ECN[str(row["code"])]
    kind = _LIKE.get(kind, kind)
    return (place[port], row["sent_ps"], row["wire_bytes"], kind, *numbers, flow, source, destination, ecn)
