"""A first scenario of one's own: a network and flows in the format of the HPCC simulator, and what to run them with."""

from __future__ import annotations

import json
import math
import shlex
import tempfile
from collections import Counter
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any

from backwater import _core
from backwater.common import atomic_files, quantities
from backwater.errors import UsageError
from backwater.io.importing import Imported, read_text, resolve
from backwater.scenario.scenario import Scenario

_SCENARIO = """\
# {about}
#
# Run it, with a page to look at:   backwater run {file} --html
# See it:                           backwater view {results}
# Who held whom back:               backwater blame {results}
# With congestion control:          backwater run {file} --html --set cc.kind=dcqcn
# With ternary detection (TCD):     backwater run {file} --html --set switch.detector.kind=tcd
# Every key with its meaning:       backwater schema
profile = "hpcc-ns3"     # what is not said here is as in the simulator of HPCC

[topology]
kind = "hpcc"            # a line `nodes switches links`, one with the switches' ids, then `a b rate delay 0` per link
file = "topology.txt"

[cc]
kind = "none"            # hosts send as fast as PFC lets them; "dcqcn" slows down those whose packets are marked
{min_rate}
[host.nic]
acks = "priority"        # a PAUSE holds ACKs back, too, as in RoCE; the headroom below is not for more

[switch]
# {buffer_why}
buffer = "{buffer}KB"

[switch.pfc]
# Dynamic thresholds: PFC pauses who has more than an eighth of what is free of the shared memory.
# {headroom_why}
headroom = "{headroom}KB"

[switch.detector]
kind = "red"             # ECN: queues from kmin on are marked, with probability pmax at kmax, always above
kmin = "{kmin}KB"            # {thresholds_why}
kmax = "{kmax}KB"           # less than the {pauses} KB from which PFC pauses an idle switch's port: ECN is to act first
pmax = 0.2
{by_rate}
[[traffic]]
name = "flows"
kind = "hpcc-flows"      # a line with the number of flows, then `src dst priority dport bytes start_s` per flow
file = "flow.txt"
time-origin = "{origin}s"     # the time in flow.txt at which the run begins

[probe]
sample = "{sample}us"         # how often queues are looked at; the page plays these moments
"""

#: The example: a fat tree of switches with this many ports.
_PORTS = 4
#: The rate that the following are for. They grow with the rate of the hosts' links as memory and thresholds do in
#: `run.py` of the HPCC simulator (16 MB for each 50 Gbps, 100 KB for each 25 Gbps), but do not fall below those of the
#: least rate: some packets have to fit.
_MEANT_FOR_BPS, _LEAST_BPS = 100e9, 10e9
#: What the ports of a switch share beside headroom and reserves: little, so that flows of a megabyte show what PFC
#: does. Switches that one can buy share 16 to 64 MB.
_SHARED_KB = 2000
#: An eighth of the thresholds of `run.py`, as the memory is a sixteenth: ECN is to act before PFC.
_KMIN_KB, _KMAX_KB = 50, 200
#: The share of the free memory at which the profile pauses a port (`switch.pfc.alpha`).
_ALPHA = 0.125
#: `cc.min-rate` of the profile.
_MIN_RATE_BPS = 1e9
#: The network alone is looked at first: nothing of traffic or switches may keep what is wrong with it from being told.
_ALONE = """\
profile = "hpcc-ns3"
[topology]
kind = "hpcc"
file = {file}
[switch]
flow-control = "none"
[cc]
min-rate = "1Kbps"
[[traffic]]
name = "none"
kind = "poisson"
size = "1B"
load = 0.000001
flows = 1
"""


@dataclass(frozen=True)
class _Network:
    """Hosts, slowest link, rate of most hosts, rate and delay of each switch's links, defaults of the profile."""

    hosts: list[int]
    slowest_bps: float
    hosts_bps: float
    ports: dict[int, list[tuple[str, str]]]
    defaults: dict[str, Any]


@dataclass(frozen=True)
class _Flows:
    """A list of flows: its earliest start in seconds, about how long it takes, how many priorities it has."""

    origin: Decimal
    takes_us: float
    priorities: int


def begin(out: Path, topology: Path | None, flows: Path | None) -> Imported:
    """The files of a first scenario: the user's own network and flows, or an example of what is not given."""
    if flows is not None and topology is None:
        raise UsageError("--flows names hosts of a network; add --topology FILE, the network that has them")
    text = example_topology() if topology is None else read_text(topology, "a topology file of the HPCC simulator")
    net = _network(text, str(topology or "topology.txt"))
    if flows is None and len(net.hosts) < 3:
        few = f"{len(net.hosts)} hosts"
        raise UsageError(
            f"{topology} has {few}, and the example's incast needs 3: two that send and one that receives; give your "
            "own flows with --flows FILE"
        )
    listed = example_flows(net.hosts) if flows is None else read_text(flows, "a flow list of the HPCC simulator")
    needs = _needs(listed, net.slowest_bps, str(flows or "flow.txt"))
    about = f"{len(net.hosts)} hosts of " + ("an example, a fat tree" if topology is None else topology.name)
    about += ", and " + ("an incast beside other flows." if flows is None else f"the flows of {flows.name}.")
    file = out / "scenario.toml"
    scenario = _SCENARIO.format(
        about=about,
        file=shlex.quote(str(file)),
        results=shlex.quote(f"results/{Scenario('', str(file), out).name}-s1"),
        origin=f"{needs.origin.normalize():f}",
        sample=_sample_us(needs.takes_us),
        min_rate=_min_rate(net),
        **_memory(net, needs.priorities),
        **_thresholds(net),
    )
    count = len([line for line in listed.splitlines() if line.strip()]) - 1
    given = (("topology.txt", topology), ("flow.txt", flows))
    return Imported(
        {"scenario.toml": scenario, "topology.txt": text, "flow.txt": listed},
        f"{len(net.hosts)} hosts, {count} flow{'s' * (count != 1)}",
        sources={name: str(own) for name, own in given if own is not None},
    )


def example_topology() -> str:
    """A fat tree of 4-port switches: 16 hosts, 8 leaves, 8 switches above them, 4 cores."""
    half, hosts = _PORTS // 2, _PORTS**3 // 4
    leaf, middle, core = hosts, hosts + hosts // half, hosts + 2 * (hosts // half)
    links = [(host, leaf + host // half) for host in range(hosts)]
    for pod in range(_PORTS):
        for i in range(half):
            links += [(leaf + pod * half + i, middle + pod * half + j) for j in range(half)]
            links += [(middle + pod * half + i, core + i * half + j) for j in range(half)]
    nodes = core + half * half
    lines = [f"{nodes} {nodes - hosts} {len(links)}", " ".join(str(node) for node in range(hosts, nodes))]
    return "\n".join([*lines, *(f"{a} {b} 100Gbps 0.001ms 0" for a, b in links)]) + "\n"


def example_flows(hosts: list[int]) -> str:
    """An incast to the first host, and flows between others that share links with it but not the bottleneck."""
    root, *others = hosts
    senders, bystanders = others[-1::-2][:16], others[-2::-2][:16]
    flows = [(host, root, 1_000_000, "0.000010") for host in senders]
    half = len(bystanders) // 2
    pairs = zip(bystanders, [*bystanders[half:], *bystanders[:half]], strict=True)
    flows += [(src, dst, 500_000, "0.000060") for src, dst in pairs if src != dst]
    return (
        "\n".join([str(len(flows)), *(f"{src} {dst} 3 100 {size} {start}" for src, dst, size, start in flows)]) + "\n"
    )


def _network(text: str, origin: str) -> _Network:
    """The network of a file; raises UsageError with file, line and what would do if it is none."""
    with tempfile.TemporaryDirectory() as folder:
        # By its own name: that is the one the message has.
        place = Path(folder) / Path(origin).name
        atomic_files.write_text(place, text)
        known = resolve(_ALONE.format(file=json.dumps(place.name)), Path(folder), {place.name: origin})
    lines = [line.split() for line in text.splitlines() if line.strip()]
    nodes, count, _ = (int(word) for word in lines[0])
    switches = {int(word) for word in lines[1]} if count else set()
    links = [(int(a), int(b), rate, delay) for a, b, rate, delay, _ in lines[2 if count else 1 :]]
    ports: dict[int, list[tuple[str, str]]] = {switch: [] for switch in sorted(switches)}
    for a, b, rate, delay in links:
        for end in {a, b} & switches:
            ports[end].append((rate, delay))
    hosts = [node for node in range(nodes) if node not in switches]
    to_hosts = Counter(_bps(rate) for a, b, rate, _ in links if not {a, b} <= switches)
    # Of two that are as frequent the faster, as the profiles have it.
    usual = max(to_hosts, key=lambda bps: (to_hosts[bps], bps))
    return _Network(hosts, min(_bps(rate) for *_, rate, _ in links), usual, ports, known)


def _at(kilobytes: int, bps: float) -> int:
    """What is so many KB at 100 Gbps, at another rate."""
    return round(kilobytes * max(bps, _LEAST_BPS) / _MEANT_FOR_BPS)


def _thresholds(net: _Network) -> dict[str, str | int]:
    """The thresholds of ECN for the hosts' links, and for each other rate that a switch's port has."""
    base = max(net.hosts_bps, _LEAST_BPS)
    rates = {_bps(rate): rate for links in net.ports.values() for rate, _ in links}
    rows = [
        f'    {{ rate = "{word}", kmin = "{_at(_KMIN_KB, bps)}KB", kmax = "{_at(_KMAX_KB, bps)}KB", pmax = 0.2 }},'
        for bps, word in sorted(rates.items())
        if max(bps, _LEAST_BPS) != base
    ]
    listed = "\n".join(["by-rate = [            # ports of other rates", *rows, "]", ""]) if rows else ""
    return {
        "kmin": _at(_KMIN_KB, base),
        "kmax": _at(_KMAX_KB, base),
        "pauses": round(_at(_SHARED_KB, base) * _ALPHA),
        "thresholds_why": f"for links of {_gbps(base)}; in proportion to the rate, as in run.py of the HPCC simulator",
        "by_rate": listed,
    }


def _gbps(bps: float) -> str:
    return f"{bps / 1e9:g} Gbps"


def _memory(net: _Network, priorities: int) -> dict[str, str | int]:
    """Headroom of a port, for the one that needs most, and the buffer of a switch, for the one with most ports."""
    packet, pfc = net.defaults["packet"], net.defaults["switch"]["pfc"]
    mtu = quantities.parse_size(packet["payload"]) + quantities.parse_size(packet["header"])
    needs = {
        link: int(json.loads(_core.headroom(*link, f"{mtu}B", pfc["frame"], "0ns"))["dynamic_bytes"])
        for links in net.ports.values()
        for link in links
    }
    (rate, delay), most = max(needs.items(), key=lambda item: item[1], default=(("", ""), 0))
    headroom = math.ceil(most * priorities / 1000)
    reserve = math.ceil(quantities.parse_size(pfc["reserve"]) * priorities / 1000)
    ports = max(map(len, net.ports.values()), default=0)
    shared = _at(_SHARED_KB, net.hosts_bps)
    why = "" if shared == _SHARED_KB else f" (2 MB for hosts of 100 Gbps, here of {_gbps(net.hosts_bps)})"
    of = "" if priorities == 1 else f", for each of {priorities} priorities"
    after = f"2 · delay · rate + 2 packets + 1 PFC frame, {delay} at {rate}{of}"
    each = f"for each of {ports} ports {headroom} KB of headroom and {reserve} KB of reserve"
    return {
        "headroom": headroom,
        "headroom_why": f"The packet that crosses the threshold, and what arrives after a PAUSE: {after}.",
        "buffer": shared + ports * (headroom + reserve),
        "buffer_why": f"{shared / 1000:g} MB that the ports share{why}, and {each}.",
    }


def _min_rate(net: _Network) -> str:
    """The least rate of senders where the slowest link is below that of the profile: the same part of it."""
    if net.slowest_bps >= _MIN_RATE_BPS:
        return ""
    told = f"{max(1000, int(net.slowest_bps / 100))}bps"
    return f'min-rate = "{told}"   # a hundredth of the slowest link, as the profile has it of 100 Gbps\n'


def _bps(word: str) -> float:
    for ending, factor in (("Tbps", 1e12), ("Gbps", 1e9), ("Mbps", 1e6), ("Kbps", 1e3), ("bps", 1.0)):
        if word.endswith(ending):
            rate = float(word.removesuffix(ending)) * factor
            if 0 < rate < 1e15:
                return rate
    raise ValueError(word)


def _needs(text: str, slowest_bps: float, origin: str) -> _Flows:
    starts, to, priorities = [], Counter[str](), set[str]()
    for number, line in list(enumerate(text.splitlines(), 1))[1:]:
        words = line.split()
        if not words:
            continue
        wrong = _wrong_of(words)
        if wrong:
            raise UsageError(
                f"{origin}: line {number}: {wrong}\n  = help: a flow is `src dst priority dport bytes start_s`, such "
                "as `0 5 3 100 1000000 0.00001`: one megabyte from host 0 to host 5, from 10 us on"
            )
        _, dst, priority, _, size, start = words
        to[dst] += int(size)
        priorities.add(priority)
        starts.append(Decimal(start))
    if not starts:
        raise UsageError(
            f"{origin} has no flows: a line with their number, then `src dst priority dport bytes start_s`"
        )
    longest_us = max(to.values()) * 8e6 / slowest_bps
    return _Flows(min(starts), longest_us + float(max(starts) - min(starts)) * 1e6, len(priorities))


def _wrong_of(words: list[str]) -> str:
    """What is wrong with a line of flows, as far as is needed here; the reader of scenarios looks at the rest."""
    if len(words) != 6:
        return f"{' '.join(words)[:60]!r} has {len(words)} words, expected 6"
    if not words[4].isascii() or not words[4].isdecimal():
        return f"{words[4][:40]!r} is not a whole number of bytes"
    try:
        start = Decimal(words[5])
    except InvalidOperation:
        start = Decimal("NaN")
    if not start.is_finite() or not 0 <= start < 10**6:
        return f"the start {words[5][:40]!r} is not a number of seconds from 0 to 999999"
    return ""


def _sample_us(takes_us: float) -> int:
    """About 500 moments to look at, at a period that reads well."""
    period = 1
    for step in (2, 5, 10, 20, 50, 100, 200, 500, 1000, 10_000, 100_000):
        if takes_us / 500 >= step:
            period = step
    return period
