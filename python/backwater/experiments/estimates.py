"""What a run will take, before it starts: packet-hops, CPU time and memory, from arithmetic and a few measured costs.

The arithmetic is the core's (`estimate` of its handle): every flow sends all it can until the end of the run, as far as
the links of its two hosts allow, over the links of its path. What congestion inside the network, congestion control and
programs of ranks do to that is not known before the run. The costs were measured on one machine; :func:`pace` relates
them to the machine at hand. How far off that is, docs/promises.md says and test_estimate holds it to.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from backwater.common import quantities
from backwater.experiments import self_check
from backwater.results.measures import has_puts
from backwater.scenario.scenario import Scenario

#: Seconds of CPU for one packet over one link in a small network, by the queueing of the switches, and where hosts send
#: PUTs; in release builds on the machine of docs/performance.md.
_HOP_S = {"output": 42e-9} | dict.fromkeys(["voq", "oldest-first", "input", "shared", "combined"], 150e-9)
_PUT_HOP_S = 130e-9
#: Large networks miss the processor's caches: what a packet-hop costs more in one of that many ports or beyond, as a
#: multiple of the above, and what it does with the ground truth, which is kept for every port. It grows in proportion.
_LARGE_PORTS = 6000
_MORE_IF_LARGE = 2.2
_MORE_WITH_BLAME = 4.2
#: For the rows of marks: how many there are is not known before, from none to one in five packet-hops.
_MARKS_HOP_S = 35e-9
_MOST_MARKS = 0.2
#: For making, starting, ending and writing a flow.
_FLOW_S = 5e-6
#: For a row of a sampled table.
_ROW_S = 0.5e-6
#: What the self-check of `backwater doctor` takes there.
_SELF_CHECK_S = 8.5e-3
#: Of rows of marks that wait to be written: bytes each, and how many wait at most; marks of fewer bytes than the last
#: are not worth a word.
_ROW_BYTES = 100.0
_MOST_ROWS = 2e6
_FEW_BYTES = 9e6
#: For starting a run, writing its tables and reading them for its line of results: 15 ms in a sweep, 95 ms in `run`.
_RUN_S = 40e-3
#: For starting Python with its libraries, once for a command.
START_S = 0.8
#: For the picture of a sweep, with the import of what draws it.
DRAW_S = 2.0
#: For compiling a function of the user's, with the import of numba, once for a command.
_COMPILE_S = 1.4
#: Of so many seconds a run is worth a word before it starts.
LONG_S = 30.0


@dataclass(frozen=True)
class Estimate:
    """What one run will take."""

    hosts: int
    switches: int
    ports: int
    flows: int
    ranks: int
    #: Data packets at their sources, and links that packets and ACKs cross together.
    packets: float
    packet_hops: float
    #: Rows of tables that are sampled; those of tables of events are not known.
    sampled_rows: int
    cpu_s: float
    memory_bytes: float
    #: What the numbers do not hold.
    notes: tuple[str, ...]
    #: What rows of marks may take of memory beyond `memory_bytes`, if ports stay congested.
    marks_bytes: float = 0.0
    #: Functions of the user's, which are compiled before the first run.
    functions: tuple[str, ...] = ()

    @property
    def known(self) -> bool:
        """Whether what is sent is known; if not, packets, packet-hops and time are lower bounds that say little."""
        return self.ranks == 0

    def as_json(self) -> dict[str, Any]:
        """Plain values."""
        return asdict(self) | {"known": self.known, "notes": list(self.notes)}


@dataclass(frozen=True)
class Work:
    """What several runs will take together."""

    runs: int
    #: Whether it is known what is sent in all of them.
    known: bool
    #: Runs at the same time.
    at_once: int
    cpu_s: float
    #: Until all are done.
    wall_s: float
    memory_bytes: float


def of(scenario: Scenario, overrides: Sequence[str] = (), slower: float = 1.0, processes: int = 1) -> Estimate:
    """What a run of a scenario will take on a machine that is so many times slower than that of the measured costs.

    With more than one process a note says what each of so many takes that share the run. Raises ScenarioError for a
    scenario that cannot run, as the run would.
    """
    read = scenario.read(overrides)
    alone = from_core(json.loads(read.estimate()), slower)
    if processes == 1:
        return alone
    bytes_each = json.loads(read.estimate(processes))["memory_bytes"]
    memory, total = quantities.size(bytes_each), quantities.size(bytes_each * processes)
    note = f"shared by {processes} processes: {memory} of memory in each, {total} in all"
    if alone.known:
        note += f"; with a core for each, {told_time(alone.cpu_s / processes)} at best"
    return replace(alone, notes=(*alone.notes, note))


def from_core(looked: dict[str, Any], slower: float = 1.0) -> Estimate:
    """The same from the estimate of the core."""
    hops, flows, rows = looked["packet_hops"], looked["flows"], looked["sampled"]
    queueing, puts = looked["scenario"]["switch"]["queueing"], has_puts(looked["scenario"])
    probe = looked["scenario"]["probe"]
    hop_s = max(_HOP_S[queueing], _PUT_HOP_S if puts else 0.0) * _growth(looked["ports"], blame=probe["blame"])
    hop_s += _MARKS_HOP_S if probe["marks"] else 0.0
    marks_bytes = min(hops * _MOST_MARKS, _MOST_ROWS) * _ROW_BYTES if probe["marks"] else 0.0
    return Estimate(
        hosts=looked["hosts"],
        switches=looked["switches"],
        ports=looked["ports"],
        flows=flows,
        ranks=looked["ranks"],
        packets=looked["packets"],
        packet_hops=hops,
        sampled_rows=rows,
        cpu_s=(_RUN_S + hops * hop_s + flows * _FLOW_S + rows * _ROW_S) * slower,
        memory_bytes=looked["memory_bytes"],
        notes=tuple(_notes(looked, marks_bytes)),
        marks_bytes=marks_bytes,
        functions=tuple(_functions(looked)),
    )


def _growth(ports: int, *, blame: bool) -> float:
    """How many times more a packet-hop costs in a network of so many ports than in a small one.

    >>> _growth(0, blame=True), _growth(6000, blame=False), _growth(12_000, blame=True)
    (1.0, 3.2, 5.2)
    """
    return 1.0 + min(ports / _LARGE_PORTS, 1.0) * (_MORE_WITH_BLAME if blame else _MORE_IF_LARGE)


def _notes(looked: dict[str, Any], marks_bytes: float) -> list[str]:
    notes = []
    if marks_bytes > _FEW_BYTES:
        most = quantities.size(marks_bytes)
        notes.append(
            f"marks take up to {most} more of memory where ports stay congested; probe.marks = false does without"
        )
    for one in looked["above_share"]:
        size, share = quantities.size(one["bytes"]), quantities.size(one["share"])
        notes.append(
            f"{one['table']} takes up to {size} before compression, and probe.budget leaves it {share}: "
            "its last rows may be missing"
        )
    if looked["ranks"]:
        notes.append("ranks send what their programs say when the network lets them: their packets are not counted")
    if _functions(looked):
        notes.append("functions of yours are not counted: 0.2 µs per packet compiled, 6 µs in plain Python")
    return notes


def _functions(looked: dict[str, Any]) -> list[str]:
    entries = [looked["scenario"]["cc"], *(entry.get("cc") or {} for entry in looked["scenario"]["traffic"])]
    tables = [*entries, looked["scenario"]["switch"]["detector"]]
    return [name for table in tables if (name := table.get("custom", {}).get("function"))]


def together(each: Sequence[Estimate], workers: int, start_s: float = 0.0) -> Work:
    """What runs take together, so many at the same time, after a start of so many seconds."""
    at_once = max(1, min(workers, len(each)))
    cpu_s = sum(one.cpu_s for one in each)
    start_s += _COMPILE_S * len({name for one in each for name in one.functions})
    largest = sorted((one.memory_bytes for one in each), reverse=True)
    return Work(
        runs=len(each),
        known=all(one.known for one in each),
        at_once=at_once,
        cpu_s=cpu_s,
        wall_s=start_s + max([cpu_s / at_once, *(one.cpu_s for one in each)]),
        memory_bytes=sum(largest[:at_once]),
    )


def pace() -> float:
    """How many times slower this machine is than that of the measured costs, by the self-check of doctor."""
    return min(self_check.seconds() for _ in range(3)) / _SELF_CHECK_S


def told_time(seconds: float) -> str:
    """A time as people say it.

    >>> told_time(0.04), told_time(42.0), told_time(600.0), told_time(9000.0), told_time(400000.0)
    ('< 1 s', '42 s', '10 min', '2.5 h', '4.6 days')
    """
    if seconds < 1:
        return "< 1 s"
    for limit, size, unit in ((100, 1.0, "s"), (6000, 60.0, "min"), (200_000, 3600.0, "h")):
        if seconds < limit:
            return f"{seconds / size:.1f} {unit}" if unit == "h" else f"{seconds / size:.0f} {unit}"
    return f"{seconds / 86_400:.1f} days"
