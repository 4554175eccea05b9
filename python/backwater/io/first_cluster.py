"""A first scenario of an AI cluster: network, presets of switches and NICs, a training job beside storage."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from backwater.common import quantities
from backwater.errors import UsageError
from backwater.io.importing import Imported
from backwater.scenario.presets import Preset, presets
from backwater.scenario.scenario import Scenario

#: GPUs of a server, as in NVIDIA's DGX and HGX systems.
GPUS_PER_SERVER = 8
#: The switch is the smallest that has so many ports of the NIC's rate. Half of them are for GPUs.
_PORTS = 128
#: Leaves with so many GPUs, and pods with so many leaves, where the network has three tiers.
_LEAF, _POD = 16, 8
_MOST_GPUS = 32_768

_SCENARIO = """\
# {gpus} GPUs with NICs of {nic}: {about}
# A training job's all-reduce runs beside a checkpoint that {senders} GPUs write to one host.
#
# Run it, with a page to look at:    backwater run {file} --html
# Check its settings:                backwater doctor {file}
# Which thresholds are good:         backwater advise {file}
# What a preset has, and from where: backwater explain {switch}
profile = "roce"              # what is not said here or by a preset: RoCE as data centres run it

[topology]
{topology}
rate = "{nic}"
delay = "500ns"               # of each link: 100 m of fibre

[switch]
{switch_line}
load-balancing = "ecmp"       # or spray, flowlet, adaptive

[host.nic]
{nic_line}

# Your own settings stand over those of the presets. Remove the # of what you know.
[switch.pfc]
# alpha = 0.25                # PFC pauses who has more than this share of what is free

[switch.detector]
# kmin = "400KB"              # ECN marks from here on,
# kmax = "1600KB"             # every packet from here on,
# pmax = 0.2                  # and so many just below

[[job]]
name = "training"
{ranks}
iterations = 2
[[job.step]]
compute = "100us"
[[job.step]]
collective = "all-reduce"
size = "16MB"

[[job]]
name = "checkpoint"
ranks = {senders:<22}# GPUs that write, drawn by the seed
placement = "random"
share = true                  # they may train, too
start = "200us"
[[job.step]]
write = "4MB"
to = "{storage}"{after}# the network has no other hosts for storage; a list names several
"""


@dataclass(frozen=True)
class _Shape:
    """A network: the lines of [topology], what it is in words, its hosts."""

    lines: str
    about: str
    #: Which hosts have ranks of the job: one GPU of each server.
    ranks: str
    #: The host that stores checkpoints: the last one.
    storage: str


def begin(out: Path, gpus: int, nic: str, topology: str) -> Imported:
    """The files of the scenario; raises UsageError for what cannot be built, with what can."""
    if topology not in TOPOLOGIES:
        raise UsageError(f"--topology {topology}: with --gpus expected {', '.join(TOPOLOGIES)}")
    if not 2 * GPUS_PER_SERVER <= gpus <= _MOST_GPUS or gpus % GPUS_PER_SERVER:
        raise UsageError(
            f"--gpus {gpus}: expected a multiple of {GPUS_PER_SERVER} from {2 * GPUS_PER_SERVER} to {_MOST_GPUS}"
        )
    rate = _rate(nic)
    fast = [preset for preset in presets() if quantities.parse_rate(preset.port) >= rate]
    # The slowest NIC that is fast enough first; of those alike the order of the presets.
    nics = sorted(_of(fast, "host.nic.preset"), key=lambda preset: quantities.parse_rate(preset.port))
    switches = _of(fast, "switch.preset")
    if not switches:
        raise UsageError(f"--nic {nic}: no switch of the presets has ports of that rate; choose at most 800Gbps")
    big = [preset for preset in switches if _radix(preset, rate) >= _PORTS] or switches
    switch = min(big, key=lambda preset: quantities.parse_rate(preset.capacity))
    # Only those that can be in its place.
    switches = sorted(big, key=lambda preset: preset is not switch)
    shape = TOPOLOGIES[topology](gpus, _radix(switch, rate))
    file = out / "scenario.toml"
    text = _SCENARIO.format(
        gpus=gpus,
        nic=nic,
        about=shape.about,
        senders=min(32, gpus - 1),
        file=shlex.quote(str(file)),
        topology=shape.lines,
        switch=switch.name,
        switch_line=_line(switches),
        nic_line=_line(nics),
        ranks=shape.ranks,
        storage=shape.storage,
        after=" " * max(1, 23 - len(shape.storage)),
    )
    name = Scenario(text, str(file), out).name
    return Imported({"scenario.toml": text}, f"{gpus} GPUs, {topology}; results/{name}-s1 when it has run")


def _of(found: list[Preset], key: str) -> list[Preset]:
    return [preset for preset in found if preset.key == key]


def _line(found: list[Preset]) -> str:
    """The line that chooses the first, and names the others."""
    if not found:
        return "# preset = ...               # no preset is that fast: the values are the profile's"
    first, *others = (preset.name for preset in found)
    line = f'preset = "{first}"'
    return f"{line:<30}# or {', '.join(others)}" if others else line


def _rate(nic: str) -> int:
    try:
        rate = quantities.parse_rate(nic)
    except ValueError:
        rate = 0
    if rate <= 0:
        raise UsageError(f"--nic {nic}: expected a rate such as 400Gbps")
    return rate


def _radix(switch: Preset, rate: int) -> int:
    """How many ports of a rate a switch has."""
    ports = quantities.parse_rate(switch.capacity) // rate
    return min(ports, switch.ports) if switch.ports else ports


def _divisor(number: int, most: int) -> int:
    """The largest divisor that is not more than `most`."""
    return max(each for each in range(1, max(1, most) + 1) if number % each == 0)


def _rails(gpus: int, radix: int) -> _Shape:
    servers = gpus // GPUS_PER_SERVER
    own = _divisor(servers, radix // 2)
    units = servers // own
    _at_most(units * GPUS_PER_SERVER, radix, "a spine has a port for each rail switch")
    lines = (
        'kind = "rail"                 # GPU j of each server is at the switch of rail j\n'
        f"units = {units}\nservers = {own}\ngpus = {GPUS_PER_SERVER}"
    )
    about = f"{servers} servers of {GPUS_PER_SERVER}, one switch for {own} of them in each rail, spines above."
    ranks = (
        'hosts = "gpu*.0"              # one rail: GPU 0 of every server; "*" takes all\n'
        'placement = "rails"           # a ring stays on a rail: NVLink, not this network, joins GPUs of a server'
    )
    return _Shape(lines, about, ranks, f"gpu{servers - 1}.0")


def _leaf_spine(gpus: int, radix: int) -> _Shape:
    own = _divisor(gpus, radix // 2)
    leaves = gpus // own
    _at_most(leaves, radix, "a spine has a port for each leaf")
    lines = f'kind = "leaf-spine"\nleaves = {leaves}\nspines = {own}\nhosts-per-leaf = {own}'
    return _Shape(lines, f"{leaves} leaves with {own} GPUs each, {own} spines.", _drawn(gpus), f"h{gpus - 1}")


def _fat_tree(gpus: int, radix: int) -> _Shape:
    k = next((k for k in range(2, radix + 1, 2) if k**3 // 4 == gpus), None)
    if k is None:
        sizes = [k**3 // 4 for k in range(4, radix + 1, 4)]
        near = sorted(sorted(sizes, key=lambda size: abs(size - gpus))[:2])
        raise UsageError(
            f"--gpus {gpus}: a fat tree of switches with k ports has k³/4 hosts; choose {' or '.join(map(str, near))}, "
            "or --topology clos"
        )
    about = f"a fat tree of switches with {k} ports."
    return _Shape(f'kind = "fat-tree"\nk = {k}', about, _drawn(gpus), f"h{gpus - 1}")


def _clos(gpus: int, radix: int) -> _Shape:
    own = _divisor(gpus, min(_LEAF, radix // 2))
    leaves = _divisor(gpus // own, _POD)
    pods = gpus // own // leaves
    _at_most(pods, radix, "a spine has a port for each pod")
    lines = f'kind = "clos"\npods = {pods}\nleaves = {leaves}\nhosts-per-leaf = {own}\noversubscription = [1, 1]'
    about = f"{pods} pods of {leaves} leaves with {own} GPUs each, three tiers."
    return _Shape(lines, about, _drawn(gpus), f"h{gpus - 1}")


def _at_most(needs: int, radix: int, why: str) -> None:
    if needs > radix:
        raise UsageError(f"--gpus: {why}, and {needs} are more than its {radix}; choose fewer, or --topology clos")


def _drawn(gpus: int) -> str:
    ranks = f"ranks = {gpus // GPUS_PER_SERVER}"
    return (
        f"{ranks:<30}# one GPU of each server of {GPUS_PER_SERVER}\n"
        'placement = "random"          # or packed: neighbours side by side; spread'
    )


#: By the word of --topology what makes it of so many GPUs and switches with so many ports.
TOPOLOGIES: dict[str, Callable[[int, int], _Shape]] = {
    "rails": _rails,
    "fat-tree": _fat_tree,
    "leaf-spine": _leaf_spine,
    "clos": _clos,
}
