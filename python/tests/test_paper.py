"""Pictures for print: as wide as the page says, with letters that can be read there, fonts inside, and no title."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import sweep_scene
from backwater import Results
from backwater.analysis import axis_picture, pictures, plot, run_picture
from backwater.cli import main
from backwater.common.statistics import estimate
from backwater.errors import Exit, UsageError
from backwater.results.catalogue import CATALOGUE
from matplotlib.text import Text

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@pytest.mark.parametrize(
    ("width", "inches"), [("3.33in", 3.33), ("84.582mm", 3.33), ("8.4582cm", 3.33), ("240.6591pt", 3.33), (7, 7.0)]
)
def test_a_width_is_a_number_of_inches(width: str | float, inches: float) -> None:
    # An inch is 25.4 mm, and 72.27 of the points of TeX, in which \columnwidth is printed.
    assert pictures.asked(None, width).width == pytest.approx(inches)


@pytest.mark.parametrize("width", ["3.33", "in", "-3in", "1e3in", "0.2in", "500cm", "wide", True])
def test_a_width_that_no_page_has_is_refused(width: str) -> None:
    with pytest.raises(UsageError, match=r"--width .*3\.33in"):
        pictures.asked("pdf", width)


def test_the_format_gives_the_ending_and_does_not_contradict_it(tmp_path: Path) -> None:
    paper = pictures.asked("pdf", None)
    assert paper.checked(tmp_path / "a") == tmp_path / "a.pdf"
    assert paper.checked(tmp_path / "a.pdf") == tmp_path / "a.pdf"
    with pytest.raises(UsageError, match=r"--plot .*a\.png and --format pdf differ"):
        paper.checked(tmp_path / "a.png")
    with pytest.raises(UsageError, match="--width is of a picture"):
        pictures.to_plot(None, None, "3in")
    # A name alone is one in the folder of results; a path is where it says.
    assert pictures.to_plot(Path("cdf"), "pdf", None, tmp_path / "out")[0] == tmp_path / "out" / "cdf.pdf"
    assert pictures.to_plot(tmp_path / "cdf.png", None, None, tmp_path / "out")[0] == tmp_path / "cdf.png"


def letters(made: Figure) -> set[float]:
    return {float(text.get_fontsize()) for text in made.findobj(Text) if text.get_text()}


def test_letters_in_print_are_of_seven_to_nine_points_and_fonts_are_embedded_whole(
    tcd_run: Results, tmp_path: Path
) -> None:
    with pictures.asked(None, "3.33in").printed():
        made = run_picture.of_run(tcd_run, "queues")
    file = tmp_path / "queues.pdf"
    # Whoever writes it, and wherever: the paper is that for which it was made.
    made.savefig(file)
    assert letters(made)
    assert all(7 <= size <= 9 for size in letters(made))
    written = file.read_bytes()
    box = re.search(rb"/MediaBox \[ 0 0 ([0-9.]+) ", written)
    assert box is not None
    assert float(box[1]) == pytest.approx(3.33 * 72)
    # Type 42 is a TrueType font as it is: CIDFontType2 with its file. Type 3 would be drawings of letters.
    assert b"/CIDFontType2" in written
    assert b"/FontFile2" in written
    assert b"/Type3" not in written


def test_a_title_is_left_to_the_caption(tmp_path: Path) -> None:
    panel = axis_picture.Panel(CATALOGUE["p99_slowdown"], "web", {"": {(0,): estimate([2.0]), (1,): estimate([3.0])}})
    axis = axis_picture.Axis("traffic.web.load", ("0.2", "0.4"), (0.2, 0.4))
    for width, titles in ((None, 1), ("3.33in", 0)):
        with pictures.asked("svg", width).printed():
            file = axis_picture.single(panel, [axis], tmp_path / "a.svg")
        # Letters of SVG are drawn, with the text as a comment beside each.
        assert len(re.findall("<!-- web: p99 slowdown -->", file.read_text(encoding="utf-8"))) == titles


@pytest.mark.parametrize("ending", ["png", "pdf", "svg"])
def test_equal_pictures_are_equal_files_in_every_format(tcd_run: Results, tmp_path: Path, ending: str) -> None:
    files = [run_picture.draw({"": [tcd_run]}, tmp_path / f"{name}.{ending}", "queues") for name in "ab"]
    assert files[0].read_bytes() == files[1].read_bytes()


def test_a_sweep_draws_lines_over_numbers_and_on_paper_a_file_for_each_measure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    sweep_scene.write(tmp_path, sweep_scene.SWEEP.replace("seeds", 'measures = ["mean_fct_ps", "pauses"]\nseeds'))
    sweep = ["sweep", "loads.toml", "--cache", "cache"]
    assert main(sweep) == Exit.OK
    assert Path("results/loads/sweep.png").read_bytes().startswith(b"\x89PNG")
    assert "means of 2 seeds; whiskers: 95 % intervals" in capsys.readouterr().out
    assert main([*sweep, "--format", "pdf", "--width", "3.33in"]) == Exit.OK
    found = {file.name for file in Path("results/loads").glob("*.pdf")}
    assert {"sweep-mean_fct_ps-web.pdf", "sweep-mean_fct_ps-incast.pdf"} <= found


@pytest.mark.parametrize(
    ("axes", "drawn"),
    [
        ('"cc.kind" = ["none", "dcqcn"]', "bars"),
        ('"traffic.web.load" = [0.2, 0.4]\n"switch.detector.kmax" = ["50KB", "1MB"]', "map"),
        ('"traffic.web.load" = [0.2, 0.4]\n"cc.kind" = ["none", "dcqcn"]', "lines"),
    ],
)
def test_what_is_drawn_depends_on_what_was_varied(
    axes: str, drawn: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[tuple[list[axis_picture.Panel], list[axis_picture.Axis]]] = []

    def note(grid: list[list[axis_picture.Panel]], axes: list[axis_picture.Axis], file: Path, **_: str) -> Path:
        made.append(([panel for row in grid for panel in row], axes))
        return file

    monkeypatch.setattr(axis_picture, "overview", note)
    monkeypatch.chdir(tmp_path)
    sweep_scene.write(tmp_path, f'scenario = "star.toml"\nmeasures = ["mean_fct_ps"]\n[axes]\n{axes}\n')
    assert main(["sweep", "loads.toml", "--cache", "cache"]) in (Exit.OK, Exit.CAVEATS)
    ((panels, shown),) = made
    if drawn == "bars":
        assert [axis.words for axis in shown] == [("none", "dcqcn")]
        assert not shown[0].numbers
    elif drawn == "map":
        # 50 KB and 1 MB are 0.05 and 1 of the larger unit.
        assert [axis.numbers for axis in shown] == [(0.2, 0.4), (0.05, 1.0)]
        assert [axis.label for axis in shown] == ["traffic.web.load", "switch.detector.kmax [MB]"]
        assert {place for panel in panels for line in panel.lines.values() for place in line} == {
            (up, right) for up in (0, 1) for right in (0, 1)
        }
    else:
        assert [axis.name for axis in shown] == ["traffic.web.load"]
        assert all(set(panel.lines) == {"none", "dcqcn"} for panel in panels)


def test_three_axes_are_told_and_not_drawn(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    axes = '"traffic.web.load" = [0.2]\n"cc.kind" = ["none"]\n"topology.delay" = ["1us"]'
    sweep_scene.write(tmp_path, f'scenario = "star.toml"\n[axes]\n{axes}\n')
    assert main(["sweep", "loads.toml", "--cache", "cache"]) == Exit.OK
    assert "no picture of 3 axes" in capsys.readouterr().out
    assert not list(Path("results/loads").glob("*.png"))


def test_a_run_draws_what_it_is_asked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    sweep_scene.write(tmp_path)
    assert main(["run", "star.toml", "--plot", "cdf.svg"]) == Exit.OK
    assert "share of flows" in Path("cdf.svg").read_text(encoding="utf-8")
    sampled = ["run", "star.toml", "--set", "probe.sample=5us", "--plot", "queues.svg"]
    assert main(sampled) == Exit.OK
    assert "egress queue in KB" in Path("queues.svg").read_text(encoding="utf-8")
    assert main([*sampled, "--seeds", "2", "--kind", "queues"]) == Exit.BAD_INPUT


def test_a_figure_that_is_wider_than_the_paper_is_lower_too() -> None:
    with pictures.asked(None, "3.5in").printed():
        assert tuple(plot.figure(7.0, 4.0).get_size_inches()) == pytest.approx((3.5, 4.0 * 0.7))
        assert pictures.paper().narrow
    assert tuple(plot.figure(7.0, 4.0).get_size_inches()) == (7.0, 4.0)
