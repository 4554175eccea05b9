"""``fct.txt`` and ``pfc.txt`` as the ns-3 simulator of HPCC writes them, for scripts that read those.

``fct.txt`` has a line for each flow that finished, in the order in which they did: addresses of sender and receiver
(hexadecimal), source and destination port, bytes, start, completion time and what it would be alone in the empty
network, these three in ns. There the time ends with the last ACK; so does ours where there are ACKs, else with the last
byte at the receiver. The time alone is that simulator's own formula: a base round trip, with a full payload at each
link on the way there, and then all bytes at the slowest link. ``pfc.txt`` has a line for each PAUSE and RESUME at the
port that it stops or lets go: time in ns, node, kind of node (0 host, 1 switch), port (from 1, as ns-3 counts), 1 for
PAUSE and 0 for RESUME.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path

from backwater.common import atomic_files
from backwater.common.late import pl
from backwater.common.quantities import parse_size
from backwater.errors import UsageError
from backwater.io.importing.hpcc_files import BYTE_NS, ways
from backwater.results import Results

#: What the authors' scripts keep: flows to this port are the ones that are not of an incast.
_DESTINATION_PORT = 100
#: The first source port of the flows of a pair of hosts; each further one has the next.
_SOURCE_PORT = 10_000
_PS_PER_NS = 1000
#: Bytes of a packet's header there.
_HEADER = 48


def address(node: int) -> str:
    """The address of a node as that simulator gives it: 11.(node / 256).(node mod 256).1."""
    return f"{0x0B000001 + (node // 256 << 16) + (node % 256 << 8):08x}"


def write_fct(run: Results, out: Path) -> int:
    """Write the flows that finished; returns how many."""
    return _write(out, _fct(run))


def of_fct(run: Results) -> list[str]:
    """What is to be known of the times of a run whose flows have no ACKs, or no end."""
    ended = pl.col("finish_ps").is_not_null()
    without = {"no_acks": (ended & pl.col("acked_ps").is_null()).sum(), "never": (~ended).sum()}
    no_acks, never = run.flows.select(**without).collect().row(0)
    notes = []
    if no_acks:
        notes.append(
            f"{no_acks} flow{'s' * (no_acks != 1)} had no ACKs: fct_ns ends with the last byte at the receiver, "
            "standalone_ns with an ACK at the sender. Their quotient is no slowdown, which ack.every = 1 makes it "
            "(profile hpcc-ns3)"
        )
    if never:
        notes.append(
            f"{never} flow{'s' * (never != 1)} did not finish, and {'are' if never != 1 else 'is'} not in the file"
        )
    return notes


def write_pfc(run: Results, out: Path) -> int:
    """Write the PAUSEs and RESUMEs; returns how many."""
    return _write(out, _pfc(run))


def _write(out: Path, lines: Iterator[str]) -> int:
    number = 0
    with atomic_files.asked(out) as place, place.open("w", encoding="utf-8", newline="\n") as file:
        for line in lines:
            file.write(line + "\n")
            number += 1
    return number


def _fct(run: Results) -> Iterator[str]:
    flows = (
        run.flows.with_columns(end_ps=pl.coalesce("acked_ps", "finish_ps"))
        .filter(pl.col("finish_ps").is_not_null())
        .sort("flow")
        .select("src_index", "dst_index", "size_bytes", "start_ps", "end_ps")
        .collect()
    )
    of_pair: Counter[tuple[int, int]] = Counter()
    lines = []
    alone = Alone(run)
    for source, destination, size, start, end in flows.iter_rows():
        port = _SOURCE_PORT + of_pair[source, destination]
        of_pair[source, destination] += 1
        times = (start // _PS_PER_NS, (end - start) // _PS_PER_NS, alone.of(source, destination, size))
        words = (address(source), address(destination), port, _DESTINATION_PORT, size, *times)
        lines.append((end, " ".join(str(word) for word in words)))
    lines.sort(key=lambda pair: pair[0])
    for _, line in lines:
        yield line


class Alone:
    """What that simulator writes behind each completion time, in ns, each term cut to whole ns (``third.cc``)."""

    def __init__(self, run: Results) -> None:
        self._hosts = _hosts(run)
        self._payload = parse_size(run.meta["scenario"]["packet"]["payload"])
        self._links: defaultdict[int, list[tuple[int, int, int]]] = defaultdict(list)
        links = run.meta["network"]["links"]
        for a, b, rate, delay in zip(links["a"], links["b"], links["rate_bps"], links["delay_ps"], strict=True):
            self._links[a].append((b, rate, delay // _PS_PER_NS))
            self._links[b].append((a, rate, delay // _PS_PER_NS))
        self._ways: dict[int, dict[int, tuple[int, int, int]]] = {}

    def of(self, source: int, destination: int, size: int) -> int:
        """The base round trip and all bytes at the slowest link."""
        if source not in self._ways:
            self._ways[source] = ways(source, self._links, self._hosts, self._payload)
        delay, sending, least = self._ways[source][destination]
        packets = (size - 1) // self._payload + 1
        return 2 * delay + sending + (size + _HEADER * packets) * BYTE_NS // least


def _pfc(run: Results) -> Iterator[str]:
    if run.meta["scenario"]["switch"]["flow-control"] != "pfc":
        raise UsageError(f"{run.folder} had no PFC, so that there is no pfc.txt of it")
    hosts = _hosts(run)
    pauses = run.pauses.select("time_ps", "node_index", "port_index", "paused").collect()
    for time, node, port, paused in pauses.iter_rows():
        yield f"{time // _PS_PER_NS} {node} {int(node not in hosts)} {port + 1} {int(paused)}"


def _hosts(run: Results) -> set[int]:
    if "network" not in run.meta:
        raise UsageError(f"{run.folder} is from a version that kept no list of nodes; run the scenario again")
    return {index for index, role in enumerate(run.meta["network"]["nodes"]["role"]) if role == "host"}
