"""Blame where ports are held back by missing credits, on the scene of Figures 3 and 4 of the TCD paper.

S0 and S1 behind P0 and S2 behind P1 reach T2 through P2; at T2 are R0, R1 (behind P3) and the hosts A0 to A14. Links
carry 32 Gbps, each ingress port has 280 KB of buffer, and credits come every 50 µs.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import backwater
import polars as pl
import pytest
from backwater.analysis.blame import Blame, report, starvation
from backwater.cli import main
from backwater.errors import Exit

if TYPE_CHECKING:
    from collections.abc import Callable

SCENARIO = Path(__file__).parents[2] / "scenarios" / "infiniband.toml"
VICTIMS = Path(__file__).parents[2] / "papers" / "tcd" / "scenarios" / "victims-ib.toml"
P0, P1, P2, P3 = "P0 T0->L0", "P1 T1->L0", "P2 L0->T2", "P3 T2->R1"
#: Figure 4: P2 would be overloaded too, by F0 and F2, if P3 did not hold it back.
MULTIPLE = tuple(f"traffic.{name}.rate=25Gbps" for name in ("F0", "F2"))
#: They come to an end.
FINITE = tuple(f"traffic.{name}.size=2MB" for name in ("F0", "F2"))
FECN = "switch.detector.kind=fecn"

#: P1 and P2 carry one flow from a 32 Gbps link to a 32 Gbps link; for a moment another goes to the same receiver.
_FULL = """
profile = "infiniband"
[run]
until = "8ms"
[topology]
kind = "tcd-figure-2"
rate = "32Gbps"
delay = "4us"
[switch.credits]
buffer = "400KB"
[[traffic]]
name = "F2"
kind = "long-lived"
from = "S2"
to = "R0"
cc = { kind = "none" }
[[traffic]]
name = "G"
kind = "flow"
from = "A0"
to = "R0"
size = "500KB"
control = "line-rate"
start = "1ms"
"""


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Blame]:
    """Runs a scenario once for all tests of this file."""
    folder, kept = tmp_path_factory.mktemp("blame"), dict[tuple[str, ...], Blame]()

    def run(*overrides: str, file: Path = SCENARIO) -> Blame:
        key = (str(file), *overrides)
        if key not in kept:
            kept[key] = Blame(backwater.run(file, overrides=overrides, out=folder / str(len(kept))))
        return kept[key]

    return run


def _roots(blame: Blame) -> list[str]:
    return sorted(blame.roots.filter(pl.col("crowd_ps") > 0)["root_port"])


def _branches(blame: Blame, root: str) -> dict[str, dict[str, Any]]:
    return {row["branch"]: row for row in blame.branches.filter(pl.col("root_port") == root).to_dicts()}


@pytest.mark.parametrize(
    ("credits_return", "detector"),
    [("periodic", "tcd"), ("periodic", "fecn"), ("at-once", "fecn"), ("at-once", "none")],
)
def test_one_congestion_point_is_one_root_and_the_ports_that_starve_for_it_are_its_branches(
    runs: Callable[..., Blame], credits_return: str, detector: str
) -> None:
    blame = runs(f"switch.credits.returned={credits_return}", f"switch.detector.kind={detector}")
    assert _roots(blame) == [P3]
    found = _branches(blame, P3)
    depths = {name: found[name]["depth"] for name in (P2, P0, P1, "A0->T2", "S0->T0")}
    assert depths == {P2: 1, P0: 2, P1: 2, "A0->T2": 1, "S0->T0": 3}
    # Of nearly all OFF time P3 is the root.
    off_ps = sum(row["paused_ps"] for row in blame.queues.to_dicts())
    assert sum(row["weighted_ps"] for row in found.values()) > 0.99 * off_ps


def test_f0_and_f2_are_victims_whose_loss_is_the_sum_of_its_parts(runs: Callable[..., Blame]) -> None:
    blame = runs(*FINITE, "run.until=8ms")
    verdicts = {name: set(rows["verdict"]) for (name,), rows in blame.flows.group_by("traffic")}
    assert verdicts == {"F1": {"culprit"}, "A": {"culprit"}, "F0": {"victim"}, "F2": {"victim"}}
    finished = blame.flows.filter(pl.col("lost_ps").is_not_null())
    assert finished.height == 17
    assert (finished["rest_ps"] == 0).all()
    # Alone they would end at 4.5 ms. Until the bursts end at 5.1 ms P2 has a sixteenth of P3's link, 2 Gbps.
    victims = finished.filter(pl.col("verdict") == "victim")
    assert (victims["lost_ps"] > 600_000_000).all()
    held = victims["nic_held_ps"] + victims["gate_ps"] + victims["backlog_ps"]
    assert (held > 0.9 * victims["lost_ps"]).all()


def test_flows_on_another_lane_are_nobodys_victims(runs: Callable[..., Blame]) -> None:
    # Twice the buffer, which two lanes share.
    lane = [f"traffic.{name}.priority=4" for name in ("F0", "F2")]
    blame = runs(*lane, "switch.credits.buffer=560KB")
    verdicts = {name: set(rows["verdict"]) for (name,), rows in blame.flows.group_by("traffic")}
    assert verdicts == {"F1": {"culprit"}, "A": {"culprit"}, "F0": {"unaffected"}, "F2": {"unaffected"}}
    assert _roots(blame) == [P3]


def test_fecn_blames_starving_ports_and_tcd_does_not(runs: Callable[..., Blame]) -> None:
    fecn, tcd = runs(FECN).score, runs().score
    assert fecn is not None
    assert tcd is not None
    assert fecn.precision is not None
    assert tcd.precision == 1.0
    assert fecn.precision < 0.9
    assert (tcd.ue_precision, tcd.recall) == (1.0, 1.0)
    # FECN takes F0 and F2 for culprits, and they never cross P3.
    assert (fecn.marked_flows - tcd.marked_flows, tcd.flow_precision) == (2, 1.0)


@pytest.mark.parametrize("credits_return", ["periodic", "at-once"])
def test_p2_becomes_a_root_when_p3_has_let_it_go_and_f0_and_f2_still_overload_it(
    runs: Callable[..., Blame], credits_return: str
) -> None:
    blame = runs(*MULTIPLE, f"switch.credits.returned={credits_return}", FECN)
    assert _roots(blame) == [P2, P3]
    p2 = blame.roots.filter(pl.col("root_port") == P2).to_dicts()[0]
    # Released, it sends on what was held back, five buffers of 280 KB, in 350 µs; then one more update is looked at.
    released = _branches(blame, P3)[P2]["last_ps"]
    assert released < p2["first_ps"] < released + 450_000_000
    for port in (P0, P1):
        first, then = _branches(blame, P3)[port], _branches(blame, P2)[port]
        assert (first["depth"], then["depth"]) == (2, 1)
        assert first["first_ps"] < then["first_ps"]
    for row in blame.flows.filter(pl.col("traffic").is_in(["F0", "F2"])).to_dicts():
        assert row["verdict"] == "culprit"
        assert p2["first_ps"] <= row["culprit_from_ps"] < p2["first_ps"] + 10**8
        assert row["held_before_ps"] > 10**9


def test_tcd_finds_both_roots_with_credits_too(runs: Callable[..., Blame]) -> None:
    # The flowchart of the TCD paper calls P2's level queue nothing: the rule of ours does.
    blame = runs(*MULTIPLE, "switch.detector.tcd.trend=rise-bp")
    assert _roots(blame) == [P2, P3]
    assert blame.port_scores is not None
    rows = {row["port"]: row for row in blame.port_scores.to_dicts()}
    assert all(rows[port]["ce_marks"] > 0 and rows[port]["precision"] == 1.0 for port in (P2, P3))
    assert all(rows[port]["ce_marks"] == 0 and rows[port]["ue_precision"] == 1.0 for port in (P0, P1))


def test_a_queue_that_missing_credits_have_piled_up_and_that_stays_makes_no_root(
    runs: Callable[..., Blame], tmp_path: Path
) -> None:
    file = tmp_path / "full.toml"
    file.write_text(_FULL, encoding="utf-8")
    for detector in ("tcd", "fecn"):
        blame = runs(f"switch.detector.kind={detector}", file=file)
        assert P2 in _branches(blame, "T2->R0")
        assert _roots(blame) == ["T2->R0"]
    # 32 Gbps come in and 32 Gbps go out: P2's queue is as long as the credits let it be.
    long = blame.crowding.filter(pl.col("is_held") & (pl.col("end_ps") > 7_900_000_000))
    assert "L0->T2" in set(blame.queues.filter(pl.col("queue").is_in(long["queue"].implode()))["port"])


@pytest.mark.parametrize("detector", ["tcd", "fecn"])
def test_p0_and_p2_are_no_roots_where_the_sources_links_keep_them_from_overload(
    runs: Callable[..., Blame], detector: str
) -> None:
    # Two sources at 16 Gbps each are all that ever comes by P0 and P2.
    short = [f"traffic.{name}.until=50ms" for name in ("victims", "culprits", "A")]
    flags = [f"probe.{name}=true" for name in ("marks", "pauses", "blame")]
    blame = runs(f"switch.detector.kind={detector}", *short, *flags, file=VICTIMS)
    assert {P0, P2} <= set(blame.branches["branch"])
    assert _roots(blame) == [P3]
    # All that S0 sends goes to R0, which is never congested.
    assert set(blame.feeding["traffic"]) == {"A", "culprits"}
    assert blame.unexplained_ps == 0
    finished = blame.flows.filter(pl.col("lost_ps").is_not_null())
    assert finished.height > 500
    assert (finished["rest_ps"] == 0).all()


@pytest.mark.parametrize("overrides", [(), MULTIPLE])
def test_all_time_without_credits_is_shared_out_among_roots(
    runs: Callable[..., Blame], overrides: tuple[str, ...]
) -> None:
    blame = runs(*overrides)
    shares = blame.branches.group_by("queue").agg(pl.col("weighted_ps").sum())
    totals = blame.queues.filter(pl.col("paused_ps") > 0).join(shares, on="queue", how="full", coalesce=True)
    assert totals.height >= 18
    assert (totals["paused_ps"] - totals["weighted_ps"]).is_between(-5, 5).all()
    assert blame.unexplained_ps == 0


def test_while_a_port_is_held_its_on_times_do_not_exceed_the_period(runs: Callable[..., Blame]) -> None:
    # An update may wait for a packet: 2048 B at 32 Gbps are 512 ns. So no held period is interrupted.
    off = runs().gates.off
    assert set(off["turn_ps"]) == {50_512_000}
    assert runs().gates.held.height == off["queue"].n_unique()


def test_an_egress_queue_is_as_long_as_its_packets_in_all_input_buffers(runs: Callable[..., Blame]) -> None:
    ports = runs().results.ports.collect().with_columns(pl.col("port").cast(pl.String))
    peak = dict(ports.group_by("port").agg(pl.col("peak_queue_bytes").max()).iter_rows())
    # P1 is fed by one ingress port, P2 by two, P3 by P2 and the fifteen hosts; each may hold 280 KB.
    for port, inputs in (("T1->L0", 1), ("L0->T2", 2), ("T2->R1", 16)):
        assert (inputs - 1) * 280_000 < peak[port] <= inputs * 280_000
    holds = runs().results.table("holds").collect()
    assert (holds["from_held_bytes"] <= holds["queue_bytes"]).all()
    assert (holds["from_held_bytes"] <= 280_000).all()


def _off(*rows: tuple[int, int, int, int]) -> pl.DataFrame:
    """OFF intervals of queue 1 (upstream) and 2: queue, from, until, and its bytes then; port 2 has sent at 100."""
    schema = ["queue", "off_ps", "on_ps", "queue_bytes"]
    frame = pl.DataFrame(rows, schema=schema, orient="row").with_row_index("off")
    return frame.with_columns(sent_ps=pl.when(pl.col("queue") == 2).then(pl.lit(100)).otherwise("on_ps"))


def _proof(lengths: tuple[int, int], *, closed: bool = False) -> int | None:
    """Port 2 was OFF until 10; port 1 then from 80 to 90 and from 120 to 130, for the holds at 70 and 110."""
    off = _off((2, 0, 10, 50), (1, 80, 90, lengths[0]), (1, 120, 130, lengths[1]))
    holds = pl.DataFrame({"time_ps": [70, 110], "queue": [1, 1], "blocker": [2, 2], "share": 1.0, "closed": closed})
    slack = pl.DataFrame({"queue": [1, 2], "slack_bytes": 3})
    found = starvation.proofs(off, holds, slack, 10)
    return None if not found.height else int(found["time_ps"].item())


def test_a_port_is_its_own_cause_if_one_that_it_starves_does_not_get_rid_of_its_queue() -> None:
    assert _proof((40, 40)) == 110
    assert _proof((40, 37)) == 110
    assert _proof((40, 36)) is None
    assert _proof((40, 40), closed=True) is None


def test_nothing_that_is_printed_speaks_of_pauses(
    runs: Callable[..., Blame], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    blame = runs()
    picture = tmp_path / "a.png"
    assert main(["blame", str(blame.results.folder), "--plot", str(picture)]) == Exit.OK
    assert main(["run", str(SCENARIO), "--out", str(tmp_path / "r")]) == Exit.OK
    said = capsys.readouterr().out
    assert picture.stat().st_size > 10_000
    assert "2 victims" in said
    assert not [word for word in ("PAUSE", "RESUME", "PFC", "Xoff") if word in said]
    assert list(report.report(blame, 3))
