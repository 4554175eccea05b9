"""Runs that are saved where they stand, or again and again, and go on from the file."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import backwater as bw
import polars as pl
import pytest
from polars.testing import assert_frame_equal

SCENARIO = """
[topology]
kind = "star"
hosts = 8
rate = "100Gbps"
delay = "1us"

[[traffic]]
name = "incast"
kind = "incast"
from = "*"
to = "h0"
size = "{size}"

[probe]
sample = "5us"
ports = ["s->h0"]
marks = true
"""

HALF = """
import backwater as bw


@bw.congestion_control(state={"seen": int}, on=["cnp"])
def half(flow, event):
    flow.rate_bps = max(flow.rate_bps * 0.5, 1e9)
"""


@pytest.fixture
def scenario(tmp_path: Path) -> Path:
    file = tmp_path / "incast.toml"
    file.write_text(SCENARIO.format(size="1MB"))
    return file


def tables(results: bw.Results) -> list[pl.DataFrame]:
    return [results.table(name).collect() for name in sorted(results.tables)]


def assert_same(one: bw.Results, other: bw.Results) -> None:
    assert one.digest == other.digest
    assert sorted(one.tables) == sorted(other.tables)
    for mine, theirs in zip(tables(one), tables(other), strict=True):
        assert_frame_equal(mine, theirs)


def test_a_run_that_goes_on_from_a_file_has_the_outcome_of_the_whole(scenario: Path, tmp_path: Path) -> None:
    known = bw.run(scenario, out=tmp_path / "whole")
    assert isinstance(known, bw.Results)
    with bw.begin(scenario, out=tmp_path / "first") as run:
        file = run.step(until="100us").save(tmp_path / "warm.ckpt")
    with bw.resume(file, threads=2) as run:
        assert (run.now_ps, run.is_over) == (100_000_000, False)
        results = run.finish()
    assert results.folder == tmp_path / "warm"
    assert_same(known, results)


def test_other_parameters_hold_from_where_a_run_stood(scenario: Path, tmp_path: Path) -> None:
    with bw.begin(scenario, out=tmp_path / "first") as run:
        file = run.step(until="100us").save(tmp_path / "warm.ckpt")
        plain = run.finish()
    with bw.resume(file, set={"run.until": "150us"}, out=tmp_path / "short") as run:
        short = run.finish()
    with bw.begin(scenario, overrides=["run.until=150us"], out=tmp_path / "until") as run:
        assert_same(run.finish(), short)
    # Marks begin at once, or never: only what comes after the file was saved differs.
    with bw.resume(
        file, set={"switch.detector.kmin": "1KB", "switch.detector.kmax": "2KB"}, out=tmp_path / "low"
    ) as run:
        low = run.finish()
    before = pl.col("time_ps") < 100_000_000
    assert_frame_equal(plain.table("marks").filter(before).collect(), low.table("marks").filter(before).collect())
    assert low.digest != plain.digest
    for key, value, words in (
        ("topology.hosts", 9, "this network"),
        ("switch.detector.kind", "tcd", "gates"),
        ("probe.marks", False, "tables"),
    ):
        with pytest.raises(bw.ScenarioError, match=words) as refused:
            bw.resume(file, set={key: value}, out=tmp_path / "refused")
        assert key in str(refused.value)
        assert "help:" in str(refused.value)
    assert not (tmp_path / "refused").exists()


def test_thresholds_of_pfc_hold_from_where_a_run_stood(scenario: Path, tmp_path: Path) -> None:
    pauses = ["probe.pauses=true", "switch.flow-control=pfc", "switch.pfc.threshold=static", "cc.kind=none"]
    overrides = [*pauses, "switch.pfc.xoff=20KB", "switch.pfc.xon=18KB", "run.until=400us"]
    with bw.begin(scenario, overrides=overrides, out=tmp_path / "first") as run:
        file = run.step(until="200us").save(tmp_path / "warm.ckpt")
        plain = run.finish()
    with bw.resume(file, set={"switch.pfc.xoff": "20KB"}, out=tmp_path / "same") as run:
        assert_same(plain, run.finish())
    stood = pl.col("time_ps") >= 200_000_000

    def sent(results: bw.Results) -> pl.DataFrame:
        return results.table("pauses").filter(stood & pl.col("paused")).collect()

    # Seven senders share one link: each is paused, and none any more where the whole flow of each has room.
    assert sent(plain)["node"].n_unique() == 7
    with bw.resume(file, set={"switch.pfc.xoff": "2MB", "switch.pfc.xon": "2MB"}, out=tmp_path / "high") as run:
        high = run.finish()
    assert sent(high).is_empty()
    # What waits for h0 has come in by seven ports. Each holds what xoff allows, and what comes until PAUSE is obeyed:
    # 2 us at 100 Gbps, and three frames of 9 KB at most, which crosses, which delays the PAUSE, and which has begun.
    changes = {"switch.pfc.xoff": "100KB", "switch.pfc.xon": "98KB"}
    with bw.resume(file, set=changes, out=tmp_path / "mean") as run:
        mean = run.finish()
    settled = mean.table("samples").filter(pl.col("time_ps") >= 300_000_000).collect()["queue_bytes"].to_list()
    assert 7 * (98_000 - 25_000) <= max(settled) <= 7 * (100_000 + 25_000 + 27_000)
    with pytest.raises(bw.ScenarioError, match="queues, gates and accounts"):
        bw.resume(file, set={"switch.pfc.reserve": "8KiB"}, out=tmp_path / "refused")


def test_what_is_no_whole_file_is_refused(scenario: Path, tmp_path: Path) -> None:
    with bw.begin(scenario, out=tmp_path / "first") as run:
        file = run.step(until="20us").save(tmp_path / "warm.ckpt")
    whole = file.read_bytes()
    for content, words in (
        (whole[:-9], "cut short"),
        (b"x" + whole[1:], "no checkpoint"),
        (whole[:-1] + b"x", "damaged"),
    ):
        file.write_bytes(content)
        with pytest.raises(bw.ScenarioError, match=words):
            bw.resume(file)
    with pytest.raises(bw.ScenarioError, match="cannot be read"):
        bw.resume(tmp_path / "none.ckpt")


def test_flows_of_a_table_are_in_no_file(tmp_path: Path) -> None:
    flows = pl.DataFrame({"src": [1], "dst": [0], "size_bytes": [1000], "start_ps": [0]})
    one = bw.Experiment(topology={"kind": "star", "hosts": 2, "rate": "100Gbps", "delay": "1us"}, traffic=flows)
    with bw.begin(one, out=tmp_path / "run") as run, pytest.raises(bw.UsageError, match="table"):
        run.save(tmp_path / "warm.ckpt")


def _command(*words: str | Path) -> list[str]:
    return [sys.executable, "-m", "backwater", *map(str, words)]


def test_a_run_that_was_killed_goes_on_to_the_same_digest(tmp_path: Path) -> None:
    file = tmp_path / "incast.toml"
    file.write_text(SCENARIO.format(size="2GB"))
    known = bw.run(file, out=tmp_path / "known")
    assert isinstance(known, bw.Results)
    out = tmp_path / "results"
    words = _command("run", file, "--out", out, "--checkpoint-every", "0.1s")
    checkpoint = out / "incast-s1.ckpt"
    with subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as run:  # noqa: S603
        saved: set[int] = set()
        # The first one at the beginning.
        while len(saved) < 3 and run.poll() is None:
            if checkpoint.exists():
                saved.add(checkpoint.stat().st_mtime_ns)
            time.sleep(0.02)
        assert run.poll() is None, "it was too quick to be killed"
        os.kill(run.pid, signal.SIGKILL)
        run.wait()
    assert not (out / "incast-s1").exists()
    again = _command("resume", checkpoint, "--json")
    told = subprocess.run(again, capture_output=True, text=True, check=False)  # noqa: S603
    assert json.loads(told.stdout).get("digest") == known.digest, told.stdout + told.stderr
    assert_same(known, bw.Results(out / "incast-s1"))
    assert not checkpoint.exists(), "a run that is complete removes it, also one that went on from it"


def test_results_of_another_scenario_of_the_same_name_are_kept(tmp_path: Path) -> None:
    places = [tmp_path / "a" / "incast.toml", tmp_path / "b" / "incast.toml"]
    for place, size in zip(places, ("100KB", "1MB"), strict=True):
        place.parent.mkdir()
        place.write_text(SCENARIO.format(size=size))
    known = bw.run(places[0], out=tmp_path / "incast-s1")
    assert isinstance(known, bw.Results)
    with bw.begin(places[1], out=tmp_path / "first") as run:
        file = run.step(until="50us").save(tmp_path / "incast-s1.ckpt")
    with bw.resume(file) as run:
        other = run.finish()
    assert other.folder != known.folder
    assert bw.Results(known.folder).digest == known.digest != other.digest


def test_functions_that_were_edited_are_others(tmp_path: Path) -> None:
    function = tmp_path / "own.py"
    function.write_text(HALF)
    place = tmp_path / "own.toml"
    place.write_text('[cc]\nkind = "custom"\n[cc.custom]\nfunction = "own.py:half"\n' + SCENARIO.format(size="100KB"))
    with bw.begin(place, out=tmp_path / "first") as run:
        file = run.step(until="2us").save(tmp_path / "own.ckpt")
    with bw.resume(file, out=tmp_path / "same") as run:
        run.finish()
    function.write_text(HALF.replace("0.5", "0.25"))
    with pytest.raises(bw.ScenarioError, match="functions of the user's, and they or their file have changed since"):
        bw.resume(file, out=tmp_path / "edited")


def test_a_controller_of_one_entry_goes_on(tmp_path: Path) -> None:
    # Its table has numbers that text gives back as their neighbours.
    place = tmp_path / "mixed.toml"
    place.write_text(SCENARIO.format(size="100KB").replace("[probe]", 'cc = { kind = "dcqcn" }\n\n[probe]'))
    known = bw.run(place, out=tmp_path / "whole")
    assert isinstance(known, bw.Results)
    with bw.begin(place, out=tmp_path / "first") as run:
        file = run.step(until="20us").save(tmp_path / "mixed.ckpt")
    with bw.resume(file) as run:
        assert_same(known, run.finish())
