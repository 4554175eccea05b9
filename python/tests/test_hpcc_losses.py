"""What `import hpcc` makes of a link that goes down and of links that lose packets, against the HPCC simulator.

Its answers are those of the unmodified simulator, in nanoseconds (tests/differential/data/README.md). Where nothing is
drawn, flows end when they do there, and those that never end there are the same. What random losses do is compared in
distribution, over five draws there and five seeds here.
"""

from __future__ import annotations

import tarfile
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from backwater import Results
from backwater.cli import main
from backwater.errors import Exit
from test_same_as_hpcc import DATA, Flow, numbered, theirs

#: Rings of five switches whose flows and PAUSEs meet in no tie: all of them equal. Of the others the flows that differ.
TIES: dict[int, set[Flow]] = {
    0: {(1, 14, 0)},
    4: {(3, 11, 0), (9, 6, 0), (0, 9, 0), (4, 12, 0)},
    5: {(1, 8, 0)},
    10: {(2, 6, 0)},
    13: {(13, 8, 0), (7, 4, 0), (9, 4, 0), (2, 11, 0), (8, 5, 0), (12, 5, 0)},
    19: {(11, 1, 0)},
}


@pytest.fixture(scope="module")
def lossy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("hpcc")
    with tarfile.open(DATA / "lossy.tar.xz") as archive:
        archive.extractall(folder, filter="data")
    return folder / "lossy"


def run(case: Path, out: Path, seed: int = 1) -> dict[Flow, int | None]:
    """FCTs in nanoseconds; none of a flow that did not finish. Time is kept as there."""
    assert main(["import", "hpcc", str(case / "config.txt"), "--out", str(out / "made")]) == Exit.OK
    settings = ["--set", "run.clock=ns-3", "--set", f"run.seed={seed}"]
    code = main(["run", str(out / "made" / "scenario.toml"), "--out", str(out / "results"), *settings])
    assert code in (Exit.OK, Exit.CAVEATS)
    table = next(Results.find(out / "results")).flows.sort("flow").collect()
    fct = (pl.col("acked_ps").cast(pl.Int64) - pl.col("start_ps").cast(pl.Int64)) // 1000
    return numbered(table.select("src_index", "dst_index", fct).iter_rows())  # type: ignore[return-value]


def finished(fcts: dict[Flow, int | None]) -> dict[Flow, int]:
    return {flow: fct for flow, fct in fcts.items() if fct is not None}


@pytest.mark.parametrize("seed", range(20))
def test_with_a_link_down_flows_end_when_they_do_there(lossy: Path, tmp_path: Path, seed: int) -> None:
    # Twelve flows in a ring of five switches, of which a link goes down.
    case = lossy / f"ring{seed}"
    found, wanted = run(case, tmp_path), theirs(case / "fct.txt")
    assert len(found) == 12
    # A flow whose last packets or ACKs are lost never ends: there is no timer.
    assert finished(found).keys() == wanted.keys()
    assert {flow for flow, fct in wanted.items() if found[flow] != fct} == TIES.get(seed, set())


@pytest.mark.parametrize(("at", "fct"), [(5, 25_992), (10, None), (11, 15_482), (12, 15_482), (13, None)])
def test_a_lone_flow_whose_way_goes_down_ends_as_there_or_never(
    lossy: Path, tmp_path: Path, at: int, fct: int | None
) -> None:
    # 100 KB. At 10 us its last packets are on the link, at 13 us its last ACKs: nothing tells the sender.
    case = lossy / f"lone{at}"
    assert theirs(case / "fct.txt").get((0, 2, 0)) == fct
    assert run(case, tmp_path) == {(0, 2, 0): fct}


def test_d9_a_link_that_goes_down_moves_the_turn_of_nics_there(lossy: Path, tmp_path: Path) -> None:
    # Two queue pairs of one NIC: after the failure one of them sends twice there, and one packet less goes in vain.
    assert theirs(lossy / "turn" / "fct.txt") == {(0, 2, 0): 75_827, (0, 3, 0): 67_604}
    assert run(lossy / "turn", tmp_path) == {(0, 2, 0): 75_910, (0, 3, 0): 67_687}


def test_d10_back_to_zero_forgets_a_chunk_there(lossy: Path, tmp_path: Path) -> None:
    # The 215th packet is lost; the sender begins at the 212th there, the first one of its chunk of 4000 B. A
    # second NACK comes a packet later, and makes it begin there once more: four times 83 ns on the wire.
    assert theirs(lossy / "zero" / "fct.txt") == {(0, 2, 0): 42_592 + 4 * 83}
    assert run(lossy / "zero", tmp_path) == {(0, 2, 0): 42_592}


def test_d11_memory_of_flushed_packets_is_lost_there(lossy: Path, tmp_path: Path) -> None:
    # Hosts that are paused when a link goes down stay so for ever there; here what is flushed is free again.
    assert theirs(lossy / "paused" / "fct.txt") == {}
    assert len(finished(run(lossy / "paused", tmp_path))) == 5


def test_d12_packets_before_the_ack_interval_have_no_ack_there(lossy: Path, tmp_path: Path) -> None:
    # L2_ACK_INTERVAL 5000, chunks of 4000 B: of flows of 1 to 7 KB those of 1, 2 and 3 KB never end there.
    assert theirs(lossy / "interval" / "fct.txt").keys() == {(1, 3, 0), (0, 2, 1), (1, 2, 1)}
    assert len(finished(run(lossy / "interval", tmp_path))) == 6


@pytest.mark.parametrize("case", ["alone", "incast"])
def test_random_losses_leave_the_distribution_that_they_leave_there(lossy: Path, tmp_path: Path, case: str) -> None:
    """200 flows: four pairs alone (0.2 % of frames lost on each link), or incasts of four (0.1 %), of five draws.

    Written before the runs: shares of flows that never end and mean FCTs of the others within three standard errors,
    and the test of Kolmogorov and Smirnov at 1 % for the FCTs. Flows of one incast hang together: of them the mean of
    each incast counts.
    """
    rows = pl.read_csv(lossy / case / "fcts.csv").iter_rows()
    there: list[tuple[int, Flow, int]] = [(draw, (source, to, number), fct) for draw, source, to, number, fct in rows]
    here = [
        (seed, flow, fct)
        for seed in range(1, 6)
        for flow, fct in finished(run(lossy / case, tmp_path / str(seed), seed)).items()
    ]
    share = [1 - len(found) / 1000 for found in (there, here)]
    both = sum(share) / 2
    assert abs(share[0] - share[1]) < 3 * (2 * both * (1 - both) / 1000) ** 0.5
    ours, peers = (samples(found, case == "incast") for found in (here, there))
    z = (ours.mean() - peers.mean()) / (ours.var(ddof=1) / len(ours) + peers.var(ddof=1) / len(peers)) ** 0.5
    assert abs(z) < 3
    # Kolmogorov and Smirnov: 1.628 is their quantile for 1 %.
    everywhere = np.concatenate([ours, peers])
    shares = [np.searchsorted(np.sort(found), everywhere, side="right") / len(found) for found in (ours, peers)]
    assert np.abs(shares[0] - shares[1]).max() < 1.628 * (1 / len(ours) + 1 / len(peers)) ** 0.5


def samples(found: list[tuple[int, Flow, int]], together: bool) -> np.ndarray:
    if not together:
        return np.array([fct for _, _, fct in found], dtype=float)
    groups: dict[tuple[int, int], list[int]] = {}
    for draw, (_, _, number), fct in found:
        groups.setdefault((draw, number), []).append(fct)
    return np.array([np.mean(group) for group in groups.values()])
