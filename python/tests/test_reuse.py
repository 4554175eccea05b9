"""Iterations that are counted: tables are those of a run that simulates all; what does not go with it is refused."""

import json
from pathlib import Path

import backwater as bw
import polars as pl
import pytest
from backwater import Results
from backwater.cli import main
from backwater.errors import Exit

TEXT = """
[topology]
kind = "star"
hosts = 4
rate = "100Gbps"
delay = "1us"

[[job]]
name = "train"
iterations = 20

[[job.step]]
compute = "10us"

[[job.step]]
collective = "all-reduce"
size = "64KB"
"""


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> tuple[Results, Results]:
    """The whole run, and the one that counts."""
    folder = tmp_path_factory.mktemp("reuse")
    (folder / "train.toml").write_text(TEXT)
    for name, reuse in (("whole", "false"), ("counted", "true")):
        command = ["run", str(folder / "train.toml"), "--out", str(folder / name), "--set", f"run.reuse={reuse}"]
        assert main(command) in (Exit.OK, Exit.CAVEATS)
    found = [next(iter((folder / name).glob("**/run.json"))).parent for name in ("whole", "counted")]
    return Results(found[0]), Results(found[1])


def test_tables_are_those_of_the_whole_run(runs: tuple[Results, Results]) -> None:
    whole, counted = runs
    assert counted.meta["reuse"]["counted"] > 0
    for table in ("flows", "job_steps", "job_messages"):
        assert pl.read_parquet(whole.folder / f"{table}.parquet").equals(
            pl.read_parquet(counted.folder / f"{table}.parquet")
        ), table
    ports = [pl.read_parquet(run.folder / "ports.parquet").drop("^peak_ingress.*$") for run in runs]
    assert ports[0].equals(ports[1])
    for key in ("sim_time_ps", "events", "packet_hops", "traffic"):
        assert whole.meta[key] == counted.meta[key]


def test_the_digest_says_what_it_is_of(runs: tuple[Results, Results]) -> None:
    whole, counted = runs
    assert counted.digest.startswith("reuse-")
    assert not whole.digest.startswith("reuse-")
    assert "reuse" not in whole.meta


def test_a_run_with_counted_iterations_is_not_compared_frame_by_frame(
    runs: tuple[Results, Results], capsys: pytest.CaptureFixture[str]
) -> None:
    whole, counted = runs
    assert main(["diff", str(whole.folder), str(counted.folder)]) == Exit.BAD_INPUT
    assert "Run it with run.reuse = false" in capsys.readouterr().err


def test_it_is_told_how_many_were_counted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "train.toml").write_text(TEXT)
    main(["run", str(tmp_path / "train.toml"), "--out", str(tmp_path / "out"), "--set", "run.reuse=true"])
    assert "iterations: 20, of which" in capsys.readouterr().out


def test_a_run_that_finds_no_two_like_states_says_why(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "train.toml").write_text(TEXT)
    sets = ["run.reuse=true", "job.train.iterations=2"]
    command = ["run", str(tmp_path / "train.toml"), "--out", str(tmp_path / "out"), "--json"]
    main([*command, *(part for each in sets for part in ("--set", each))])
    told = json.loads(capsys.readouterr().out)
    (caveat,) = [each for each in told["caveats"] if each["code"] == "reuse-idle"]
    assert "too few iterations" in caveat["message"]
    assert not told["digest"].startswith("reuse-")


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ("run.until=1ms", "run.reuse = true runs to the end of the last iteration"),
        ("probe.sample=10us", "probe.sample records what happens while it does"),
    ],
)
def test_what_does_not_go_with_it_is_refused(
    tmp_path: Path, keys: str, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "train.toml").write_text(TEXT)
    command = ["run", str(tmp_path / "train.toml"), "--set", "run.reuse=true", "--set", keys]
    assert main(command) == Exit.BAD_INPUT
    assert message in capsys.readouterr().err


CUSTOM = """
import backwater as bw


@bw.congestion_control(state={"x": int}, on=["send"])
def late(flow, event):
    if event.now_ps > 5_000_000_000:
        flow.rate_bps = flow.line_bps / 10
"""


def test_a_function_that_sees_the_time_keeps_iterations_apart(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """State is looked at an eighth of an iteration after it has begun. While ranks compute no flow tells of it."""
    (tmp_path / "late.py").write_text(CUSTOM)
    text = TEXT.replace("iterations = 20", "iterations = 40").replace('"10us"', '"500us"')
    text = text.replace("[[job.step]]", '[[job.step]]\ncompute = "50us"\n\n[[job.step]]', 1)
    (tmp_path / "train.toml").write_text(text + '[cc]\nkind = "custom"\ncustom.function = "late.py:late"\n')
    command = ["run", str(tmp_path / "train.toml"), "--out", str(tmp_path / "out"), "--set", "run.reuse=true", "--json"]
    main(command)
    told = json.loads(capsys.readouterr().out)
    assert told["reuse"]["counted"] == 0
    (caveat,) = [each for each in told["caveats"] if each["code"] == "reuse-idle"]
    assert "functions of the user's" in caveat["message"]


def test_a_run_that_counts_has_no_steps_and_no_completions(tmp_path: Path) -> None:
    (tmp_path / "train.toml").write_text("[run]\nreuse = true\n" + TEXT)
    run = bw.begin(str(tmp_path / "train.toml"), out=str(tmp_path / "out"))
    for refused in (lambda: run.step(2**64 - 1), lambda: run.step("1ms"), run.completions):
        with pytest.raises(bw.ScenarioError, match=r"run\.reuse = true the run goes to its end at once"):
            refused()


@pytest.mark.parametrize("key", ["marks", "pauses", "blame"])
def test_a_table_of_single_events_that_the_file_asks_for_is_not_dropped_in_silence(
    tmp_path: Path, key: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "train.toml").write_text(TEXT)
    command = ["run", str(tmp_path / "train.toml"), "--set", "run.reuse=true", "--set", f"probe.{key}=true"]
    assert main(command) == Exit.BAD_INPUT
    assert f"probe.{key} records single events" in capsys.readouterr().err


def test_ranks_that_compute_for_long_are_not_looked_at_more_often(tmp_path: Path) -> None:
    """A minute of computation is 60 million windows of a microsecond: the looks lie farther and farther apart."""
    text = TEXT.replace('"10us"', '"60s"').replace("hosts = 4", "hosts = 2")
    (tmp_path / "train.toml").write_text("[run]\nreuse = true\n" + text)
    main(["run", str(tmp_path / "train.toml"), "--out", str(tmp_path / "out")])
    (results,) = [Results(path.parent) for path in (tmp_path / "out").glob("**/run.json")]
    assert results.meta["cpu_s"] < 3
    assert results.meta["reuse"]["counted"] > 0
