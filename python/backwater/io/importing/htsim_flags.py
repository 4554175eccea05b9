"""Connection matrices with the flags of a command of the Ultra Ethernet Consortium's simulator (`htsim_uec`).

Each flag becomes keys of the scenario, is said to have no effect here, or is refused. What a flag does, and what holds
without it, is read from `sim/datacenter/main_uec.cpp` of that simulator (commit 40ccb05), whose lines are named here.
"""

from __future__ import annotations

import json
import math
import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from backwater import _core
from backwater.errors import UsageError
from backwater.io.importing import Imported, htsim, read_bytes, read_text
from backwater.io.importing.became import Fate, Line, Settings, near, printable, shown
from backwater.io.importing.profiles import line_rate
from backwater.scenario.toml_writer import toml

#: Bytes of a header, of an ACK and of a trimmed packet (`uec.cpp:28`, `uecpacket.h`).
HEADER = 64
#: What a scenario without a profile of its own has: the transport of that simulator, over what all profiles start from.
BASE = "ideal"
_UEC = {
    "host.transport": "uec",
    "packet.header": f"{HEADER}B",
    "switch.flow-control": "none",
    "switch.overflow": "trim",
    "switch.load-balancing": "entropy",
}

#: Flags, and how many values each has.
_VALUES = {
    **dict.fromkeys(
        (
            "-conn_reuse",
            "-receiver_cc_only",
            "-sender_cc_only",
            "-sender_cc",
            "-receiver_cc",
            "-debug",
            "-oversubscribed_cc",
            "-force_disable_oversubscribed_cc",
            "-enable_accurate_base_rtt",
            "-disable_base_rtt_update_on_nack",
            "-sleek",
            "-disable_trim",
        ),
        0,
    ),
    **dict.fromkeys(
        (
            "-o",
            "-end",
            "-nodes",
            "-tiers",
            "-planes",
            "-qa_gate",
            "-target_q_delay",
            "-queue_size_bdp_factor",
            "-sender_cc_algo",
            "-load_balancing_algo",
            "-queue_type",
            "-host_queue_type",
            "-log",
            "-cwnd",
            "-tm",
            "-topo",
            "-q",
            "-sack_threshold",
            "-Ai",
            "-Md",
            "-alpha",
            "-trimsize",
            "-logtime",
            "-logtime_us",
            "-failed",
            "-linkspeed",
            "-seed",
            "-mtu",
            "-paths",
            "-hop_latency",
            "-pcie",
            "-switch_latency",
            "-ar_sticky_delta",
            "-ar_granularity",
            "-ar_method",
            "-strat",
        ),
        1,
    ),
    "-ecn": 2,
}
FLAGS = tuple(sorted(_VALUES))

_RECORDS = "[probe] says what is recorded"
#: Flags that nothing here depends on, and why.
_WITHOUT_EFFECT = {
    **dict.fromkeys(("-o", "-log", "-logtime", "-logtime_us", "-debug"), _RECORDS),
    **dict.fromkeys(("-ar_sticky_delta", "-ar_granularity", "-ar_method"), "is for -strat ecmp_ar and the like"),
}
#: What is another model, for which there is no key.
_REFUSED = {
    "-sleek": "the sender's recovery by holes in SACKs (Sleek) is not modelled; leave it out",
    "-pcie": "a host's PCIe is not modelled in front of UEC; leave it out",
    "-disable_base_rtt_update_on_nack": "base round trips always fall with NACKs here; leave it out",
}
#: Values of flags that are as here; others of the same flag are refused.
_AS_HERE = {
    "-planes": ("1", "one plane"),
    "-queue_type": ("composite", "a queue of data and one of headers at each port"),
    "-host_queue_type": ("fair_prio", "NICs send packet by packet in turn"),
}
_SPREADS = {
    "oblivious": "oblivious",
    "bitmap": "bitmap",
    "mixed": "mixed",
    "reps": "reps",
    "reps_legacy": "reps-list",
}
_STRATEGIES = {"ecmp_host": "entropy", "ecmp_ar": "adaptive"}
_CONTROLS = {(True, False): "nscc", (False, True): "rccc", (True, True): "nscc+rccc"}

#: Versions of that simulator by which a command may be read; what differs is said in `_as_of`.
VERSIONS = ("2024-07", "2024-08", "2025-08")

#: Default packet (`main_uec.cpp:74`), most entropies that a frame has room for here.
MTU, MOST_PATHS = 4150, 1024
#: Keys that say what the network is, which any transport runs on.
_OF_ALL = ("run.", "switch.latency")


@dataclass
class Command:
    """The scenario of a command, and what became of each flag."""

    imported: Imported
    settings: Settings
    lines: list[Line]


@dataclass(frozen=True)
class Network:
    """What the flags that follow a network's size are reckoned from (`main_uec.cpp:51-67`)."""

    tree: htsim.FatTree
    mbps: float
    mtu: int

    @property
    def round_trip_ps(self) -> int:
        """Of a full packet on a longest path and an ACK, on links of one rate."""
        each = self.tree.diameter * 8 * 1e6 / self.mbps
        return int(2000 * self.tree.one_way_ns() + each * self.mtu + each * HEADER)

    @property
    def bdp(self) -> int:
        """Packets that are under way in that time."""
        return math.ceil(self.round_trip_ps * 1e-12 * (self.mbps * 1e6 / 8) / self.mtu)


def parse(text: str) -> list[Line]:
    """The flags of a command, which may begin with the program's name. Raises UsageError."""
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise UsageError(f"--flags: {error}; write the words as in a shell") from None
    if words and Path(words[0]).name.startswith("htsim"):
        words = words[1:]
    lines: list[Line] = []
    at = 0
    while at < len(words):
        flag = words[at]
        if flag not in _VALUES:
            raise UsageError(
                f"--flags: {shown(flag)} is no flag of htsim_uec{near(flag, FLAGS)}; they are {', '.join(FLAGS)}"
            )
        count = _VALUES[flag]
        values = words[at + 1 : at + 1 + count]
        if len(values) < count or any(value in _VALUES for value in values):
            raise UsageError(f"--flags: {flag} needs {('no', 'a value', 'two values')[count]}")
        lines.append(Line((flag,), 0, " ".join(values)))
        at += 1 + count
    return lines


def load(
    file: Path,
    flags: str,
    *,
    as_of: str = VERSIONS[-1],
    topology: str | None = None,
    profile: str | None = None,
) -> Command:
    """The scenario of a connection matrix under the flags of a command. Raises UsageError."""
    if as_of not in VERSIONS:
        raise UsageError(f"--as-of {printable(as_of)}: there are {', '.join(VERSIONS)}")
    if profile is not None:
        line_rate(profile)
    reader = _Reader(file, as_of, profile, parse(flags))
    (trace, holds, notes), failures = _core.import_matrix(
        read_bytes(file, "a connection matrix of htsim (.cm)"),
        str(file),
        microseconds=True,
        reuse="-conn_reuse" in reader.given,
        merge=reader.uec,
    )
    hosts = int(holds.split()[0])
    tree = reader.network(hosts, topology)
    reader.settle(tree)
    faults = reader.faults(tree, failures)
    reader.settings.check()
    reader.rest()
    slow = int(reader.number("-failed", 0, 0, 1 << 20)) if len(tree.tiers) == 2 else 0
    files = {"topology.txt": tree.text(min(slow, tree.spines())), "app.trace": trace}
    files["scenario.toml"] = _SCENARIO.format(
        origin=f"{printable(str(file), 200)} and the flags {printable(flags.strip(), 400)} of htsim_uec",
        profile=profile or BASE,
        settings=reader.settings.toml(),
        faults="".join(f"{toml({'fault': [fault]})}\n" for fault in faults),
        connection='connection = "pair"\n' if "-conn_reuse" in reader.given and not reader.uec else "",
    )
    notes = [*reader.settings.notes, *notes]
    imported = Imported(files, holds, notes, {"topology.txt": tree.origin, "app.trace": str(file)})
    return Command(imported, reader.settings, reader.lines)


@dataclass
class _Reader:
    file: Path
    as_of: str
    profile: str | None
    lines: list[Line]
    settings: Settings = field(default_factory=Settings)

    def __post_init__(self) -> None:
        self.given: dict[str, Line] = {}
        for line in self.lines:
            flag = line.place[0]
            if flag in self.given and flag not in ("-log", "-debug"):
                self.given[flag].become(Fate.NONE, "is given again, and the last one stands")
            self.given[flag] = line
        #: Whether the transport of the flags is that of the scenario.
        self.uec = self.profile is None or _default(self.profile, "host", "transport") == "uec"
        if self.profile is None:
            self.settings.keys |= _UEC

    # What a flag says.

    def word(self, flag: str, default: str) -> str:
        line = self.given.get(flag)
        return default if line is None else line.value

    def number(self, flag: str, default: float, least: float, most: float, *, whole: bool = True) -> float:
        """The number of a flag; one out of range is a problem, and its default stands in its place."""
        line = self.given.get(flag)
        if line is None:
            return default
        found = _number(line.value)
        if found is None or not least <= found <= most or (whole and not found.is_integer()):
            kind = "a whole number" if whole else "a number"
            self.wrong(line, f"is not {kind} from {least:g} to {most:g}")
            return default
        return found

    def wrong(self, line: Line, what: str) -> None:
        problem = f"--flags: {line.name} {shown(line.value)} {what}" if line.value else f"--flags: {line.name}: {what}"
        if problem not in self.settings.problems:
            self.settings.problems.append(problem)

    # What it becomes.

    def take(self, flag: str, key: str, value: object, why: str = "") -> None:
        """Make a key of a flag, or of its absence."""
        line = self.given.get(flag, Line((flag,), 0, ""))
        if self.uec or key.startswith(_OF_ALL):
            self.settings.take(line, key, value, why)
        else:
            line.become(Fate.NONE, f"profile {self.profile} has its own transport, control and switches")

    def same(self, flag: str, why: str) -> None:
        if flag in self.given:
            self.given[flag].become(Fate.SAME, why)

    def without(self, flag: str, why: str) -> None:
        if flag in self.given:
            self.given[flag].become(Fate.NONE, why)

    # The network.

    def network(self, hosts: int, topology: str | None) -> htsim.FatTree:
        """The fat tree of a file, or of the size that the matrix says."""
        mbps = self.number("-linkspeed", 100_000, 1, 1e8, whole=False)
        if int(self.number("-nodes", hosts, 1, 1 << 20)) != hosts:
            self.wrong(self.given["-nodes"], f"is not the number of nodes of {self.file}, {hosts}")
        if self.given.get("-tm") and Path(self.given["-tm"].value).name != self.file.name:
            self.wrong(self.given["-tm"], f"is not the matrix that is imported, {self.file}")
        self.same("-nodes", "the matrix says so")
        self.same("-tm", "the matrix that is imported")
        place = self._topology(topology)
        if place is None:
            tiers = int(self.number("-tiers", 3, 2, 3))
            hop = self.number("-hop_latency", 1, 1e-6, 1e6, whole=False)
            inside = self.number("-switch_latency", 0, 0, 1000, whole=False)
            for flag, what in (("-tiers", "tiers"), ("-hop_latency", "us a link"), ("-linkspeed", "Mbps a link")):
                if flag in self.given:
                    self.given[flag].become(Fate.TAKEN, what, 'topology.file = "topology.txt"')
            return htsim.of_size(hosts, tiers, mbps / 1000, 1000 * hop, 1000 * inside)
        tree = htsim.read(read_text(place, "a topology of htsim (.topo)"), str(place))
        self.settings.notes += htsim.notes_of(tree)
        if tree.hosts != hosts:
            raise UsageError(f"{place} has {tree.hosts} nodes, but {self.file} has {hosts}; name the one it is for")
        for flag in ("-tiers", "-hop_latency", "-switch_latency"):
            if flag in self.given:
                self.wrong(self.given[flag], f"contradicts {place}, which says it; leave it out")
        if mbps != 1000 * tree.host_gbps():
            line = self.given.get("-linkspeed", Line(("-linkspeed",), 0, "100000"))
            self.wrong(
                line,
                f"is not the rate of the hosts' links in {place}: there NICs and control go by the flag (100000 without"
                f" it), here by the link; give -linkspeed {1000 * tree.host_gbps():g}",
            )
        self.same("-linkspeed", f"the hosts' links of {place}")
        return tree

    def _topology(self, named: str | None) -> Path | None:
        line = self.given.get("-topo")
        if named is not None:
            place = Path(named)
            if line is not None and Path(line.value).name != place.name:
                self.wrong(line, f"is not the file that --topology names, {named}")
            self.same("-topo", "the file that --topology names")
            return place
        if line is None:
            return None
        # As the command names both, relative to the folder that it runs in.
        matrix = Path(self.word("-tm", ""))
        folders = [Path()]
        if matrix.parts and self.file.resolve().parts[-len(matrix.parts) :] == matrix.parts:
            folders.append(self.file.resolve().parents[len(matrix.parts) - 1])
        for folder in folders:
            if (folder / line.value).is_file():
                line.become(Fate.TAKEN, key=f"topology.file, of {printable(str(folder / line.value), 200)}")
                return folder / line.value
        raise UsageError(f"--flags: -topo {shown(line.value)} is not found; name the file with --topology")

    def faults(self, tree: htsim.FatTree, failures: Sequence[tuple[int, int, int]]) -> list[dict[str, object]]:
        """Links that are slow (`-failed`, in a tree of three tiers) or down (those of the matrix)."""
        found: list[dict[str, object]] = []
        for switch, link, line in failures:
            ends = tree.up(switch, link)
            if ends is None:
                raise UsageError(
                    f"{self.file}: line {line}: there is no uplink {link} of switch {switch} between tiers 1 and 2"
                )
            found.append({"kind": "link-down", "link": list(ends), "at": "0ns"})
        if failures:
            # There the switches never had these links.
            self.settings.keys |= {"fault-handling.detect": "0ns", "fault-handling.converge": "0ns"}
        slow = int(self.number("-failed", 0, 0, 1 << 20))
        if len(tree.tiers) == 2:
            self.become_slow(min(slow, tree.spines()), "spines have links at a quarter of their rate, both ways")
            return found
        ends_of = [
            ends
            for switch in range(tree.shape.switches[1])
            for link in range(max(0, min(tree.shape.stripe, slow - switch * tree.shape.above)))
            if (ends := tree.up(switch, link)) is not None
        ]
        rate = f"{tree.top_gbps() * 250:.12g}Mbps"
        found += [
            {"kind": "link-slow", "link": list(ends), "from": ends[1], "rate": rate, "at": "0ns"} for ends in ends_of
        ]
        self.become_slow(len(ends_of), "links from tier 2 down to tier 1 have a quarter of their rate")
        return found

    def become_slow(self, count: int, what: str) -> None:
        if "-failed" in self.given:
            self.given["-failed"].become(Fate.TAKEN, f"{count} {what}; what names call 10 % is 25 %", "[[fault]]")

    # The transport and the switches.

    def settle(self, tree: htsim.FatTree) -> None:
        """The keys of a network's size, and of all other flags."""
        mbps = 1000 * tree.host_gbps()
        mtu = int(self.number("-mtu", MTU, 2 * HEADER, 9000 + HEADER))
        network = Network(tree, mbps, mtu)
        until = int(self.number("-end", 1000, 1, 1e9))
        self.take("-end", "run.until", f"{until}us", "" if "-end" in self.given else "1000 us if it is not given")
        if "-seed" in self.given:
            self.take("-seed", "run.seed", int(self.number("-seed", 13, 0, (1 << 32) - 1)), "other draws than there")
        if (latency := tree.switch_ns()) is None:
            self.settings.notes.append("Switch_Latency_ns differs between tiers, so it is not carried over")
        elif latency or not _default(self.profile or BASE, "switch", "latency").startswith("0"):
            self.take("-switch_latency", "switch.latency", f"{latency:.12g}ns")
        else:
            self.same("-switch_latency", "switches take no time")
        self.take("-mtu", "packet.payload", f"{mtu - HEADER}B", f"of {mtu} B on the wire, {HEADER} B are the header")
        self._control()
        self._queues(network)
        self._spread()
        self._window(network)

    def _control(self) -> None:
        """Who controls: the flags in their order, as each sets it anew (`main_uec.cpp:167-236`)."""
        sender, receiver = (False, True) if self.as_of != VERSIONS[-1] else (True, False)
        told = on = forced = False
        for line in self.lines:
            match line.place[0]:
                case "-oversubscribed_cc":
                    on = True
                    continue
                case "-force_disable_oversubscribed_cc":
                    on, forced = False, True
                    continue
                case "-sender_cc_only":
                    sender, receiver = True, False
                case "-receiver_cc_only":
                    sender, receiver = False, True
                case "-sender_cc":
                    sender = True
                case "-sender_cc_algo":
                    sender, told = True, True
                    continue
                case "-receiver_cc":
                    receiver, told = True, True
                    continue
                case _:
                    continue
            # These three turn oversubscribed control off again (`main_uec.cpp:166-210`).
            on, told = False, True
        kind = _CONTROLS[sender, receiver]
        self.by_window, self.by_credits = sender, receiver
        algorithm = self.word("-sender_cc_algo", "nscc")
        if algorithm not in ("nscc", "constant") or (algorithm == "constant" and receiver):
            self.wrong(self.given["-sender_cc_algo"], "is not nscc, or constant without the receiver's control")
        elif algorithm == "constant":
            kind = "none"
        for flag in ("-sender_cc_only", "-receiver_cc_only", "-sender_cc", "-receiver_cc", "-sender_cc_algo"):
            if flag in self.given:
                self.take(flag, "cc.kind", kind)
        if not told:
            self.take("-sender_cc", "cc.kind", kind)
            why = "NSCC controls" if sender else "RCCC controls, as before June 2025"
            if self.uec:
                self.settings.notes.append(f"no flag says who controls: {why} (--as-of {self.as_of})")
        # Where it is neither on nor forced off, the network says (`main_uec.cpp:688`).
        self._oversubscribed("on" if on else "off" if forced else "auto")

    def _oversubscribed(self, capacity: str) -> None:
        for flag in ("-force_disable_oversubscribed_cc", "-oversubscribed_cc"):
            if not self.by_credits:
                self.without(flag, "no credits of a receiver control")
            elif flag in self.given:
                self.take(flag, "cc.rccc.oversubscribed", capacity)
        for flag, usual in (("-Ai", 0.01), ("-Md", 0.5), ("-alpha", 0.5)):
            if self.number(flag, usual, 0, 1, whole=False) != usual:
                self.wrong(self.given[flag], f"is fixed here, at {usual}, its default there; leave it out")
            self.same(flag, "its default there")

    def _queues(self, network: Network) -> None:
        """Trimming, and marks: of the flags, or 1 BDP, 0.2 and 0.8 of it (`main_uec.cpp:642-711`)."""
        trims = "-disable_trim" not in self.given
        factor = int(self.number("-queue_size_bdp_factor", 1 if trims else 5, 1, 1000))
        packets = int(self.number("-q", network.bdp * factor, 1, 1 << 20))
        size = packets * network.mtu
        told = "" if "-q" in self.given else f"{factor} BDP of {network.bdp} packets"
        queue = "switch.trimming.queue" if trims else "switch.port-buffer"
        self.take("-q", queue, f"{size}B", told)
        trimmed = int(self.number("-trimsize", HEADER, HEADER, network.mtu))
        if trims:
            self.take("-trimsize", "switch.trimming.size", f"{trimmed}B")
        else:
            self.settings.keys.pop("switch.overflow", None)
            self.take("-disable_trim", "switch.overflow", "drop")
            self.without("-trimsize", "nothing is trimmed (-disable_trim)")
        # `main_uec.cpp:695`, in us; that simulator never waits longer for a packet that timed out before.
        patience = 15 + size * 48e6 / (1e6 * network.mbps)
        self.take("-q", "uec.rto", f"{patience * 1e6:.0f}ps")
        self.take("-q", "uec.backoff", value=False)
        if "-queue_size_bdp_factor" in self.given:
            if "-q" in self.given:
                self.without("-queue_size_bdp_factor", "-q says the size")
            else:
                self.take("-queue_size_bdp_factor", queue, f"{size}B")
        low, high = math.ceil(network.bdp * 0.2), math.ceil(network.bdp * 0.8)
        line = self.given.get("-ecn")
        if line is not None:
            low, high = (int(word) if re.fullmatch("[0-9]{1,9}", word) else -1 for word in line.value.split())
            if not 0 <= low <= high <= packets:
                self.wrong(line, f"is not two whole numbers of packets, low and high, from 0 to the queue's {packets}")
                return
        elif high > packets:
            self.wrong(
                self.given.get("-q", Line(("-q",), 0, str(packets))),
                f"is below the high threshold of {high} packets (0.8 BDP), at which that program ends; give -ecn",
            )
            return
        quarter = 4 if self.as_of == "2024-08" else 1
        why = "a quarter: all thresholds were, by mistake, from 29 July to 7 August 2024" if quarter > 1 else ""
        marks = {"kmin": f"{low * network.mtu // quarter}B", "kmax": f"{high * network.mtu // quarter}B", "pmax": 1.0}
        for name, value in {**marks, "kind": "red"}.items():
            self.take("-ecn", f"switch.detector.{name}", value, why)
        if self.by_credits:
            # Where receivers give credits their own links do not mark (`main_uec.cpp:708`).
            self.take("-ecn", "switch.detector.last-hop", value=False)
        if line is not None and line.fate is Fate.TAKEN:
            line.key = f"switch.detector.kmin = {marks['kmin']}, kmax = {marks['kmax']}"

    def _spread(self) -> None:
        paths = int(self.number("-paths", 64, 1, MOST_PATHS))
        strategy = self.word("-strat", "ecmp_host")
        flags = [line.place[0] for line in self.lines]
        if strategy == "ecmp_ar" and "-paths" not in flags[flags.index("-strat") :]:
            # There the switches choose, and this sets one entropy; a number of paths behind it stands.
            paths = 1
        if paths & (paths - 1):
            self.wrong(self.given["-paths"], f"is not a power of two up to {MOST_PATHS}")
        self.take("-paths", "uec.entropies", paths)
        algorithm = self.word("-load_balancing_algo", "mixed")
        if algorithm not in _SPREADS:
            self.wrong(self.given["-load_balancing_algo"], f"is not one of {', '.join(_SPREADS)}")
        elif algorithm == "reps" and "-disable_trim" in self.given:
            self.wrong(self.given["-load_balancing_algo"], "needs trimming, which -disable_trim turns off")
        else:
            self.take("-load_balancing_algo", "uec.spread", _SPREADS[algorithm])
        if strategy not in _STRATEGIES:
            self.wrong(self.given["-strat"], f"is not one of {', '.join(_STRATEGIES)}; the others have no counterpart")
        elif "-strat" in self.given:
            self.settings.keys.pop("switch.load-balancing", None)
            self.take("-strat", "switch.load-balancing", _STRATEGIES[strategy])

    def _window(self, network: Network) -> None:
        if "-cwnd" in self.given:
            packets = int(self.number("-cwnd", 1, 1, 1 << 20))
            self.take("-cwnd", "uec.window", f"{packets * network.mtu}B", "the first window; it is bounded by 1.5 BDP")
        if "-sack_threshold" in self.given:
            self.take(
                "-sack_threshold", "uec.ack-bytes", f"{int(self.number('-sack_threshold', 16384, 1, 8_000_000))}B"
            )
        if "-enable_accurate_base_rtt" in self.given:
            self.take("-enable_accurate_base_rtt", "uec.base-rtt", "pair")
        if not self.by_window:
            self.without("-target_q_delay", "no window of a sender controls")
            self.without("-qa_gate", "no window of a sender controls")
            return
        if "-target_q_delay" in self.given:
            delay = self.number("-target_q_delay", 1, 1e-6, 1e6, whole=False)
            self.take("-target_q_delay", "cc.nscc.target", f"{delay:.12g}us")
        else:
            # `uec.cpp:86-209`: three quarters of the round trip with trimming, else all of it.
            share = 1.0 if "-disable_trim" in self.given else 0.75
            self.take("-target_q_delay", "cc.nscc.target", f"{int(share * network.round_trip_ps)}ps")
        if "-qa_gate" in self.given:
            self.take("-qa_gate", "cc.nscc.gate", int(self.number("-qa_gate", 3, 0, 30)))

    def rest(self) -> None:
        """What became of flags that no key is made of."""
        for line in self.lines:
            flag = line.place[0]
            if flag in _WITHOUT_EFFECT:
                line.become(Fate.NONE, _WITHOUT_EFFECT[flag])
            if flag in _REFUSED:
                self.wrong(line, _REFUSED[flag])
            if flag in _AS_HERE:
                value, why = _AS_HERE[flag]
                if line.value != value:
                    self.wrong(line, f"is not {value}; there is no counterpart of another one")
                line.become(Fate.SAME, why)
            if flag == "-conn_reuse":
                key = "" if self.uec else 'traffic.app.connection = "pair"'
                line.become(Fate.TAKEN, "one flow of the messages of an id" if self.uec else "messages of one id", key)
        self.settings.check()


def _default(profile: str, table: str, key: str) -> str:
    return str(json.loads(_core.profile_defaults())[profile][table][key])


def _number(text: str) -> float | None:
    # That program reads whole numbers by atoi, for which "1e2" is 1.
    return float(text) if re.fullmatch(r"[0-9]{1,18}(\.[0-9]{0,18})?", text, re.ASCII) else None


_SCENARIO = """# Made of {origin}.
profile = "{profile}"

[topology]
kind = "hpcc"
file = "topology.txt"

{settings}
{faults}[[traffic]]
name = "app"
kind = "trace"
file = "app.trace"
{connection}"""
