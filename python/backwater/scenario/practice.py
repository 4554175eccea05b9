"""Settings of a scenario against good practice: each rule with its arithmetic, its source, and what to set.

A rule is about a deployment of RoCE: PFC, ECN, DCQCN. What a scenario does not use, no rule is about.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from typing import Any

from backwater import _core
from backwater.common import quantities
from backwater.scenario import placement
from backwater.scenario.presets import presets
from backwater.scenario.scenario import Scenario

#: Path MTUs of InfiniBand and RoCE, in bytes.
_PATH_MTUS = (256, 512, 1024, 2048, 4096)
#: A buffer may be so many times that of published switches, for their rate, or that part of it.
_UNLIKE = 2.0


@dataclass(frozen=True)
class Advice:
    """What a rule says of a scenario."""

    rule: str
    #: Whether it keeps to the rule.
    good: bool
    #: What was found, with the arithmetic.
    told: str
    #: Where the rule is from.
    source: str
    #: What to set, as ``--set`` takes it; empty if it is good, or if no one value would do.
    set: tuple[str, ...] = ()

    def as_json(self) -> dict[str, Any]:
        """Plain values."""
        return asdict(self)


@dataclass(frozen=True)
class _Link:
    """One end of a link: what its port carries, how far it is."""

    rate_bps: int
    delay_ps: int

    @property
    def words(self) -> tuple[str, str]:
        """As the core takes them."""
        return f"{self.rate_bps}bps", f"{self.delay_ps}ps"


@dataclass(frozen=True)
class _Looked:
    """The settings, and what the rules need of the network."""

    settings: Mapping[str, Any]
    facts: Mapping[str, Any]

    @property
    def switch(self) -> Mapping[str, Any]:
        """[switch]."""
        found: Mapping[str, Any] = self.settings["switch"]
        return found

    @cached_property
    def links(self) -> tuple[Mapping[int, list[_Link]], list[_Link]]:
        """The ports of each switch by node, and those of hosts: without what is within servers."""
        network = self.facts["network"]
        is_host = [role == "host" for role in network["nodes"]["role"]]
        within = set(network.get("scale_up", ()))  # results of older versions do not tell
        ports: dict[int, list[_Link]] = {
            node: [] for node, host in enumerate(is_host) if not host and node not in within
        }
        hosts: list[_Link] = []
        columns = (network["links"][name] for name in ("a", "b", "rate_bps", "delay_ps"))
        for a, b, rate, delay in zip(*columns, strict=True):
            if a in within or b in within:
                continue
            for end in (a, b):
                (hosts if is_host[end] else ports[end]).append(_Link(rate, delay))
        return ports, hosts

    @property
    def line_bps(self) -> int:
        """The rate of the fastest link of a host."""
        return max(link.rate_bps for link in self.links[1])

    @cached_property
    def mtu(self) -> int:
        """The largest packet on the wire."""
        packet = self.settings["packet"]
        return _size(packet["payload"]) + _size(packet["header"])

    @property
    def round_trip_ps(self) -> int:
        """Of a full packet and its ACK between the hosts furthest apart, in an empty network."""
        hops = int(self.facts["diameter_links"])
        slowest = int(self.facts["slowest_link_bps"])
        ack = _size(self.settings["ack"]["size"])
        return 2 * int(self.facts["greatest_delay_ps"]) + hops * (self.mtu + ack) * 8 * 10**12 // slowest

    @property
    def bdp(self) -> int:
        """Bytes under way in a round trip at line rate."""
        return self.line_bps * self.round_trip_ps // (8 * 10**12)

    def least(self, link: _Link) -> int:
        """The headroom that a port needs (IEEE 802.1Qbb, Annex O), with the packet that crosses the threshold."""
        frame = self.switch["pfc"]["frame"]
        return int(json.loads(_core.headroom(*link.words, f"{self.mtu}B", str(frame), "2.017us"))["dynamic_bytes"])

    @property
    def lossless(self) -> bool:
        """Whether PFC guards it."""
        return str(self.switch["flow-control"]) == "pfc"

    @property
    def marks(self) -> bool:
        """Whether queues are marked between kmin and kmax."""
        return self.switch["detector"]["kind"] in ("red", "np-ecn")

    @property
    def dcqcn(self) -> Mapping[str, Any] | None:
        """Its keys, if it is in use."""
        cc = self.settings["cc"]
        return {**cc, **cc["dcqcn"]} if cc["kind"] == "dcqcn" else None


def check(scenario: Scenario, overrides: Sequence[str] = ()) -> list[Advice]:
    """Every rule that is about a scenario, those that it does not keep first; raises ScenarioError for a wrong one."""
    found = of(scenario.resolve(overrides), json.loads(scenario.read(overrides).topology()))
    return [_that_runs(scenario, overrides, one) for one in found]


def _that_runs(scenario: Scenario, overrides: Sequence[str], advice: Advice) -> Advice:
    """The same without settings that this network refuses, such as memory that its headroom fills."""
    try:
        scenario.resolve((*overrides, *advice.set))
    except _core.ScenarioError as error:
        why = str(error).splitlines()[0].partition(": ")[2]
        return replace(advice, set=(), told=f"{advice.told}; {', '.join(advice.set)} alone is refused here: {why}")
    return advice


def of(settings: Mapping[str, Any], facts: Mapping[str, Any]) -> list[Advice]:
    """The same of resolved settings, and facts of the network: of a run its `network` alone, without distances."""
    looked = _Looked(settings, facts)
    rules = _RULES if "diameter_links" in facts else _OF_RUNS
    found = [one for rule in rules for one in rule(looked)]
    return sorted(found, key=lambda one: one.good)


def _size(text: object) -> int:
    return quantities.parse_size(str(text).replace(" ", ""))


def _time(text: object) -> int:
    return quantities.parse_time(str(text).replace(" ", ""))


def _headroom(looked: _Looked) -> Iterator[Advice]:
    pfc = looked.switch["pfc"]
    if not looked.lossless or pfc["threshold"] != "dynamic":
        return
    source = "IEEE 802.1Qbb, Annex O: 2 · rate · delay, two packets, a PFC frame, 2.017 µs of response"
    link = max((link for ports in looked.links[0].values() for link in ports), key=looked.least)
    needs = looked.least(link)
    where = f"a port of {quantities.rate(link.rate_bps)} with {quantities.time(link.delay_ps)} of delay"
    given = str(pfc["headroom"])
    if given == "802.1qbb":
        yield Advice("headroom", True, f"it follows the rule: {quantities.size(needs)} for {where}", source)
        return
    if given == "auto":
        told = f"the rule auto counts no packets: less than the {quantities.size(needs)} that {where} needs"
        yield Advice("headroom", False, told, source, ('switch.pfc.headroom="802.1qbb"',))
        return
    has = _size(given)
    told = f"{quantities.size(has)}; {where} needs {quantities.size(needs)}"
    yield Advice("headroom", has >= needs, told, source, () if has >= needs else ('switch.pfc.headroom="802.1qbb"',))


def _ecn_before_pfc(looked: _Looked) -> Iterator[Advice]:
    if not (looked.lossless and looked.marks and looked.switch["queueing"] == "output"):
        return
    source = "DCQCN (SIGCOMM 2015), section 4: ECN is to act before PFC"
    pfc, detector = looked.switch["pfc"], looked.switch["detector"]
    kmin, kmax = _size(detector["kmin"]), _size(detector["kmax"])
    if pfc["threshold"] == "static":
        xoff = _size(pfc["xoff"])
        told = f"kmax = {quantities.size(kmax)}, Xoff = {quantities.size(xoff)}"
        yield Advice("ecn below xoff", kmax < xoff, told, source, () if kmax < xoff else _kmax(kmin, kmax, xoff))
        return
    # One ingress port fills the queue of one egress port: it is paused where q = alpha · (free − q). Where n ingress
    # ports are as full, each is where q = alpha · (free − n · q).
    shared, count = min((_shared(looked, ports), len(ports)) for ports in looked.links[0].values())
    alpha = float(pfc["alpha"])
    xoff = int(alpha * shared / (1 + alpha))
    every = int(alpha * shared / (1 + count * alpha))
    told = (
        f"kmax = {quantities.size(kmax)}; a single ingress port is paused at alpha / (1 + alpha) of the "
        f"{quantities.size(max(shared, 0))} that ports share, {quantities.size(max(xoff, 0))}; each of {count} "
        f"that are full at once at {quantities.size(max(every, 0))}"
    )
    good = kmax < xoff
    yield Advice("ecn below xoff", good, told, source, () if good or xoff <= 0 else _kmax(kmin, kmax, xoff))


def _shared(looked: _Looked, ports: Sequence[_Link]) -> int:
    """What is left of a switch's memory beside headroom and reserves of one priority."""
    pfc = looked.switch["pfc"]
    given = str(pfc["headroom"])
    each = [looked.least(link) if given in ("802.1qbb", "auto") else _size(given) for link in ports]
    return _size(looked.switch["buffer"]) - sum(each) - len(ports) * _size(pfc["reserve"])


def _kmax(kmin: int, kmax: int, xoff: int) -> tuple[str, ...]:
    """Both thresholds in their ratio, kmax at half of Xoff."""
    high = xoff // 2
    return f"switch.detector.kmin={kmin * high // kmax}B", f"switch.detector.kmax={high}B"


def _marks_and_bdp(looked: _Looked) -> Iterator[Advice]:
    if not looked.marks:
        return
    source = "DCTCP (SIGCOMM 2010), section 3.4: K > C · RTT / 7, or the link runs dry"
    detector = looked.switch["detector"]
    kmin, kmax, least = _size(detector["kmin"]), _size(detector["kmax"]), looked.bdp // 7
    # What both rules ask for, so that one suggestion keeps them.
    low = kmin if kmin >= least else max(1000 * -(-least // 1000), looked.mtu)
    high = kmax if low < kmax <= 10 * low else 4 * low
    what = (f"switch.detector.kmin={low}B", f"switch.detector.kmax={high}B")
    told = (
        f"kmin = {quantities.size(kmin)}; a seventh of rate · round trip ({quantities.rate(looked.line_bps)} · "
        f"{quantities.time(looked.round_trip_ps)}) is {quantities.size(least)}"
    )
    good = kmin >= least
    yield Advice("kmin and the round trip", good, told, source, () if good else what)
    if looked.dcqcn is None:
        return
    good = kmin < kmax <= 10 * max(1, kmin)
    source = "switches as published have kmax / kmin from 2 to 10 (docs/reference/presets.md)"
    told = f"kmax / kmin = {kmax / max(1, kmin):.3g}"
    yield Advice("width of the ramp", good, told, source, () if good else what)


def _timers(looked: _Looked) -> Iterator[Advice]:
    cc = looked.dcqcn
    if cc is None:
        return
    if cc["variant"] == "byte-counter":
        cnp, alpha, rate = (_time(cc[key]) for key in ("cnp-interval", "alpha-timer", "rate-timer"))
        source = "DCQCN (SIGCOMM 2015), sections 3.1 and 5.2: both timers are longer than that of CNPs, 55 and 50 µs"
        timers = f"alpha-timer {quantities.time(alpha)}, rate-timer {quantities.time(rate)}"
        told = f"{timers}, CNPs {quantities.time(cnp)} apart"
        good = alpha > cnp and rate > cnp
        new = f"{cnp * 11 // 10}ps"
        what = () if good else (f"cc.dcqcn.alpha-timer={new}", f"cc.dcqcn.rate-timer={new}")
        yield Advice("dcqcn timers", good, told, source, what)
        return
    decrease, rate = _time(cc["decrease-interval"]), _time(cc["rate-timer"])
    source = "NVIDIA, DCQCN CC Parameters: RATE_REDUCE_MONITOR_PERIOD 4 µs, RPG_TIME_RESET 300 µs"
    told = f"rate-timer {quantities.time(rate)}, decrease-interval {quantities.time(decrease)}"
    good = rate > decrease
    what = () if good else ("cc.dcqcn.rate-timer=300us", "cc.dcqcn.decrease-interval=4us")
    yield Advice("dcqcn timers", good, told, source, what)
    every = int(looked.settings["ack"]["every"])
    apart = every * looked.mtu * 8 * 10**12 // looked.line_bps
    fits = max(1, decrease * looked.line_bps // (looked.mtu * 8 * 10**12))
    told = f"ack.every = {every}: at line rate marks come back {quantities.time(apart)} apart"
    good = 0 < apart <= decrease
    yield Advice("ack.every", good, told, source, () if good else (f"ack.every={min(every or 1, fits)}",))


def _mtu(looked: _Looked) -> Iterator[Advice]:
    packet = looked.settings["packet"]
    payload, header = _size(packet["payload"]), _size(packet["header"])
    source = (
        "InfiniBand Architecture Specification: path MTUs of 256 to 4096 B; RoCEv2 adds 58 B of headers and 4 B of FCS"
    )
    good = payload in _PATH_MTUS and header > 0
    told = f"{payload} B of payload and {header} B of headers"
    near = min(_PATH_MTUS, key=lambda mtu: abs(mtu - payload))
    what = () if good else (f"packet.payload={near}B", *(() if header else ("packet.header=62B",)))
    yield Advice("mtu", good, told, source, what)


def _buffer(looked: _Looked) -> Iterator[Advice]:
    if looked.switch["queueing"] != "output" or not looked.lossless:
        return
    known = [
        (_size(preset.values["switch.buffer"]) * 8 * 10**6 / quantities.parse_rate(preset.capacity), preset.name)
        for preset in presets()
        if "switch.buffer" in preset.values and preset.capacity
    ]
    (low, _), (high, _) = min(known), max(known)
    ports = max(looked.links[0].values(), key=lambda ports: sum(link.rate_bps for link in ports))
    carries = sum(link.rate_bps for link in ports)
    # A device whose ports are not all in use has more for each of them, and that is nothing to look at.
    chip = next((preset for preset in presets() if preset.name == looked.switch.get("preset")), None)
    carries = max(carries, quantities.parse_rate(chip.capacity) if chip and chip.capacity else 0)
    buffer = _size(looked.switch["buffer"])
    has = buffer * 8 * 10**6 / carries
    good = low / _UNLIKE <= has <= high * _UNLIKE
    told = (
        f"{quantities.size(buffer)} for {quantities.rate(carries)} of ports: {has:.3g} µs of their rate; {len(ports)} "
        f"ports have links, {quantities.size(buffer / len(ports))} each"
    )
    source = f"presets of switches: {low:.3g} to {high:.3g} µs of the rate of all ports (docs/reference/presets.md)"
    # The nearer end of what is published: other thresholds may lean on what there is.
    new = math.ceil(carries / 8e6 * min(max(has, low), high))
    yield Advice("buffer per port", good, told, source, () if good else (f"switch.buffer={new}B",))


def _oversubscription(looked: _Looked) -> Iterator[Advice]:
    rows = looked.facts["oversubscription"]
    worst = max(rows, key=lambda row: row["ratio"], default=None)
    if worst is None:
        return
    source = "NVIDIA DGX SuperPOD reference architecture: full bisection for the compute fabric"
    told = f"{worst['ratio']:.3g} : 1 at tier {worst['tier']}, the greatest"
    yield Advice("oversubscription", worst["ratio"] <= 1.0, told, source)


def _rails(looked: _Looked) -> Iterator[Advice]:
    if looked.settings["topology"].get("kind") != "rail" or not looked.settings.get("job"):
        return
    source = "NVIDIA DGX SuperPOD reference architecture: rails join GPUs of one number, NVLink those of a server"
    found = placement.leaving(looked.settings, looked.facts["network"])
    told = "rings of jobs stay on their rails"
    if found:
        told = f"every hop of a ring of {', '.join(found)} goes from rail to rail by a spine; NVLink is not simulated"
    groups = [name for name in found if placement.grouped(looked.settings, name)]
    if groups:
        told += f"; what groups of {', '.join(groups)} do within a server is better written as compute"
    what = tuple(f"job.{name}.placement=rails" for name in found if name not in groups)
    yield Advice("rings on rails", not found, told, source, what)


#: Those that need no distances.
_OF_RUNS = (_headroom, _ecn_before_pfc, _timers, _mtu, _buffer, _rails)
_RULES = (*_OF_RUNS, _marks_and_bdp, _oversubscription)
