"""Workloads: GOAL, htsim's connection matrices, Chakra, VEF. They become traces (docs/trace-format.md)."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from backwater import _core
from backwater.errors import UsageError
from backwater.io.importing import Imported, read_bytes, read_text
from backwater.io.importing.htsim import network
from backwater.scenario.toml_writer import toml

#: The files of each format, in words.
FORMATS = {
    "goal": "a GOAL schedule, text or binary",
    "htsim": "a connection matrix of htsim (.cm)",
    "chakra": "the execution traces of all NPUs, in the order of their numbers",
    "vef": "a VEF trace",
}


#: What fits links of any rate from 25 to 400 Gbps: the thresholds of its ECN follow the rate.
PROFILE = "hpcc-ns3"


def load(format_: str, files: Sequence[Path], topology: Path | None = None, profile: str | None = None) -> Imported:
    """A workload and the network that it runs on, under a profile: one switch, and `PROFILE`, if none is given."""
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
    topology: Path | None
    profile: str | None

    def scenario(self, name: str, text: str, kind: str, holds: str, notes: list[str], extra: str = "") -> Imported:
        """The scenario of a file of records, such as a trace, with lines of other tables."""
        made = {name: text}
        sources: dict[str, str] = {}
        ranks, notes = self.ranks, list(notes)
        if self.topology is None:
            place = _ONE_SWITCH.format(ranks=ranks)
            notes.append(f"no network is named: {ranks} hosts at one switch of 100 Gbps; --topology names another one")
        else:
            place, more = _network(self.topology, ranks, self.origin, made)
            notes += more
            if "topology.txt" in made:
                sources["topology.txt"] = str(self.topology)
        if self.profile is None:
            notes.append(
                f"no profile is named: {PROFILE}, whose ECN thresholds follow the rate of each link; --profile"
            )
        made["scenario.toml"] = _SCENARIO.format(
            origin=self.origin, profile=self.profile or PROFILE, place=place, extra=extra, kind=kind, file=name
        )
        return Imported(made, holds, notes, sources)


def _network(topology: Path, ranks: int, origin: str, made: dict[str, str]) -> tuple[str, list[str]]:
    """The lines of a scenario that name a network, and what the user should know; its file is put with those made."""
    if topology.suffix == ".toml":
        return _table_of(topology, made), []
    text = read_text(topology, "a TOML file, a topology of htsim (.topo) or one of the HPCC simulator")
    if _HPCC.match(text):
        made["topology.txt"] = text
        return _OF_FILE, []
    made["topology.txt"], hosts, notes = network(text, str(topology))
    if hosts < ranks:
        raise UsageError(f"{topology} has {hosts} nodes, but {origin} has {ranks}; name a larger topology")
    return _OF_FILE, notes


def _table_of(file: Path, made: dict[str, str]) -> str:
    """The [topology] of a TOML file; a file that it names is copied beside the scenario."""
    try:
        found = tomllib.loads(read_text(file, "a TOML file with [topology]")).get("topology")
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"{file}: {error}") from None
    if not isinstance(found, dict):
        raise UsageError(f"{file} has no [topology]; name a file that has one, such as a scenario")
    if isinstance(named := found.get("file"), str):
        made["topology.txt"] = read_text(file.parent / named, f"the file that {file} names")
        found["file"] = "topology.txt"
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

_ONE_SWITCH = """[topology]
kind = "star"
hosts = {ranks}
rate = "100Gbps"
delay = "1us"
"""

_OF_FILE = """[topology]
kind = "hpcc"
file = "topology.txt"
"""

#: What waits for acknowledgements needs them.
_ACKS = """[ack]
every = 1

"""
