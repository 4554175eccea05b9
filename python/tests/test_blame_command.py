"""The command `backwater blame`: what it prints and writes, and what it says of results that do not suffice."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import backwater
import pytest
from backwater import Results
from backwater.analysis.blame import Blame, report, score_of
from backwater.cli import main
from backwater.errors import Exit
from blame_scenes import UNEVEN, figure_3

if TYPE_CHECKING:
    from collections.abc import Callable

SPRAY = str(Path(__file__).parents[2] / "scenarios" / "spray.toml")


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
    file.write_text(figure_3(), encoding="utf-8")
    assert main(["run", str(file), "--out", str(tmp_path / "r")]) in (Exit.OK, Exit.CAVEATS)
    said = capsys.readouterr().out
    assert "blame: precision 100.0 % of" in said
    # Half of Xoff, 329.6 KB; four links of 4 us would make 173 KB.
    assert "; K = 165 KB" in said
    main(["run", str(file), "--out", str(tmp_path / "j"), "--json"])
    values = json.loads(capsys.readouterr().out)
    assert values["blame"]["recall"] > 0.999
    assert {row["threshold_bytes"] for row in values["ground_truth"]["thresholds"]} == {164_800}
    main(["run", str(file), "--out", str(tmp_path / "n"), "--set", "probe.blame=false"])
    assert "blame:" not in capsys.readouterr().out


def _bad(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    assert main(["blame", *arguments]) == Exit.BAD_INPUT
    said = capsys.readouterr()
    assert "Traceback" not in said.err
    assert said.out == ""
    return said.err


@pytest.mark.parametrize("how", ["spray", "flowlet", "adaptive"])
def test_where_flows_have_many_ways_blame_is_as_exact_as_with_one(
    how: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    spread = [f"switch.load-balancing={how}", "traffic.size=100KB", "switch.flowlet-gap=5us", "switch.pfc.xoff=20KB"]
    given = [word for one in [*spread, "switch.pfc.xon=18KB"] for word in ("--set", one)]
    assert main(["run", SPRAY, *given, "--out", str(tmp_path)]) in (Exit.OK, Exit.CAVEATS)
    assert "no ground truth" not in capsys.readouterr().out
    (run,) = backwater.Results.find(tmp_path)
    blame = run.blame()
    assert (blame.flows["rest_ps"] == 0).all()
    assert (blame.flows["reorder_wait_ps"] > 0).any() == (how != "flowlet")
    assert main(["blame", str(run.folder)]) == Exit.OK


def test_what_is_missing_is_named_with_how_to_get_it(
    tmp_path: Path, runs: Callable[..., Blame], isolated: Blame, capsys: pytest.CaptureFixture[str]
) -> None:
    assert "no run.json" in _bad([str(tmp_path)], capsys)
    file = tmp_path / "s.toml"
    file.write_text(UNEVEN, encoding="utf-8")
    results = backwater.run(file, overrides=["probe.blame=false", "probe.pauses=false"], out=tmp_path / "without")
    said = _bad([str(tmp_path / "without")], capsys)
    assert "pauses, holds, crowds, waits: run it again with" in said
    # All that it reads, at once.
    assert "--set probe.pauses=true --set probe.blame=true" in said
    assert score_of(results) is None
    assert "--bin: 'soon' is not a time" in _bad([str(isolated.results.folder), "--bin", "soon"], capsys)
    folder = str(isolated.results.folder)
    assert "must end in .png, .pdf or .svg" in _bad([folder, "--plot", "x.jpeg2000"], capsys)
    assert "there is no folder" in _bad([folder, "--plot", str(tmp_path / "none" / "x.png")], capsys)
    unmarked = runs("figure-3", figure_3(), "probe.marks=false")
    assert unmarked.score is None
    assert any("probe.marks=true" in str(part) for part in report.report(unmarked, 3))


def test_a_damaged_table_is_an_error_that_names_the_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "s.toml"
    file.write_text(UNEVEN, encoding="utf-8")
    results = backwater.run(file, out=tmp_path / "damaged")
    results.file("crowds").write_bytes(b"PAR1 not any more")
    assert "crowds.parquet is damaged (it is not what the run wrote)" in _bad([str(results.folder)], capsys)
    results.file("crowds").unlink()
    assert "crowds.parquet is missing" in _bad([str(results.folder)], capsys)


def test_a_run_that_is_partial_or_cut_by_its_budget_says_so(isolated: Blame) -> None:
    partial = Results(isolated.results.folder)
    cut = {"code": "budget", "place": "holds", "message": "holds: only the first 9 rows fit the budget"}
    partial.meta |= {"status": "partial", "caveats": [cut]}
    said = Blame(partial).notes
    assert said[0] == "the run was interrupted: this is blame until then"
    assert said[1].startswith("holds: only the first 9 rows fit the budget; blame is wrong from there on")
