"""`CC_MODE` 3 (HPCC) and 8 (DCTCP) of the HPCC simulator: what its keys are in terms of our windows.

There a window is `maxBdp · R / line` and an increase is a rate; here both are bytes, so all of them need T, the longest
base round trip between any two hosts (`maxRtt` of the simulator's `third.cc`). It is computed here as it is there.
"""

from __future__ import annotations

import re
from pathlib import Path

from backwater.errors import UsageError
from backwater.io.importing import hpcc_files
from backwater.io.importing.hpcc_config import Config

#: Keys whose other values change what the controller is: the simulator's value without the key, the one that is
#: modelled here, why no other is.
_FIXED = {
    "HAS_WIN": (1, 1, "without a window there is no bound on what is under way"),
    "VAR_WIN": (0, 1, "a window that does not follow the rate"),
    "GLOBAL_T": (1, 1, "a T of its own for each pair of hosts"),
    "RATE_BOUND": (1, 1, "a sender without a pace"),
    "L2_ACK_INTERVAL": (0, 1, "windows want an ACK for each packet"),
}
_FIXED_HPCC = {
    "FAST_REACT": (1, 1, "one reaction per round trip; here each ACK has one"),
    "MULTI_RATE": (1, 0, "one rate per hop; the paper's Algorithm 1 has one window"),
    "SAMPLE_FEEDBACK": (0, 0, "telemetry that is not in each packet"),
}
#: Bytes of telemetry in packets and in ACKs: 5 hops of 8 bytes, and their count (`int-header.cc`).
_TELEMETRY = 42
#: An ACK with it: Ethernet 14, IPv4 20, ports, flags, class and sequence number 12 (`qbb-header.cc`).
_ACK = 14 + 20 + 12 + _TELEMETRY
#: A packet's header without it.
_HEADER = 48


def lines(kind: str, config: Config, topology: Path, flows: str) -> tuple[list[str], list[str]]:
    """The lines of the scenario from `[ack]` on, and what the user should know."""
    for key, (without, modelled, why) in {**_FIXED, **(_FIXED_HPCC if kind == "hpcc" else {})}.items():
        value = config.number(key)
        # An ACK interval of 0 acknowledges each packet, too: its counter is always beyond it.
        if key == "L2_ACK_INTERVAL" and value in (None, 0):
            continue
        if (without if value is None else value) != modelled:
            told = f"{key} {value:g}" if value is not None else f"{key} is missing, which there means {key} {without},"
            config.refuse(key, f"{told} with CC_MODE {_MODES[kind]}: {why}; allowed: {key} {modelled}")
    payload = config.number("PACKET_PAYLOAD_SIZE") or 1000.0
    rtt_ns, bdp = _base(topology, int(payload))
    made, notes = acks(kind, flows)
    floor = _bytes(config, "MIN_RATE", 100.0, rtt_ns)
    if kind == "hpcc":
        made += ["[packet]", f'header = "{_HEADER + _TELEMETRY}B"', ""]
        made += ["[cc]", 'kind = "hpcc"', "", "[cc.hpcc]", f'base-rtt = "{rtt_ns}ns"']
        if (eta := config.number("U_TARGET")) is not None:
            made.append(f"eta = {eta:.12g}")
        stage = config.number("MI_THRESH")
        made.append(f"max-stage = {5 if stage is None else int(stage)}")
        made.append(f'min-window = "{floor}B"')
        wai = _bytes(config, "RATE_AI", None, rtt_ns)
        made.append(f'wai = "{wai}B"')
        notes.append(f"RATE_AI and MIN_RATE are those of T = {rtt_ns} ns, in whole bytes: {wai} B, {floor} B")
        if config.number("INT_MULTI") is not None:
            notes.append("INT_MULTI has no part: telemetry is exact here, and not rounded to 128 B and 80 B")
        notes += _uncoded(topology)
    else:
        gain = config.number("EWMA_GAIN")
        if not gain:
            config.refuse(
                "EWMA_GAIN", "EWMA_GAIN is 0 or missing (which there means 0): DCTCP needs it; 0.0625 is the paper's"
            )
        made += ["[cc]", 'kind = "dctcp"', "", "[cc.dctcp]", f"g = {gain:.12g}"]
        add = _bytes(config, "DCTCP_RATE_AI", 1000.0, rtt_ns)
        made += [f'add = "{add}B"', f'min-window = "{floor}B"', f'window = "{bdp}B"', f'max-window = "{bdp}B"']
        notes.append(f"DCTCP_RATE_AI and MIN_RATE are those of T = {rtt_ns} ns, in whole bytes: {add} B, {floor} B")
        notes.append(
            "senders under DCTCP are clocked by their ACKs here; there they also have a pace, the window over T"
        )
    return [*made, ""], notes


_MODES = {"hpcc": 3, "dctcp": 8}
#: Gbps of links that telemetry has a code for (`int-header.h`); code 0, the first, is what others keep.
_CODED = (25, 50, 100, 200, 400)


def _uncoded(topology: Path) -> list[str]:
    """A note on links whose rate that simulator's telemetry cannot name."""
    neighbours, _ = network(topology)
    rates = {rate for links in neighbours.values() for _, rate, _ in links} - {gbps * 10**9 for gbps in _CODED}
    if not rates:
        return []
    named = ", ".join(f"{rate / 1e9:g}Gbps" for rate in sorted(rates))
    return [
        f"that simulator's telemetry has no code for links of {named}: HPCC takes them for links of 25Gbps there, "
        "and for what they are here"
    ]


def _bytes(config: Config, key: str, without: float | None, rtt_ns: int) -> int:
    """What a rate is in a base round trip, in whole bytes from 1."""
    rate = config.mbps(key)
    if rate is None:
        rate = without
    if rate is None:
        config.refuse(key, f"{key} is missing; the simulator does not start without it")
    return max(1, round(rate * rtt_ns / 8000))


def acks(kind: str, flows: str) -> tuple[list[str], list[str]]:
    """`[ack]`: in the class of the data, as in that simulator's switches, whatever ACK_HIGH_PRIO says."""
    size = [f'size = "{_ACK}B"'] if kind == "hpcc" else []
    # A line of the flow file is `src dst pg dport bytes start`.
    fields = [line.split() for line in flows.splitlines()[1:]]
    classes = {words[2] for words in fields if len(words) > 2}
    if len(classes) == 1 and (only := classes.pop()) in set("01234567"):
        return ["[ack]", *size, f"priority = {only}", ""], []
    why = "flows of several classes: their ACKs are in the control class here, in the data's class there"
    return (["[ack]", *size, ""] if size else []), [f"the class of ACKs is not carried over for {why}"]


def _base(file: Path, payload: int) -> tuple[int, int]:
    """`maxRtt` in nanoseconds and `maxBdp` in bytes.

    A pair's round trip is twice the delays of its shortest path and once the payload's time at each link of it; its
    product takes the least rate there.
    """
    neighbours, hosts = network(file)
    longest = largest = 0
    for host in hosts:
        found = hpcc_files.ways(host, neighbours, hosts, payload)
        for other in hosts - {host}:
            if other in found:
                delay, sending, least = found[other]
                rtt = 2 * delay + sending
                longest, largest = max(longest, rtt), max(largest, rtt * least // hpcc_files.BYTE_NS)
    if not longest:
        raise UsageError(f"{file}: no two hosts are connected, so there is no round trip to compute windows from")
    return longest, largest


_RATE = {"bps": 1, "Kbps": 10**3, "Mbps": 10**6, "Gbps": 10**9}
_DELAY = {"ns": 1, "us": 10**3, "ms": 10**6, "s": 10**9}


def network(file: Path) -> tuple[dict[str, list[tuple[str, int, int]]], set[str]]:
    """The neighbours of each node with rate in bit/s and delay in ns, and the hosts."""
    rows = [
        (number, line.split())
        for number, line in enumerate(hpcc_files.links(file.read_text("utf-8"))[0].splitlines(), 1)
        if line.strip()
    ]
    try:
        nodes, switches = int(rows[0][1][0]), int(rows[0][1][1])
        ids = rows[1][1] if switches else []
    except (IndexError, ValueError):
        raise UsageError(
            f"{file}: line 1: not the numbers of nodes, switches and links, and a line of switches"
        ) from None
    if not 0 < nodes <= 1_000_000:
        raise UsageError(f"{file}: line 1: {nodes} nodes; allowed: 1 to 1000000")
    neighbours: dict[str, list[tuple[str, int, int]]] = {}
    for number, words in rows[2 if switches else 1 :]:
        try:
            here, there, rate, delay = words[0], words[1], _quantity(words[2], _RATE), _quantity(words[3], _DELAY)
        except (IndexError, KeyError, ValueError, OverflowError):
            raise UsageError(f"{file}: line {number}: not a link such as `0 16 100Gbps 1000ns 0`") from None
        if rate < 1:
            raise UsageError(f"{file}: line {number}: a link of rate 0")
        neighbours.setdefault(here, []).append((there, rate, delay))
        neighbours.setdefault(there, []).append((here, rate, delay))
    return neighbours, {str(node) for node in range(nodes)} - set(ids)


def _quantity(word: str, units: dict[str, int]) -> int:
    found = re.fullmatch(r"([0-9.eE+-]+)([a-zA-Z]+)", word)
    if found is None:
        raise ValueError(word)
    return round(float(found[1]) * units[found[2]])
