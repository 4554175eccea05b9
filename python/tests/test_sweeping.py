"""Sweeps from a file: which runs there are, what their tables say, shards, failures, interruptions."""

from __future__ import annotations

import json
import os
import signal
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import backwater
import polars as pl
import pytest
import sweep_scene
from backwater import Results, _core
from backwater.analysis import axis_picture
from backwater.cli import main
from backwater.common.statistics import t95
from backwater.errors import Exit, UsageError
from backwater.experiments import content_key, plan, sweep_measures
from backwater.experiments.batch import Shard, parse_shard
from backwater.experiments.executor import Job
from backwater.scenario.scenario import Scenario
from failing_core import FailingCore

if TYPE_CHECKING:
    from collections.abc import Callable


_DRAWN = axis_picture.overview


def _written(_grid: Any, _axes: Any, path: Path, *, title: str) -> Path:
    path.write_text(title)
    return path


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    # Nine tenths of a small sweep's time go into its picture: one test has it drawn.
    monkeypatch.setattr(axis_picture, "overview", _written)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("BACKWATER_CACHE", str(tmp_path / "cache"))
    return tmp_path


def swept(capsys: pytest.CaptureFixture[str], *words: str, code: int = Exit.OK) -> dict[str, Any]:
    capsys.readouterr()
    assert main(["sweep", "loads.toml", "--json", *words]) == code
    told: dict[str, Any] = json.loads(capsys.readouterr().out)
    return told


def test_every_combination_scheme_and_seed_is_a_run_like_any_other(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    sweep_scene.write(here, scenario=sweep_scene.SCENARIO + sweep_scene.SCHEMES)
    assert swept(capsys)["runs"] == 2 * 2 * 2
    frame = pl.read_parquet("results/loads/runs.parquet")
    assert frame.columns[:4] == ["scheme", "traffic.web.load", "seed", "traffic"]
    rows = frame.filter(pl.col("traffic") == "web").select("traffic.web.load", "scheme", "seed").rows()
    assert rows == [(load, scheme, seed) for load in (0.2, 0.4) for scheme in ("none", "DCQCN") for seed in (1, 2)]
    alone = backwater.run("star.toml", scheme="DCQCN", seed=2, overrides=["traffic.web.load=0.4"], out="alone")
    last = frame.row(-1, named=True)
    assert (last["digest"], last["traffic"]) == (alone.digest, "incast")
    told = alone.summary.row(1, named=True)
    assert [last[name] for name in ("finished", "mean_fct_ps", "ce_packets")] == [
        told[name] for name in ("finished", "mean_fct_ps", "ce_packets")
    ]
    ports = alone.ports.collect()
    assert (last["pauses"], last["paused_ps"]) == (ports["pauses"].sum(), ports["paused_ps"].sum())


def test_means_and_intervals_are_students_over_seeds(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sweep_scene.write(here, sweep_scene.SWEEP.replace("seeds = 2", "seeds = 3"))
    swept(capsys)
    runs, means = (pl.read_csv(f"results/loads/{name}.csv") for name in ("runs", "means"))
    values = runs.filter(pl.col("traffic") == "web", pl.col("traffic.web.load") == 0.2)["mean_fct_ps"]
    assert values.n_unique() == 3
    row = means.row(0, named=True)
    assert (row["traffic"], row["seeds"]) == ("web", 3)
    assert row["mean_fct_ps_mean"] == pytest.approx(statistics.mean(values))
    assert row["mean_fct_ps_ci95"] == pytest.approx(t95(2) * statistics.stdev(values) / 3**0.5)


def test_zipped_keys_go_together_and_ranges_have_both_ends(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = """
scenario = "star.toml"
set = ["traffic.web.flows=10"]
measures = ["max_fct_ps", "peak_queue_bytes"]
seeds = [7, 5]
[axes]
traffic.incast.size = { from = "10KB", to = "30KB", step = "10KB" }
[[zip]]
"topology.rate" = ["20Gbps", "40Gbps"]
"topology.delay" = ["2us", "1us"]
"""
    sweep_scene.write(here, text)
    assert swept(capsys)["runs"] == 3 * 2 * 2
    frame = pl.read_csv("results/loads/runs.csv")
    keys = ["traffic.incast.size", "topology.rate", "topology.delay"]
    assert frame.columns == [*keys, "seed", "traffic", "max_fct_ps", "peak_queue_bytes", "status", "caveats", "digest"]
    assert frame.select(*keys, "seed").unique(maintain_order=True).rows() == [
        (size, rate, delay, seed)
        for size in ("10KB", "20KB", "30KB")
        for rate, delay in (("20Gbps", "2us"), ("40Gbps", "1us"))
        for seed in (7, 5)
    ]
    # Of 10 flows there is no 99th percentile, but a longest.
    one = backwater.run(
        "star.toml",
        seed=7,
        overrides=[
            "traffic.web.flows=10",
            *(f'{key}="{value}"' for key, value in zip(keys, ("10KB", "20Gbps", "2us"), strict=True)),
        ],
        out="one",
    )
    assert one.digest == frame["digest"][0]
    web = one.flows.filter(pl.col("traffic").cast(pl.String) == "web").collect()
    assert frame["max_fct_ps"][0] == web["fct_ps"].max()


def test_what_was_run_is_not_run_again_and_the_tables_are_the_same(
    here: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(axis_picture, "overview", _DRAWN)
    sweep_scene.write(here)
    told = swept(capsys)
    assert (told["runs"], told["cached"], told["failed"]) == (4, 0, 0)
    before = {file.name: file.read_bytes() for file in Path("results/loads").iterdir()}
    assert set(before) == {
        "runs.csv",
        "runs.parquet",
        "means.csv",
        "means.parquet",
        "sweep.json",
        "sweep.png",
        ".made-of",
    }
    assert before["sweep.png"][1:4] == b"PNG"
    assert swept(capsys)["cached"] == 4
    assert {file.name: file.read_bytes() for file in Path("results/loads").iterdir()} == before
    # One more seed: only that is run.
    sweep_scene.write(here, sweep_scene.SWEEP.replace("seeds = 2", "seeds = 3"))
    told = swept(capsys)
    assert (told["runs"], told["cached"]) == (6, 4)


def test_combinations_with_the_same_content_are_one_run(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sweep_scene.write(here, sweep_scene.SWEEP + '"run.threads" = [1, 2]\n')
    told = swept(capsys)
    assert told["runs"] == 4
    frame = pl.read_parquet("results/loads/runs.parquet")
    assert frame.height == 2 * 2 * 2 * 2
    assert frame["digest"].n_unique() == 4


def test_shards_are_disjoint_complete_and_make_the_same_tables(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sweep_scene.write(here)
    swept(capsys, "--out", "one", "--cache", "other")
    parts = [swept(capsys, "--shard", f"{one}/3") for one in (1, 2, 3)]
    assert [part["runs"] for part in parts] == [2, 1, 1]
    assert [part["cached"] for part in parts] == [0, 0, 0]
    assert not Path("results").exists()
    assert swept(capsys, "--gather", "--out", "gathered")["cached"] == 4
    for file in Path("one").iterdir():
        assert file.read_bytes() == (Path("gathered") / file.name).read_bytes()


def test_a_split_depends_on_the_file_alone() -> None:
    runs: Any = list(range(100))
    for of in (1, 3, 7, 100, 130):
        parts: Any = [Shard(one, of).mine(runs) for one in range(1, of + 1)]
        assert sorted(run for part in parts for run in part) == list(range(100))
        assert max(map(len, parts)) - min(map(len, parts)) <= 1


def test_what_is_not_there_is_not_gathered(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sweep_scene.write(here)
    swept(capsys, "--shard", "1/2")
    assert main(["sweep", "loads.toml", "--gather"]) == Exit.BAD_INPUT
    assert "--gather: 2 runs are not in the cache: star traffic.web.load=0.2 seed 2; " in capsys.readouterr().err
    assert not Path("results").exists()


@pytest.mark.parametrize("text", ["0/2", "3/2", "1", "a/b", "1/2/3", "-1/2", "1/0", "", " 1/2", "1/99999999999"])
def test_a_shard_that_makes_no_sense_says_how_one_is_written(text: str) -> None:
    with pytest.raises(UsageError, match=f"--shard {text}: write i/n with i from 1 to n"):
        parse_shard(text)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--gather", "--shard", "1/2"], "--gather makes tables of all shards: remove --shard"),
        (["--no-cache", "--gather"], "--gather works through the cache: remove --no-cache"),
        (["--no-cache", "--shard", "1/2"], "--shard works through the cache: remove --no-cache"),
        (["--address", "auto"], "an address is that of a Ray cluster, and so needs --on ray"),
        (["--no-cache", "--cache", "x"], "remove --cache or --no-cache"),
        (["--cache", "loads.toml"], "--cache loads.toml/runs: a part of the path is a file; name a folder"),
        (["--out", "star.toml"], "--out star.toml: it is a file; name a folder"),
    ],
)
def test_options_that_do_not_go_together_are_refused(
    words: list[str], message: str, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    sweep_scene.write(here)
    assert main(["sweep", "loads.toml", *words]) == Exit.BAD_INPUT
    assert message in capsys.readouterr().err


def test_without_a_cache_nothing_is_kept(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sweep_scene.write(here)
    swept(capsys, "--out", "cached")
    assert swept(capsys, "--no-cache", "--out", "plain")["cached"] == 0
    assert Path("plain/runs.csv").read_bytes() == Path("cached/runs.csv").read_bytes()


def test_a_dry_run_lists_runs_and_does_none(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sweep_scene.write(here)
    assert main(["sweep", "loads.toml", "--shard", "1/2"]) == Exit.OK
    capsys.readouterr()
    assert main(["sweep", "loads.toml", "--dry-run"]) == Exit.OK
    shown = capsys.readouterr()
    assert shown.out.splitlines() == [
        "cached  star traffic.web.load=0.2 seed 1",
        "to do   star traffic.web.load=0.2 seed 2",
        "cached  star traffic.web.load=0.4 seed 1",
        "to do   star traffic.web.load=0.4 seed 2",
    ]
    assert shown.err.startswith("4 runs: 2 in the cache, 2 to do\n2 runs, ")
    assert "of memory" in shown.err


def test_runs_can_be_kept_beside_the_tables(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sweep_scene.write(here)
    for _ in range(2):
        swept(capsys, "--keep-runs")
    kept = list(Results.find("results/loads/runs"))
    assert [run.folder.name for run in kept] == [f"star-traffic.web.load-{x}-s{s}" for x in (0.2, 0.4) for s in (1, 2)]
    told = pl.read_csv("results/loads/runs.csv")["digest"].unique(maintain_order=True)
    assert [run.digest for run in kept] == told.to_list()
    assert not list(Path("results/loads/runs").rglob("entry.json"))


def test_a_run_that_fails_is_told_and_the_others_are_kept(
    here: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    sweep_scene.write(here)

    def fail(overrides: list[str]) -> None:
        if {"run.seed=2", "traffic.web.load=0.4"} <= set(overrides):
            raise _core.InvariantError("port s->h0 lost a packet")

    FailingCore.install(monkeypatch, fail)
    assert main(["sweep", "loads.toml"]) == Exit.INVARIANT_BROKEN
    shown = capsys.readouterr()
    assert "traffic.web.load=0.4 seed 2: port s->h0 lost a packet" in shown.err
    assert "failed" in shown.out
    frame = pl.read_parquet("results/loads/runs.parquet")
    assert frame.filter(pl.col("status") == "failed").select("traffic.web.load", "seed", "mean_fct_ps").rows() == [
        (0.4, 2, None)
    ]
    # A mean is over the seeds that there are, and says how many.
    means = pl.read_parquet("results/loads/means.parquet").filter(pl.col("traffic") == "web")
    assert means["seeds"].to_list() == [2, 1]


def test_nothing_runs_if_one_combination_cannot_be_run(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sweep_scene.write(here, sweep_scene.SWEEP.replace("0.4]", "-1]"))
    assert main(["sweep", "loads.toml"]) == Exit.BAD_INPUT
    told = capsys.readouterr().err
    assert "--> loads.toml: line 5: traffic.web.load=-1:" in told
    assert "nothing was run" in told
    assert not list(Path("cache/runs").iterdir())


_LONG = 'scenario = "star.toml"\nset = ["traffic.web.flows=4000"]\nseeds = 400\n'


def _begun(here: Path, wanted: int) -> subprocess.Popen[str]:
    """A sweep under way, of which so many runs are done."""
    sweep_scene.write(here, _LONG)
    words = [sys.executable, "-m", "backwater", "sweep", "loads.toml"]
    paths = os.pathsep.join(filter(None, [str(Path(backwater.__file__).parents[1]), os.environ.get("PYTHONPATH")]))
    environment = {**os.environ, "PYTHONPATH": paths}
    begun = subprocess.Popen(words, env=environment, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True)  # noqa: S603
    end = time.monotonic() + 60
    while len(list(Path("cache").glob("runs/*/*/entry.json"))) < wanted:
        assert begun.poll() is None, begun.communicate()
        assert time.monotonic() < end
        time.sleep(0.01)
    return begun


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
def test_an_interrupted_sweep_goes_on_where_it_was(
    how: signal.Signals, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    begun = _begun(here, 3)
    begun.send_signal(how)
    _, told = begun.communicate(timeout=60)
    done = len(list(Path("cache").glob("runs/*/*/entry.json")))
    assert 3 <= done < 400
    assert not Path("results").exists()
    if how == signal.SIGINT:
        assert begun.returncode == Exit.CAVEATS
        assert f"interrupted: {done} of 400 runs done and kept; the same command does the rest" in told
        assert not list(Path("cache/making").iterdir())
    # Fewer flows, or the rest would take its time: those that are there are found by their content alone.
    assert main(["sweep", "loads.toml", "--dry-run", "--json"]) == Exit.OK
    runs = json.loads(capsys.readouterr().out)
    assert sum(run["cached"] for run in runs) == done
    # What was killed in the middle of its work leaves nothing behind.
    assert not list(Path("cache/making").iterdir())
    cached = [run["seed"] for run in runs if run["cached"]]
    sweep_scene.write(here, _LONG.replace("seeds = 400", f"seeds = {[*cached, 41]}"))
    told_json = swept(capsys)
    assert (told_json["runs"], told_json["cached"]) == (done + 1, done)


def test_what_a_key_is_made_of(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    flows = "1\n0 1 3 100 1000 0.0\n"
    text = sweep_scene.SCENARIO + '[[traffic]]\nname = "list"\nkind = "hpcc-flows"\nfile = "flows.txt"\n'

    def key(scenario: str = text, *overrides: str, seed: int = 1, flows: str = flows) -> str:
        sweep_scene.write(here, scenario=scenario)
        (here / "flows.txt").write_text(flows)
        (found,) = plan.keyed([Job("", Scenario.load("star.toml"), overrides, seed)])
        return found.key

    first = key()
    # On these no result depends.
    same = [key("# a comment\n" + text), key(text, "run.threads=2")]
    same += [key(text, "traffic.web.load=0.50"), key(text + sweep_scene.SCHEMES)]
    assert set(same) == {first}
    others = [
        key(text, "traffic.web.load=0.51"),
        key(seed=2),
        key(text, "probe.marks=false"),
        key(text, "run.until=1ms"),
    ]
    others += [key(flows=flows.replace("1000", "1001"))]
    monkeypatch.setattr(content_key, "core_build", lambda: "another")
    others.append(key())
    assert len({first, *others}) == len(others) + 1


@pytest.mark.parametrize(
    "spoil",
    [
        lambda run: (run / "flows.parquet").write_bytes((run / "flows.parquet").read_bytes()[:-9]),
        lambda run: (run / "flows.parquet").unlink(),
        lambda run: (run / "run.json").write_text((run / "run.json").read_text().replace("complete", "Complete", 1)),
        lambda run: (run / "entry.json").write_text("{"),
        lambda run: (run / "entry.json").write_text("[]"),
        lambda run: (run / "entry.json").unlink(),
        lambda run: (run / "more.parquet").write_bytes(b""),
        lambda run: (run / "entry.json").write_text(json.dumps({"key": "0"})),
        lambda run: (run / "entry.json").write_text((run / "entry.json").read_text().replace('ps": 1', 'ps": 2', 1)),
    ],
    ids=["shorter", "missing", "changed", "no JSON", "no table", "no entry", "more", "other key", "other measure"],
)
def test_a_damaged_run_is_not_believed(
    spoil: Callable[[Path], None], here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    sweep_scene.write(here)
    swept(capsys, "--out", "before")
    spoil(next(Path("cache").glob("runs/*/*")))
    told = swept(capsys, "--out", "after")
    assert (told["cached"], told["damaged"]) == (3, 1)
    for file in Path("before").iterdir():
        assert file.read_bytes() == (Path("after") / file.name).read_bytes()
    assert swept(capsys)["cached"] == 4


def test_what_other_code_measured_is_measured_again(
    here: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    sweep_scene.write(here)
    swept(capsys, "--out", "one")
    really = sweep_measures.of
    monkeypatch.setattr(sweep_measures, "of", lambda results: [{**row, "pauses": 77} for row in really(results)])
    assert swept(capsys, "--out", "same")["cached"] == 4
    assert Path("same/runs.csv").read_bytes() == Path("one/runs.csv").read_bytes()
    monkeypatch.setattr(sweep_measures, "code", lambda: "another")
    assert swept(capsys, "--out", "other")["cached"] == 4
    assert pl.read_csv("other/runs.csv")["pauses"].unique().to_list() == [77]


def test_a_run_under_another_name_is_not_believed(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sweep_scene.write(here)
    swept(capsys)
    one, other = list(Path("cache").glob("runs/*/*"))[:2]
    name = other.rename("aside")
    one.rename(other)
    assert swept(capsys)["damaged"] == 1
    assert name.exists()


def test_several_processes_may_use_a_cache_at_a_time(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sweep_scene.write(here, sweep_scene.SWEEP.replace("seeds = 2", "seeds = 6"))
    words = [sys.executable, "-m", "backwater", "sweep", "loads.toml", "--json", "--out"]
    paths = os.pathsep.join(filter(None, [str(Path(backwater.__file__).parents[1]), os.environ.get("PYTHONPATH")]))
    environment = {**os.environ, "PYTHONPATH": paths}
    both = [
        subprocess.Popen([*words, name], env=environment, stdout=subprocess.PIPE, text=True)  # noqa: S603
        for name in ("a", "b")
    ]
    for one in both:
        told = json.loads(one.communicate(timeout=120)[0])
        assert (one.returncode, told["runs"], told["damaged"]) == (Exit.OK, 12, 0)
    for file in Path("a").iterdir():
        assert file.read_bytes() == (Path("b") / file.name).read_bytes()
    assert swept(capsys)["cached"] == 12
    assert not list(Path("cache/making").iterdir())


def test_the_cache_says_what_it_has_and_is_cleared(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sweep_scene.write(here)
    swept(capsys)
    assert main(["cache", "info", "--json"]) == Exit.OK
    told = json.loads(capsys.readouterr().out)
    size = sum(file.stat().st_size for file in Path("cache/runs").rglob("*") if file.is_file())
    assert told == {"folder": str(here / "cache"), "runs": 4, "bytes": size}
    old = next(Path("cache").glob("runs/*/*/entry.json"))
    os.utime(old, (0, 0))
    assert main(["cache", "clear", "--older-than", "30"]) == Exit.OK
    assert "removed 1 run," in capsys.readouterr().out
    assert main(["cache", "clear"]) == Exit.OK
    assert "removed 3 runs" in capsys.readouterr().out
    assert swept(capsys)["cached"] == 0


def test_where_the_cache_is(monkeypatch: pytest.MonkeyPatch) -> None:
    from backwater.experiments.store import default_folder

    monkeypatch.delenv("BACKWATER_CACHE")
    monkeypatch.setenv("HOME", "/home/me")
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    assert default_folder() == Path("/home/me/.cache/backwater")
    # The specification: a path that is not absolute is to be ignored.
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    assert default_folder() == Path("/home/me/.cache/backwater")
    monkeypatch.setenv("XDG_CACHE_HOME", "/var/cache")
    assert default_folder() == Path("/var/cache/backwater")
    monkeypatch.setenv("BACKWATER_CACHE", "/scratch/runs")
    assert default_folder() == Path("/scratch/runs")


def test_ctrl_c_that_comes_while_a_run_is_measured_stops_the_sweep(
    here: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    # Polars takes the signal while it works, and raises in the thread that called it.
    really, calls = sweep_measures.of, list[str]()

    def of(results: Results) -> list[dict[str, Any]]:
        calls.append(results.digest)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return really(results)

    sweep_scene.write(here, sweep_scene.SWEEP.replace("seeds = 2", "seeds = 20"))
    monkeypatch.setattr(sweep_measures, "of", of)
    assert main(["sweep", "loads.toml", "--jobs", "1"]) == Exit.CAVEATS
    assert "interrupted: 1 of 40 runs done and kept; the same command does the rest" in capsys.readouterr().err
    assert len(list(Path("cache").glob("runs/*/*"))) == 1
    assert not list(Path("cache/making").iterdir())
