"""What the page gets of a run: that it says of trees, gates, queues and flows what the tables say; what is missing."""

from __future__ import annotations

from typing import TYPE_CHECKING

import backwater
import made_results
import numpy as np
import polars as pl
import pytest
from backwater import Results, _core
from backwater.analysis.blame import report
from backwater.errors import UsageError
from backwater.view import network, spans, truth
from backwater.view.collect import packed
from backwater.view.encode import Columns, pack
from backwater.view.page import differences, differing
from plain_star import scenario
from view_reader import Shown, read

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from backwater.analysis.blame import Blame
    from backwater.results import Results as Folder

_QUIET = """profile = "authors"
[run]
until = "20us"
[topology]
kind = "star"
hosts = 3
rate = "100Gbps"
delay = "1us"
[[traffic]]
name = "late"
kind = "incast"
from = "*"
to = "h0"
size = "1KB"
start = "1ms"
"""


@pytest.fixture
def shown(isolated: Blame) -> Shown:
    return read(packed(isolated.results))


def test_columns_come_back_as_they_were_in_the_narrowest_type() -> None:
    values = {
        "small": np.array([-128, 127]),
        "rising": np.array([10_000_000, 10_000_001, 10_000_003, 9_999_000]),
        "large": np.array([2**40, 3]),
        "half": np.array([0.5, 0.25], dtype=np.float32),
        "none": np.array([], dtype=np.int64),
    }
    columns = Columns()
    for name, array in values.items():
        columns.add(name, array, delta=name in ("rising", "large"))
    found = read(pack({}, columns))
    assert found.columns == {name: array.tolist() for name, array in values.items()}
    types = {name: (place["type"], place["delta"]) for name, place in columns.placed.items()}
    assert types["small"] == ("i8", False)
    assert types["rising"] == ("i32", True)
    assert types["large"] == ("f64", False)


def test_equal_runs_give_equal_bytes(isolated: Blame) -> None:
    assert packed(isolated.results) == packed(isolated.results)


def test_the_network_is_that_of_figure_2(shown: Shown) -> None:
    # Three switches T0, T1, T2 and L0 in their middle; 20 hosts; each of 23 links has two egress ports.
    assert {"T0", "T1", "T2", "L0", "S0", "S1", "S2", "R0", "R1", "A0", "A14"} <= set(shown.header["nodes"])
    ports = shown.table("ports")
    assert len(ports) == len(shown.header["ports"]) == 46
    for port, label in zip(ports, shown.header["ports"], strict=True):
        node, peer = (shown.header["nodes"][int(port[key])] for key in ("node", "peer"))
        assert label == f"{node}->{peer}"
    assert shown.header["aliases"]["T2->R1"] == "P3"


def test_nodes_stand_where_the_topology_says(isolated: Blame, shown: Shown) -> None:
    tiers = dict(zip(shown.header["nodes"], shown.header["places"]["tier"], strict=True))
    assert [tiers[name] for name in ("S0", "A14", "T0", "T2", "L0")] == [0, 0, 1, 1, 2]
    # Of results that do not say it the page finds the tiers itself.
    assert network.places(isolated.results, 3) is None


def test_the_tree_of_figure_3_has_p3_as_its_root_and_p2_p0_p1_as_branches_in_that_order(shown: Shown) -> None:
    rows = [row for row in shown.table("trees") if shown.label(row["root"]) == "T2->R1"]
    depth = {shown.label(row["port"]): row["depth"] for row in rows}
    assert depth["L0->T2"] == 1
    assert depth["T0->L0"] == depth["T1->L0"] == 2
    assert shown.label(shown.header["opening"]["root"]) == "T2->R1"
    assert shown.header["opening"]["why"] == "tree"
    assert shown.label(shown.columns["roots.port"][0]) == "T2->R1"


def test_gates_are_closed_for_as_long_as_the_ports_table_says(isolated: Blame, shown: Shown) -> None:
    tick = shown.header["tick_ps"]
    closed: dict[str, float] = {}
    for row in shown.table("gates"):
        closed[shown.label(row["port"])] = closed.get(shown.label(row["port"]), 0) + row["length"] * tick
    known = isolated.results.ports.group_by("port").agg(pl.col("paused_ps").sum()).filter(pl.col("paused_ps") > 0)
    for label, paused in known.collect().iter_rows():
        pauses = sum(1 for row in shown.table("gates") if shown.label(row["port"]) == label)
        # Each interval is rounded to ticks at both ends.
        assert abs(closed[label] - paused) <= 2 * tick * pauses


def test_states_and_marks_add_up_to_the_totals_of_the_ports(isolated: Blame, shown: Shown) -> None:
    ports = isolated.results.ports.group_by("port").agg(pl.col("ce_marks", "ue_marks", "undetermined_ps").sum())
    known = {row["port"]: row for row in ports.collect().to_dicts()}
    found: dict[str, list[float]] = {label: [0, 0, 0] for label in known}
    for row in shown.table("marks"):
        found[shown.label(row["port"])][0] += row["ce"]
        found[shown.label(row["port"])][1] += row["ue"]
    for row in shown.table("states"):
        if shown.header["states"][int(row["state"])] == "undetermined":
            found[shown.label(row["port"])][2] += row["length"] * shown.header["tick_ps"]
    for label, (ce, ue, undetermined) in found.items():
        assert (ce, ue) == (known[label]["ce_marks"], known[label]["ue_marks"])
        assert undetermined == pytest.approx(known[label]["undetermined_ps"], abs=10_000)


def test_victims_are_f0_and_f2_and_their_parts_add_up(shown: Shown) -> None:
    flows = shown.table("flows")
    victim = shown.header["verdicts"].index("victim")
    assert {shown.header["traffic"][int(row["traffic"])] for row in flows if row["verdict"] == victim} == {"F0", "F2"}
    parts = [name.removesuffix("_ps") for name in truth.PARTS if name != "ideal_wait_ps"]
    for row in flows:
        if row["finish"] >= 0:
            lost = row["finish"] - row["start"] - row["ideal_fct"]
            assert sum(row[part] for part in parts) - row["ideal_wait"] == pytest.approx(lost, abs=len(parts))


def test_queues_are_the_samples_without_what_does_not_change(covered: Blame) -> None:
    found = read(packed(covered.results))
    port = found.header["ports"].index("T2->R1")
    points = {
        row["time"] * found.header["tick_ps"]: row["bytes"] for row in found.table("queues") if row["port"] == port
    }
    samples = covered.results.samples.filter(pl.col("port") == "T2->R1")
    known = dict(samples.group_by("time_ps").agg(pl.col("queue_bytes").sum()).collect().iter_rows())
    assert found.header["queues"] == "samples"
    assert points
    assert all(known[time] == size for time, size in points.items())
    assert max(points.values()) == max(known.values())


def test_without_samples_queues_are_what_marks_and_gates_tell(isolated: Blame, shown: Shown) -> None:
    assert shown.header["queues"] == "events"
    assert [entry["setting"] for entry in shown.header["missing"]] == ["probe.sample=10us"]
    port = shown.header["ports"].index("T2->R1")
    longest = max(row["bytes"] for row in shown.table("queues") if row["port"] == port)
    assert (
        longest
        == isolated.results.marks.filter(pl.col("port") == "T2->R1").select("queue_bytes").max().collect().item()
    )


def test_most_at_once_is_the_middle_of_the_first_greatest_overlap() -> None:
    starts, ends = np.array([0, 10, 20, 100]), np.array([30, 25, 40, 200])
    assert truth.most_at_once(starts, ends) == (22, 3)
    # What ends when another begins does not overlap it.
    assert truth.most_at_once(np.array([0, 10]), np.array([10, 20]))[1] == 1


def test_the_page_opens_in_the_middle_of_the_time_in_which_about_the_most_is_under_way() -> None:
    # Eleven at once from 10 to 12, ten from 0 to 20 and from 90 to 100: nine tenths of the most are ten.
    starts = np.array([*[0] * 10, 10, *[90] * 10])
    ends = np.array([*[20] * 10, 12, *[100] * 10])
    # Of 30 such units of time the fifteenth is in the stretch from 12 to 20.
    assert truth.middle_of_most(starts, ends) == 16


def test_too_many_intervals_become_fewer_that_cover_them() -> None:
    frame = pl.DataFrame({"port": [0] * 1000, "start": range(0, 10_000, 10), "end": range(5, 10_005, 10)})
    kept, gap = spans.thinned(frame, ["port"], 100, 1)
    assert kept.height <= 100
    assert gap >= 5
    assert kept["start"].min() == 0
    assert kept["end"].max() == 9_995


def test_a_run_in_which_nothing_happened_has_a_page(tmp_path: Path) -> None:
    file = tmp_path / "quiet.toml"
    file.write_text(_QUIET, encoding="utf-8")
    found = read(packed(backwater.run(file, out=tmp_path / "r")))
    assert len(found.header["ports"]) == 6
    assert found.header["opening"] == {"root": -1, "time_ps": found.header["end_ps"] // 2, "why": "middle"}
    assert found.table("trees") == found.table("gates") == found.table("queues") == []


@pytest.mark.parametrize(
    ("flag", "tables"),
    [("blame", ["holds"]), ("states", ["states"]), ("pauses", ["pauses"]), ("marks", ["marks"])],
)
def test_a_table_that_was_not_recorded_is_named_with_the_setting(
    runs: Callable[..., Blame], flag: str, tables: list[str], tmp_path: Path, isolated: Blame
) -> None:
    del runs
    file = tmp_path / "scene.toml"
    file.write_text(isolated.results.meta["scenario_text"], encoding="utf-8")
    overrides = [f"probe.{flag}=false", "run.until=1.2ms", *(["probe.blame=false"] if flag == "pauses" else [])]
    found = read(packed(backwater.run(file, overrides=overrides, out=tmp_path / "r")))
    missing = {entry["table"]: entry["setting"] for entry in found.header["missing"]}
    assert {missing[table] for table in tables} == {f"probe.{flag}=true"}
    assert found.table("flows")


def test_a_partial_run_is_said_to_be_one(isolated: Blame, tmp_path: Path) -> None:
    _copy(isolated.results, tmp_path, status="interrupted")
    found = read(packed(Results(tmp_path)))
    assert found.header["complete"] is False
    assert any("interrupted" in note for note in found.header["notes"])


def test_results_of_another_version_are_refused_with_what_to_do(
    isolated: Blame, tcd_run: Results, tmp_path: Path
) -> None:
    _copy(isolated.results, tmp_path, format=9, version="9.0.0")
    with pytest.raises(UsageError, match=r"is of format 9 \(Backwater 9\.0\.0\), not 3: run the scenario again"):
        packed(Results(tmp_path))
    with pytest.raises(UsageError, match="has no column peer_index: it is of another version of Backwater"):
        packed(tcd_run)


def _copy(results: Folder, folder: Path, **changes: object) -> None:
    for file in results.folder.iterdir():
        (folder / file.name).write_bytes(file.read_bytes())
    made_results.edit(folder, **changes)


@pytest.fixture(scope="module")
def two_lanes(tmp_path_factory: pytest.TempPathFactory) -> Results:
    """A port that is a root on both of its virtual lanes."""
    out = tmp_path_factory.mktemp("lanes")
    return backwater.run("scenarios/virtual-lanes.toml", out=out, overrides=["run.until=500us"])


def test_a_port_that_is_a_root_on_two_lanes_is_listed_once_with_what_both_did(two_lanes: Results) -> None:
    blame = two_lanes.blame()
    lanes = blame.roots.filter(pl.col("root_port").str.starts_with("leaf0->h0"))
    assert lanes.height == 2
    found = read(packed(two_lanes))
    ports = found.columns["roots.port"]
    assert len(set(ports)) == len(ports)
    (row,) = (row for row in found.table("roots") if found.label(row["port"]) == "leaf0->h0")
    assert row["weighted_us"] == pytest.approx(sum(lanes["weighted_ps"].to_list()) / 1e6)
    # The lanes are long at the same time: together the port was a root for no longer than the run took.
    assert max(lanes["crowd_ps"].to_list()) / 1e6 <= row["crowd_us"] <= 500
    # Two flows in each lane; their shares are those of the port.
    fed = [row for row in found.table("feeding") if found.label(row["root"]) == "leaf0->h0"]
    assert sorted(row["flow"] for row in fed) == [0, 1, 2, 3]
    assert sum(row["share"] for row in fed) == pytest.approx(1, abs=1e-5)
    for table, key in (("feeding", ("root", "flow")), ("waits", ("flow", "port"))):
        rows = [tuple(row[name] for name in key) for row in found.table(table)]
        assert len(set(rows)) == len(rows)


def test_the_page_lists_the_roots_that_blame_lists_and_says_of_the_others_how_many_there_are(isolated: Blame) -> None:
    listed = report.shown_roots(isolated)
    found = read(packed(isolated.results))
    assert [name.split()[-1] for name in listed["root_port"]] == [found.label(p) for p in found.columns["roots.port"]]
    assert found.header["rest"] == list(report.left_out(isolated, listed))


def test_a_run_without_a_pause_opens_when_most_flows_are_under_way(tmp_path: Path) -> None:
    text = _QUIET.replace('start = "1ms"', 'start = "10us"').replace('size = "1KB"', 'size = "20KB"')
    file = tmp_path / "early.toml"
    file.write_text(text)
    probes = [f"probe.{name}=false" for name in ("pauses", "marks", "blame")]
    found = read(packed(backwater.run(file, out=tmp_path / "out", overrides=probes)))
    assert found.header["opening"]["why"] == "flows"
    flows = found.table("flows")
    now = found.header["opening"]["time_ps"] / found.header["tick_ps"]
    assert all(row["start"] <= now <= (row["finish"] if row["finish"] >= 0 else now) for row in flows)


def test_two_runs_side_by_side_are_titled_by_what_differs(tmp_path: Path) -> None:
    file = tmp_path / "quiet.toml"
    file.write_text(_QUIET)
    plain = backwater.run(file, out=tmp_path / "plain")
    sprayed = backwater.run(file, out=tmp_path / "sprayed", overrides=["switch.load-balancing=spray"])
    other = backwater.run(file, out=tmp_path / "other", overrides=["switch.detector.kind=none", "cc.kind=none"])
    assert differences([plain, sprayed]) == ["switch.load-balancing ecmp", "switch.load-balancing spray"]
    # What the words of the head tell already is not told again.
    assert differences([plain, other]) == ["", ""]
    assert differences([plain]) == [""]


_RING = """profile = "ideal"
[topology]
kind = "star"
hosts = 4
rate = "100Gbps"
delay = "1us"
[cc]
kind = "none"
[[traffic]]
name = "ring"
kind = "collective"
op = "all-gather"
size = "100KB"
iterations = 2
"""


@pytest.fixture(scope="module")
def ring(tmp_path_factory: pytest.TempPathFactory) -> Results:
    file = tmp_path_factory.mktemp("ring") / "ring.toml"
    file.write_text(_RING)
    return backwater.run(file, out=file.parent / "out")


def test_a_collective_has_a_lane_with_its_iterations_and_in_it_the_messages_of_each_rank(ring: Results) -> None:
    found = read(packed(ring))
    lanes, words = found.header["lanes"], found.header["lane_words"]
    assert [(lane["name"], lane["of"]) for lane in lanes] == [("ring", -1), *((f"h{i}", 0) for i in range(4))]
    rows = found.table("lanes")
    whole = [(words[int(row["word"])], row["start"], row["start"] + row["length"]) for row in rows if row["lane"] == 0]
    known = ring.collectives.select("start_ps", "end_ps").collect().rows()
    assert [name for name, *_ in whole] == ["iteration 0", "iteration 1"]
    for (_, *times), expected in zip(whole, known, strict=True):
        assert times == [ps // found.header["tick_ps"] for ps in expected]
    # A ring of four ranks: each sends three messages in an iteration, one after the other.
    for lane in range(1, 5):
        mine = [row for row in rows if row["lane"] == lane]
        assert [words[int(row["word"])] for row in mine] == [f"message {number}" for number in range(1, 7)]
        ends = [row["start"] + row["length"] for row in mine]
        assert all(end <= row["start"] + 1 for end, row in zip(ends, mine[1:], strict=False))


def test_the_summary_has_the_times_of_collectives_and_of_flows_with_how_many_there_are(ring: Results) -> None:
    summary = read(packed(ring)).header["summary"]
    assert dict(summary["totals"])["flows finished"] == "24 of 24"
    assert dict(summary["totals"])["PAUSEs"] == "0"
    tables = {table["title"]: table for table in summary["tables"]}
    # 24 flows are too few for a p99: it is the largest of them, and says so.
    assert tables["Slowdown"]["rows"] == [["ring", "24", "1.00", "1.00 (max of 24)"]]
    (row,) = tables["Collectives"]["rows"]
    # It was alone, and each step waits for the one before: nothing could be faster.
    assert row[1] == row[2] == row[3]
    assert ["network", "star, 4 hosts, 1 switch"] in summary["settings"]


def test_what_to_change_is_what_each_caveat_of_the_run_says(ring: Results, tmp_path: Path) -> None:
    assert read(packed(ring)).header["summary"]["advice"] == []
    _copy(ring, tmp_path, caveats=[{"code": "no-marks", "message": "nothing marks", "place": "cc"}])
    found = read(packed(Results(tmp_path)))
    (advice,) = found.header["summary"]["advice"]
    assert advice == 'no-marks: Set switch.detector.kind = "red", with kmin and kmax.'
    assert "caveat[no-marks]: nothing marks" in found.header["notes"]


def test_flows_that_the_page_does_not_list_are_in_what_it_tells_of_all(
    ring: Results, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("backwater.view.flows.MOST_FLOWS", 5)
    found = read(packed(ring))
    assert len(found.columns["flows.flow"]) == 5
    end_us = found.header["end_ps"] / 1e6
    mean = sum(found.columns["load.mbps"]) / len(found.columns["load.mbps"])
    # All that was received, over the time of the run; the collective moves 24 messages of 100 KB.
    assert mean * end_us / 8 == pytest.approx(24 * 100_000, rel=1e-3)
    assert max(found.columns["load.flows"]) == pytest.approx(4, rel=1e-6)


def test_queue_pairs_of_ranks_rest_between_messages_and_have_no_mean_rate(tmp_path: Path) -> None:
    calls = ["0 send to 1 bytes 1000", "1 recv from 0 bytes 1000"]
    lines = ["backwater-program 1", "ranks 2", *(f"rank {call}" for call in [*calls, "0 compute 100us", *calls])]
    (tmp_path / "app.program").write_text("\n".join(lines) + "\n")
    entry = '[[traffic]]\nname = "app"\nkind = "program"\nfile = "app.program"\n'
    _core.Scenario(scenario(entry), "c.toml", tmp_path, ()).run(tmp_path / "run")
    found = read(packed(Results(tmp_path / "run")))
    assert set(found.columns["load.mbps"]) == {0}
    assert max(found.columns["load.flows"]) > 0


def test_two_runs_say_in_which_settings_they_differ_what_happens_first(tmp_path: Path) -> None:
    file = tmp_path / "quiet.toml"
    file.write_text(_QUIET)
    plain = backwater.run(file, out=tmp_path / "plain")
    overrides = ["switch.load-balancing=spray", "probe.sample=5us", "run.seed=2"]
    other = backwater.run(file, out=tmp_path / "other", overrides=overrides)
    found = differing([plain, other])
    assert ("switch.load-balancing", "ecmp", "spray") in found
    assert ("run.seed", "1", "2") in found
    assert found[-1][0] == "probe.sample"
    assert differing([plain]) == []
