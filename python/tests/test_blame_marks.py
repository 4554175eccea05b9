"""How blame scores the marks of detectors, on scenes where roots and held ports are known by construction."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import made_results
import polars as pl
import pytest
from backwater import Results
from backwater.analysis.blame import Blame
from blame_scenes import UNEVEN, figure_3

if TYPE_CHECKING:
    from collections.abc import Callable


#: Where the authors' detectors mark all: 206 KB, of which they do not see 1030 B.
#: With the K that the truth has by itself, 165 KB, some marks come late; these tests are of exact counts.
KMAX = "probe.blame-threshold=207030B"


def test_ecn_blames_held_ports_in_figure_3_and_tcd_does_not(runs: Callable[..., Blame]) -> None:
    ecn = runs("figure-3", figure_3(), "switch.detector.kind=red", KMAX).score
    tcd = runs("figure-3", figure_3(), KMAX).score
    assert ecn is not None
    assert tcd is not None
    assert ecn.precision is not None
    assert tcd.precision is not None
    assert ecn.precision < tcd.precision
    assert ecn.recall == tcd.recall == 1.0
    # ECN marks F0 and F2, which feed no root.
    assert (ecn.marked_flows - tcd.marked_flows, tcd.flow_precision) == (2, 1.0)
    assert (ecn.ue_marks, tcd.ue_marks > 0) == (0, True)


def test_a_port_is_not_credited_with_what_other_ports_marked(isolated: Blame, tmp_path: Path) -> None:
    # Two copies of the run: in one P3 is as it was, in the other all that it marked had come marked from elsewhere.
    shutil.copytree(isolated.results.folder, tmp_path / "r")
    crowds = isolated.results.table("crowds").collect()
    before = pl.when(pl.col("packets") > 1).then(pl.col("packets") - 1).otherwise(0)
    none_here = crowds.with_columns(ce_before_packets=before.cast(pl.UInt64), ce_packets=before.cast(pl.UInt64))
    none_here.write_parquet(tmp_path / "r" / "crowds.parquet")
    made_results.edit(tmp_path / "r")
    copied = Blame(Results(tmp_path / "r"))
    assert copied.score is not None
    assert copied.score.recall is not None
    assert copied.score.recall > 0.4
    assert copied.score.own_recall == 0
    assert copied.port_scores is not None
    assert set(copied.port_scores["own_recall"].drop_nulls()) == {0.0}


def test_p3s_own_recall_is_of_the_packets_that_came_unmarked(runs: Callable[..., Blame]) -> None:
    # RED marks F1 at P2, while P2 is held, before P3 can.
    blame = runs("figure-3", figure_3(), "switch.detector.kind=red", KMAX)
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
    ramp.append("probe.blame-threshold=1001030B")
    blame = runs("ramp", UNEVEN, *ramp, "switch.detector.pmax=1", "traffic.web.load=0.5", "switch.flow-control=none")
    score = blame.score
    assert score is not None
    assert score.early_marks > 100
    # Detectors do not see the first 1030 B of a queue: here K is 1 MB beyond them.
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
        # The slot of a mark, of 50 us, must have ended before the run does.
        last = pl.col("time_ps") < judged.results.meta["sim_time_ps"] - 100_000_000
        told = judged.results.table("marks").filter(last).select(pl.col("flow").unique()).collect()["flow"]
        acquitted = flows.filter(pl.col("flow").is_in(told.implode()) & (pl.col("cnps_ce") == 0)).height
        assert (acquitted > 0) == (fraction == "0.95")


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


INCAST = """
profile = "isolation"
[topology]
kind = "star"
hosts = 9
rate = "100Gbps"
delay = "25ns"
[[traffic]]
name = "burst"
kind = "incast"
to = "h0"
size = "300KB"
"""


def test_ici_plus_is_scored_though_it_marks_without_a_detector(runs: Callable[..., Blame]) -> None:
    # Without slots it marks what fills the one queue, that of a port which nobody holds back.
    without = ["switch.detector.kind=none", "switch.isolation.slots=0"]
    plus = runs("incast", INCAST, "switch.isolation.kind=ici-plus", *without).brief
    assert plus is not None
    assert plus.ce_marks > plus.early_marks
    assert (plus.precision, plus.culprits) == (1.0, 8)
    assert runs("incast", INCAST, "switch.isolation.kind=ici", *without).brief is None
