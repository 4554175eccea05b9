from __future__ import annotations

import json
import os
from pathlib import Path

import polars as pl
import pytest
from backwater import Results
from backwater.cli import main
from backwater.errors import Exit, UsageError
from backwater.experiments import plan
from backwater.experiments.quick_sweep import axes
from sweep_scene import SCENARIO, SCHEMES


def combinations(texts: list[str]) -> list[tuple[str, ...]]:
    return [written for _, written in plan.combinations(axes(texts))]


def test_several_sweeps_make_every_combination() -> None:
    assert combinations([]) == [()]
    assert combinations(["a=1,2", "b=x, y"]) == [("a=1", "b=x"), ("a=1", "b=y"), ("a=2", "b=x"), ("a=2", "b=y")]


def test_commas_within_lists_tables_and_quotes_do_not_part_values() -> None:
    assert combinations(['a=["x","y"],"p,q"']) == [('a=["x","y"]',), ('a="p,q"',)]
    assert combinations(["a={b=1,c=2},3"]) == [("a={b=1,c=2}",), ("a=3",)]


def test_a_value_that_is_given_twice_is_run_once() -> None:
    assert combinations(["a=1,1,2"]) == [("a=1",), ("a=2",)]


@pytest.mark.parametrize("text", ["a", "a=", "a=1,", "=1", "a=,"])
def test_a_sweep_without_values_says_how_it_is_written(text: str) -> None:
    with pytest.raises(UsageError, match=r"write KEY=VALUE,VALUE"):
        combinations([text])


def test_a_key_is_swept_once() -> None:
    with pytest.raises(UsageError, match="a is given twice"):
        combinations(["a=1", "a=2"])


def test_each_value_scheme_and_seed_is_a_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("two.toml").write_text(SCENARIO + SCHEMES)
    arguments = ["run", "two.toml", "--sweep", "traffic.load=0.2,0.4", "--seeds", "2"]
    assert main([*arguments, "--json"]) == Exit.OK
    told = json.loads(capsys.readouterr().out)
    assert (told["runs"], told["failed"]) == (8, 0)
    runs = told["summaries"]
    assert [(run["sweep"], run["scheme"], run["seed"]) for run in runs] == [
        ([f"traffic.load={load}"], scheme, seed)
        for load in (0.2, 0.4)
        for scheme in ("none", "DCQCN")
        for seed in (1, 2)
    ]
    assert [run["scenario"]["traffic"][0]["load"] for run in runs] == [0.2] * 4 + [0.4] * 4
    assert len(list(Path("results").iterdir())) == 8
    assert main(arguments) == Exit.OK
    shown = capsys.readouterr().out
    assert "Sweep" in shown
    # A sweep file that asks for the same has the same means, and prints the same table.
    Path("loads.toml").write_text('scenario = "two.toml"\nseeds = 2\n[axes]\n"traffic.load" = [0.2, 0.4]\n')
    assert main(["sweep", "loads.toml"]) == Exit.OK
    assert capsys.readouterr().out.partition("written:")[0] in shown
    assert main(["sweep", "loads.toml", "--json"]) == Exit.OK
    by_file = json.loads(capsys.readouterr().out)["means"]
    assert by_file == told["means"]
    assert main(["run", "two.toml", "--sweep", "traffic.laod=0.2,0.4"]) == Exit.BAD_INPUT
    assert "traffic.laod" in capsys.readouterr().err


MARKED = """profile = "authors"
[topology]
kind = "star"
hosts = 5
rate = "40Gbps"
delay = "1us"
[[traffic]]
name = "incast"
kind = "incast"
from = "*"
to = "h0"
size = "640KB"
[probe]
marks = true
[[scheme]]
name = "RED"
set = ["switch.detector.kind=red", "switch.detector.kmax=20KB"]
[[scheme]]
name = "none"
set = ["switch.detector.kind=none"]
"""


@pytest.mark.parametrize(
    ("more", "title"),
    [(["--sweep", "traffic.size=640KB,1MB"], "Sweep"), ([], "Schemes"), (["--scheme", "RED"], "Traffic, mean")],
)
def test_where_detectors_are_compared_their_marks_are_scored_over_the_seeds(
    more: list[str],
    title: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("marked.toml").write_text(MARKED)
    assert main(["run", "marked.toml", "--seeds", "2", *more]) == Exit.OK
    table = capsys.readouterr().out.rpartition(title)[2]
    heading = next(line for line in table.splitlines() if "recall" in line)
    assert [part in heading for part in ("precision", "recall", "flow precision", "flow recall")] == [True] * 4
    lines = table[table.index(heading) :].splitlines()
    # In a star nothing is held back: every mark is right, and every flow of the incast feeds the root.
    assert "100.0 ± 0 %" in next(line for line in lines if line.startswith(("│ RED", "│ all")))
    assert title.startswith("Traffic") or "- │" in next(line for line in lines if line.startswith("│ none"))


def test_where_there_are_puts_the_table_has_what_was_sent_again_and_dropped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("star.toml").write_text(MARKED.partition("[probe]")[0] + 'transport = "put"\n')
    assert main(["run", "star.toml", "--sweep", "traffic.size=64KB,640KB", "--json"]) == Exit.OK
    told = json.loads(capsys.readouterr().out)
    for row, run in zip(told["means"], told["summaries"], strict=True):
        flows = Results(next(folder for folder in told["files"] if run["sweep"][0].split("=")[1] in folder)).flows
        sums = flows.select(pl.col("resent_packets", "dropped_packets").sum()).collect().row(0)
        assert (row["resent_packets_mean"], row["dropped_packets_mean"]) == sums


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="named pipes")
def test_a_pipe_that_nobody_writes_to_is_refused_and_one_that_is_written_to_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    os.mkfifo("pipe")
    assert main(["run", "pipe"]) == Exit.BAD_INPUT
    assert "a pipe that nobody writes to" in capsys.readouterr().err
    # As a shell's <(...) gives it.
    reader, writer = os.pipe()
    os.write(writer, SCENARIO.encode())
    os.close(writer)
    assert main(["run", f"/dev/fd/{reader}"]) == Exit.OK
    os.close(reader)
