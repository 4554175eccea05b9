"""BFC and its kin: the answers of Pyrrha-NS3 (ns-3), and on one switch of an oracle that goes through BFC's rules.

Nothing is drawn in these cases. Its mistake is a setting: the lowest queue goes first, where it means round robin.
"""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import TYPE_CHECKING, Any

import backwater
import bfc_oracle
import polars
import pytest

if TYPE_CHECKING:
    from backwater import Results

DATA = Path(__file__).parents[2] / "tests" / "differential" / "data" / "pyrrha"
#: When its flows begin.
ORIGIN_NS = 2_000_000_000


def _rows(case: str, name: str) -> list[list[str]]:
    lines = (DATA / case / name).read_text().splitlines()
    return [line.split() for line in lines if not line.startswith("#")]


def _flows(case: str) -> list[tuple[int, int]]:
    """Bytes and start of each flow: flow i goes from host i to the last one."""
    return [(int(row[4]), int(row[5]) - ORIGIN_NS) for row in _rows(case, "fct.txt")]


def _holds(case: str) -> list[tuple[int, int, bool]]:
    """When which host got a frame that held its flow, or let it go."""
    return sorted((int(row[0]) - ORIGIN_NS, int(row[1]), row[5] == "1") for row in _rows(case, "pfc.txt"))


def _fcts(case: str) -> list[tuple[int, int]]:
    """FCT at the receiver and at the sender, in nanoseconds."""
    return [(round(float(row[7]) * 1000), round(float(row[6]) * 1000)) for row in _rows(case, "fct.txt")]


#: From host, to host, bytes, start in nanoseconds.
Flow = tuple[str, str, int, int]


def scenario(
    topology: dict[str, object], flows: list[Flow], switches: str, isolation: dict[str, object]
) -> dict[str, Any]:
    """A network with the settings of that simulator."""
    return {
        "profile": "pyrrha-ns3",
        "topology": topology,
        "switch": {"isolation": isolation},
        "traffic": [
            {
                "name": f"flow{number}",
                "kind": "flow",
                "from": source,
                "to": target,
                "size": f"{size}B",
                "start": f"{start}ns",
            }
            for number, (source, target, size, start) in enumerate(flows)
        ],
        "probe": {"frames": [f"{switch}:*" for switch in switches.split()]},
    }


def bfc(**other: object) -> dict[str, object]:
    """The settings of that simulator, or others."""
    return {"kind": "bfc", "bfc": other}


def dst_pfc() -> dict[str, object]:
    """The settings of that simulator."""
    return {"kind": "dst-pfc"}


def one_switch(flows: list[tuple[int, int]], isolation: dict[str, object]) -> dict[str, Any]:
    """Flow i goes from host i to the last one."""
    star: dict[str, object] = {"kind": "star", "hosts": len(flows) + 1, "rate": "100Gbps", "delay": "1us"}
    ends = [(f"h{number}", f"h{len(flows)}", size, start) for number, (size, start) in enumerate(flows)]
    return scenario(star, ends, "s", isolation)


def fcts(results: Results) -> list[tuple[int, int]]:
    """FCT at the receiver and at the sender, in nanoseconds."""
    table = results.flows.sort("traffic_index").collect()
    return [
        ((row["finish_ps"] - row["start_ps"]) // 1000, (row["acked_ps"] - row["start_ps"]) // 1000)
        for row in table.iter_rows(named=True)
    ]


def holds(results: Results) -> list[tuple[int, int, bool]]:
    """When which host got a frame that held its flow, or let it go."""
    table = results.frames.filter(polars.col("kind") == "hold").collect()
    return sorted(
        (row["time_ps"] // 1000, row["port_index"], row["paused"] != 0) for row in table.iter_rows(named=True)
    )


def all_holds(results: Results) -> list[tuple[int, str, bool]]:
    """When which node got a frame that held something there, or let it go."""
    table = results.frames.filter(polars.col("kind") == "hold").collect()
    return sorted(
        (row["time_ps"] // 1000, row["port"].split("->")[1], row["paused"] != 0) for row in table.iter_rows(named=True)
    )


def agrees(found: list[tuple[int, int]], case: str) -> None:
    """FCTs at the sender to the nanosecond; at the receiver that simulator loses up to one by a start in seconds."""
    wanted = _fcts(case)
    assert [acked for _, acked in found] == [acked for _, acked in wanted]
    assert all(0 <= ours - theirs <= 1 for (ours, _), (theirs, _) in zip(found, wanted, strict=True))


@pytest.mark.parametrize("case", ["single2", "single3"])
def test_every_flow_and_every_hold_is_that_of_the_simulator(case: str, tmp_path: Path) -> None:
    results = backwater.run(one_switch(_flows(case), bfc()), out=tmp_path)
    agrees(fcts(results), case)
    assert holds(results) == _holds(case)


def in_a_row(case: str, isolation: dict[str, object]) -> dict[str, Any]:
    """Three switches, of which the last brings flows of several hosts to the first."""
    flows = [(f"n{row[2]}", f"n{row[3]}", int(row[4]), int(row[5]) - ORIGIN_NS) for row in _rows(case, "fct.txt")]
    topology: dict[str, object] = {"kind": "hpcc", "file": str(DATA / "dumbbell" / "topology.txt")}
    return scenario(topology, flows, "n8 n9 n10", isolation)


def wanted_holds(case: str, prefix: str) -> list[tuple[int, str, bool]]:
    """The same of that simulator, whose nodes have names that begin so."""
    return sorted((int(row[0]) - ORIGIN_NS, f"{prefix}{row[1]}", row[5] == "1") for row in _rows(case, "pfc.txt"))


def test_switches_that_hold_each_others_queues_do_so_when_the_simulators_do(tmp_path: Path) -> None:
    results = backwater.run(in_a_row("dumbbell", bfc()), out=tmp_path)
    agrees(fcts(results), "dumbbell")
    wanted = wanted_holds("dumbbell", "n")
    assert len(wanted) == 2 * (43 + 54)
    assert all_holds(results) == wanted


def test_switches_in_a_row_hold_destinations_when_the_simulators_do(tmp_path: Path) -> None:
    case = "dst-pfc/dumbbell"
    results = backwater.run(in_a_row(case, dst_pfc()), out=tmp_path)
    agrees(fcts(results), case)
    assert all_holds(results) == wanted_holds(case, "n")


def test_pfc_by_destination_holds_when_the_simulator_does(tmp_path: Path) -> None:
    case = "dst-pfc/single2"
    results = backwater.run(one_switch(_flows(case), dst_pfc()), out=tmp_path)
    agrees(fcts(results), case)
    assert all_holds(results) == wanted_holds(case, "h")


def floodgate() -> dict[str, object]:
    """The settings of that simulator."""
    return {"kind": "floodgate"}


def test_floodgate_has_no_part_in_one_switch(tmp_path: Path) -> None:
    case = "floodgate/single2"
    results = backwater.run(one_switch(_flows(case), floodgate()), out=tmp_path)
    agrees(fcts(results), case)
    assert results.frames.filter(polars.col("kind") == "return").collect().is_empty()


#: When a window changed, and what was left of it, by switch and destination.
Windows = dict[tuple[str, str], list[tuple[int, int]]]


def _windows() -> Windows:
    """Those of the simulator, whose first row of each is its size."""
    found: Windows = {}
    with gzip.open(DATA / "floodgate" / "dumbbell" / "window.txt.gz", "rt") as file:
        for line in file:
            switch, destination, time_ns, left = (int(word) for word in line.split())
            found.setdefault((f"n{switch}", f"n{destination}"), []).append((time_ns - ORIGIN_NS, left))
    assert {rows[0][1] for rows in found.values()} == {650_000}
    return {key: rows[1:] for key, rows in found.items()}


def test_windows_are_those_of_the_simulator_at_each_instant(tmp_path: Path) -> None:
    """One frame that gives back, and one ACK, are 1 ns later there: each waits for an ACK of the same instant."""
    case = "floodgate/dumbbell"
    wanted = in_a_row(case, floodgate())
    wanted["probe"]["isolation"] = True
    results = backwater.run(wanted, out=tmp_path)
    assert [acked for _, acked in fcts(results)] == pytest.approx([acked for _, acked in _fcts(case)], abs=1)
    found: Windows = {}
    for row in results.windows.collect().iter_rows(named=True):
        found.setdefault((row["node"], row["dst"]), []).append((row["time_ps"] // 1000, row["window_bytes"]))
    theirs = _windows()
    assert {key: [left for _, left in rows] for key, rows in found.items()} == {
        key: [left for _, left in rows] for key, rows in theirs.items()
    }
    times = [(a, b) for key, rows in found.items() for (a, _), (b, _) in zip(rows, theirs[key], strict=True)]
    assert len(times) == 8257
    assert all(abs(a - b) <= 1 for a, b in times)
    assert sum(a != b for a, b in times) <= 2


@pytest.mark.parametrize("case", ["single2", "single3"])
def test_the_oracle_gives_the_answers_of_the_simulator(case: str) -> None:
    flows = _flows(case)
    answers = bfc_oracle.answers(bfc_oracle.Setup(), flows)
    starts = [start for _, start in flows]
    agrees([(answers.received[flow] - start, answers.acked[flow] - start) for flow, start in enumerate(starts)], case)
    assert sorted(answers.holds) == _holds(case)


#: Flows of unlike lengths that begin at unlike times, so that nothing happens at the same nanosecond.
MIXES = {
    "two": [(50_000, 0), (80_500, 333)],
    "five": [(120_000, 0), (90_000, 17), (70_400, 1_031), (33_333, 9_001), (200_001, 22_222)],
    "seven": [(60_000 + 7_919 * number, 101 * number * number) for number in range(7)],
}


@pytest.mark.parametrize("order", ["lowest-first", "round-robin"])
@pytest.mark.parametrize("name", MIXES)
def test_runs_go_as_the_oracle_does(name: str, order: str, tmp_path: Path) -> None:
    flows = MIXES[name]
    answers = bfc_oracle.answers(bfc_oracle.Setup(queues=32, lowest_first=order == "lowest-first"), flows)
    results = backwater.run(one_switch(flows, bfc(queues=32, order=order)), out=tmp_path)
    assert fcts(results) == [
        (answers.received[flow] - start, answers.acked[flow] - start) for flow, (_, start) in enumerate(flows)
    ]
    assert holds(results) == sorted(answers.holds)


@pytest.mark.parametrize(
    ("isolation", "most"),
    [(bfc(queues=31), 7), (bfc(queues=5), 5), ({"kind": "dst-pfc", "dst-pfc": {"apart": "always"}}, 1)],
)
def test_the_most_queues_of_a_port_are_those_of_its_flows_as_far_as_there_are_any(
    isolation: dict[str, object], most: int, tmp_path: Path
) -> None:
    # Eight flows into one host, all at once. The first packet goes to the wire, so that the flow of the second one
    # gets the same queue; from then on each has packets there until it ends. ACKs to a host need one queue.
    results = backwater.run(one_switch([(200_000, 0)] * 8, isolation), out=tmp_path)
    assert results.table("switches").collect()["peak_slots"].to_list() == [most]
