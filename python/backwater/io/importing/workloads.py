"""Workloads: GOAL, htsim's connection matrices, Chakra, VEF. They become traces (docs/trace-format.md)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from backwater import _core
from backwater.errors import UsageError
from backwater.io.importing import Imported, read_bytes
from backwater.io.importing.networks import Network, facts, network_of, why
from backwater.io.importing.profiles import has_windows, line_rate, unlike

#: The files of each format, in words.
FORMATS = {
    "goal": "a GOAL schedule, text or binary",
    "htsim": "a connection matrix of htsim (.cm)",
    "chakra": "the execution traces of all NPUs, in the order of their numbers",
    "vef": "a VEF trace",
}


def load(format_: str, files: Sequence[Path], place: Place) -> Imported:
    """A workload at the place where it runs."""
    what = FORMATS[format_]
    if format_ != "chakra" and len(files) != 1:
        raise UsageError(f"{format_} takes one file, {what}; {len(files)} are given")
    origin = str(files[0])
    if format_ == "htsim":
        (trace, holds, notes), failures = _core.import_matrix(read_bytes(files[0], what), origin)
        if failures:
            line = failures[0][2]
            notes.append(
                f"{len(failures)} failures, from line {line} on, are not carried over: [[fault]] takes links down"
            )
    else:
        trace, holds, notes = _core.import_workload(format_, [read_bytes(file, what) for file in files], origin)
    return place.scenario("app.trace", trace, "trace", holds, notes, origin, _ACKS if " acked " in trace else "")


@dataclass(frozen=True)
class Place:
    """Where the ranks of a workload run: a network and a profile, one switch and `PROFILE` if none is given."""

    topology: str | None = None
    profile: str | None = None
    #: Of a subnet: its forwarding tables, and how long its cables take; that is of generated networks, too.
    lfts: Path | None = None
    delay: str | None = None

    def network(self, made: dict[str, str], needed: tuple[int, str] = (0, "")) -> Network:
        """The network with its files, for so many ranks of a file if it may be one switch."""
        rate = line_rate(self.profile)
        if self.topology is None:
            if self.lfts is not None:
                raise UsageError(f"--lfts {self.lfts}: name the subnet that the tables are of with --topology")
            found = network_of(f"star hosts={needed[0]}", rate, made, delay=self.delay)
            what = f"{needed[0]} hosts at one switch, links of {rate}"
            return found._replace(notes=[f"no network is named: {what}; --topology names another one"])
        return network_of(self.topology, rate, made, needed, lfts=self.lfts, delay=self.delay)

    def scenario(
        self, name: str, text: str, kind: str, holds: str, notes: list[str], origin: str, extra: str = ""
    ) -> Imported:
        """The scenario of a file of records from `origin`, such as a trace, with lines of other tables."""
        made: dict[str, str] = {}
        ranks = int(holds.split()[0])
        several = kind == "program"
        place, fitting, more = self.network(made, (0 if several and self.topology else ranks, origin))
        profile = self.profile or fitting
        notes = [*notes, *more]
        sources = dict.fromkeys(made, str(self.lfts or self.topology))
        if self.profile is None:
            notes.append(f"no profile is named: {why(fitting, self.topology)}; --profile takes another one")
        found = None if self.topology is None else facts(place, made)
        if found is not None:
            notes += unlike(profile, (found["slowest_link_bps"], found["fastest_link_bps"]))
        keys = ""
        if several and found is not None and 0 < found["hosts"] < ranks:
            each = -(-ranks // found["hosts"])
            keys = f"ranks-per-host = {each}\n"
            notes.append(f"{ranks} ranks run on {found['hosts']} hosts: ranks-per-host = {each}")
        if several and has_windows(profile):
            extra += _NO_WINDOWS
            notes.append(
                f"profile {profile} controls congestion by windows, which messages of ranks lack: cc.kind is none"
            )
        made[name] = text
        made["scenario.toml"] = _SCENARIO.format(
            origin=origin, profile=profile, place=place, extra=extra, kind=kind, file=name, keys=keys
        )
        return Imported(made, holds, notes, sources)


_SCENARIO = """# Made of {origin}.
profile = "{profile}"

{place}
{extra}[[traffic]]
name = "app"
kind = "{kind}"
file = "{file}"
{keys}
[probe]
sample = "10us"
"""

#: What waits for acknowledgements needs them.
_ACKS = """[ack]
every = 1

"""

#: Of a program under a profile whose control has windows.
_NO_WINDOWS = """[cc]
kind = "none"

"""
