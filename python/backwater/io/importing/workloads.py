"""Workloads: GOAL, htsim's connection matrices, Chakra, VEF. They become traces (docs/trace-format.md)."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from backwater import _core
from backwater.errors import UsageError
from backwater.io.importing import Imported, read_bytes, read_text, subnet
from backwater.io.importing.htsim import network
from backwater.scenario.toml_writer import toml

#: The files of each format, in words.
FORMATS = {
    "goal": "a GOAL schedule, text or binary",
    "htsim": "a connection matrix of htsim (.cm)",
    "chakra": "the execution traces of all NPUs, in the order of their numbers",
    "vef": "a VEF trace",
}


#: What fits links of any rate from 25 to 800 Gbps: its buffers and thresholds follow the rate.
PROFILE = "roce"
#: Rate of links where nothing else says one, and their delay: 10 m of cable.
RATE = "100Gbps"
DELAY = "50ns"


def load(format_: str, files: Sequence[Path], topology: str | None = None, profile: str | None = None) -> Imported:
    """A workload and the network that it runs on, under a profile: one switch, and `PROFILE`, if none is given.

    `topology` is a file, or a kind with its keys such as `fat-tree k=8`.
    """
    what = FORMATS[format_]
    if format_ != "chakra" and len(files) != 1:
        raise UsageError(f"{format_} takes one file, {what}; {len(files)} are given")
    origin = str(files[0])
    trace, holds, notes = _core.import_workload(format_, [read_bytes(file, what) for file in files], origin)
    place = Place(int(holds.split()[0]), origin, topology, profile)
    return place.scenario("app.trace", trace, "trace", holds, notes, _ACKS if " acked " in trace else "")


@dataclass(frozen=True)
class Place:
    """Where the ranks of a workload run: a network and a profile, one switch and `PROFILE` if none is given."""

    ranks: int
    origin: str
    topology: str | None
    profile: str | None

    def scenario(self, name: str, text: str, kind: str, holds: str, notes: list[str], extra: str = "") -> Imported:
        """The scenario of a file of records, such as a trace, with lines of other tables."""
        made = {name: text}
        sources: dict[str, str] = {}
        notes, fitting, rate = list(notes), PROFILE, line_rate(self.profile)
        if self.topology is None:
            place = toml({"topology": {"kind": "star", "hosts": self.ranks, "rate": rate, "delay": DELAY}})
            what = f"{self.ranks} hosts at one switch, links of {rate}"
            notes.append(f"no network is named: {what}; --topology names another one")
        else:
            place, fitting, more = network_of(self.topology, rate, made, (self.ranks, self.origin))
            notes += more
            sources |= dict.fromkeys(made.keys() & {"topology.txt", "routes.txt"}, self.topology)
        if self.profile is None:
            notes.append(f"no profile is named: {_WHY[fitting]}; --profile takes another one")
        made["scenario.toml"] = _SCENARIO.format(
            origin=self.origin, profile=self.profile or fitting, place=place, extra=extra, kind=kind, file=name
        )
        return Imported(made, holds, notes, sources)


def line_rate(profile: str | None) -> str:
    """The rate of the links that a profile is meant for. Raises UsageError for one that does not exist."""
    if profile is None:
        return RATE
    known = json.loads(_core.profile_defaults())
    if profile not in known:
        raise UsageError(f"--profile {profile}: there is none of this name; there are {', '.join(known)}")
    return str(known[profile]["line-rate"]["meant-for"])


def _generated(text: str, rate: str) -> str:
    """The lines of `kind key=value ...`; links have the rate of the profile if the text says none."""
    kind, *rest = text.split()
    pairs = [word.partition("=") for word in rest]
    given = {key: value if _NUMBERS.fullmatch(value) else json.dumps(value) for key, _, value in pairs}
    given = {"kind": json.dumps(kind), "rate": json.dumps(rate), "delay": json.dumps(DELAY)} | given
    return "[topology]\n" + "".join(f"{key} = {value}\n" for key, value in given.items())


def network_of(
    topology: str, rate: str, made: dict[str, str], needed: tuple[int, str] = (0, "")
) -> tuple[str, str, list[str]]:
    """The lines of a scenario that name a network, the profile that fits it, and what the user should know.

    It is a file, or a kind with its keys; links have `rate` if the keys say none. Its files are put with those made.
    `needed` are the hosts that it must have, and for what.
    """
    if _KIND.fullmatch(topology) and not Path(topology).exists():
        return _generated(topology, rate), PROFILE, []
    return _network(Path(topology), *needed, made)


def _network(topology: Path, ranks: int, origin: str, made: dict[str, str]) -> tuple[str, str, list[str]]:
    """The network of a file."""
    if topology.suffix == ".toml":
        return _table_of(topology, made), PROFILE, []
    text = read_text(topology, f"a TOML file, {_WHAT}")
    if _HPCC.match(text):
        made["topology.txt"] = text
        return _OF_FILE, PROFILE, []
    if subnet.is_subnet(text):
        place, more, profile, notes = subnet.topology(topology, text)
        made |= more
        return place, profile, notes
    made["topology.txt"], hosts, notes = network(text, str(topology))
    if hosts < ranks:
        raise UsageError(f"{topology} has {hosts} nodes, but {origin} has {ranks}; name a larger topology")
    return _OF_FILE, PROFILE, notes


def _table_of(file: Path, made: dict[str, str]) -> str:
    """The [topology] of a TOML file; a file that it names is copied beside the scenario."""
    try:
        found = tomllib.loads(read_text(file, "a TOML file with [topology]")).get("topology")
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"{file}: {error}") from None
    if not isinstance(found, dict):
        raise UsageError(f"{file} has no [topology]; name a file that has one, such as a scenario")
    for key, name in (("file", "topology.txt"), ("table", "routes.txt")):
        if isinstance(named := found.get(key), str):
            made[name] = read_text(file.parent / named, f"the file that {file} names")
            found[key] = name
    return toml({"topology": found})


#: How a topology file of the HPCC simulator begins: the numbers of its nodes, switches and links.
_HPCC = re.compile(r"\s*\d+\s+\d+\s+\d+\s")


_SCENARIO = """# Made of {origin}.
profile = "{profile}"

{place}
{extra}[[traffic]]
name = "app"
kind = "{kind}"
file = "{file}"

[probe]
sample = "10us"
"""

#: A kind of network with its keys.
_KIND = re.compile(r"[a-z][a-z0-9-]*( +[a-z][a-z0-9-]*=[^\s=]+)*")
#: Values of keys that need no quotes: numbers and lists of them, true and false.
_NUMBERS = re.compile(r"-?[0-9.]+|\[[0-9.,]*\]|true|false")
#: What else may name a network.
_WHAT = "a topology of htsim (.topo), of the HPCC simulator, of ibnetdiscover, ibdiagnet2.db_csv, or ibdiagnet2.lst"
#: Why a profile is taken that nobody named.
_WHY = {
    PROFILE: f"{PROFILE}, whose values follow the rate of the links; InfiniBand is edr, hdr, ndr or xdr",
    **{name: f"{name}, by the links of most hosts" for name in ("edr", "hdr", "ndr", "xdr", "infiniband")},
}

_OF_FILE = """[topology]
kind = "hpcc"
file = "topology.txt"
"""

#: What waits for acknowledgements needs them.
_ACKS = """[ack]
every = 1

"""
