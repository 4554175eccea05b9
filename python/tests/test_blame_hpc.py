"""Blame where K is bounded by memory: an incast beside an application in a fabric with credits and small buffers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl
import pytest
from backwater import Results
from backwater.analysis.blame import Blame, report, threshold

if TYPE_CHECKING:
    from collections.abc import Callable

INCAST = """
profile = "hpc"
[topology]
kind = "dragonfly"
a = 4
p = 2
h = 2
rate = "100Gbps"
delay = "100ns"
global-delay = "1us"
[[traffic]]
name = "noise"
kind = "incast"
from = "h[10-30]"
to = "h3"
size = "500KB"
start = "0us"
[[traffic]]
name = "app"
kind = "collective"
op = "all-to-all"
ranks = 16
size = "256KB"
"""


def test_the_flows_of_an_incast_are_the_culprits_and_not_its_victims(runs: Callable[..., Blame]) -> None:
    # Two lanes share 64 KiB of each link: K is half of 32 KiB. kmax, 160 KiB, would be above all that can wait.
    blame = runs("hpc", INCAST)
    (root, *_) = blame.roots.to_dicts()
    assert root["root_port"].startswith("sw0.1->h3 VL")
    assert set(blame.feeding.filter(pl.col("root") == root["root"])["traffic"]) >= {"noise"}
    noise = blame.flows.filter(pl.col("traffic") == "noise")
    assert noise["verdict"].to_list() == ["culprit"] * 21
    # h3 gets 21 x 500 KB of noise and 15 x 256 KB of the application, which is nearly alone once it is below K: the
    # noise has more of the root than of these bytes.
    shares = report.by_traffic(blame.feeding.filter(pl.col("root") == root["root"]))
    assert shares.filter(pl.col("traffic") == "noise")["share"].sum() > 21 * 500 / (21 * 500 + 15 * 256)
    assert blame.flows.filter((pl.col("traffic") == "app") & (pl.col("verdict") == "victim")).height > 0
    assert threshold.text(blame.results) == "K = 16.4 KB"
    assert "half of what may wait from one link" in threshold.line(blame.results)
    assert next(part for part in report.report(blame, 3)) == threshold.line(blame.results)
    assert report.values(blame, 10**8)["threshold"]["thresholds"][0]["from"] == "memory"


@pytest.mark.parametrize("detector", ["red", "tcd", "np-ecn"])
@pytest.mark.parametrize("kmax", ["40KB", "160KB"])
def test_culprits_are_the_same_whatever_the_detector_and_its_thresholds_if_nobody_listens_to_it(
    runs: Callable[..., Blame], detector: str, kmax: str
) -> None:
    known = runs("hpc", INCAST)
    other = runs(
        "hpc", INCAST, f"switch.detector.kind={detector}", "switch.detector.kmin=20KB", f"switch.detector.kmax={kmax}"
    )
    assert other.flows["verdict"].to_list() == known.flows["verdict"].to_list()
    assert other.roots["packets"].to_list() == known.roots["packets"].to_list()
    assert threshold.text(other.results) == threshold.text(known.results)


def test_a_threshold_that_one_link_cannot_exceed_is_a_caveat(runs: Callable[..., Blame]) -> None:
    blame = runs("hpc", INCAST, "probe.blame-threshold=100KB")
    assert threshold.text(blame.results) == "K = 100 KB"
    (caveat,) = (one for one in blame.results.meta["caveats"] if one["place"] == "probe.blame-threshold")
    assert caveat["code"] == "unreachable-threshold"
    assert "is more than can wait for" in caveat["message"]


def test_runs_with_different_thresholds_say_that_their_scores_do_not_compare(runs: Callable[..., Blame]) -> None:
    one = runs("hpc", INCAST).results
    other = runs("hpc", INCAST, "probe.blame-threshold=100KB").results
    assert threshold.of_all([one, one]) == "K = 16.4 KB"
    assert threshold.of_all([one, other]).startswith("K differs between the runs")
    old = Results(one.folder)
    old.meta.pop("ground_truth")
    assert (threshold.text(old), threshold.line(old), threshold.of_all([old])) == ("", "", "")
