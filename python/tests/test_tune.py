"""Tuning: what is found, that it is found again, and how it is judged."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest
import sweep_scene
from backwater import _core, extras
from backwater.cli import main
from backwater.common.statistics import estimate
from backwater.errors import Exit
from backwater.experiments import tuning
from backwater.experiments.tuning import Trial
from backwater.experiments.tuning_report import Judged
from failing_core import FailingCore

if TYPE_CHECKING:
    from collections.abc import Sequence

TUNE = """
scenario = "star.toml"
set = ["traffic.web.flows=20"]
objective = "mean_fct_ps"
traffic = "incast"
trials = 12
seeds = 2
report-seeds = 3
[parameters]
"topology.rate" = ["10Gbps", "40Gbps", "100Gbps"]
"traffic.incast.size" = { from = "10KB", to = "90KB" }
"""


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("BACKWATER_CACHE", str(tmp_path / "cache"))
    return tmp_path


def _tuned(capsys: pytest.CaptureFixture[str], *words: str) -> dict[str, Any]:
    pytest.importorskip("optuna", reason="Optuna is not installed: pip install 'backwater[tune]'")
    capsys.readouterr()
    assert main(["tune", "loads.toml", "--json", *words]) == Exit.OK, capsys.readouterr().err
    told: dict[str, Any] = json.loads(capsys.readouterr().out)
    return told


def test_the_faster_link_and_the_smaller_flow_are_found(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sweep_scene.write(here, TUNE)
    told = _tuned(capsys)
    trials = pl.read_parquet("results/loads/trials.parquet")
    assert trials.columns[:4] == ["trial", "topology.rate", "traffic.incast.size", "mean_fct_ps_mean"]
    assert trials.height == told["trials"] == 12
    # Four senders share a link: no flow can be done before as many bytes as all have, at the rate, for the last one.
    for row in trials.iter_rows(named=True):
        size, rate = int(row["traffic.incast.size"].removesuffix("KB")), int(row["topology.rate"].removesuffix("Gbps"))
        assert row["mean_fct_ps_mean"] > size * 8e3 / rate * 1e3
    best = trials.sort("mean_fct_ps_mean").row(0, named=True)
    assert told["best"]["trial"] == best["trial"]
    assert told["best"]["values"]["topology.rate"] == "100Gbps"
    assert told["reported"]["verdict"] == "better"
    assert told["reported"]["gain"]["mean"] == pytest.approx(
        told["reported"]["as_it_is"]["mean"] - told["reported"]["best"]["mean"]
    )
    assert (told["seeds"], told["report_seeds"]) == ([1, 2], [3, 4, 5])
    kept = json.loads(Path("results/loads/tune.json").read_text())
    assert kept["best"] == told["best"]
    assert kept["tuning"]["objective"] == "mean_fct_ps"


def test_what_is_to_be_large_becomes_large(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sweep_scene.write(here, TUNE.replace("mean_fct_ps", "goodput_bps"))
    told = _tuned(capsys)
    assert told["goal"] == "maximize"
    assert told["best"]["values"]["topology.rate"] == "100Gbps"


def test_the_same_file_gives_the_same_trials_on_any_cores_and_from_the_cache(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    sweep_scene.write(here, TUNE)
    one = _tuned(capsys, "--out", "one", "--jobs", "1")
    two = _tuned(capsys, "--out", "two", "--jobs", "2", "--cache", "other")
    again = _tuned(capsys, "--out", "again")
    for name in ("trials.csv", "trials.parquet", "tune.json"):
        assert (here / "one" / name).read_bytes() == (here / "two" / name).read_bytes()
        assert (here / "one" / name).read_bytes() == (here / "again" / name).read_bytes()
    assert {**one, "files": 0} == {**two, "files": 0} == {**again, "files": 0}
    # More trials begin with the same.
    _tuned(capsys, "--out", "more", "--trials", "16")
    assert pl.read_csv("more/trials.csv").head(12).equals(pl.read_csv("one/trials.csv"))
    # Another search is another one.
    sweep_scene.write(here, "search-seed = 1\n" + TUNE)
    _tuned(capsys, "--out", "searched")
    assert not pl.read_csv("searched/trials.csv").equals(pl.read_csv("one/trials.csv"))


def test_a_tuning_that_was_stopped_goes_on_where_it_was(
    here: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    sweep_scene.write(here, TUNE)
    _tuned(capsys, "--out", "whole", "--cache", "other")
    ran = list[str]()

    def fail(overrides: list[str]) -> None:
        if len(ran) == 13:
            raise KeyboardInterrupt
        ran.append(overrides[-1])

    really = _core.Scenario
    FailingCore.install(monkeypatch, fail)
    assert main(["tune", "loads.toml", "--jobs", "1"]) == Exit.CAVEATS
    # Two seeds as it is, and two of each of four trials: the second batch was under way.
    assert "interrupted: 4 of 12 trials done; the same command goes on from there" in capsys.readouterr().err
    assert not Path("results").exists()
    monkeypatch.setattr(_core, "Scenario", really)
    assert main(["tune", "loads.toml", "--out", "rest"]) == Exit.OK
    shown = capsys.readouterr().out
    assert "13 from the cache" in shown.replace("\n", " ") or "from the cache" in shown
    for name in ("trials.csv", "tune.json"):
        assert (here / "rest" / name).read_bytes() == (here / "whole" / name).read_bytes()


def test_settings_that_cannot_be_run_are_trials_that_failed(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = TUNE[: TUNE.index('"topology.rate"')]
    text += '"switch.detector.kmin" = { from = "5KB", to = "60KB" }\n"switch.detector.kmax" = ["10KB", "50KB"]\n'
    sweep_scene.write(here, text)
    told = _tuned(capsys, "--set", "switch.detector.kind=red")
    trials = pl.read_csv("results/loads/trials.csv")
    kmin, kmax = (trials[f"switch.detector.{name}"].str.strip_suffix("KB").cast(pl.Int64) for name in ("kmin", "kmax"))
    # RED marks from kmin on, and every packet from kmax on.
    assert ((trials["status"] == "failed") == (kmin > kmax)).all()
    assert 0 < told["failed"] < 12
    assert trials.filter(pl.col("status") == "failed")["why"].str.contains("kmin|kmax").all()


def test_a_key_with_a_slip_is_told_before_anything_runs(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("optuna", reason="Optuna is not installed: pip install 'backwater[tune]'")
    sweep_scene.write(here, TUNE.replace("topology.rate", "topology.rat"))
    assert main(["tune", "loads.toml"]) == Exit.BAD_INPUT
    told = capsys.readouterr().err
    assert 'did you mean "rate"?' in told
    assert "--> loads.toml: line 10: topology.rat=" in told


def test_without_optuna_it_says_how_to_install_it(
    here: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    sweep_scene.write(here, TUNE)
    monkeypatch.setitem(sys.modules, "optuna", None)
    assert main(["tune", "loads.toml"]) == Exit.BAD_INPUT
    assert "tuning needs Optuna, which is not installed: " + extras.install_group("tune") in capsys.readouterr().err
    assert not list(Path("cache").glob("runs/*"))


def _judged(plain: Sequence[float], best: Sequence[float]) -> Judged:
    pairs = [old - new for new, old in zip(best, plain, strict=True)]
    return Judged(Trial(0, {}, None), estimate(plain), estimate(best), estimate(plain), estimate(pairs))


def test_a_gain_counts_if_its_interval_seed_by_seed_is_above_nothing() -> None:
    # The seeds differ by much more than the settings, which differ by 1 on each of them.
    assert _judged([10, 20, 30], [9, 19, 29.1]).verdict_word == "better"
    # Of gains 2, 0 and 1 the mean is 1, and the half of the interval 4.303 / sqrt(3) = 2.5.
    assert _judged([10, 20, 30], [8, 20, 29]).verdict_word == "unclear"
    assert _judged([10, 20, 30], [11, 20, 30]).verdict_word == "not better"
    # Of one seed nothing is known of luck.
    assert _judged([10], [9]).verdict_word == "unclear"


def test_the_report_reads_as_it_should(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("optuna", reason="Optuna is not installed: pip install 'backwater[tune]'")
    sweep_scene.write(here, TUNE)
    assert main(["tune", "loads.toml"]) == Exit.OK
    shown = capsys.readouterr()
    assert "mean_fct_ps of incast" in shown.out
    assert "2 seeds tuned on" in shown.out
    assert "3 seeds not tuned on" in shown.out
    assert '  --set topology.rate="100Gbps"' in shown.out
    assert "on 3 seeds that were not tuned on it is better by" in shown.out
    assert len([line for line in shown.err.splitlines() if "/12] topology.rate=" in line]) == 12


def test_optuna_is_imported_by_nothing_else() -> None:
    assert "optuna" not in vars(tuning)
