"""Where nothing is drawn, `import hpcc` and `run` give what the HPCC simulator gives, to the picosecond.

Its answers are those of its arithmetic in picoseconds instead of nanoseconds, with departures before the arrivals of
the same instant (tests/differential/data/README.md).
"""

from __future__ import annotations

import tarfile
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from backwater import Results
from backwater.cli import main
from backwater.errors import Exit

if TYPE_CHECKING:
    from collections.abc import Iterator

DATA = Path(__file__).parents[2] / "tests" / "differential" / "data"
#: Times in its files count from the beginning of its run; its flows start at 2 s.
ORIGIN = 2_000_000_000_000

#: The cases of a star, of a leaf-spine, and random ones, with the number of their flows.
R1 = (16, 8, 100, 60, 100, 100, 100, 100, 100, 60, 16, 16, 16, 8, 100, 100, 100, 24)
CASES = {
    **{
        f"{kind}_{number}": flows
        for kind, flows in (("q_inc32", 32), ("q_ls", 32), ("q_lsm", 120))
        for number in range(4)
    },
    **{f"r1_{number}": flows for number, flows in enumerate(R1)},
}

#: Cases in which that simulator loses the turn (D8): when a NIC there first sends another queue pair, and how many
#: flows differ.
LOST_TURNS = {
    "q_lsm_0": (331_436_148, 5),
    "q_lsm_1": (317_777_898, 9),
    "q_lsm_2": (343_037_906, 17),
    "r1_5": (108_354_588, 95),
    "r1_8": (301_022_887, 79),
}

#: A flow by sender, receiver and number among theirs.
Flow = tuple[int, int, int]


@pytest.fixture(scope="module")
def exact(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("hpcc")
    with tarfile.open(DATA / "exact.tar.xz") as archive:
        archive.extractall(folder, filter="data")
    return folder / "exact"


def run(case: Path, out: Path, *settings: str) -> Results:
    words = [word for setting in settings for word in ("--set", setting)]
    assert main(["import", "hpcc", str(case / "config.txt"), "--out", str(out / "made")]) == Exit.OK
    code = main(["run", str(out / "made" / "scenario.toml"), "--out", str(out / "results"), *words])
    assert code in (Exit.OK, Exit.CAVEATS)
    return next(Results.find(out / "results"))


def fcts(run: Results) -> dict[Flow, int]:
    """From the start of each flow to its last ACK, in picoseconds."""
    rows = run.flows.sort("flow").select("src_index", "dst_index", "start_ps", "acked_ps").collect().iter_rows()
    return numbered((source, to, acked - start) for source, to, start, acked in rows)


def numbered(rows: Iterator[tuple[int, int, int]]) -> dict[Flow, int]:
    found: dict[Flow, int] = {}
    count: defaultdict[tuple[int, int], int] = defaultdict(int)
    for source, to, fct in rows:
        found[source, to, count[source, to]] = fct
        count[source, to] += 1
    return found


def theirs(file: Path) -> dict[Flow, int]:
    """The same of one of its `fct.txt`: addresses are 11.(node / 256).(node mod 256).1, ports count from 10000."""
    rows = [line.split() for line in file.read_text().splitlines()]
    return {(node(row[0]), node(row[1]), int(row[2]) - 10_000): int(row[6]) for row in rows}


def node(address: str) -> int:
    return (int(address, 16) >> 8) & 0xFFFF


def gates(run: Results) -> list[tuple[int, int, int, bool]]:
    """Time, node, port and kind of every PAUSE and RESUME, as they take effect."""
    columns = run.pauses.select("time_ps", "node_index", "port_index", "paused").collect().iter_rows()
    return sorted((time, node, port + 1, paused) for time, node, port, paused in columns)


def their_gates(file: Path) -> list[tuple[int, int, int, bool]]:
    rows = [[int(word) for word in line.split()] for line in file.read_text().splitlines()]
    return sorted((time - ORIGIN, node, port, kind == 1) for time, node, _, port, kind in rows)


@pytest.mark.parametrize(
    ("case", "scheduler", "answer"),
    [
        *((case, "round-robin", "-rr") for case in CASES if case not in LOST_TURNS),
        *((case, "longest-due", "") for case in CASES),
    ],
)
def test_every_flow_and_every_pause_is_that_simulators_to_the_picosecond(
    exact: Path, tmp_path: Path, case: str, scheduler: str, answer: str
) -> None:
    made = run(exact / case, tmp_path, f"host.nic.scheduler={scheduler}")
    wanted = theirs(exact / case / f"fct-ps{answer}.txt")
    assert len(wanted) == CASES[case]
    assert fcts(made) == wanted
    assert gates(made) == their_gates(exact / case / f"pfc-ps{answer}.txt")


@pytest.mark.parametrize("case", LOST_TURNS)
def test_d8_until_that_simulator_loses_the_turn_all_is_equal(exact: Path, tmp_path: Path, case: str) -> None:
    # A queue pair finishes while its NIC may send nothing: there the others move up a place, and the turn does not.
    lost, differing = LOST_TURNS[case]
    made = run(exact / case, tmp_path, "host.nic.scheduler=round-robin")
    wanted, found = theirs(exact / case / "fct-ps-rr.txt"), fcts(made)
    starts = numbered(made.flows.sort("flow").select("src_index", "dst_index", "start_ps").collect().iter_rows())
    assert wanted.keys() == found.keys() == starts.keys()
    differ = {flow for flow in wanted if found[flow] != wanted[flow]}
    before = {flow for flow in wanted if starts[flow] + wanted[flow] <= lost}
    assert before
    assert not differ & before
    assert len(differ) == differing
    ours, peers = (
        [gate for gate in all_gates if gate[0] <= lost]
        for all_gates in (gates(made), their_gates(exact / case / "pfc-ps-rr.txt"))
    )
    assert ours
    assert ours == peers


def rule(name: str, tmp_path: Path, *settings: str) -> list[int]:
    """FCTs of one of the cases in which a rule differs, in the order of its flows."""
    made = run(DATA / "rules" / name, tmp_path, *settings)
    columns = made.flows.sort("flow").select("start_ps", "acked_ps").collect().iter_rows()
    return [acked - start for start, acked in columns]


def test_d1_of_one_instant_departures_come_before_arrivals(tmp_path: Path) -> None:
    # There arrivals come first, as they were inserted earlier: 941971733 ps; with its order turned, as here.
    assert rule("tie", tmp_path)[0] == 941_132_045


def test_d2_a_nic_takes_turns_or_serves_what_has_been_due_for_longest(tmp_path: Path) -> None:
    # There the third and the fourth flow take 5494800 and 4981760 ps: one packet less than by due times.
    assert rule("nic", tmp_path / "turns")[2:] == [5_494_800, 4_981_760]
    due = rule("nic", tmp_path / "due", "host.nic.scheduler=longest-due")
    assert due[2:] == [5_578_640, 5_065_600]


def test_d3_a_pause_holds_acks_of_a_host_unless_ack_high_prio_says_otherwise(tmp_path: Path) -> None:
    # There: 5784640 ps with ACK_HIGH_PRIO 1. Held by a PAUSE, the last ACK of the flow of 20 KB comes 2.7 us later.
    assert rule("ack1", tmp_path / "high")[8] == 5_784_640
    assert rule("ack0", tmp_path / "low")[8] == 8_489_513
    assert rule("ack1", tmp_path / "held", "host.nic.acks=priority")[8] == 8_489_513


def test_d5_alpha_follows_the_slowest_nic_and_the_import_says_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    # Hosts of 100 Gbps and one of 80: there, by the first host, the first PAUSE comes at 9.136761 us to host 1.
    made = run(DATA / "rules" / "nicrate", tmp_path)
    assert gates(made)[0][:2] == (10_652_802, 2)
    said = " ".join(capsys.readouterr().err.split())
    assert (
        "PFC's alpha is scaled by the rate of the slowest host here, 80 Gbps; there by that of the first, 100 Gbps"
        in said
    )


def test_d6_the_import_says_where_headroom_is_rounded_otherwise(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    # 20.75 Gbps times 2032 ns are 5270.5 B: 15810 B there, and 15811 B here.
    folder = tmp_path / "case"
    folder.mkdir()
    for file in (DATA / "rules" / "tie").iterdir():
        (folder / file.name).write_text(file.read_text().replace("100Gbps 1000ns", "20.75Gbps 2032ns"))
    assert main(["import", "hpcc", str(folder / "config.txt"), "--out", str(tmp_path / "made")]) == Exit.OK
    assert "PFC's headroom is up to 1 B a port larger here" in " ".join(capsys.readouterr().err.split())


def test_fct_txt_has_that_simulators_time_alone(tmp_path: Path) -> None:
    # 1000 B over two links of 1 us: a round trip of 4000 ns and 2 times 80 ns, and 1048 B in 83 ns.
    made = run(DATA / "micro", tmp_path)
    out = tmp_path / "fct.txt"
    assert main(["export", "fct", str(made.folder), "--out", str(out)]) == Exit.OK
    files = (out, DATA / "micro" / "fct.txt")
    rows = [[line.split() for line in file.read_text().splitlines()] for file in files]
    ours, theirs = ({int(row[4]): int(row[7]) for row in of_one} for of_one in rows)
    assert ours == theirs == {1000: 4243, 1_000_000: 88_000, 1: 4163}
