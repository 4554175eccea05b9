"""A RoCE switch and its NICs as a scenario: SONiC's CONFIG_DB, and DCQCN of NVIDIA's NICs."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from backwater import _core
from backwater.errors import UsageError
from backwater.io.importing import Imported, located_json, read_text
from backwater.io.importing.became import Fate, Line, Settings
from backwater.io.importing.config_db import ConfigDb, Port, rate_text
from backwater.io.importing.networks import network_of
from backwater.io.importing.nic_parameters import Nic
from backwater.io.importing.profiles import PROFILE, line_rate
from backwater.io.importing.subnet import DELAY
from backwater.scenario.toml_writer import value_text

#: The largest file of settings: a switch with 512 ports has 1 MB.
_MOST_BYTES = 32 * 2**20
#: What a metre of cable takes, in nanoseconds.
_METRE_NS = 5
#: Names that a node can have.
_NAME = re.compile(r"[\w./#-]+", re.ASCII)
#: Hosts of a network that neither the file nor --topology names.
_HOSTS = 8


@dataclass
class Switch:
    """What a switch's file has become."""

    imported: Imported
    settings: Settings
    lines: list[Line]


def load(file: Path, nic: Path | None = None, topology: str | None = None, profile: str | None = None) -> Switch:
    """The scenario of a switch: its own ports with a host at each, or another network. Raises UsageError."""
    named = profile or PROFILE
    variant = _variant(named)
    text = read_text(file, "JSON of SONiC's CONFIG_DB (config_db.json)", _MOST_BYTES)
    settings = Settings()
    switch = ConfigDb(located_json.read(text, str(file)), settings)
    settings.check()
    switch.apply()
    lossless = list(switch.lossless)
    of_nic: list[Line] = []
    if nic is not None:
        reader = Nic(str(nic), variant, lossless, switch.classes, settings, of_nic)
        reader.apply(read_text(nic, "lines of a NIC's parameters, such as rpg_ai_rate = 5", _MOST_BYTES))
    switch.apply_others()
    settings.check()
    files: dict[str, str] = {}
    place, hosts = _place(switch, topology, profile, files, settings)
    switch.rest()
    if not settings.keys and not switch.ports:
        raise UsageError(
            f"{file} has nothing that becomes a setting; PORT, PORT_QOS_MAP, BUFFER_PG, BUFFER_PROFILE, QUEUE and"
            " WRED_PROFILE do"
        )
    if profile is None:
        settings.notes.append(
            f"no profile is named: {PROFILE}, RoCE as data centres run it; --profile takes another one"
        )
    priority = 3 if not lossless or 3 in lossless else lossless[0]
    traffic = (_INCAST if hosts else _PERMUTATION).format(
        senders=value_text(hosts[1:]), receiver=value_text("".join(hosts[:1])), priority=priority
    )
    files["scenario.toml"] = _SCENARIO.format(
        origin=value_text(str(file)), profile=named, place=place, settings=settings.toml(), traffic=traffic
    )
    lines = [*switch.lines(), *of_nic]
    counts = {fate: sum(line.fate is fate for line in lines) for fate in Fate}
    holds = ", ".join(f"{count} {fate}" for fate, count in counts.items() if count)
    return Switch(Imported(files, f"{len(lines)} lines: {holds}", settings.notes), settings, lines)


def _variant(profile: str) -> str:
    """How a profile's DCQCN works. Raises UsageError for one that is not of a switch with PFC and DCQCN."""
    line_rate(profile)
    defaults: dict[str, Any] = json.loads(_core.profile_defaults())
    fits = [
        name
        for name, keys in defaults.items()
        if (keys["switch"]["flow-control"], keys["switch"]["queueing"], keys["cc"]["kind"])
        == ("pfc", "output", "dcqcn")
    ]
    if profile not in fits:
        raise UsageError(
            f"--profile {profile}: it has no PFC with output queues and DCQCN, which the file is about; take one of"
            f" {', '.join(fits)}"
        )
    return str(defaults[profile]["cc"]["dcqcn"]["variant"])


def _place(
    switch: ConfigDb, topology: str | None, profile: str | None, files: dict[str, str], settings: Settings
) -> tuple[str, list[str]]:
    """`[topology]`: that of `--topology`, else the switch with a host at each port; in that case its hosts, too."""
    speeds = [port.mbps for port in switch.ports]
    rate = rate_text(max(speeds, key=speeds.count)) if speeds else line_rate(profile)
    if topology is None and len(speeds) > 1:
        return _own(switch, settings)
    if topology is None:
        few = f"the file has {len(speeds)} ports that are up: {_HOSTS} hosts at one switch; --topology names a network"
        settings.notes.append(few)
    place, _, notes = network_of(topology or f"star hosts={_HOSTS}", rate, files)
    settings.notes += notes
    taken = f"\nrate = {value_text(rate)}\n" in place
    for port in switch.ports:
        if taken and rate_text(port.mbps) == rate:
            port.speed.become(Fate.TAKEN, "the rate of most ports", f"topology.rate = {value_text(rate)}")
        else:
            port.speed.become(Fate.NONE, "the network that --topology names has rates of its own")
    return place, []


def _own(switch: ConfigDb, settings: Settings) -> tuple[str, list[str]]:
    """The switch with a host at each port that is up; a host has the name of its port."""
    own = switch.device("hostname")
    names = [own.value if own else "switch", *(port.name for port in switch.ports)]
    if not all(_NAME.fullmatch(name) for name in names) or len(set(names)) < len(names):
        settings.notes.append("hosts are numbered: names of the file cannot be names of hosts and switches")
        names = ["switch", *(f"port{index}" for index in range(len(switch.ports)))]
    elif own:
        own.become(Fate.TAKEN, "the name of the switch", f"topology.switches = {value_text([own.value])}")
    middle, *hosts = names
    rows = []
    for host, port in zip(hosts, switch.ports, strict=True):
        rate = rate_text(port.mbps)
        port.speed.become(Fate.TAKEN, "", f"topology.links.rate = {value_text(rate)}")
        rows.append(f"    {value_text({'a': host, 'b': middle, 'rate': rate, 'delay': _delay(port)})},")
    if any(port.length is None for port in switch.ports):
        settings.notes.append(f"a port without a length in CABLE_LENGTH has a cable of {DELAY}")
    heads = ["[topology]", 'kind = "edges"', f"hosts = {value_text(hosts)}", f"switches = {value_text([middle])}"]
    return "\n".join([*heads, "links = [", *rows, "]", ""]), hosts


def _delay(port: Port) -> str:
    if port.length is None:
        return DELAY
    metres = int(port.length.value.removesuffix("m"))
    if metres == 0:
        port.length.become(Fate.NONE, f"0m is no cable; the link takes {DELAY}")
        return DELAY
    delay = f"{metres * _METRE_NS}ns"
    port.length.become(Fate.TAKEN, f"{_METRE_NS} ns a metre", f'topology.links.delay = "{delay}"')
    return delay


_SCENARIO = """# Made of {origin}.
profile = "{profile}"

{place}
{settings}
{traffic}"""

#: Of the switch alone: what fills a queue. Of another network: what uses all of it.
_INCAST = """# All others send 1 MB to the first host. Your own traffic takes its place: docs/scenarios.md
[[traffic]]
name = "all"
kind = "incast"
from = {senders}
to = {receiver}
priority = {priority}
size = "1MB"
"""
_PERMUTATION = """# Each host sends 1 MB to another one. Your own traffic takes its place: docs/scenarios.md
[[traffic]]
name = "all"
kind = "permutation"
priority = {priority}
size = "1MB"
"""
