"""Comparing schemes: the same traffic under each of them, slowdown by flow size."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest
from backwater.cli import main
from backwater.errors import Exit

SCENARIO = """
[topology]
kind = "star"
hosts = 5
rate = "40Gbps"
delay = "1us"
[[traffic]]
name = "web"
kind = "poisson"
cdf = "hadoop"
load = 0.5
flows = 200
[[traffic]]
name = "incast"
kind = "incast"
from = "*"
to = "h0"
size = "64KB"
"""
SCHEMES = """
[[scheme]]
name = "none"
set = ["cc.kind=none"]
[[scheme]]
name = "DCQCN"
set = ["switch.detector.kind=red", "switch.detector.kmax=20KB"]
"""


@pytest.fixture
def one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    Path("two.toml").write_text(SCENARIO + SCHEMES)
    return "two.toml"


def rows(capsys: pytest.CaptureFixture[str]) -> dict[tuple[str, str], dict[str, float]]:
    return {(row["bin"], row["scheme"]): row for row in json.loads(capsys.readouterr().out)["rows"]}


def test_every_flow_is_in_one_bin_under_each_scheme(one: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compare", one, "--seeds", "2", "--edges", "10KB,64KB", "--json"]) == Exit.OK
    found = rows(capsys)
    for scheme in ("none", "DCQCN"):
        sizes = [found[bin_, scheme]["flows"] for bin_ in ("< 10 KB", "10 KB–64 KB", "≥ 64 KB")]
        assert sum(sizes) == found["all sizes", scheme]["flows"] == 2 * 204
        # The incast's flows are as large as the cut.
        assert sizes[2] >= 2 * 4
        assert found["all sizes", scheme]["median"] >= 1
    assert found["all sizes", "none"]["p99_ratio"] == 1
    assert found["all sizes", "none"]["p99_ratio_low"] == 1


def test_the_ratio_is_taken_seed_by_seed(one: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compare", one, "--seeds", "2", "--edges", "10KB", "--json"]) == Exit.OK
    together = rows(capsys)["all sizes", "DCQCN"]["mean_ratio"]
    each = []
    for seed in ("1", "2"):
        assert main(["compare", one, "--seeds", "1", "--seed", seed, "--edges", "10KB", "--json"]) == Exit.OK
        found = rows(capsys)
        each.append(found["all sizes", "DCQCN"]["mean"] / found["all sizes", "none"]["mean"])
    assert together == pytest.approx(sum(each) / 2)


def test_a_table_a_picture_and_parquet_are_left(one: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compare", one, "--seeds", "2", "--traffic", "incast"]) == Exit.OK
    shown = capsys.readouterr().out
    assert "DCQCN" in shown
    assert "÷" in shown
    table = pl.read_parquet("results/compare/two/compare.parquet")
    assert table.filter(pl.col("bin") == "all sizes")["flows"].to_list() == [8, 8]
    assert Path("results/compare/two/compare.png").read_bytes().startswith(b"\x89PNG")


def test_runs_that_are_done_stay_done(one: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compare", one, "--seeds", "1"]) == Exit.OK
    assert "2 runs, 0 of them already done" in capsys.readouterr().err
    assert main(["compare", one, "--seeds", "2"]) == Exit.OK
    assert "4 runs, 2 of them already done" in capsys.readouterr().err


def test_several_files_are_several_schemes(one: str, capsys: pytest.CaptureFixture[str]) -> None:
    del one
    Path("plain.toml").write_text(SCENARIO)
    Path("other.toml").write_text(SCENARIO + '[cc]\nkind = "none"\n')
    assert main(["compare", "plain.toml", "other.toml", "--seeds", "1", "--json"]) == Exit.OK
    assert ("all sizes", "other") in rows(capsys)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (("flows = 200", "flows = 199"), "204 flows against 203"),
        (('"64KB"', '"65KB"'), "4 of 204 flows differ, first h1->h0 64000 B at 0 ps against h1->h0 65000 B"),
    ],
)
def test_schemes_with_other_traffic_are_refused_before_anything_runs(
    one: str, change: tuple[str, str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    del one
    Path("a.toml").write_text(SCENARIO)
    Path("b.toml").write_text(SCENARIO.replace(*change))
    assert main(["compare", "a.toml", "b.toml"]) == Exit.BAD_INPUT
    shown = capsys.readouterr().err
    assert "a and b do not have the same traffic (seed 1)" in shown
    assert said in shown
    assert not Path("results").exists()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["two.toml", "--scheme", "TCD"], "two.toml has no scheme 'TCD'; it has none, DCQCN"),
        (["two.toml", "--scheme", "none"], "there is one scheme only"),
        (["two.toml", "--traffic", "wbe"], "there is no traffic 'wbe'; there is web, incast"),
        (["two.toml", "--edges", "10Kb"], "'10Kb' is not a size"),
        (["two.toml", "--edges", "10KB,1KB"], "smallest first"),
        (["two.toml", "two.toml"], "give their files different names"),
        ([], "name a scenario file"),
    ],
)
def test_what_cannot_be_compared_is_said(
    one: str, arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    del one
    assert main(["compare", *arguments]) == Exit.BAD_INPUT
    assert said in capsys.readouterr().err
    assert not Path("results").exists()


def test_run_runs_every_scheme_of_a_file_or_the_one_that_is_named(one: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", one, "--json"]) == Exit.OK
    runs = json.loads(capsys.readouterr().out)
    assert [run["scheme"] for run in runs] == ["none", "DCQCN"]
    assert [run["scenario"]["cc"]["kind"] for run in runs] == ["none", "dcqcn"]
    assert sorted(path.name for path in Path("results").iterdir()) == ["two-DCQCN-s1", "two-none-s1"]
    assert main(["run", one, "--scheme", "DCQCN", "--seed", "3"]) == Exit.OK
    assert Path("results/two-DCQCN-s3").is_dir()
    assert not Path("results/two-none-s3").exists()
    assert main(["run", one, "--scheme", "TCD"]) == Exit.BAD_INPUT
    assert "it has none, DCQCN" in capsys.readouterr().err


def test_what_the_user_sets_comes_after_what_a_scheme_sets(one: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", one, "--scheme", "DCQCN", "--set", "switch.detector.kmax=30KB", "--json"]) == Exit.OK
    run = json.loads(capsys.readouterr().out)
    assert run["scenario"]["switch"]["detector"]["kmax"] == "30KB"
