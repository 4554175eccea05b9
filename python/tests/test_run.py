"""Whole runs through the built core: the same bits however they are started, nothing half-written when they fail."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import backwater
import polars as pl
import pytest
from backwater import Results, ScenarioError, _core
from backwater.cli import main
from backwater.errors import Exit

SCENARIOS = Path(__file__).parents[2] / "scenarios"
ONE_POINT = SCENARIOS / "single-congestion-point.toml"
SLOW_HOST = SCENARIOS / "put-incast.toml"
RANKS = SCENARIOS / "program.toml"
ONE_TREE = Path(__file__).parents[2] / "papers/ici/scenarios/w1.toml"

SMALL = """profile = "authors"
[topology]
kind = "dumbbell"
left = 2
right = 2
rate = "10Gbps"
delay = "1us"

[[traffic]]
name = "f"
kind = "permutation"
size = "100KB"

[probe]
sample = "1us"
"""

ENDLESS = """profile = "authors"
[run]
until = "100s"
[topology]
kind = "star"
hosts = 8
rate = "100Gbps"
delay = "1us"
[[traffic]]
name = "f"
kind = "permutation"
[probe]
marks = false
pauses = false
states = false
"""


@pytest.fixture
def small(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "small.toml"
    file.write_text(SMALL)
    return file


def digest(scenario: Path, out: Path, **more: Any) -> str:
    results: backwater.Results = backwater.run(scenario, out=out, **more)
    return results.digest


def test_the_same_seed_gives_the_same_digest_and_another_seed_another(tmp_path: Path) -> None:
    digests = [digest(ONE_POINT, tmp_path / str(i), seed=seed) for i, seed in enumerate((5, 5, 6))]
    assert digests[0] == digests[1] != digests[2]


def test_the_command_line_and_python_run_the_same_trajectory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["run", str(ONE_POINT), "--json", "--seed", "5"]) == Exit.OK
    assert json.loads(capsys.readouterr().out)["digest"] == digest(ONE_POINT, tmp_path / "py", seed=5)


def test_two_threads_give_the_digest_of_one(tmp_path: Path) -> None:
    assert digest(ONE_POINT, tmp_path / "a") == digest(ONE_POINT, tmp_path / "b", overrides=["run.threads=2"])


def test_a_file_that_chooses_an_event_core_says_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "old.toml").write_text(ONE_POINT.read_text().replace("[run]\n", '[run]\nengine = "heap"\n'))
    with pytest.raises(backwater.ScenarioError, match="remove the line: there is one event core"):
        backwater.run(tmp_path / "old.toml", out=tmp_path / "out")
    with pytest.raises(backwater.ScenarioError, match="remove the line: there is one event core"):
        backwater.run(ONE_POINT, out=tmp_path / "out", overrides=["run.engine=windows"])


def test_probes_change_no_digest(tmp_path: Path) -> None:
    silent = ["probe.marks=false", "probe.pauses=false", "probe.states=false", 'probe.sample="1ms"']
    observed = backwater.run(ONE_POINT, out=tmp_path / "on")
    unobserved = backwater.run(ONE_POINT, out=tmp_path / "off", overrides=silent)
    assert observed.digest == unobserved.digest
    assert observed.has("marks")
    assert not unobserved.has("marks")


def test_the_tables_have_exactly_the_columns_of_the_dictionary(tmp_path: Path) -> None:
    short = ["run.until=20us", "probe.isolation=true", "traffic.tree.start=0ns"]
    fifos = ["switch.queueing=input", "run.until=20us"]
    throttled = ["host.throttle.kind=pft", "probe.sample=10us", "probe.throttle-states=true"]
    runs = [
        backwater.run(ONE_POINT, out=tmp_path / "point", overrides=['probe.frames=["P2"]']),
        backwater.run(ONE_TREE, out=tmp_path / "tree", scheme="ici+", overrides=short),
        backwater.run(SLOW_HOST, out=tmp_path / "puts", scheme="opt", overrides=["run.until=20us"]),
        backwater.run(RANKS, out=tmp_path / "ranks", overrides=throttled),
        backwater.run(SCENARIOS / "allreduce.toml", out=tmp_path / "allreduce"),
        backwater.run(SCENARIOS / "infiniband.toml", out=tmp_path / "fifos", overrides=fifos),
        backwater.run(SCENARIOS / "jobs.toml", out=tmp_path / "jobs"),
        backwater.run(SCENARIOS / "faults.toml", out=tmp_path / "faults"),
        backwater.run(SCENARIOS / "family.toml", out=tmp_path / "holds", scheme="BFC", overrides=short[:1]),
        backwater.run(SCENARIOS / "family.toml", out=tmp_path / "windows", scheme="Floodgate", overrides=short[:2]),
    ]
    columns: dict[str, list[str]] = {}
    for entry in json.loads(_core.dictionary()):
        columns.setdefault(entry["table"], []).append(entry["column"])
    assert {table for run in runs for table in run.tables} == set(columns)
    for run in runs:
        for table, about in run.tables.items():
            assert run.table(table).collect_schema().names() == columns[table]
            run.check(table)
            assert about["rows"] == run.table(table).select(pl.len()).collect().item()


def test_run_json_says_how_to_get_the_same_run_again(tmp_path: Path) -> None:
    first = backwater.run(ONE_POINT, out=tmp_path / "a", overrides=["traffic.F0.rate=6Gbps"], seed=3)
    assert first.meta["scenario_text"] == ONE_POINT.read_text()
    assert "traffic.F0.rate=6Gbps" in first.meta["overrides"]
    copy = tmp_path / "copy.toml"
    copy.write_text(first.meta["scenario_text"])
    assert digest(copy, tmp_path / "b", overrides=first.meta["overrides"]) == first.digest


def test_every_flow_of_a_permutation_finishes_no_faster_than_alone(small: Path) -> None:
    run = backwater.run(small)
    flows = run.flows.collect()
    assert run.folder == Path("results/small-s1")
    assert flows["finish_ps"].null_count() == 0
    assert flows["received_bytes"].to_list() == [100_000] * flows.height
    assert (flows["slowdown"] >= 1).all()


def test_a_mistake_in_a_scenario_is_shown_with_its_line_and_a_fix_and_nothing_is_written(
    small: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    small.write_text(SMALL.replace("rate =", "rat ="))
    assert main(["run", str(small)]) == Exit.BAD_INPUT
    shown = capsys.readouterr().err
    assert "small.toml:6" in shown
    assert "rate" in shown
    assert "Traceback" not in shown
    assert not Path("results").exists()


@pytest.mark.parametrize(
    "override",
    ["topology.rate=0Gbps", "topology.delay=-1us", "traffic.size=1e99B", "nonsense", "run.seed=-1", "packet.payload=9"],
)
def test_an_override_that_makes_no_sense_is_refused(small: Path, override: str) -> None:
    with pytest.raises(ScenarioError):
        backwater.run(small, overrides=[override])
    assert not Path("results").exists()


def test_a_switch_without_flow_control_and_room_stops_the_run_and_explains(
    small: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    small.write_text(SMALL.replace('"permutation"', '"incast"\nto = "r0"\nfrom = "*"'))
    arguments = ["--set", "switch.flow-control=none", "--set", "switch.buffer=20KB"]
    code = main(["run", str(small), *arguments])
    shown = capsys.readouterr().err
    assert code == Exit.INVARIANT_BROKEN, shown
    assert "overflows" in shown
    assert "switch.buffer" in shown
    assert not list(Path("results").rglob("*.parquet*"))


def test_json_of_a_run_that_stopped_itself_says_why(small: Path, capsys: pytest.CaptureFixture[str]) -> None:
    small.write_text(SMALL.replace('"permutation"', '"incast"\nto = "r0"\nfrom = "*"'))
    broken = ["--set", "switch.flow-control=none", "--set", "switch.buffer=20KB"]
    assert main(["run", str(small), *broken, "--json"]) == Exit.INVARIANT_BROKEN
    shown = json.loads(capsys.readouterr().out)
    assert (shown["status"], shown["error"]["kind"]) == ("failed", "invariant")
    assert "overflows" in shown["error"]["message"]
    assert main(["run", str(small), *broken, "--json", "--seeds", "2"]) == Exit.INVARIANT_BROKEN
    said = capsys.readouterr()
    assert [run["seed"] for run in json.loads(said.out)] == [shown["seed"], shown["seed"] + 1]
    # Each failure has its run's name before it.
    assert f"error[buffer-overflow]: {small.stem} seed {shown['seed']}: " in said.err
    assert f"{small.stem} seed {shown['seed'] + 1}: " in said.err


def test_a_file_in_the_place_of_the_results_folder_is_said_and_kept(
    small: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("results").write_text("mine")
    assert main(["run", str(small)]) == Exit.BAD_INPUT
    assert "results" in capsys.readouterr().err
    assert Path("results").read_text() == "mine"


def test_a_run_without_a_folder_writes_nothing(small: Path) -> None:
    summary = json.loads(_core.Scenario(SMALL, "small", small.parent, []).run())
    assert summary["totals"]["finished"] == summary["totals"]["flows"] > 0
    assert [path.name for path in small.parent.iterdir()] == ["small.toml"]


def test_an_exception_of_the_progress_function_ends_the_run_and_keeps_it_as_partial(tmp_path: Path) -> None:
    def stop(progress: _core.Progress) -> None:
        if progress["sim_time_ps"] > 0:
            raise LookupError("enough")

    with pytest.raises(LookupError, match="enough"):
        _core.Scenario(ENDLESS, "endless", tmp_path, []).run(tmp_path / "out", stop)
    run = Results(tmp_path / "out")
    assert not run.complete
    assert 0 < run.meta["sim_time_ps"] < 100e12
    assert run.flows.select("packets").sum().collect().item() > 0


def test_progress_tells_the_simulated_time_the_end_and_what_may_be_written(tmp_path: Path) -> None:
    seen: list[_core.Progress] = []

    def watch(progress: _core.Progress) -> None:
        seen.append(progress)
        if len(seen) == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        _core.Scenario(ENDLESS, "endless", tmp_path, []).run(tmp_path / "out", watch)
    assert seen[0]["expected_end_ps"] == 100 * 10**12
    assert (seen[0]["plan"] or "").startswith("at most 2GB")
    assert seen[1]["sim_time_ps"] < seen[2]["sim_time_ps"]


@pytest.mark.skipif(os.name != "posix", reason="sends a Unix signal")
@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
def test_ctrl_c_and_sigterm_keep_what_was_finished_and_say_so(tmp_path: Path, how: signal.Signals) -> None:
    (tmp_path / "endless.toml").write_text(ENDLESS)
    command = [sys.executable, "-m", "backwater", "run", "endless.toml"]
    with subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:  # noqa: S603
        end = time.monotonic() + 60
        while not (tmp_path / "results").exists() and time.monotonic() < end:
            time.sleep(0.05)
        time.sleep(0.2)
        process.send_signal(how)
        _, shown = process.communicate(timeout=60)
    assert process.returncode == Exit.CAVEATS, shown
    assert "interrupted; kept: results/endless-s1" in shown
    assert "Traceback" not in shown
    assert Results(tmp_path / "results" / "endless-s1").meta["status"] == "partial"


@pytest.mark.skipif(os.name != "posix", reason="sends a Unix signal")
def test_ctrl_c_ends_an_estimate_that_takes_long(tmp_path: Path) -> None:
    """A fat tree of 686 000 hosts takes a minute or more to lay out."""
    (tmp_path / "big.toml").write_text(ENDLESS.replace('"star"\nhosts = 8', '"fat-tree"\nk = 140'))
    program = (
        "import sys; from backwater.cli import main; print('ready', flush=True); "
        "sys.exit(main(['run', 'big.toml', '--estimate']))"
    )
    command = [sys.executable, "-c", program]
    with subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:  # noqa: S603
        assert process.stdout
        assert process.stdout.readline() == "ready\n"
        time.sleep(2)
        assert process.poll() is None, process.communicate()
        process.send_signal(signal.SIGINT)
        _, shown = process.communicate(timeout=10)
    assert process.returncode == Exit.CAVEATS, shown
    assert "Traceback" not in shown


@pytest.mark.parametrize("seed", [-1, 2**64])
def test_a_seed_that_is_not_a_64_bit_number_is_refused(small: Path, seed: int) -> None:
    with pytest.raises(ValueError, match="2\\*\\*64"):
        backwater.run(small, seed=seed)


def test_the_demo_refuses_a_scenario_without_its_ports(small: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["demo", "--scenario", str(small)]) == Exit.BAD_INPUT
    assert "has no ports P0, P1, P2, P3" in capsys.readouterr().err
    assert not Path("results").exists()


def test_a_run_over_infiniband_records_who_kept_credits_back_and_spares_the_victims(tmp_path: Path) -> None:
    run = backwater.run(SCENARIOS / "infiniband.toml", out=tmp_path / "run", overrides=['run.until="4ms"'])
    assert run.tables["holds"]["rows"] > 0
    flows = run.flows.select("traffic", "ce_packets", "ue_packets").collect().to_dicts()
    victims = [flow for flow in flows if flow["traffic"] in ("F0", "F2")]
    assert [flow["ce_packets"] for flow in victims] == [0, 0], "they never cross the congested port"
    assert all(flow["ue_packets"] > 0 for flow in victims)
