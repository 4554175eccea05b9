"""``backwater import``: networks and workloads of other tools."""

from __future__ import annotations

import json
import re
import shlex
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from backwater.cli.options import Flag, Json
from backwater.errors import UsageError
from backwater.io.importing import Imported, became, htsim_flags, subnet, workloads, write
from backwater.io.importing import hpcc as reader
from backwater.io.importing import mpi as records_of_mpi
from backwater.io.importing import switch as switches
from backwater.io.importing.workloads import Place

Out = Annotated[Path | None, Parameter(name="--out")]
Network = Annotated[
    str | None,
    Parameter(
        name="--topology",
        help="The network: a TOML file with [topology], a .topo file of htsim, a topology file of the HPCC simulator, "
        'what ibnetdiscover prints, or a kind with its keys, such as "fat-tree k=8"; one switch if not given.',
    ),
]
Profile = Annotated[
    str | None,
    Parameter(
        name="--profile",
        help="The profile of the scenario, such as hdr. If not given, that of a TOML topology, for a subnet the one of "
        "its links, and else roce, as its thresholds follow the rate of each link.",
    ),
]
Tables = Annotated[
    Path | None,
    Parameter(
        name="--lfts",
        help="The forwarding tables of a subnet: what dump_lfts prints, or ibdiagnet2.fdbs. Packets take exactly their "
        "ports. Shortest ways if not given.",
    ),
]
Delay = Annotated[
    str | None,
    Parameter(
        name="--delay",
        help="How long each cable of a subnet, or link of a generated network, takes; 50ns if not given. A metre takes "
        "5ns.",
    ),
]
Flags = Annotated[
    str | None,
    Parameter(
        name="--flags",
        allow_leading_hyphen=True,
        help="The flags of a command of the Ultra Ethernet Consortium's simulator (htsim_uec), in one word: "
        '"-paths 128 -linkspeed 400000 -q 50 -ecn 12 37 -sender_cc_only". Starts in the matrix are then in '
        "microseconds, and without --topology the network is the fat tree that it makes.",
    ),
]
AsOf = Annotated[
    str | None,
    Parameter(
        name="--as-of",
        help="The version of that simulator that --flags are for: 2024-07, 2024-08 or 2025-08; the last one if not "
        "given. The first two have RCCC where no flag says who controls; 2024-08 has a quarter of every ECN "
        "threshold, as its fault was.",
    ),
]


def goal(
    file: Path,
    /,
    *,
    topology: Network = None,
    profile: Profile = None,
    lfts: Tables = None,
    delay: Delay = None,
    out: Out = None,
    json_: Json = False,
) -> None:
    """Make a scenario of a GOAL schedule, text or binary (LogGOPSim, ATLAHS).

    Parameters
    ----------
    file
        The schedule.
    out
        The folder to make; the file's name without its ending if not given.
    json_
        Print JSON.
    """
    _workload("goal", (file,), Place(topology, profile, lfts, delay), out, as_json=json_)


def htsim(
    file: Path,
    /,
    *,
    topology: Network = None,
    profile: Profile = None,
    lfts: Tables = None,
    delay: Delay = None,
    flags: Flags = None,
    as_of: AsOf = None,
    out: Out = None,
    json_: Json = False,
) -> None:
    """Make a scenario of a connection matrix of htsim (.cm), and of a topology (.topo).

    With --flags it says of every flag of the simulator which key it has become, or why it has become none.

    Parameters
    ----------
    file
        The connection matrix.
    out
        The folder to make; the file's name without its ending if not given.
    json_
        Print JSON.
    """
    if flags is None:
        if as_of is not None:
            raise UsageError(f"--as-of {as_of}: it says how --flags are read; give --flags, too")
        _workload("htsim", (file,), Place(topology, profile, lfts, delay), out, as_json=json_)
        return
    for name, value in (("--lfts", lfts), ("--delay", delay)):
        if value is not None:
            raise UsageError(f"{name} {value}: the network of --flags is a fat tree of htsim; leave {name} out")
    versions = htsim_flags.VERSIONS
    made = htsim_flags.load(file, flags, as_of=as_of or versions[-1], topology=topology, profile=profile)
    if not json_:
        print("\n".join(became.table(made.lines)))
    more = {"flags": [line.told() for line in made.lines], "set": made.settings.overrides()}
    _finish(made.imported, out, file, as_json=json_, more=more)


def chakra(
    files: tuple[Path, ...],
    /,
    *,
    topology: Network = None,
    profile: Profile = None,
    lfts: Tables = None,
    delay: Delay = None,
    out: Out = None,
    json_: Json = False,
) -> None:
    """Make a scenario of Chakra execution traces, one file for each NPU.

    Parameters
    ----------
    files
        The files in the order of the NPUs' numbers, or one folder: then its files that end in .et, by the numbers in
        their names.
    out
        The folder to make; the first file's name without its endings if not given.
    json_
        Print JSON.
    """
    _workload("chakra", _npus(files), Place(topology, profile, lfts, delay), out, as_json=json_)


def vef(
    file: Path,
    /,
    *,
    topology: Network = None,
    profile: Profile = None,
    lfts: Tables = None,
    delay: Delay = None,
    out: Out = None,
    json_: Json = False,
) -> None:
    """Make a scenario of a VEF trace.

    Parameters
    ----------
    file
        The trace.
    out
        The folder to make; the file's name without its ending if not given.
    json_
        Print JSON.
    """
    _workload("vef", (file,), Place(topology, profile, lfts, delay), out, as_json=json_)


def ibnetdiscover(
    file: Path,
    /,
    *,
    lfts: Tables = None,
    profile: Profile = None,
    delay: Delay = None,
    out: Out = None,
    json_: Json = False,
) -> None:
    """Make a scenario of an InfiniBand subnet and its forwarding tables.

    Parameters
    ----------
    file
        What ibnetdiscover prints, ibdiagnet2.db_csv or ibdiagnet2.lst.
    out
        The folder to make; the file's name without its ending if not given.
    json_
        Print JSON.
    """
    _finish(subnet.load(file, lfts, profile, delay or subnet.DELAY), out, file, as_json=json_)


def switch(
    file: Path,
    /,
    *,
    nic: Path | None = None,
    topology: str | None = None,
    profile: str | None = None,
    out: Out = None,
    json_: Json = False,
) -> None:
    """Make a scenario of a RoCE switch's settings (SONiC), and of its NICs' (DCQCN).

    It says of every line which key it has become, or why it has become none.

    Parameters
    ----------
    file
        SONiC's config_db.json, or what sonic-cfggen -d --print-data prints.
    nic
        Parameters of NVIDIA's NICs, one a line: of /sys/class/net/<if>/ecn, what mlxconfig query or mlnx_qos -i prints.
    topology
        The network: a TOML file with [topology], a .topo file of htsim, a topology file of the HPCC simulator, what
        ibnetdiscover prints, or a kind with its keys, such as "fat-tree k=8"; the switch with a host at each port if
        not given.
    profile
        The profile of the scenario, one of PFC, output queues and DCQCN; roce if not given.
    out
        The folder to make; the file's name without its ending if not given.
    json_
        Print JSON.
    """
    made = switches.load(file, nic, topology, profile)
    overrides = made.settings.overrides()
    if not json_:
        print("\n".join(became.table(made.lines)))
    more = {"lines": [line.told() for line in made.lines], "set": overrides}
    _finish(made.imported, out, file, as_json=json_, more=more)
    if not json_:
        words = [word for one in overrides for word in ("--set", one)]
        print(f"for a scenario of your own: {shlex.join(words)}")


def mpi(
    folder: Path,
    /,
    *,
    topology: Network = None,
    profile: Profile = None,
    lfts: Tables = None,
    delay: Delay = None,
    cut: Flag = False,
    fold: Flag = False,
    out: Out = None,
    json_: Json = False,
) -> None:
    """Make a scenario of what the ranks of an MPI program have recorded.

    Parameters
    ----------
    folder
        The folder of the records, rank-0.bwmpi and so on.
    cut
        Of records that end in the middle keep what all ranks had done.
    fold
        Make loops of calls that repeat; each turn then computes for the mean of all.
    out
        The folder to make; the folder's name without its ending if not given.
    json_
        Print JSON.
    """
    finish_mpi(folder, Place(topology, profile, lfts, delay), out or _named(folder), cut=cut, fold=fold, as_json=json_)


def finish_mpi(
    folder: Path,
    place: Place,
    out: Path,
    *,
    cut: bool = False,
    fold: bool = False,
    as_json: bool,
    notes: Sequence[str] = (),
) -> None:
    """Make the scenario of recorded ranks, and print what they called beside what others print."""
    imported, traced = records_of_mpi.load(folder, place, cut=cut, fold=fold)
    imported.notes[:0] = notes
    calls = {
        name: {"calls": number, "bytes": traced.bytes[name], "seconds": traced.nanoseconds[name] / 1e9}
        for name, number in traced.calls.most_common()
    }
    more = {
        "ranks": traced.ranks,
        "calls": calls,
        "computing_s": traced.computing / 1e9,
        "recording_s": traced.recording / 1e9,
    }
    if not as_json:
        print(f"{'call':<18} {'calls':>10} {'bytes':>16} {'seconds in it':>14}")
        for name, row in calls.items():
            print(f"{name:<18} {row['calls']:>10} {row['bytes']:>16} {row['seconds']:>14.6f}")
    finish(imported, out, as_json=as_json, more=more)


def hpcc(config: Path, /, *, out: Out = None, json_: Json = False) -> None:
    """Make a scenario of a config.txt of the HPCC simulator (ns-3), with the topology and flows that it names.

    Parameters
    ----------
    config
        The file.
    out
        The folder to make; the file's name without its ending if not given.
    json_
        Print JSON.
    """
    _finish(reader.load(config), out, config, as_json=json_)


def _npus(files: tuple[Path, ...]) -> tuple[Path, ...]:
    if len(files) != 1 or not files[0].is_dir():
        return files

    def number(file: Path) -> int:
        found = re.findall(r"\d+", file.name)
        if not found:
            raise UsageError(f"{file} has no number in its name, which says whose NPU it is; name the files one by one")
        return int(found[-1])

    found = sorted(files[0].glob("*.et"), key=number)
    if [number(file) for file in found] != list(range(len(found))) or not found:
        raise UsageError(
            f"{files[0]} has no files NAME.0.et, NAME.1.et and so on without gaps; name the files one by one"
        )
    return tuple(found)


def _workload(
    format_: str,
    files: tuple[Path, ...],
    place: Place,
    out: Path | None,
    *,
    as_json: bool,
) -> None:
    if not files:
        raise UsageError(f"no file is named; {format_} needs {workloads.FORMATS[format_]}")
    _finish(workloads.load(format_, files, place), out, files[0], as_json=as_json)


def _finish(
    imported: Imported,
    out: Path | None,
    source: Path,
    *,
    as_json: bool,
    more: Mapping[str, object] | None = None,
) -> None:
    finish(imported, out if out is not None else _named(source), as_json=as_json, more=more)


def _named(source: Path) -> Path:
    return Path(source.name.split(".")[0] or "imported")


def finish(
    imported: Imported, out: Path, named: str = "--out", *, as_json: bool, more: Mapping[str, object] | None = None
) -> None:
    """Make the folder of a scenario, which messages call `named`, and print what is in it, in JSON with `more`."""
    scenario = write(imported, out, named)
    if as_json:
        told = {"scenario": str(scenario), "holds": imported.holds, "notes": imported.notes}
        print(json.dumps({**told, **(more or {})}, indent=2))
        return
    print(f"{scenario}: {imported.holds}")
    for note in imported.notes:
        print(f"note: {note}", file=sys.stderr)
    print(f"next: {shlex.join(['backwater', 'run', str(scenario), '--html'])}")
