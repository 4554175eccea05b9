"""The oracle marks what leaves a root of the ground truth, and nothing else."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import backwater
import pytest
from blame_scenes import UNEVEN, figure_3, overlapped_trees, roots_of, spread_tree

if TYPE_CHECKING:
    from collections.abc import Callable

    from backwater.analysis.blame import Blame

ROOT = Path(__file__).parents[2]
ORACLE = "switch.detector.kind=oracle"
COVERED = (ROOT / "scenarios" / "multi-congestion-points.toml").read_text(encoding="utf-8")
INFINIBAND = (ROOT / "scenarios" / "infiniband.toml").read_text(encoding="utf-8")
IDEAL = UNEVEN.replace('"authors"', '"ideal"')
BUSY = "traffic.web.load=0.9"


@pytest.mark.parametrize(
    ("name", "text", "overrides", "roots"),
    [
        ("one-tree", figure_3(), (), {"P3 T2->R1"}),
        ("two-trees", overlapped_trees(), (), {"P3 T2->R1", "T2->R0"}),
        # P2 is a branch of P3's tree until that lets go, and a root from then on.
        ("covered-root", COVERED, (), {"P2 L0->T2", "P3 T2->R1"}),
        ("until-resume", COVERED, ("switch.pfc.form=ideal",), None),
        ("timed-pauses", UNEVEN, (BUSY,), None),
        ("pauses-until-resume", IDEAL, (BUSY,), None),
        ("both-spines", spread_tree("spray"), (), {"leaf1->h3"}),
        ("other-k", COVERED, ("probe.blame-threshold=100KB",), None),
    ],
)
def test_under_pfc_its_marks_are_those_of_the_ground_truth(
    name: str, text: str, overrides: tuple[str, ...], roots: set[str] | None, runs: Callable[..., Blame]
) -> None:
    blame = runs(f"oracle-{name}", text, ORACLE, *overrides)
    assert roots is None or set(roots_of(blame)) == roots
    score, ports = blame.score, blame.port_scores
    assert score is not None
    assert ports is not None
    assert (score.precision, score.recall, score.early_marks, score.ue_marks) == (1.0, 1.0, 0, 0)
    assert score.ce_marks > 5_000
    # Every port that was ever a root has marked, and no other.
    assert set(ports.filter(ports["ce_marks"] > 0)["port"]) == set(roots_of(blame))
    # Only culprits were told of it.
    assert score.flow_precision == 1.0


def test_under_credits_it_finds_a_single_tree_exactly(runs: Callable[..., Blame]) -> None:
    blame = runs("oracle-credits", INFINIBAND, ORACLE)
    score = blame.score
    assert score is not None
    assert roots_of(blame) == ["P3 T2->R1"]
    assert (score.precision, score.recall, score.ue_marks) == (1.0, 1.0, 0)


def test_under_credits_it_waits_for_the_proof_that_the_analysis_looks_ahead_for(runs: Callable[..., Blame]) -> None:
    """P2 is shown to be a root when a port upstream was OFF and is ON again with a queue that is not shorter.

    The hold was up to a period Tc of 50 µs before the gate closed, the gate stays closed for a period at most, and each
    way takes 4 µs.
    """
    faster = [f"traffic.{name}.rate=25Gbps" for name in ("F0", "F2")]
    blame = runs("oracle-credits-two", INFINIBAND, ORACLE, *faster)
    score, ports = blame.score, blame.port_scores
    assert score is not None
    assert ports is not None
    assert (score.precision, score.ue_marks) == (1.0, 0)
    p3, p2 = (ports.filter(ports["port"] == port).to_dicts()[0] for port in ("P3 T2->R1", "P2 L0->T2"))
    assert p3["recall"] == 1.0
    assert 0 < p2["root_packets"] - p2["ce_marks"] <= (2 * 50e-6 + 2 * 4e-6) * 32e9 / 8 / 2112


@pytest.mark.parametrize(("name", "text"), [("pfc", COVERED), ("credits", INFINIBAND)])
def test_threads_and_probes_change_nothing(name: str, text: str, tmp_path: Path) -> None:
    file = tmp_path / f"{name}.toml"
    file.write_text(text, encoding="utf-8")
    blind = [f"probe.{table}=false" for table in ("marks", "pauses", "states", "blame")]
    runs = (
        backwater.run(file, overrides=[ORACLE, *overrides], out=tmp_path / str(number))
        for number, overrides in enumerate(([], ["run.threads=2"], blind))
    )
    assert len({run.meta["digest"] for run in runs}) == 1


def test_combined_queues_refuse_it(tmp_path: Path) -> None:
    file = tmp_path / "s.toml"
    file.write_text(UNEVEN, encoding="utf-8")
    with pytest.raises(backwater.ScenarioError, match=r"oracle.* does not work with queueing"):
        backwater.run(file, overrides=[ORACLE, "switch.queueing=combined"], out=tmp_path / "r")
