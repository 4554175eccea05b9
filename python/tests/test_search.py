"""Which values of what a paper leaves open make a claim hold: found where it was planted, and nowhere else."""

from __future__ import annotations

import dataclasses
import json
import shutil
from pathlib import Path
from typing import Any

import backwater
import numpy as np
import polars as pl
import pytest
from backwater.analysis import plot
from backwater.cli import main
from backwater.errors import Exit, UsageError
from backwater.experiments import sobol
from backwater.papers import open_parameters, paper_figure, reproduce, search_findings, sensitivity
from backwater.papers.search_values import Bounds, Searched, told
from conftest import FakeCore
from small_paper import CLAIMS, EXPERIMENT, FIGURE

# A lone flow of 100 packets through one switch.
SCENARIO = """
profile = "authors"
[topology]
kind = "star"
hosts = 2
rate = "40Gbps"
delay = "10us"
[[traffic]]
name = "lone"
kind = "incast"
from = "h1"
to = "h0"
size = "100KB"
"""
PLANTED = """
title = "A lone flow"
paper = "Figure 1"
[[run]]
name = "lone"
scenario = "one.toml"
"""
PLANTED_CLAIMS = """
kind = "result"
[[claim]]
id = "X-fast"
text = "it takes 60 µs or less"
paper = "Fig. 1"
metric = "fct_us"
bound = "<= 60"
unit = "µs"
[[claim]]
id = "X-never"
text = "it takes 5 µs or less"
paper = "Fig. 1"
metric = "fct_us"
bound = "<= 5"
unit = "µs"
[[claim]]
id = "X-luck"
text = "its seed is 1"
paper = "Fig. 1"
metric = "seed"
bound = "<= 1"
[[claim]]
id = "X-words"
text = "it is a flow"
paper = "Fig. 1"
undecidable = "a question of words"
"""
MEASURES = """
from backwater.papers import Metrics, Runs, Seeds

def metrics(runs: Runs) -> Metrics:
    run = runs["lone"]
    return {"fct_us": run.flows.collect()["fct_ps"][0] / 1e6, "seed": run.meta["seed"]}

def draw(seeds, file):
    file.write_bytes(b"picture")
"""
OPEN = """
[[parameter]]
id = "rate"
text = "rate of the links"
default = "40 Gbps"
figures = ["fig1"]
[[parameter.search]]
set = ["topology.rate={}"]
range = ["10Gbps", "100Gbps"]
scale = "log"
ours = "40Gbps"
source = "arithmetic"
[[parameter]]
id = "delay"
text = "delay of the links"
default = "10 µs"
figures = ["fig1"]
[[parameter.search]]
set = ["topology.delay={}"]
range = ["1us", "100us"]
ours = "10us"
paper = "5us"
source = "arithmetic"
[[parameter]]
id = "marks"
text = "what marks, of which a lone flow sees nothing"
default = "RED"
figures = ["fig1"]
[[parameter.variant]]
name = "nothing"
set = ["switch.detector.kind=none"]
[[parameter]]
id = "links"
text = "rate and delay together"
default = "as above"
figures = ["fig1"]
unsearched = "each is searched by itself"
[[parameter.variant]]
name = "both"
set = ["topology.rate=10Gbps", "topology.delay=1us"]
"""


def planted(home: Path, opened: str = OPEN) -> Path:
    """A paper with one figure in a folder `papers`."""
    figure = home / "papers" / "demo" / "fig1"
    figure.mkdir(parents=True)
    files = {"experiment.toml": PLANTED, "claims.toml": PLANTED_CLAIMS, "figure.py": MEASURES, "one.toml": SCENARIO}
    for name, text in files.items():
        (figure / name).write_text(text)
    (figure.parent / "sensitivity.toml").write_text(opened)
    return figure.parent


@pytest.fixture
def paper(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(paper_figure, "papers", lambda: tmp_path / "papers")
    monkeypatch.chdir(tmp_path)
    return planted(tmp_path)


def search(claim: str, *more: str, capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    capsys.readouterr()
    assert main(["sensitivity", "demo", "--claim", claim, "--search", "--json", *more]) == Exit.OK
    told: dict[str, Any] = json.loads(capsys.readouterr().out)
    return told


def fct_us(values: dict[str, str]) -> float:
    """100 packets of 1000 B at the first link, one more at the second, and two delays."""
    gbps, delay = float(values["rate"].removesuffix("Gbps")), float(values["delay"].removesuffix("us"))
    return 101 * 1020 * 8 / gbps / 1000 + 2 * delay


@pytest.mark.usefixtures("paper")
def test_a_planted_region_is_found_and_no_point_outside_of_it(capsys: pytest.CaptureFixture[str]) -> None:
    found = search("X-fast", "--runs", "64", capsys=capsys)
    assert found["points"] == found["runs"] == 64
    for one in found["tried"]:
        expected = fct_us(one["values"])
        assert one["first"]["fct_us"]["mean"] == pytest.approx(expected, abs=2), one
        if abs(expected - 60) > 2:
            assert one["verdict"] == ("holds" if expected < 60 else "differs")
    held = [one for one in found["tried"] if one["verdict"] == "holds"]
    assert found["held_at_first"] == found["held_with_fresh_seeds"] == len(held) > 5
    assert f"holds at {len(held)} of these" in found["answer"]
    # The slowest link adds 82 µs, so no delay of 30 µs and more is within.
    region = {one["parameter"]: one for one in found["region"]}
    delays = [float(one["values"]["delay"].removesuffix("us")) for one in held]
    assert (region["delay"]["low"], region["delay"]["high"]) == (f"{min(delays):g}us", f"{max(delays):g}us")
    assert max(delays) < 30
    assert region["delay"]["share_of_range"] == pytest.approx((max(delays) - min(delays)) / 100, abs=0.02)
    assert {kind["kind"] for kind in region["marks"]["kinds"] if kind["held"]} == {"ours", "nothing"}
    effects = {one["parameter"]: one for one in found["effects"]}
    assert effects["delay"]["rank_correlation"] > 0.8
    assert effects["rate"]["rank_correlation"] < 0
    assert effects["delay"]["share_of_rank_variance"] > effects["rate"]["share_of_rank_variance"]
    assert effects["marks"]["share_of_rank_variance"] < 0.1
    assert all(one["n"] == 64 for one in found["effects"])
    assert found["left"] == [{"parameter": "links", "why": "each is searched by itself"}]


@pytest.mark.usefixtures("paper")
def test_a_claim_that_holds_nowhere_is_said_to_and_how_near_it_came(capsys: pytest.CaptureFixture[str]) -> None:
    found = search("X-never", "--runs", "16", capsys=capsys)
    assert found["answer"] == "None found in 16 runs (16 points)."
    assert (found["held_at_first"], found["region"]) == (0, [])
    # The one with the shortest time, by arithmetic.
    shortest = min(found["tried"], key=lambda one: fct_us(one["values"]))
    assert found["nearest"]["point"] == shortest["point"]
    assert main(["sensitivity", "demo", "--claim", "X-never", "--search", "--runs", "16"]) == Exit.OK
    shown = capsys.readouterr()
    assert "None found in 16 runs (16 points)." in shown.out
    assert "nearest: fct us" in shown.out
    # How much there is to do is said before it begins.
    assert "16 points over 3 open parameters of fig1, 1 run each: about" in shown.err


@pytest.mark.usefixtures("paper")
def test_what_only_the_first_seed_gave_is_not_found(capsys: pytest.CaptureFixture[str]) -> None:
    found = search("X-luck", "--runs", "8", capsys=capsys)
    assert (found["held_at_first"], found["held_with_fresh_seeds"]) == (8, 0)
    assert found["answer"].startswith("None found in 8 runs (8 points): the claim held at 8 points with seed 1;")
    assert {one["verdict"] for one in found["tried"]} == {"differs"}
    assert found["nearest"]["fresh"] is not None


def test_a_claim_of_two_figures_is_searched_where_the_profile_runs(
    paper: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = paper / "fig1-ib"
    shutil.copytree(paper / "fig1", other)
    (other / "experiment.toml").write_text('profiles = ["infiniband"]\n' + PLANTED)
    opened = OPEN.replace('figures = ["fig1"]', 'figures = ["fig1", "fig1-ib"]')
    (paper / "sensitivity.toml").write_text(opened)
    assert search("X-never", "--runs", "8", capsys=capsys)["figure"] == "fig1"
    found = search("X-never", "--runs", "8", "--profile", "infiniband", capsys=capsys)
    assert (found["figure"], found["profile"]) == ("fig1-ib", "infiniband")


@pytest.mark.usefixtures("paper")
@pytest.mark.parametrize("more", [(), ("--seeds", "2", "--fresh-seeds", "3")])
def test_fresh_seeds_are_others_than_those_of_the_points(
    more: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    found = search("X-fast", "--runs", "16", *more, capsys=capsys)
    assert found["seeds"] == ([1, 2] if more else [1])
    assert found["fresh_seeds"] == ([3, 4, 5] if more else [2, 3, 4, 5, 6])
    assert found["points"] == (8 if more else 16)
    for one in found["tried"]:
        if one["fresh"]:
            assert len(one["fresh"]["fct_us"]["values"]) == len(found["fresh_seeds"])


@pytest.mark.usefixtures("paper")
def test_the_same_search_has_the_same_result_and_does_no_run_twice(capsys: pytest.CaptureFixture[str]) -> None:
    first = search("X-fast", "--runs", "16", capsys=capsys)
    assert main(["sensitivity", "demo", "--claim", "X-fast", "--search", "--runs", "16"]) == Exit.OK
    assert "17 runs of the points, 17 of them already done" in capsys.readouterr().err
    again = search("X-fast", "--runs", "16", "--jobs", "1", "--out", "elsewhere", capsys=capsys)
    assert first.pop("files") != again.pop("files")
    assert again == first
    more = search("X-fast", "--runs", "32", capsys=capsys)
    assert [one["values"] for one in more["tried"][:16]] == [one["values"] for one in first["tried"]]


@pytest.mark.usefixtures("paper")
def test_what_is_written_is_a_table_of_the_points_and_a_map(capsys: pytest.CaptureFixture[str]) -> None:
    found = search("X-fast", "--runs", "16", capsys=capsys)
    folder = Path("results/reproduce/demo/sensitivity/search/X-fast-authors")
    assert found["files"] == [str(folder / name) for name in ("search.json", "search.parquet", "map.png", "map.pdf")]
    rows = pl.read_parquet(folder / "search.parquet")
    assert rows["point"].to_list() == list(range(17))
    assert rows["delay"][0] == "10us"
    assert rows.filter(pl.col("verdict") == "holds").height >= found["held_with_fresh_seeds"]
    assert (folder / "map.png").read_bytes().startswith(b"\x89PNG")
    assert (folder / "map.pdf").read_bytes().startswith(b"%PDF")
    assert json.loads((folder / "search.json").read_text())["answer"] == found["answer"]


@pytest.mark.usefixtures("paper")
def test_one_parameter_alone_can_be_searched(capsys: pytest.CaptureFixture[str]) -> None:
    found = search("X-fast", "--runs", "16", "--parameter", "delay", capsys=capsys)
    assert [one["name"] for one in found["parameters"]] == ["delay"]
    # At 40 Gbps the packets take 21 µs.
    assert float(found["region"][0]["high"].removesuffix("us")) < 20


def test_a_point_that_cannot_be_run_is_told_with_its_reason(paper: Path, capsys: pytest.CaptureFixture[str]) -> None:
    kinds = 'kinds = ["none", "nonsense"]\nours = "none"\nsource = "arithmetic"\n'
    more = '[[parameter.search]]\nset = ["switch.detector.kind={}"]\n' + kinds
    (paper / "sensitivity.toml").write_text(
        OPEN.replace('set = ["switch.detector.kind=none"]\n', f'set = ["a=1"]\n{more}')
    )
    found = search("X-fast", "--runs", "16", capsys=capsys)
    failed = [one for one in found["tried"] if one["verdict"] == "not run"]
    assert {one["values"]["marks"] for one in failed} == {"nonsense"}
    assert found["not_run"] == len(failed) == 8
    assert all("nonsense" in one["why"] for one in failed)
    assert "8 of these points could not be run" in found["answer"]


def test_of_parameters_that_set_one_key_the_first_is_searched(paper: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (paper / "sensitivity.toml").write_text(OPEN.replace('unsearched = "each is searched by itself"\n', ""))
    found = search("X-fast", "--runs", "8", capsys=capsys)
    why = "it sets topology.delay, as delay does, which stands before it in the file"
    assert found["left"] == [{"parameter": "links", "why": why}]


@pytest.mark.usefixtures("paper")
@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--claim", "X-fats", "--search"], "--claim X-fats: demo has no claim of that name; it has: X-fast, X-never"),
        (["--claim", "X-words", "--search"], "--claim X-words: it has no verdict that values could turn (a question"),
        (["--search"], "--search needs a claim: add --claim"),
        (["--claim", "X-fast"], "--claim, --runs and --fresh-seeds are of a search: add --search"),
        (
            ["--claim", "X-fast", "--search", "--runs", "7"],
            "--runs 7: a point of X-fast takes 1 run, and a search tries 8 to 100000 points: give 8 to 100000 runs",
        ),
        (
            ["--claim", "X-fast", "--search", "--runs", "15", "--seeds", "2"],
            "--runs 15: a point of X-fast takes 2 runs, and a search tries 8 to 100000 points: give 16 to 200000 runs",
        ),
        (["--claim", "X-fast", "--search", "--parameter", "links"], "none of the parameters links is open for fig1"),
        (["--claim", "X-fast", "--search", "--parameter", "delays"], "there is no parameter 'delays' of demo"),
        (
            ["--claim", "X-fast", "--search", "--profile", "infiniband"],
            "X-fast is run otherwise: fig1 under authors, ideal; give one",
        ),
    ],
)
def test_what_cannot_be_searched_for_is_said_with_what_can(
    words: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["sensitivity", "demo", *words]) == Exit.BAD_INPUT
    assert said in " ".join(capsys.readouterr().err.split())


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('range = ["1us", "100us"]', 'range = ["1us", "100"]', "give two numbers, or two texts with the same unit"),
        ('range = ["1us", "100us"]', 'range = ["100us", "1us"]', "the first has to be below the second"),
        ('range = ["1us", "100us"]', 'range = ["0us", "100us"]\nscale = "log"', "needs a range above 0"),
        ('range = ["1us", "100us"]', "", "give either range = "),
        ('ours = "10us"', 'ours = "10ms"', "ours = '10ms' is not within range = "),
        ('paper = "5us"', 'paper = "500us"', "paper = '500us' is not within range = "),
        ('range = ["1us", "100us"]', 'kinds = ["1us"]', "has to list two or more"),
        ('range = ["1us", "100us"]', 'kinds = ["1us", "2us"]', "ours = '10us' is none of kinds"),
        ('set = ["topology.delay={}"]', 'set = ["topology.delay=1us"]', "has no {} where the value goes"),
        ('paper = "5us"\nsource = "arithmetic"', 'paper = "5us"\nsource = ""', "source"),
    ],
)
def test_what_is_wrong_with_a_range_is_named_with_its_file(paper: Path, old: str, new: str, said: str) -> None:
    assert old in OPEN
    (paper / "sensitivity.toml").write_text(OPEN.replace(old, new))
    with pytest.raises(UsageError, match=r"sensitivity\.toml") as error:
        open_parameters.load("demo")
    assert said in str(error.value)


def test_an_interrupted_search_goes_on_where_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fake_core: FakeCore, capsys: pytest.CaptureFixture[str]
) -> None:
    home = tmp_path / "papers" / "demo" / "fig1"
    home.mkdir(parents=True)
    for name, text in (
        ("experiment.toml", EXPERIMENT),
        ("claims.toml", CLAIMS),
        ("figure.py", FIGURE),
        ("one.toml", "#"),
    ):
        (home / name).write_text(text)
    (home.parent / "sensitivity.toml").write_text(OPEN)
    monkeypatch.setattr(paper_figure, "papers", lambda: tmp_path / "papers")
    monkeypatch.chdir(tmp_path)
    words = ["sensitivity", "demo", "--claim", "X-F3a", "--search", "--runs", "24", "--jobs", "1"]
    fake_core.fail = lambda *_: KeyboardInterrupt() if len(fake_core.ran) > 10 else None
    assert main(words) == Exit.CAVEATS
    assert "interrupted: what was finished is kept" in capsys.readouterr().err
    kept, fake_core.ran[:] = len(fake_core.ran) - 1, []
    fake_core.fail = lambda *_: None
    assert main(words) == Exit.OK
    # Three runs of each point and of ours with seed 1, and of each point that holds with 5 others.
    assert len(fake_core.ran) + kept == 3 * (8 + 1) + 3 * 8 * 5
    assert {seed for _, seed in fake_core.ran} == set(range(1, 7))


def test_points_are_as_even_as_sobol_points_are() -> None:
    count = 64
    made = sobol.points(sobol.MOST_AXES, count, 3)
    for axis in made.T:
        assert sorted((axis * count).astype(int)) == list(range(count))
    # Of the first two axes every box of 1/2^a by 1/2^b with a + b = 6 has one point: a (0, 6, 2)-net.
    for a in range(7):
        boxes = set(zip((made[:, 0] * 2**a).astype(int), (made[:, 1] * 2 ** (6 - a)).astype(int), strict=True))
        assert len(boxes) == count
    assert np.array_equal(sobol.points(5, 16, 3), sobol.points(5, 64, 3)[:16])
    assert not np.array_equal(sobol.points(5, 16, 3), sobol.points(5, 16, 4))
    with pytest.raises(UsageError, match="49 axes: Sobol points have 1 to 48"):
        sobol.points(49, 8, 0)


def test_whole_numbers_of_a_range_are_all_as_likely() -> None:
    bits = _bounds(range=(25, 32), ours=30)
    assert [bits.at((place + 0.5) / 8) for place in range(8)] == list(range(25, 33))
    assert all(bits.at(bits.share_of(value) or 0.0) == value for value in range(25, 33))
    assert bits.share_of(33) is None
    times = _bounds(range=("0.5us", "50us"), scale="log", ours="5us")
    assert (times.at(0.0), times.at(0.5), times.at(1.0)) == ("0.5us", "5us", "50us")
    assert times.share_of("5us") == pytest.approx(0.5)
    assert times.share_of("5ms") is None


def _bounds(**said: Any) -> Bounds:
    found = Searched.model_validate({"set": ("a={}",), "source": "arithmetic", **said}).bounds()
    assert found is not None
    return found


def test_a_picture_has_the_colours_of_the_report() -> None:
    css = (Path(search_findings.__file__).parent / "report" / "templates" / "report.css").read_text()
    light = css[: css.index("prefers-color-scheme")] if "prefers-color-scheme" in css else css
    for slug, verdict in (
        ("holds", "holds"),
        ("differs", "differs"),
        ("not-decidable", "open"),
        ("not-run", "not run"),
    ):
        assert f"--{slug}: {plot.VERDICT_COLOURS[verdict]};" in light


@pytest.mark.parametrize("system", ["tcd", "ici", "ec", "pft"])
def test_our_value_of_every_range_is_the_one_that_runs_have(system: str, tmp_path: Path) -> None:
    _, parameters = open_parameters.load(system)
    for parameter in parameters:
        for one in parameter.search:
            for figure in sensitivity.reduced(paper_figure.discover(system, one.figures or parameter.figures)):
                for profile in set(one.profiles or figure.experiment.profiles) & set(figure.experiment.profiles):
                    value = one.ours_under(profile)
                    assert value is not None, (parameter.id, profile)
                    if told(value) == "32us":
                        continue
                    set_to_it = dataclasses.replace(figure, variants=(one.variant(value),))
                    assert _keys(set_to_it, profile, tmp_path) == _keys(figure, profile, tmp_path), (parameter.id, one)


def _keys(figure: paper_figure.Figure, profile: str, root: Path) -> set[str]:
    """What the runs of a figure are, by the keys of their content."""
    made = reproduce.plan_first([figure], (profile,), 1, root, quick=True)
    if not figure.experiment.first:
        made = reproduce.plan([figure], (profile,), 1, root, quick=True)
    return {job.key for job in made.jobs.values()}


def test_the_round_trip_of_figure_2_is_what_auto_stands_for() -> None:
    file = paper_figure.papers() / "tcd" / "scenarios" / "victims.toml"
    own = ("cc.kind=timely", "switch.detector.kind=none", "traffic.until=2ms")
    auto, said = (backwater.run(file, overrides=(*own, *more)).digest for more in ((), ("cc.timely.min-rtt=32us",)))
    assert auto == said
