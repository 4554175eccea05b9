"""Workloads: GOAL, htsim's connection matrices, Chakra, VEF. They become traces (docs/trace-format.md)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from backwater.errors import UsageError
from backwater.importing import Imported, read_bytes, read_text
from backwater.importing.htsim import network

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

#: The files of each format, in words.
FORMATS = {
    "goal": "a GOAL schedule, text or binary",
    "htsim": "a connection matrix of htsim (.cm)",
    "chakra": "the execution traces of all NPUs, in the order of their numbers",
    "vef": "a VEF trace",
}


def load(format_: str, files: Sequence[Path], topology: Path | None = None) -> Imported:
    """A workload and the network that it runs on: htsim's `.topo` file if given, else one switch."""
    from backwater import _core

    what = FORMATS[format_]
    if format_ != "chakra" and len(files) != 1:
        raise UsageError(f"{format_} takes one file, {what}; {len(files)} are given")
    origin = str(files[0])
    if format_ == "vef":
        trace, holds, notes = _core.import_vef(read_text(files[0], what), origin)
    else:
        trace, holds, notes = _core.import_workload(format_, [read_bytes(file, what) for file in files], origin)
    ranks = int(holds.split()[0])
    made = {"app.trace": trace}
    if topology is None:
        place = _ONE_SWITCH.format(ranks=ranks)
        notes.append(f"no network is named: {ranks} hosts at one switch; edit [topology], or give htsim's --topology")
    else:
        text, hosts, more = network(read_text(topology, "a topology of htsim (.topo)"), str(topology))
        if hosts < ranks:
            raise UsageError(f"{topology} has {hosts} nodes, but {origin} has {ranks}; name a larger topology")
        made["topology.txt"] = text
        place = _OF_FILE
        notes += more
    ack = _ACKS if " acked " in trace else ""
    made["scenario.toml"] = _SCENARIO.format(origin=origin, place=place, ack=ack)
    return Imported(made, holds, notes)


_SCENARIO = """# Made of {origin}.
profile = "authors"

{place}
{ack}[[traffic]]
name = "app"
kind = "trace"
file = "app.trace"

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
