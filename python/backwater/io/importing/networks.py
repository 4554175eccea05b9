"""Networks that a command line names: a file of ours or of another tool, or a kind with its keys."""

from __future__ import annotations

import json
import re
import tempfile
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from backwater import _core
from backwater.errors import UsageError
from backwater.io.importing import TABLE, read_text, subnet
from backwater.io.importing.htsim import network
from backwater.io.importing.profiles import PROFILE
from backwater.io.importing.subnet import DELAY
from backwater.scenario import network_facts
from backwater.scenario.toml_writer import toml


class Network(NamedTuple):
    """The lines of a scenario that name a network, the profile that fits it, and what the user should know."""

    lines: str
    profile: str
    notes: list[str]


def network_of(
    topology: str,
    rate: str,
    made: dict[str, str],
    needed: tuple[int, str] = (0, ""),
    *,
    lfts: Path | None = None,
    delay: str | None = None,
) -> Network:
    """The network that `topology` names; its files are put with those `made`.

    Links of a kind have `rate` if its keys say none. `needed` are the hosts that a topology of htsim must have, and for
    what. `lfts` are the forwarding tables of a subnet, `delay` is that of its cables, and of the links of a kind.
    """
    if _KIND.fullmatch(topology) and not Path(topology).exists():
        _only_of_subnets(topology, lfts)
        return Network(_generated(topology, rate, delay or DELAY), PROFILE, [])
    file = Path(topology)
    text = read_text(file, f"a TOML file, {_WHAT}")
    if file.suffix != ".toml" and subnet.is_subnet(text):
        place, more, profile, notes = subnet.topology(file, text, lfts, delay or DELAY)
        made |= more
        return Network(place, profile, notes)
    _only_of_subnets(topology, lfts)
    if delay is not None:
        raise UsageError(f"--delay {delay}: {file} says itself how long its links take; leave --delay out")
    if file.suffix == ".toml":
        return _table_of(file, text, made)
    if _HPCC.match(text):
        made["topology.txt"] = text
        return Network(_OF_FILE, PROFILE, [])
    made["topology.txt"], hosts, notes = network(text, str(file))
    if hosts < needed[0]:
        raise UsageError(f"{file} has {hosts} nodes, but {needed[1]} has {needed[0]}; name a larger topology")
    return Network(_OF_FILE, PROFILE, notes)


def _only_of_subnets(topology: str, lfts: Path | None) -> None:
    if lfts is not None:
        raise UsageError(f"--lfts {lfts}: {topology} is no InfiniBand subnet; --topology takes {subnet.WHAT} with it")


def facts(lines: str, made: Mapping[str, str]) -> dict[str, Any] | None:
    """What `backwater topology` says of a network; None if it is wrong, which is said where it is read."""
    with tempfile.TemporaryDirectory() as folder:
        for name, text in {**made, "network.toml": lines}.items():
            (Path(folder) / name).write_text(text, encoding="utf-8")
        try:
            return network_facts.of(Path(folder) / "network.toml", ())
        except _core.ScenarioError:
            return None


def why(profile: str, topology: str | None) -> str:
    """Why a profile is taken that nobody named."""
    if topology is not None and topology.endswith(".toml") and profile != PROFILE:
        return f"{profile}, as {topology} says"
    return _WHY[profile]


def _generated(text: str, rate: str, delay: str) -> str:
    """The lines of `kind key=value ...`; links have these rates and delays if the text says none."""
    kind, *rest = text.split()
    pairs = [word.partition("=") for word in rest]
    given = {key: value if _NUMBERS.fullmatch(value) else json.dumps(value) for key, _, value in pairs}
    given = {"kind": json.dumps(kind), "rate": json.dumps(rate), "delay": json.dumps(delay)} | given
    return "[topology]\n" + "".join(f"{key} = {value}\n" for key, value in given.items())


def _table_of(file: Path, text: str, made: dict[str, str]) -> Network:
    """The [topology] of a TOML file and its profile; a file that it names is copied beside the scenario."""
    try:
        whole = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"{file}: {error}") from None
    found = whole.get("topology")
    if not isinstance(found, dict):
        raise UsageError(f"{file} has no [topology]; name a file that has one, such as a scenario")
    for key, name in (("file", "topology.txt"), ("table", TABLE)):
        if isinstance(named := found.get(key), str):
            made[name] = read_text(file.parent / named, f"the file that {file} names")
            found[key] = name
    return Network(toml({"topology": found}), str(whole.get("profile", PROFILE)), [])


#: How a topology file of the HPCC simulator begins: the numbers of its nodes, switches and links.
_HPCC = re.compile(r"\s*\d+\s+\d+\s+\d+\s")
#: A kind of network with its keys.
_KIND = re.compile(r"[a-z][a-z0-9-]*( +[a-z][a-z0-9-]*=[^\s=]+)*")
#: Values of keys that need no quotes: numbers and lists of them, true and false.
_NUMBERS = re.compile(r"-?[0-9.]+|\[[0-9.,]*\]|true|false")
#: What else may name a network.
_WHAT = "a topology of htsim (.topo), of the HPCC simulator, of ibnetdiscover, ibdiagnet2.db_csv, or ibdiagnet2.lst"
_WHY = {
    PROFILE: f"{PROFILE}, whose values follow the rate of the links; InfiniBand is edr, hdr, ndr or xdr",
    **{name: f"{name}, by the links of most hosts" for name in subnet.PROFILES.values()},
}

_OF_FILE = """[topology]
kind = "hpcc"
file = "topology.txt"
"""
