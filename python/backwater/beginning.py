"""A first scenario of one's own: a network and flows in the format of the HPCC simulator, and what to run them with."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import TYPE_CHECKING

from backwater.errors import UsageError
from backwater.importing import Imported, read_text

if TYPE_CHECKING:
    from pathlib import Path

_SCENARIO = """\
# {about}
#
# Run it, with a page to look at:   backwater run {file} --html
# See it:                           backwater view {results}
# Who held whom back:               backwater blame {results}
# With congestion control:          backwater run {file} --html --set cc.kind=dcqcn
# With ternary detection (TCD):     backwater run {file} --html --set switch.detector.kind=tcd
# Every key with its meaning:       backwater schema
[topology]
kind = "hpcc"            # a line `nodes switches links`, one with the switches' ids, then `a b rate delay 0` per link
file = "topology.txt"

[cc]
kind = "none"            # hosts send as fast as PFC lets them; "dcqcn" slows down those whose packets are marked

[switch]
buffer = "2MiB"          # shared by the ports of a switch; PFC pauses who has more than its share of what is free

[switch.detector]
kind = "red"             # ECN: queues from kmin on are marked, with probability pmax at kmax, always above
kmin = "100KB"
kmax = "400KB"
pmax = 0.2

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


@dataclass(frozen=True)
class _Flows:
    """What a list of flows needs: its earliest start in seconds, and about how long it takes in microseconds."""

    origin: Decimal
    takes_us: float


def begin(out: Path, topology: Path | None, flows: Path | None) -> Imported:
    """The files of a first scenario: the user's own network and flows, or an example of what is not given."""
    if flows is not None and topology is None:
        raise UsageError("--flows names hosts of a network; add --topology FILE, the network that has them")
    net = example_topology() if topology is None else read_text(topology, "a topology file of the HPCC simulator")
    hosts, slowest_bps = _network(net, str(topology or "topology.txt"))
    text = example_flows(hosts) if flows is None else read_text(flows, "a flow list of the HPCC simulator")
    needs = _needs(text, slowest_bps, str(flows or "flow.txt"))
    about = f"{len(hosts)} hosts of " + ("an example, a fat tree" if topology is None else topology.name)
    about += ", and " + ("an incast beside other flows." if flows is None else f"the flows of {flows.name}.")
    scenario = _SCENARIO.format(
        about=about,
        file=out / "scenario.toml",
        results="results/scenario-s1",
        origin=f"{needs.origin.normalize():f}",
        sample=_sample_us(needs.takes_us),
    )
    count = len([line for line in text.splitlines() if line.strip()]) - 1
    imported = Imported(
        {"scenario.toml": scenario, "topology.txt": net, "flow.txt": text}, f"{len(hosts)} hosts, {count} flows"
    )
    _check(imported, topology, flows)
    return imported


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


def _network(text: str, origin: str) -> tuple[list[int], float]:
    """The hosts and the slowest link; whatever else may be wrong is told by the reader of scenarios."""
    lines = [line.split() for line in text.splitlines() if line.strip()]
    try:
        nodes, count, _ = (int(word) for word in lines[0])
        switches = {int(word) for word in lines[1]} if count else set()
        rates = [_bps(line[2]) for line in lines[2 if count else 1 :]]
    except (ValueError, IndexError):
        raise UsageError(
            f"{origin} is no topology of the HPCC simulator: a line `nodes switches links`, a line with the switches' "
            "ids, then a line `a b 100Gbps 0.001ms 0` for each link"
        ) from None
    if nodes > 1_000_000:
        raise UsageError(f"{origin}: line 1: {nodes} nodes; at most 1000000 are possible")
    hosts = [node for node in range(nodes) if node not in switches]
    if len(hosts) < 3 or not rates:
        raise UsageError(f"{origin} has {len(hosts)} hosts and {len(rates)} links; 3 hosts and a link are needed")
    return hosts, min(rates)


def _bps(word: str) -> float:
    for ending, factor in (("Tbps", 1e12), ("Gbps", 1e9), ("Mbps", 1e6), ("Kbps", 1e3), ("bps", 1.0)):
        if word.endswith(ending):
            rate = float(word.removesuffix(ending)) * factor
            if 0 < rate < 1e15:
                return rate
    raise ValueError(word)


def _needs(text: str, slowest_bps: float, origin: str) -> _Flows:
    starts, to = [], Counter[str]()
    for number, line in list(enumerate(text.splitlines(), 1))[1:]:
        words = line.split()
        if not words:
            continue
        try:
            _, dst, _, _, size, start = words
            to[dst] += int(size)
            starts.append(Decimal(start))
        except (ValueError, InvalidOperation):
            starts.append(Decimal("NaN"))
        if not starts[-1].is_finite() or not 0 <= starts[-1] < 10**6:
            raise UsageError(
                f"{origin}: line {number}: {line.strip()[:60]!r} is no flow `src dst priority dport bytes start_s`"
            )
    if not starts:
        raise UsageError(
            f"{origin} has no flows: a line with their number, then `src dst priority dport bytes start_s`"
        )
    longest_us = max(to.values()) * 8e6 / slowest_bps
    return _Flows(min(starts), longest_us + float(max(starts) - min(starts)) * 1e6)


def _sample_us(takes_us: float) -> int:
    """About 500 moments to look at, at a period that reads well."""
    period = 1
    for step in (2, 5, 10, 20, 50, 100, 200, 500, 1000, 10_000, 100_000):
        if takes_us / 500 >= step:
            period = step
    return period


def _check(imported: Imported, topology: Path | None, flows: Path | None) -> None:
    """Say what is wrong with the user's files by their own names, before anything is written."""
    import tempfile
    from pathlib import Path

    from backwater.running import Scenario

    text = imported.files["scenario.toml"]
    with tempfile.TemporaryDirectory() as folder:
        for name, given in (("topology.txt", topology), ("flow.txt", flows)):
            if given is None:
                (Path(folder) / name).write_text(imported.files[name], encoding="utf-8")
                place = Path(folder) / name
            else:
                place = given.absolute()
            text = text.replace(f'file = "{name}"', f"file = {_literal(str(place))}")
        Scenario(text, "scenario.toml", Path(folder)).resolve()


def _literal(text: str) -> str:
    """A path as a string of TOML, which has JSON's escapes."""
    import json

    return json.dumps(text)
