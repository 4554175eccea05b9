"""Iterations that are counted: tables are those of a run that simulates all; what does not go with it is refused."""

import json
from pathlib import Path

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
