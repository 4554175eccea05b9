"""``backwater advise``: the plateau, the cliff and the sentence of grids whose answer is known; and a small run."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from backwater.analysis import advice as findings
from backwater.analysis import advice_picture
from backwater.analysis.advice import Axis, Grid, Point
from backwater.cli import main
from backwater.errors import Exit, UsageError
from backwater.experiments import advice
from backwater.scenario.scenario import Scenario

US = 1_000_000
ECN = Axis("ECN kmin–kmax", (("k=1",), ("k=2",), ("k=4",)), ("1", "2", "4"), 1)
PFC = Axis("PFC alpha", (("a=1",), ("a=2",)), ("1/2", "1"), 0)


def grid(rows: list[list[list[float]]], pauses: list[list[float]]) -> Grid:
    """Points from times in µs by seed: rows of PFC, each with one list for each step of ECN."""
    points: dict[tuple[int, ...], Point] = {
        (x, y): Point(tuple(value * US for value in rows[y][x]), (pauses[y][x],) * len(rows[y][x]))
        for y in range(len(rows))
        for x in range(len(rows[y]))
    }
    return Grid((ECN, PFC), points, "time", "training takes")


def test_the_point_with_the_fewest_pauses_of_the_plateau_is_advised() -> None:
    found = grid([[[200, 202], [150, 152], [100, 102]], [[101, 101], [103, 103], [180, 180]]], [[9, 9, 9], [5, 2, 0]])
    # Best 101 µs; up to 106.05 µs is the plateau.
    assert sorted(found.plateau) == [(0, 1), (1, 1), (2, 0)]
    assert found.advised == (1, 1)
    # 103 beside 150 and 152: 31.33 and 32.24 % less, their mean is 31.8.
    assert "Set a = 2: training takes 103 µs" in findings.sentence(found)
    assert "31.8 % less than now" in findings.sentence(found)


def test_a_best_point_at_the_end_of_what_was_tried_is_said() -> None:
    found = grid([[[200, 201], [150, 151], [100, 101]], [[200, 201], [150, 151], [100, 101]]], [[9, 9, 9], [9, 9, 9]])
    assert found.advised == (2, 0)
    assert [line for line in findings.lines(found) if line.startswith("Edge")] == [
        "Edge: ECN kmin–kmax 4 is the last that was tried, and further on it may be better: --steps takes more."
    ]
    inside = grid([[[200, 201], [150, 151], [151, 152]], [[100, 101], [100, 101], [100, 101]]], [[9, 9, 9], [9, 9, 9]])
    assert inside.advised == (1, 1)


def test_the_cliff_is_the_steepest_step_between_neighbours() -> None:
    found = grid([[[200, 202], [150, 152], [100, 102]], [[101, 101], [103, 103], [180, 180]]], [[9, 9, 9], [5, 2, 0]])
    cliff = found.cliff
    assert cliff is not None
    # 201 / 101 = 1.99 from (0, 1) to (0, 0); the next is 180 / 101 from (2, 0) to (2, 1).
    assert (cliff.good, cliff.bad) == ((0, 1), (0, 0))
    assert cliff.ratio == pytest.approx(201 / 101)


def test_seeds_that_disagree_are_no_cliff_and_no_gain() -> None:
    found = grid([[[100, 130], [100, 130], [130, 100]], [[100, 130], [100, 130], [100, 130]]], [[0, 4, 0], [0, 4, 0]])
    assert found.cliff is None
    # Every seed has 4 PAUSEs fewer.
    assert found.advised == (0, 0)
    assert "The seeds do not tell its time from that of now, but now there are 4 PAUSEs." in findings.sentence(found)


def test_chance_alone_advises_nothing_and_is_no_cliff() -> None:
    # 25 points of noise of 10 % and three seeds: by looking at the best of all a move was advised in 96 of 100 grids.
    axes = tuple(Axis(name, tuple((f"{name}={i}",) for i in range(5)), tuple("12345"), 2) for name in "ab")
    moved = cliffs = 0
    for number in range(100):
        draw = np.random.default_rng(number)
        points: dict[tuple[int, ...], Point] = {
            (x, y): Point(tuple(draw.normal(100, 10, 3) * US), tuple(draw.normal(50, 5, 3)))
            for x in range(5)
            for y in range(5)
        }
        found = Grid(axes, points, "time", "training takes")
        moved += found.advised != found.now
        cliffs += found.cliff is not None
    # Bonferroni's bound is 5 of 100 for times, 5 for PAUSEs, 5 for steps.
    assert moved <= 14
    assert cliffs <= 10
    assert "3 seeds do not tell" in findings.sentence(found)


def test_a_run_without_an_end_is_worse_than_any() -> None:
    same = Point((10.0 * US,), (0.0,))
    found = Grid((ECN,), {(0,): same, (1,): same, (2,): Point((None,), (7.0,))}, "time", "training takes")
    assert found.advised == (1,)
    assert found.cliff is not None
    assert "from ECN kmin–kmax 2 to ECN kmin–kmax 4 it never ends" in findings.lines(found)[-1]
    assert json.dumps(findings.as_json(found))


def test_what_cannot_be_run_is_no_neighbour(tmp_path: Path) -> None:
    same = Point((9.0,), (0.0,))
    found = Grid((ECN,), {(0,): same, (1,): same, (2,): Point((), (), "error: no room")}, "time", "training takes")
    assert found.cliff is None
    assert findings.lines(found)[-1] == "1 point cannot be run, such as ECN kmin–kmax 4."
    assert advice_picture.draw(found, tmp_path / "map.png", "map").stat().st_size > 10_000


def two_jobs(counted: tuple[str, ...]) -> Grid:
    """Times in µs of two jobs: train 100, 100, 110 and checkpoint 500, 400, 200; now is the step in the middle."""
    train, checkpoint = (100, 100, 110), (500, 400, 200)
    points: dict[tuple[int, ...], Point] = {}
    for step in range(3):
        times = {"train": (train[step] * US,), "checkpoint": (checkpoint[step] * US,)}
        both = (train[step] * checkpoint[step]) ** 0.5 * US
        points[(step,)] = Point(times[counted[0]] if len(counted) == 1 else (both,), (5.0,), times=times)
    words = f"{counted[0]} takes" if len(counted) == 1 else "the geometric mean of train and checkpoint is"
    return Grid((ECN,), points, "time", words, ("train", "checkpoint"), counted)


def test_what_makes_another_job_slower_is_said_with_the_number() -> None:
    found = two_jobs(("train", "checkpoint"))
    # sqrt(100 · 400) = 200 µs now, sqrt(110 · 200) = 148.3 µs at the third step: 25.8 % less.
    counted, told, *_ = findings.lines(found)
    assert counted.startswith("Counted: the geometric mean of all times")
    assert "--job NAME takes one of them" in counted
    assert "Set k = 4: the geometric mean of train and checkpoint is 148 µs" in told
    assert "That is 25.8 % less than now" in told
    assert "train takes 110 µs there, 10.0 % more than now." in told
    assert "checkpoint takes 200 µs there, 50.0 % less than now." in told


def test_the_job_that_is_chosen_counts_in_every_cell() -> None:
    found = two_jobs(("train",))
    counted, told, *_ = findings.lines(found)
    assert counted == "Counted: the time of train, not that of checkpoint."
    assert told.startswith("Leave it as it is: train takes 100 µs")
    assert told.endswith("Nothing on this grid is better.")
    assert found.advised == (1,)
    assert findings.as_json(found)["points"][2]["times"] == {"train": [110 * US], "checkpoint": [200 * US]}


STAR = """[topology]
kind = "star"
hosts = 6
rate = "100Gbps"
delay = "1us"
[run]
until = "5ms"
[[traffic]]
name = "ring"
kind = "collective"
op = "all-reduce"
size = "500KB"
[[traffic]]
name = "storage"
kind = "incast"
to = "h5"
size = "1MB"
"""


def test_the_steps_are_multiples_of_what_is_set_and_now_is_one_of_them() -> None:
    scenario = Scenario(STAR, "star.toml", Path())
    ecn, pfc = advice.axes(scenario, ["switch.detector.kmin=100KB", "switch.detector.kmax=400KB"], None, 3)
    assert ecn.steps == (
        ("switch.detector.kmin=50000B", "switch.detector.kmax=200000B"),
        ("switch.detector.kmin=100KB", "switch.detector.kmax=400KB"),
        ("switch.detector.kmin=200000B", "switch.detector.kmax=800000B"),
    )
    assert (ecn.now, ecn.labels[1]) == (1, "100 KB–400 KB")
    assert (pfc.labels, pfc.now) == (("1/16", "1/4", "1"), 2)
    (buffer,) = advice.axes(scenario, ["switch.buffer=4MB"], ["buffer"], 3)
    assert buffer.labels == ("2.00 MB", "4.00 MB", "8.00 MB")


def test_what_is_not_in_use_cannot_be_varied() -> None:
    scenario = Scenario(STAR, "star.toml", Path())
    with pytest.raises(UsageError, match=r"detector\.kind = none"):
        advice.axes(scenario, ["switch.detector.kind=none"], ["ecn"], 3)
    with pytest.raises(UsageError, match="two at most"):
        advice.axes(scenario, [], ["ecn", "pfc", "buffer"], 3)


def test_the_command_runs_the_grid_once_and_draws_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "star.toml"
    file.write_text(STAR, encoding="utf-8")
    cache, plot = ["--cache", str(tmp_path / "cache")], ["--plot", str(tmp_path / "map.png")]
    asked = ["advise", str(file), "--steps", "2", "--seeds", "2", *cache]
    assert main([*asked, "--dry-run", "--json"]) == Exit.OK
    assert json.loads(capsys.readouterr().out)["to_do"] == 8
    assert main([*asked, *plot, "--json"]) == Exit.OK
    first = json.loads(capsys.readouterr().out)
    assert (first["runs"], first["cached"], first["objective"]) == (8, 0, "time")
    assert len(first["points"]) == 4
    assert (tmp_path / "map.png").exists()
    assert main([*asked, "--json"]) == Exit.OK
    again = json.loads(capsys.readouterr().out)
    assert again["cached"] == 8
    assert again["points"] == first["points"]
    assert main(asked) == Exit.OK
    assert "PAUSEs a run" in capsys.readouterr().out


def test_the_time_of_a_job_counts_and_not_that_of_its_messages(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    # The job computes for 1 ms, then sends 8 KB around two hosts: less than 10 µs with every threshold.
    job = '[[job]]\nname = "train"\nranks = 2\n[[job.step]]\ncompute = "1ms"\n[[job.step]]\ncollective = "all-reduce"\n'
    file = tmp_path / "job.toml"
    file.write_text(STAR.partition("[[traffic]]")[0] + job + 'size = "8KB"\n', encoding="utf-8")
    asked = ["advise", str(file), "--steps", "2", "--seeds", "1", "--vary", "ecn", "--cache", str(tmp_path / "cache")]
    assert main([*asked, "--json"]) == Exit.OK
    found = json.loads(capsys.readouterr().out)
    assert found["objective"] == "time"
    assert all(1000 * US < value < 1010 * US for point in found["points"] for value in point["values"])
    assert found["told"][0].startswith("Leave it as it is: train takes 1.0")


TWO = """[[job]]
name = "train"
ranks = 4
[[job.step]]
collective = "all-reduce"
size = "500KB"
[[job]]
name = "slow"
ranks = 2
[[job.step]]
compute = "1ms"
[[job.step]]
collective = "all-reduce"
size = "8KB"
"""


def test_a_job_is_chosen_by_its_name_and_all_have_their_times(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "two.toml"
    file.write_text(STAR.partition("[[traffic]]")[0] + TWO, encoding="utf-8")
    asked = ["advise", str(file), "--steps", "2", "--seeds", "1", "--vary", "ecn", "--cache", str(tmp_path / "cache")]
    assert main([*asked, "--json"]) == Exit.OK
    both = json.loads(capsys.readouterr().out)
    assert both["counted"] == both["jobs"] == ["train", "slow"]
    for point in both["points"]:
        (train,), (slow,) = (point["times"][name] for name in ("train", "slow"))
        # The all-reduce of 500 KB needs 60 µs at line rate, that of the other job comes after 1 ms.
        assert 60 * US < train < 1000 * US < slow < 1010 * US
        assert point["values"] == [pytest.approx((train * slow) ** 0.5)]
    assert main([*asked, "--job", "train", "--json"]) == Exit.OK
    chosen = json.loads(capsys.readouterr().out)
    assert (chosen["counted"], chosen["cached"]) == (["train"], 2)
    assert all(point["values"] == point["times"]["train"] for point in chosen["points"])
    assert main([*asked, "--job", "train"]) == Exit.OK
    printed = capsys.readouterr().out
    assert "time of train, mean over seeds" in printed
    assert "time of slow, mean over seeds" in printed
    assert main([*asked, "--job", "checkpoint"]) == Exit.BAD_INPUT
    assert "--job checkpoint: no job, collective or trace of that name; there is train and slow" in (
        capsys.readouterr().err
    )
