"""``compare --over``: schemes at each value of a key, over the same seeds, from the cache of sweeps."""

from __future__ import annotations

import json
import math
from pathlib import Path

import backwater as bw
import polars as pl
import pytest
import sweep_scene
from backwater.cli import main
from backwater.errors import Exit
from sweep_scene import SCENARIO, SCHEMES

OVER = ["--over", "traffic.web.load=0.2,0.4", "--seeds", "3"]


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("BACKWATER_CACHE", str(tmp_path / "cache"))
    Path("two.toml").write_text(SCENARIO + SCHEMES)
    return "two.toml"


def test_each_scheme_has_a_mean_at_each_value_and_is_tested_there(
    file: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["compare", file, *OVER, "--traffic", "web", "--json"]) == Exit.OK
    told = json.loads(capsys.readouterr().out)
    assert [(row["scheme"], row["traffic.web.load"], row["seeds"]) for row in told["means"]] == [
        (scheme, load, 3) for load in (0.2, 0.4) for scheme in ("none", "DCQCN")
    ]
    assert [(one["at"], one["measure"], one["scheme"], one["against"], one["pairs"]) for one in told["tests"]] == [
        (load, measure, "DCQCN", "none", 3) for load, measure in
        [("0.2", "mean_slowdown"), ("0.2", "p99_slowdown"), ("0.4", "mean_slowdown"), ("0.4", "p99_slowdown")]
    ]  # fmt: skip
    # The ratio of the table of runs, seed by seed.
    runs = pl.read_parquet("results/compare/two-over-load/runs.parquet").filter(pl.col("traffic.web.load") == 0.2)
    first, other = (runs.filter(pl.col("scheme") == name)["mean_slowdown"] for name in ("none", "DCQCN"))
    logs = [math.log(after / before) for before, after in zip(first, other, strict=True)]
    assert told["tests"][0]["effect"] == pytest.approx(math.exp(sum(logs) / 3))


def test_a_number_that_is_written_twice_is_one_value(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    over = ["--over", "traffic.web.load=0.2,0.20", "--seeds", "1", "--json"]
    assert main(["compare", file, *over]) == Exit.OK
    assert json.loads(capsys.readouterr().out)["runs"] == 2


def test_a_comparison_takes_what_a_sweep_has_run(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    Path("loads.toml").write_text(sweep_scene.SWEEP.replace("star.toml", file))
    assert main(["sweep", "loads.toml", "--shard", "1/1"]) == Exit.OK
    capsys.readouterr()
    assert main(["compare", "loads.toml"]) == Exit.OK
    shown = capsys.readouterr()
    assert "8 runs: 8 from the cache, 0 to do" in shown.err
    assert "DCQCN against none over traffic.web.load" in shown.out
    # Two seeds of a sweep file; so many comparisons need more.
    assert "2 seeds tell no difference from chance" in shown.out
    assert Path("results/compare/loads-over-load/compare.png").is_file()
    assert main(["compare", file, "--over", "traffic.web.load=0.2,0.4", "--seeds", "2"]) == Exit.OK
    assert "8 runs: 8 from the cache, 0 to do" in capsys.readouterr().err


def test_a_key_that_no_scheme_reads_is_refused_before_anything_runs(
    file: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["compare", file, "--over", "cc.timely.beta=0.5,0.7", "--seeds", "1"]) == Exit.BAD_INPUT
    said = capsys.readouterr()
    assert "--over cc.timely.beta changes nothing under any scheme" in said.err
    assert "to do" not in said.err


def test_a_key_of_one_scheme_is_a_note_and_no_caveat(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    text = SCENARIO + SCHEMES.replace('"cc.kind=none"', '"cc.kind=timely"')
    Path(file).write_text(text)
    assert main(["compare", file, "--over", "cc.timely.beta=0.5,0.7", "--seeds", "1"]) == Exit.OK
    said = capsys.readouterr()
    assert "note: cc.timely.beta has no effect under DCQCN: their runs are the same at each of its values" in said.err
    assert "caveat" not in said.err


def test_an_axis_that_changes_no_number_is_said_to_do_so(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    # A later start of everything moves the run, and changes no time of a flow.
    Path(file).write_text(SCENARIO.split("[[traffic]]")[0] + "[[traffic]]" + SCENARIO.split("[[traffic]]")[2] + SCHEMES)
    over = ["--over", "traffic.start=0us,1us", "--seeds", "1", "--measure", "mean_fct_ps"]
    assert main(["compare", file, *over, "--scheme", "none", "--scheme", "DCQCN"]) == Exit.OK
    shown = " ".join(capsys.readouterr().out.split())
    assert "One seed has no intervals over seeds, and nothing to test: --seeds 6 or more." in shown
    assert "note: all that is shown is the same at each value of traffic.start" in shown


def test_runs_that_fail_leave_the_tables_of_the_others(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    body = "    if flow.over > 1 and event.now_ps > 10**6:\n        raise ValueError\n"
    decorator = '@bw.congestion_control(on=["send"], state={"over": 1.0}, compiled=False)'
    Path("mine.py").write_text(f"import backwater as bw\n{decorator}\ndef mine(flow, event):\n{body}")
    Path(file).write_text(
        SCENARIO + SCHEMES.replace('"cc.kind=none"', '"cc.kind=custom", "cc.custom.function=mine.py:mine"')
    )
    over = ["--over", "cc.custom.parameters.over=0.5,1.5", "--seeds", "1", "--out", "made"]
    with pytest.warns(bw.PlainPythonWarning):
        assert main(["compare", file, *over]) == Exit.BAD_INPUT
    assert "error: two none cc.custom.parameters.over=1.5 seed 1: " in capsys.readouterr().err
    runs = pl.read_csv("made/runs.csv")
    assert sorted(set(runs["status"])) == ["complete", "failed"]
    assert runs.filter(pl.col("status") == "failed")["scheme"].to_list() == ["none"]


def test_the_first_scheme_that_is_named_is_what_others_are_compared_with(
    file: str, capsys: pytest.CaptureFixture[str]
) -> None:
    named = ["--scheme", "DCQCN", "--scheme", "none", "--json"]
    assert main(["compare", file, *OVER[:2], "--seeds", "2", *named]) == Exit.OK
    tests = json.loads(capsys.readouterr().out)["tests"]
    assert {(one["scheme"], one["against"]) for one in tests} == {("none", "DCQCN")}


def test_folders_of_runs_have_the_names_of_their_schemes_and_values(file: str) -> None:
    assert main(["compare", file, "--over", "traffic.web.load=0.2", "--seeds", "1", "--keep-runs"]) == Exit.OK
    names = sorted(run.name for run in Path("results/compare/two-over-load/runs").iterdir())
    assert names == ["two-DCQCN-traffic.web.load-0.2-s1", "two-none-traffic.web.load-0.2-s1"]


def test_paper_figures_are_a_file_for_each_measure(file: str) -> None:
    arguments = ["--measure", "mean_slowdown", "--traffic", "web", "--format", "pdf", "--width", "3.33in"]
    assert main(["compare", file, *OVER, *arguments]) == Exit.OK
    assert [one.name for one in Path("results/compare/two-over-load").glob("*.pdf")] == [
        "compare-mean_slowdown-web.pdf"
    ]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["two.toml", "--over", "traffic.web.load"], "--over traffic.web.load: write KEY=VALUE,VALUE"),
        (["two.toml", "--over", "traffic.web.lod=0.2,0.4"], 'did you mean "load"?'),
        (["two.toml", *OVER, "--edges", "10KB"], "--edges is of a comparison at one point"),
        (["two.toml", *OVER, "--measure", "speed"], "--measure speed: there is flows, finished"),
        (["two.toml", *OVER, "--scheme", "none"], "there is one scheme only"),
        (["two.toml", "two.toml", *OVER], "--over takes one scenario file"),
        (["two.toml", *OVER, "--traffic", "wbe"], "there is no traffic 'wbe'; there is web, incast"),
        (["two.toml", "--keep-runs"], "--keep-runs goes with --over"),
        (["loads.toml", *OVER], "--over traffic.web.load is an axis of loads.toml, too"),
    ],
)
def test_what_cannot_be_compared_is_said(
    file: str, arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("loads.toml").write_text(sweep_scene.SWEEP.replace("star.toml", file))
    assert main(["compare", *arguments]) == Exit.BAD_INPUT
    assert said in capsys.readouterr().err


def test_schemes_with_other_traffic_are_refused_at_any_value(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    Path(file).write_text(SCENARIO + SCHEMES.replace('"cc.kind=none"', '"cc.kind=none", "traffic.web.flows=99"'))
    assert main(["compare", file, *OVER]) == Exit.BAD_INPUT
    assert "do not have the same traffic" in capsys.readouterr().err
