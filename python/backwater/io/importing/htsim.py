"""Fat trees of htsim (`.topo`) as topology files of the HPCC simulator, which name every link.

::

    Nodes 8
    Tiers 2
    Podsize 8
    Tier 0
    Downlink_speed_Gbps 100
    Radix_Down 4
    Radix_Up 2
    Downlink_Latency_ns 1000
    Tier 1
    Downlink_speed_Gbps 100
    Radix_Down 2
    Downlink_Latency_ns 1000

Tier 0 are the switches that hosts stand at. A tier's downlinks are its links towards the hosts. What command lines of
that simulator say is read by :mod:`backwater.io.importing.htsim_flags`.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from backwater.errors import UsageError

#: The most links that are written; htsim's largest fat trees have fewer.
_MOST_LINKS = 4_000_000

_TIER_KEYS = {
    "downlink_speed_gbps": "a rate in Gbps",
    "radix_down": "a number of ports",
    "radix_up": "a number of ports",
    "downlink_latency_ns": "a time in ns",
    "switch_latency_ns": "a time in ns",
    "oversubscribed": "a ratio",
    "bundle": "a number of links",
    "queue_up": "a number of bytes",
    "queue_down": "a number of bytes",
}


_SPEED, _LATENCY, _SWITCH = "downlink_speed_gbps", "downlink_latency_ns", "switch_latency_ns"


@dataclass
class _Tier:
    line: int
    values: dict[str, float] = field(default_factory=dict)


@dataclass
class _Shape:
    """Switches of each tier, and its links: lower node, upper node, tier, and how many of them are side by side."""

    nodes: int
    switches: list[int]
    links: list[tuple[int, int, int, int]]
    #: Switches of tier 1 in a pod, and of tier 2 above each of them.
    above: int
    stripe: int


@dataclass
class FatTree:
    """A fat tree, of a file or by its size."""

    origin: str
    tiers: list[_Tier]
    shape: _Shape

    @property
    def hosts(self) -> int:
        """Number of its hosts."""
        return self.shape.nodes

    @property
    def diameter(self) -> int:
        """Links of a longest path between two hosts."""
        return 2 * len(self.tiers)

    def host_gbps(self) -> float:
        """Rate of the links of hosts."""
        return self._of(0, _SPEED, 100)

    def top_gbps(self) -> float:
        """Rate of what joins a switch of the top tier to one below: all links of a bundle."""
        top = len(self.tiers) - 1
        return self._of(top, _SPEED, 100) * max(beside for *_, tier, beside in self.shape.links if tier == top)

    def one_way_ns(self) -> float:
        """Delay of the links and switches of a longest path."""
        links = 2 * sum(self._of(tier, _LATENCY, 1000) for tier in range(len(self.tiers)))
        inside = [tier.values.get(_SWITCH, 0) for tier in self.tiers]
        return links + 2 * sum(inside[:-1]) + inside[-1]

    def switch_ns(self) -> float | None:
        """How long each switch takes with a frame; None if tiers differ."""
        found = {tier.values.get(_SWITCH, 0) for tier in self.tiers}
        return found.pop() if len(found) == 1 else None

    def spines(self) -> int:
        """Switches of the top tier."""
        return self.shape.switches[-1]

    def up(self, switch: int, link: int) -> tuple[str, str] | None:
        """The names of a switch of tier 1, counted over all pods, and of the one of tier 2 at an uplink of it."""
        if len(self.tiers) < 3 or switch >= self.shape.switches[1] or link >= self.shape.stripe:
            return None
        first = self.shape.nodes + self.shape.switches[0]
        core = first + self.shape.switches[1] + switch % self.shape.above * self.shape.stripe + link
        return f"n{first + switch}", f"n{core}"

    def text(self, slow: int = 0) -> str:
        """The file of the HPCC simulator; links of the first `slow` switches of tier 1 have a quarter of their rate."""
        first = self.shape.nodes + self.shape.switches[0]
        lines = []
        for a, b, tier, beside in self.shape.links:
            rate = self._of(tier, _SPEED, 100) * beside
            if tier == 1 and b < first + slow:
                rate /= 4
            lines.append(f"{a} {b} {_rate(rate)} {self._of(tier, _LATENCY, 1000):.12g}ns 0")
        count = self.shape.nodes + sum(self.shape.switches)
        switches = " ".join(str(switch) for switch in range(self.shape.nodes, count))
        return "\n".join([f"{count} {sum(self.shape.switches)} {len(lines)}", switches, *lines, ""])

    def _of(self, tier: int, key: str, default: float) -> float:
        return _of(self.tiers[tier], key, self.origin, default)


def read(text: str, origin: str) -> FatTree:
    """The fat tree of a `.topo` file; UsageError names the line that is wrong."""
    head, tiers = _read(text, origin)
    return FatTree(origin, tiers, _shape(head, tiers, origin))


def of_size(hosts: int, tiers: int, gbps: float, link_ns: float, switch_ns: float) -> FatTree:
    """The full fat tree that htsim makes if no file is named; UsageError if there is none of this size."""
    k = 1
    while (size := k**3 // 4 if tiers == 3 else k**2 // 2) < hosts:
        k += 1
    if size != hosts or k % 2:
        form = "k³/4" if tiers == 3 else "k²/2"
        raise UsageError(
            f"{hosts} nodes are no fat tree of {tiers} tiers, which has {form} hosts with switches of k ports, k even;"
            " name a topology with --topology"
        )
    links = {_SPEED: gbps, _LATENCY: link_ns, _SWITCH: switch_ns}
    half = k // 2
    made = [_Tier(1, {"radix_down": half, "radix_up": half, **links})]
    if tiers == 3:
        made.append(_Tier(1, {"radix_down": half, "radix_up": half, **links}))
    made.append(_Tier(1, {"radix_down": k, **links}))
    head = {"nodes": hosts, "tiers": tiers, "podsize": half * half}
    return FatTree("the fat tree", made, _shape(head, made, "the fat tree"))


def network(text: str, origin: str) -> tuple[str, int, list[str]]:
    """The topology as a file of the HPCC simulator, the number of its hosts, and what the user should know.

    UsageError names the line that is wrong.
    """
    tree = read(text, origin)
    notes = notes_of(tree)
    if any(tier.values.get(_SWITCH) for tier in tree.tiers):
        notes.insert(0, "Switch_Latency_ns is not carried over: [switch] latency is the time that a switch takes")
    return tree.text(), tree.hosts, notes


def notes_of(tree: FatTree) -> list[str]:
    """What the user should know of a fat tree of a file."""
    tiers, shape = tree.tiers, tree.shape
    notes = []
    if any("queue_up" in tier.values or "queue_down" in tier.values for tier in tiers):
        notes.append("Queue_Up and Queue_Down are not kept: buffers are those of [switch]")
    if any(tier.values.get("oversubscribed", 1) != 1 for tier in tiers):
        notes.append("Oversubscribed is not used: what the links are is said by Radix_Up, Radix_Down and Bundle")
    for key, what in ((_SPEED, "100 Gbps"), (_LATENCY, "1000 ns")):
        if without := [str(number) for number, tier in enumerate(tiers) if key not in tier.values]:
            notes.append(f"{key.title()} is not given for tier {', '.join(without)}: {what} is taken")
    most = max(beside for *_, beside in shape.links)
    if most > 1:
        notes.append(f"{most} links side by side are one of their rates together: no flow is hashed to one of them")
    return notes


def _wrong(origin: str, line: int, what: str) -> UsageError:
    return UsageError(f"{origin}: line {line}: {what}")


def _read(text: str, origin: str) -> tuple[dict[str, int], list[_Tier]]:
    head: dict[str, int] = {}
    tiers: list[_Tier] = []
    for number, raw in enumerate(text.splitlines(), 1):
        words = raw.split("#")[0].split()
        if not words:
            continue
        key = words[0].lower()
        if key == "tier":
            if _number(words, "the number of a tier", origin, number) != len(tiers):
                raise _wrong(origin, number, f"tier {len(tiers)} is expected here: tiers follow each other from 0")
            tiers.append(_Tier(number))
        elif not tiers and key in ("nodes", "tiers", "podsize"):
            head[key] = _number(words, "a number from 1", origin, number)
        elif tiers and key in _TIER_KEYS:
            tiers[-1].values[key] = _number(words, _TIER_KEYS[key], origin, number)
        else:
            known = ", ".join(("Nodes", "Tiers", "Podsize", "Tier"))
            if tiers:
                known = ", ".join(word.title() for word in _TIER_KEYS)
            raise _wrong(origin, number, f"{words[0][:40]!r} is not one of {known}")
    last = max(1, len(text.splitlines()))
    for key in ("nodes", "tiers"):
        if head.get(key, 0) < 1:
            raise _wrong(origin, last, f"{key.title()} is missing or 0")
    if head["tiers"] not in (2, 3) or len(tiers) != head["tiers"]:
        raise _wrong(origin, last, f"Tiers {head['tiers']} with {len(tiers)} tiers described; 2 or 3 are possible")
    return head, tiers


def _number(words: list[str], what: str, origin: str, line: int) -> int:
    if len(words) != 2 or not words[1].isascii() or not words[1].isdecimal() or len(words[1]) > 9:
        raise _wrong(origin, line, f"{words[0][:40]} needs {what}, and nothing else")
    return int(words[1])


def _of(tier: _Tier, key: str, origin: str, default: float | None = None) -> float:
    value = tier.values.get(key, default)
    if value is None or value <= 0:
        raise _wrong(origin, tier.line, f"this tier needs {key.title()}, from 1")
    return value


def _ports(tier: _Tier, key: str, origin: str) -> int:
    return int(_of(tier, key, origin))


def _divided(number: int, by: int, what: str, origin: str, line: int) -> int:
    if number % by:
        raise _wrong(origin, line, f"{what}: {number} is no multiple of {by}")
    return number // by


def _shape(head: dict[str, int], tiers: list[_Tier], origin: str) -> _Shape:
    nodes = head["nodes"]
    pod = head.get("podsize", nodes) if len(tiers) == 3 else nodes
    if pod < 1:
        raise _wrong(origin, 1, "Podsize is 0")
    pods = _divided(nodes, pod, "Nodes over Podsize", origin, 1)
    down = _ports(tiers[0], "radix_down", origin)
    leaves = _divided(pod, down, "hosts of a pod over Radix_Down of tier 0", origin, tiers[0].line)
    up = _ports(tiers[0], "radix_up", origin)
    ports = _ports(tiers[1], "radix_down", origin)
    above = _divided(leaves * up, ports, "uplinks of a pod over Radix_Down of tier 1", origin, tiers[1].line)
    parallel = _divided(up, above, "Radix_Up of tier 0 over the switches above it", origin, tiers[0].line)
    switches = [pods * leaves, pods * above]
    total = nodes + switches[0] * up
    cores = beside = stripe = 0
    if len(tiers) == 3:
        up_1, ports_2 = _ports(tiers[1], "radix_up", origin), _ports(tiers[2], "radix_down", origin)
        cores = _divided(
            switches[1] * up_1, ports_2, "uplinks of tier 1 over Radix_Down of tier 2", origin, tiers[2].line
        )
        stripe = _divided(cores, above, "switches of tier 2 over those of tier 1 in a pod", origin, tiers[2].line)
        beside = _divided(up_1, stripe, "Radix_Up of tier 1 over the switches above it", origin, tiers[1].line)
        switches.append(cores)
        total += switches[1] * up_1
    if total > _MOST_LINKS:
        raise _wrong(origin, 1, f"this network has {total} links; at most {_MOST_LINKS} can be written")
    links = [(host, nodes + host // down, 0, 1) for host in range(nodes)]
    first_above, first_core = nodes + switches[0], nodes + switches[0] + switches[1]
    for leaf in range(switches[0]):
        inside = first_above + leaf // leaves * above
        links += [(nodes + leaf, inside + other, 1, parallel) for other in range(above)]
    for switch in range(switches[1] if cores else 0):
        first = first_core + switch % above * stripe
        links += [(first_above + switch, first + other, 2, beside) for other in range(stripe)]
    return _Shape(nodes, switches, links, above, stripe)


def _rate(gbps: float) -> str:
    return f"{gbps:.12g}Gbps" if float(gbps).is_integer() else f"{gbps * 1000:.12g}Mbps"
