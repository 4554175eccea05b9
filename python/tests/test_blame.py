"""Blame, on scenes where the answer is known by construction: the trees of Figure 5 of the TCD paper.

The network is that of its Figure 2: S0 and S1 behind P0 and S2 behind P1 reach T2 through P2; at T2 are R0, R1 (behind
P3) and the hosts A0 to A14.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import backwater
import polars as pl
import pytest
from backwater.blame import Blame, report, score_of
from backwater.cli import main
from backwater.errors import Exit
from backwater.results import Results
from rich.table import Table

if TYPE_CHECKING:
    from collections.abc import Callable

SCENARIOS = Path(__file__).parents[2] / "scenarios"
VICTIMS = Path(__file__).parents[2] / "papers" / "tcd" / "scenarios" / "victims.toml"

_FIGURE_2 = """
profile = "authors"
[run]
until = "{until}"
[topology]
kind = "tcd-figure-2"
rate = "40Gbps"
delay = "4us"
"""

_FLOW = """
[[traffic]]
name = "{name}"
kind = "long-lived"
from = "{src}"
to = "{dst}"
"""

_CONSTANT = """
[[traffic]]
name = "{name}"
kind = "constant"
from = "{src}"
to = "{dst}"
rate = "{rate}"
catch-up = {catch_up}
start = "{start}"
"""

_BURSTS = """
[[traffic]]
name = "{name}"
kind = "bursts"
from = {src}
to = "{dst}"
size = "64KB"
rounds = 20
interval = "47.5us"
start = "1ms"
"""


def _constant(name: str, src: str, dst: str, rate: str, *, start: str, catch_up: bool) -> str:
    return _CONSTANT.format(name=name, src=src, dst=dst, rate=rate, start=start, catch_up=str(catch_up).lower())


def _figure_3() -> str:
    """F1 and fifteen hosts flood P3; F0 and F2 only pass by, 5 Gbps each."""
    passing = [_constant(f"F{n}", f"S{n}", "R0", "5Gbps", start="1.3ms", catch_up=True) for n in (0, 2)]
    bursts = _BURSTS.format(name="A", src='"A*"', dst="R1")
    return _FIGURE_2.format(until="4ms") + _FLOW.format(name="F1", src="S1", dst="R1") + bursts + "".join(passing)


def _overlapped() -> str:
    """Half of the hosts flood R0, the others R1; F0 to R0 and F1 to R1 share P0 and P2, which carry both with ease."""
    half = [[f"A{n}" for n in range(first, 15, 2)] for first in (0, 1)]
    bursts = [_BURSTS.format(name=f"to-R{n}", src=json.dumps(half[n]), dst=f"R{n}") for n in (0, 1)]
    flows = [_constant(f"F{n}", f"S{n}", f"R{n}", "15Gbps", start="0us", catch_up=False) for n in (0, 1)]
    return _FIGURE_2.format(until="3ms") + "".join([*flows, *bursts])


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Blame]:
    """Runs a scenario once for all tests of this file."""
    folder, kept = tmp_path_factory.mktemp("blame"), dict[tuple[str, ...], Blame]()

    def run(name: str, text: str, *overrides: str) -> Blame:
        key = (name, *overrides)
        if key not in kept:
            file = folder / f"{name}.toml"
            file.write_text(text, encoding="utf-8")
            kept[key] = Blame(backwater.run(file, overrides=overrides, out=folder / f"{name}-{len(kept)}"))
        return kept[key]

    return run


@pytest.fixture(scope="module")
def isolated(runs: Callable[..., Blame]) -> Blame:
    return runs("figure-3", _figure_3())


@pytest.fixture(scope="module")
def overlapped(runs: Callable[..., Blame]) -> Blame:
    return runs("overlapped", _overlapped())


@pytest.fixture(scope="module")
def covered(runs: Callable[..., Blame]) -> Blame:
    return runs("covered", (SCENARIOS / "multi-congestion-points.toml").read_text(encoding="utf-8"))


def _roots(blame: Blame) -> list[str]:
    return sorted(blame.roots.filter(pl.col("crowd_ps") > 0)["root_port"])


def _branches(blame: Blame, root: str) -> dict[str, dict[str, Any]]:
    return {row["branch"]: row for row in blame.branches.filter(pl.col("root_port") == root).to_dicts()}


def _verdicts(blame: Blame) -> dict[str, set[str]]:
    seen = blame.flows.filter(pl.col("packets") > 0)
    return {traffic: set(rows["verdict"]) for (traffic,), rows in seen.group_by("traffic")}


def test_an_isolated_tree_has_one_root_and_its_branches_lie_up_the_chain_of_switches(isolated: Blame) -> None:
    assert _roots(isolated) == ["P3 T2->R1"]
    found = _branches(isolated, "P3 T2->R1")
    depths = {name: found[name]["depth"] for name in ("P2 L0->T2", "P0 T0->L0", "P1 T1->L0", "A0->T2")}
    assert depths == {"P2 L0->T2": 1, "P0 T0->L0": 2, "P1 T1->L0": 2, "A0->T2": 1}
    # Whatever else a PAUSE was for, of these ports nearly all OFF time is for P3.
    assert all(row["weighted_ps"] > 0.99 * row["off_ps"] for row in found.values())


#: One flow at the rate of its ports, and for a moment another to the same receiver.
_FULL = """
[[traffic]]
name = "F2"
kind = "long-lived"
from = "S2"
to = "R0"
cc = { kind = "none" }
[[traffic]]
name = "G"
kind = "bursts"
from = "A0"
to = "R0"
size = "500KB"
rounds = 1
interval = "1ms"
start = "1ms"
"""
_DETECTORS = [f"switch.detector.kind={kind}" for kind in ("red", "tcd", "np-ecn")]


@pytest.mark.parametrize("detector", _DETECTORS)
def test_a_queue_that_a_pause_has_piled_up_and_that_stays_makes_no_root(
    runs: Callable[..., Blame], detector: str
) -> None:
    # P1 and P2 carry one flow from a 40 Gbps link to a 40 Gbps link: they can never be overloaded.
    blame = runs("full", _FIGURE_2.format(until="8ms") + _FULL, detector)
    assert "P2 L0->T2" in _branches(blame, "T2->R0")
    assert _roots(blame) == ["T2->R0"]


@pytest.mark.parametrize("detector", _DETECTORS)
def test_p0_and_p2_are_no_roots_where_the_sources_links_keep_them_from_overload(
    runs: Callable[..., Blame], detector: str
) -> None:
    # Two sources at 20 Gbps each are all that ever comes by P0 and P2.
    short = [f"traffic.{name}.until=50ms" for name in ("victims", "culprits", "A")]
    flags = [f"probe.{name}=true" for name in ("marks", "pauses", "blame")]
    blame = runs("victims", VICTIMS.read_text(encoding="utf-8"), detector, *short, *flags)
    assert {"P0 T0->L0", "P2 L0->T2"} <= set(blame.branches["branch"])
    assert _roots(blame) == ["P3 T2->R1"]
    # All that S0 sends goes to R0, which is never congested.
    fed = set(blame.feeding["traffic"])
    assert "victims" not in fed
    assert blame.unexplained_ps == 0


def test_in_figure_3_of_the_tcd_paper_f1_and_the_bursts_are_culprits_and_f0_and_f2_victims(isolated: Blame) -> None:
    assert _verdicts(isolated) == {"F1": {"culprit"}, "A": {"culprit"}, "F0": {"victim"}, "F2": {"victim"}}
    victims = isolated.flows.filter(pl.col("verdict") == "victim")
    # They meet no long queue that is not for P3's sake.
    assert (victims["gate_ps"] + victims["backlog_ps"] > 20 * victims["queue_ps"]).all()


def test_ecn_blames_held_ports_in_figure_3_and_tcd_does_not(runs: Callable[..., Blame]) -> None:
    ecn = runs("figure-3", _figure_3(), "switch.detector.kind=red").score
    tcd = runs("figure-3", _figure_3()).score
    assert ecn is not None
    assert tcd is not None
    assert ecn.precision is not None
    assert tcd.precision is not None
    assert ecn.precision < tcd.precision
    assert ecn.recall == tcd.recall == 1.0
    # ECN marks F0 and F2, which feed no root.
    assert (ecn.marked_flows - tcd.marked_flows, tcd.flow_precision) == (2, 1.0)
    assert (ecn.ue_marks, tcd.ue_marks > 0) == (0, True)


def test_a_branch_that_two_trees_share_has_its_off_time_split_between_their_roots(overlapped: Blame) -> None:
    assert _roots(overlapped) == ["P3 T2->R1", "T2->R0"]
    trees = [_branches(overlapped, root) for root in _roots(overlapped)]
    shared = [tree["P2 L0->T2"] for tree in trees]
    assert all(row["weighted_ps"] > 0.1 * row["off_ps"] for row in shared)
    # The hosts belong to one tree each.
    for mine, other, traffic in ((0, 1, "A1"), (1, 0, "A0")):
        assert f"{traffic}->T2" in trees[mine]
        assert f"{traffic}->T2" not in trees[other]
    fed = {root: set(overlapped.feeding.filter(pl.col("root_port") == root)["traffic"]) for root in _roots(overlapped)}
    assert fed == {"P3 T2->R1": {"F1", "to-R1"}, "T2->R0": {"F0", "to-R0"}}


def test_a_root_inside_another_tree_is_a_branch_until_that_one_lets_go(covered: Blame) -> None:
    assert _roots(covered) == ["P2 L0->T2", "P3 T2->R1"]
    p2 = covered.roots.filter(pl.col("root_port") == "P2 L0->T2").to_dicts()[0]
    as_branch = _branches(covered, "P3 T2->R1")["P2 L0->T2"]
    assert as_branch["last_ps"] < p2["first_ps"]
    # P0 and P1 are held for P3's sake first, then for P2's.
    for port in ("P0 T0->L0", "P1 T1->L0"):
        first, then = _branches(covered, "P3 T2->R1")[port], _branches(covered, "P2 L0->T2")[port]
        assert (first["depth"], then["depth"]) == (2, 1)
        assert first["first_ps"] < then["first_ps"]
    assert {"F0", "F2"} <= set(covered.feeding.filter(pl.col("root_port") == "P2 L0->T2")["traffic"])


def test_f0_and_f2_are_held_back_until_p2_is_a_root_and_culprits_from_then_on(covered: Blame) -> None:
    p2 = covered.roots.filter(pl.col("root_port") == "P2 L0->T2").to_dicts()[0]
    rows = covered.flows.filter(pl.col("traffic").is_in(["F0", "F2"])).to_dicts()
    assert [row["verdict"] for row in rows] == ["culprit", "culprit"]
    for row in rows:
        assert p2["first_ps"] <= row["culprit_from_ps"] < p2["first_ps"] + 10**8
        # They start at 1.183 ms, and P3 holds them back from then on.
        assert 10**9 < row["held_before_ps"] <= row["culprit_from_ps"] - 1_183_000_000
    # In each bin they are culprits only if P2 is a root in it.
    curves = covered.flow_curves(100_000_000)
    assert curves is not None
    own = curves.filter(pl.col("flow").is_in([row["flow"] for row in rows]) & pl.col("is_culprit"))
    assert own["time_ps"].min() >= p2["first_ps"] // 10**8 * 10**8
    assert any("held before that for" in str(column.header) for column in _columns(covered))


def _columns(blame: Blame) -> list[Any]:
    return [column for part in report.report(blame, 3) if isinstance(part, Table) for column in part.columns]


def test_a_victim_without_an_end_is_shown_with_what_it_lost_at_its_source(isolated: Blame) -> None:
    tables = [part for part in report.report(isolated, 3) if isinstance(part, Table)]
    endless = next(table for table in tables if str(table.title).startswith("Victims without an end"))
    headings = [str(column.header) for column in endless.columns]
    assert headings[2:] == ["paced", "NIC held", "NIC queue", "behind gates", "held ports' queues", "other queues"]


def test_a_flow_of_which_nothing_arrived_can_be_a_culprit(isolated: Blame) -> None:
    score = isolated.score
    assert score is not None
    assert isolated.flows.filter(pl.col("verdict") == "culprit").height == score.culprits
    assert score.culprits == isolated.feeding["flow"].n_unique()


@pytest.mark.parametrize("scene", ["isolated", "overlapped", "covered"])
def test_all_off_time_of_every_port_is_shared_out_among_roots(scene: str, request: pytest.FixtureRequest) -> None:
    blame: Blame = request.getfixturevalue(scene)
    shares = blame.branches.group_by("queue").agg(pl.col("weighted_ps").sum())
    totals = blame.queues.filter(pl.col("paused_ps") > 0).join(shares, on="queue", how="full", coalesce=True)
    assert totals.height >= 15
    assert (totals["paused_ps"] - totals["weighted_ps"]).is_between(-5, 5).all()
    assert blame.unexplained_ps == 0
    off = blame.gates.off.group_by("queue").agg(length=(pl.col("on_ps") - pl.col("off_ps")).sum())
    same = blame.queues.join(off, on="queue")
    assert (same["length"] == same["paused_ps"]).all()


def test_no_root_is_held_while_it_is_a_root(covered: Blame) -> None:
    free = covered.crowding.filter(~pl.col("is_held")).select("queue", "start_ps", "end_ps").unique()
    both = free.join(covered.gates.held, on="queue").filter(
        (pl.col("start") < pl.col("end_ps")) & (pl.col("end") > pl.col("start_ps"))
    )
    # A crowd counts by its middle: it may reach into a held period by half of the 100 µs at which crowds are cut.
    overlap = pl.min_horizontal("end", "end_ps") - pl.max_horizontal("start", "start_ps")
    assert both.select(overlap).to_series().max() in (None, 0)


def test_what_a_flow_lost_is_the_sum_of_its_parts_to_the_picosecond(overlapped: Blame) -> None:
    finished = overlapped.flows.filter(pl.col("lost_ps").is_not_null())
    assert finished.height > 50
    assert finished.filter(pl.col("lost_ps") > 10**9).height > 0
    assert (finished["rest_ps"] == 0).all()


_UNEVEN = """
[topology]
kind = "leaf-spine"
leaves = 2
spines = 1
hosts-per-leaf = 4
rate = "40Gbps"
delay = "1us"
[[traffic]]
name = "web"
kind = "poisson"
cdf = "web-search"
load = 0.5
until = "3ms"
"""


_APPLICATION = """
[[traffic]]
name = "application"
kind = "constant"
from = ["h0", "h1"]
to = "h5"
rate = "7Gbps"
jitter = 0.1
size = "300001B"
"""


@pytest.mark.parametrize("override", ["topology.spine-rate=10Gbps", "traffic.web.load=0.9"])
def test_what_a_flow_would_wait_alone_is_not_counted_as_lost(runs: Callable[..., Blame], override: str) -> None:
    # Short last packets, an application that spaces them, and links that are slower than the first.
    finished = runs("waiting", _UNEVEN + _APPLICATION, override).flows.filter(pl.col("lost_ps").is_not_null())
    assert finished.height > 20
    assert finished.filter(pl.col("ideal_wait_ps") > 0).height > 10
    assert (finished["rest_ps"] == 0).all()


def test_what_messages_of_a_connection_wait_for_each_other_is_a_part_of_their_loss(runs: Callable[..., Blame]) -> None:
    # Twenty rounds at 11 Gbps from each of seven hosts into one link: rounds wait for the ones before them.
    shared = runs("overlapped", _overlapped(), "traffic.to-R1.connection=pair")
    bursts = shared.flows.filter(pl.col("lost_ps").is_not_null(), pl.col("traffic").cast(pl.String) == "to-R1")
    assert bursts.height > 50
    assert (bursts["rest_ps"] == 0).all()
    assert (bursts["connection_wait_ps"] > 0).any()
    assert (runs("overlapped", _overlapped()).flows["connection_wait_ps"] == 0).all()


def test_a_port_is_not_credited_with_what_other_ports_marked(isolated: Blame, tmp_path: Path) -> None:
    # Two copies of the run: in one P3 is as it was, in the other all that it marked had come marked from elsewhere.
    shutil.copytree(isolated.results.folder, tmp_path / "r")
    crowds = isolated.results.table("crowds").collect()
    before = pl.when(pl.col("packets") > 1).then(pl.col("packets") - 1).otherwise(0)
    none_here = crowds.with_columns(ce_before_packets=before.cast(pl.UInt64), ce_packets=before.cast(pl.UInt64))
    none_here.write_parquet(tmp_path / "r" / "crowds.parquet")
    copied = Blame(Results(tmp_path / "r"))
    assert copied.score is not None
    assert copied.score.recall is not None
    assert copied.score.recall > 0.4
    assert copied.score.own_recall == 0
    assert copied.port_scores is not None
    assert set(copied.port_scores["own_recall"].drop_nulls()) == {0.0}


def test_p3s_own_recall_is_of_the_packets_that_came_unmarked(runs: Callable[..., Blame]) -> None:
    # RED marks F1 at P2, while P2 is held, before P3 can.
    blame = runs("figure-3", _figure_3(), "switch.detector.kind=red")
    p3 = blame.crowding.filter(~pl.col("is_held") & (pl.col("queue") == blame.roots["root"][0]))
    assert p3["ce_before_packets"].sum() > 100
    ports = blame.port_scores
    assert ports is not None
    own = ports.filter(pl.col("port") == "P3 T2->R1").to_dicts()[0]
    assert own["own_recall"] == own["recall"] == 1.0
    # So that many CE marks it set itself above K, and no more.
    assert own["ce_marks"] - own["early_marks"] == own["root_packets"] - p3["ce_before_packets"].sum()


def test_marks_of_reds_ramp_below_k_are_early_and_neither_right_nor_wrong(runs: Callable[..., Blame]) -> None:
    # 36 Gbps on 40 never make a queue of 1 MB, but one above the ramp's beginning at 1 KB, with short bursts together.
    ramp = ["switch.detector.kind=red", "switch.detector.kmin=1KB", "switch.detector.kmax=1MB"]
    blame = runs("ramp", _UNEVEN, *ramp, "switch.detector.pmax=1", "traffic.web.load=0.5", "switch.flow-control=none")
    score = blame.score
    assert score is not None
    assert score.early_marks > 100
    # Detectors do not see the first 1030 B of a queue: K is 1 MB beyond them.
    above = blame.results.table("marks").filter(pl.col("queue_bytes") > 1_001_030).collect().height
    assert score.ce_marks - score.early_marks == above
    assert score.precision == (1.0 if above else None)


def test_np_ecns_verdict_on_a_flow_is_the_receivers(runs: Callable[..., Blame]) -> None:
    # PCN marks some packets of F0 and F2, but never 95 % of a slot while they only wait behind P2.
    multi = (Path(__file__).parents[2] / "scenarios/multi-congestion-points.toml").read_text(encoding="utf-8")
    for fraction, column in (("0.95", "cnps_ce"), ("0", "ce_packets")):
        judged = runs("multi", multi, "switch.detector.kind=np-ecn", f"cc.np-fraction={fraction}")
        flows = judged.results.table("flows").collect()
        assert judged.score is not None
        assert judged.score.marked_flows == flows.filter(pl.col(column) > 0).height
        acquitted = flows.filter((pl.col("ce_packets") > 0) & (pl.col("cnps_ce") == 0)).height
        assert (acquitted > 0) == (fraction == "0.95")


def test_a_network_without_a_pause_has_no_branch_and_no_victim(runs: Callable[..., Blame]) -> None:
    blame = runs("uneven", _UNEVEN, "traffic.web.load=0.15")
    assert blame.results.meta["totals"]["pauses"] == 0
    assert blame.branches.height == 0
    assert "victim" not in set(blame.flows["verdict"])


def test_the_curves_sum_up_to_the_score(covered: Blame) -> None:
    curves, score = covered.curves(250_000_000), covered.score
    assert curves is not None
    assert score is not None
    assert score.precision is not None
    assert score.recall is not None
    right = (curves["precision"] * curves["ce_marks"]).sum()
    assert right == pytest.approx(score.precision * score.ce_marks)
    assert (curves["recall"] * curves["root_packets"]).sum() == pytest.approx(score.recall * score.root_packets)
    for scores in (covered.port_scores, covered.port_curves(250_000_000)):
        assert scores is not None
        totals = [scores[name].sum() for name in ("ce_marks", "early_marks", "root_packets")]
        assert totals == [score.ce_marks, score.early_marks, score.root_packets]
    flows = covered.flow_curves(250_000_000)
    assert flows is not None
    assert (flows["ce_marks"].sum(), flows["root_packets"].sum()) == (score.ce_marks, score.root_packets)
    assert flows.filter("is_culprit")["flow"].n_unique() == score.culprits
    ports = covered.port_scores
    assert ports is not None
    assert (ports["ce_marks"].sum(), ports["root_packets"].sum()) == (score.ce_marks, score.root_packets)


def test_the_command_prints_tables_and_json_and_draws(
    isolated: Blame, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder, out = str(isolated.results.folder), tmp_path / "out"
    before = sorted(isolated.results.folder.iterdir())
    assert main(["blame", folder, "--plot", str(tmp_path / "a.png"), "--out", str(out), "--bin", "50us"]) == Exit.OK
    said = capsys.readouterr().out
    assert "P3 T2->R1" in said
    assert "2 victims" in said
    assert "precision" in said
    assert (tmp_path / "a.png").stat().st_size > 10_000
    assert {file.name for file in out.iterdir()} >= {"blame.json", "blame-roots.parquet", "blame-curves.parquet"}
    assert main(["blame", folder, "--json"]) == Exit.OK
    values = json.loads(capsys.readouterr().out)
    assert [root["root_port"] for root in values["roots"] if root["crowd_ps"] > 0] == ["P3 T2->R1"]
    assert {victim["traffic"] for victim in values["victims"]} == {"F0", "F2"}
    # Nothing is written that was not asked for.
    assert sorted(isolated.results.folder.iterdir()) == before


def test_run_scores_the_marks_of_each_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "figure-3.toml"
    file.write_text(_figure_3(), encoding="utf-8")
    assert main(["run", str(file), "--out", str(tmp_path / "r")]) in (Exit.OK, Exit.CAVEATS)
    assert "blame: precision 100.0 % of" in capsys.readouterr().out
    main(["run", str(file), "--out", str(tmp_path / "j"), "--json"])
    assert json.loads(capsys.readouterr().out)["blame"]["recall"] == 1.0
    main(["run", str(file), "--out", str(tmp_path / "n"), "--set", "probe.blame=false"])
    assert "blame:" not in capsys.readouterr().out


def _bad(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    assert main(["blame", *arguments]) == Exit.BAD_INPUT
    said = capsys.readouterr()
    assert "Traceback" not in said.err
    assert said.out == ""
    return said.err


def test_what_is_missing_is_named_with_how_to_get_it(
    tmp_path: Path, runs: Callable[..., Blame], isolated: Blame, capsys: pytest.CaptureFixture[str]
) -> None:
    assert "no run.json" in _bad([str(tmp_path)], capsys)
    file = tmp_path / "s.toml"
    file.write_text(_UNEVEN, encoding="utf-8")
    results = backwater.run(file, overrides=["probe.blame=false", "probe.pauses=false"], out=tmp_path / "without")
    said = _bad([str(tmp_path / "without")], capsys)
    assert "holds, crowds, waits: run the scenario again with --set probe.blame=true" in said
    assert "--set probe.pauses=true" in said
    assert score_of(results) is None
    assert "--bin: 'soon' is not a time" in _bad([str(isolated.results.folder), "--bin", "soon"], capsys)
    folder = str(isolated.results.folder)
    assert "must end in .png, .pdf or .svg" in _bad([folder, "--plot", "x.jpeg2000"], capsys)
    assert "there is no folder" in _bad([folder, "--plot", str(tmp_path / "none" / "x.png")], capsys)
    unmarked = runs("figure-3", _figure_3(), "probe.marks=false")
    assert unmarked.score is None
    assert any("probe.marks=true" in str(part) for part in report.report(unmarked, 3))


def test_a_damaged_table_is_an_error_that_names_the_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "s.toml"
    file.write_text(_UNEVEN, encoding="utf-8")
    results = backwater.run(file, out=tmp_path / "damaged")
    results.file("crowds").write_bytes(b"PAR1 not any more")
    assert "crowds.parquet cannot be read" in _bad([str(results.folder)], capsys)
    results.file("crowds").unlink()
    assert "crowds.parquet is missing" in _bad([str(results.folder)], capsys)


def test_a_run_that_is_partial_or_cut_by_its_budget_says_so(isolated: Blame) -> None:
    partial = Results(isolated.results.folder)
    partial.meta |= {"status": "partial", "caveats": ["holds: only the first 9 rows fit the budget"]}
    said = Blame(partial).notes
    assert said[0] == "the run was interrupted: this is blame until then"
    assert said[1].startswith("holds: only the first 9 rows fit the budget; blame is wrong from there on")
