"""Figures are drawn in one style; looking at them is a person's part."""

import tomllib
from pathlib import Path

import pytest
from backwater import Results
from backwater.analysis import congestion_point_picture, pictures, plot, scheme_pictures
from backwater.common import statistics
from backwater.errors import UsageError
from backwater.results.measures import STATES
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure
from matplotlib.lines import Line2D


def _luminance(colour: str) -> float:
    red, green, blue = (int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5))
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def test_every_state_and_mark_has_its_own_colour() -> None:
    colours = [plot.STATE_COLOURS[state] for state in STATES]
    assert len(set(colours)) == len(STATES)
    assert len(set(plot.MARK_COLOURS.values())) == len(plot.MARK_COLOURS)


def test_the_two_states_that_the_paper_is_about_differ_in_brightness_too() -> None:
    undetermined, congestion = (_luminance(plot.STATE_COLOURS[s]) for s in ("undetermined", "congestion"))
    assert undetermined - congestion > 0.3


def test_the_picture_of_a_congestion_point_is_one_png(tcd_run: Results, ecn_run: Results, tmp_path: Path) -> None:
    file = congestion_point_picture.draw({"ECN": ecn_run, "TCD": tcd_run}, ["P1", "P2"], tmp_path / "q.png", title="t")
    assert file.read_bytes().startswith(b"\x89PNG")
    assert [path.name for path in tmp_path.glob("*q.png*")] == ["q.png"]


def test_equal_results_give_equal_pictures(tcd_run: Results, tmp_path: Path) -> None:
    files = [
        congestion_point_picture.draw({"TCD": tcd_run}, ["P2"], tmp_path / name, title="t")
        for name in ("a.png", "b.png")
    ]
    assert files[0].read_bytes() == files[1].read_bytes()


def test_a_picture_that_cannot_be_written_leaves_nothing_half_written(tcd_run: Results, tmp_path: Path) -> None:
    (tmp_path / "q.png").mkdir()
    with pytest.raises(UsageError, match=r"q\.png cannot be written"):
        congestion_point_picture.draw({"TCD": tcd_run}, ["P2"], tmp_path / "q.png", title="t")
    assert not list(tmp_path.glob(".q*"))


def test_schemes_that_are_compared_with_each_other_look_different() -> None:
    for file in (Path(__file__).parents[2] / "scenarios").glob("*.toml"):
        names = [entry["name"] for entry in tomllib.loads(file.read_text(encoding="utf-8")).get("scheme", [])]
        colours, markers = plot.scheme_colours(names), plot.scheme_markers(names)
        if len(names) > len(plot.CYCLE):
            # Variants of a controller have its colour, and a marker of their own.
            assert len({(colours[name], markers[name]) for name in names}) == len(names)
            continue
        assert len({(colours[name], plot.is_combined(name)) for name in names}) == len(names)
        assert len(set(markers.values())) == len(names)


def test_variants_of_a_controller_have_its_colour_where_colours_are_too_few() -> None:
    names = [f"{fabric} {cc}" for fabric in ("PFC", "drop", "both") for cc in ("DCQCN", "HPCC", "Swift")]
    colours, markers = plot.scheme_colours(names), plot.scheme_markers(names)
    assert [colours[name] for name in names] == [plot.BLUE, plot.VERMILLION, plot.WINE] * 3
    assert [markers[name] for name in names[::3]] == [markers[name] for name in names[2::3]]
    assert len(set(markers.values())) == 3
    # Few enough for colours of their own.
    assert len(set(plot.scheme_colours(names[:6]).values())) == 6


def test_a_kind_of_isolation_looks_like_the_scheme_that_its_paper_calls_so() -> None:
    assert plot.scheme_colours(["ici-plus", "ici"]) == {"ici-plus": plot.VERMILLION, "ici": plot.GREEN}
    assert plot.dashes("ici-plus") == plot.dashes("ici+")


def test_a_scheme_has_its_marker_whatever_stands_before_it() -> None:
    names = ["TIMELY", "mine", "DCQCN", "Swift"]
    markers = plot.scheme_markers(names)
    assert markers == plot.scheme_markers(names[::-1])
    assert plot.scheme_markers(["DCQCN"]) == {"DCQCN": markers["DCQCN"]}
    # More schemes than colours, and two of one colour.
    many = ["ECN", "PFC+ECN", *(f"mine {number}" for number in range(8))]
    assert len(set(plot.scheme_markers(many).values())) == len(many)


@pytest.mark.parametrize("width", [None, 3.33, 7.0])
@pytest.mark.parametrize(
    "names",
    [
        [name for _, name in plot.state_legend()],
        ["DCQCN+TCD", "AIMD on CNPs (mine)", "Delay-based (mine)", "DCQCN", "Swift"],
    ],
)
def test_a_legend_is_no_wider_than_its_picture(names: list[str], width: float | None) -> None:
    with pictures.Paper("png", width).printed(), plot.style():
        made = plot.figure(7.0, 3.0)
        handles = [Line2D([], [], marker="o") for _ in names]
        legend = made.legend(handles, names, loc="outside upper center", ncols=plot.legend_columns(made, names))
        made.draw_without_rendering()
        assert legend.get_window_extent().width <= made.bbox.width


def test_a_whisker_ends_at_what_is_possible() -> None:
    # Shares of 90, 100 and 100 % have an interval of more than 3 points at each side of their mean.
    share = statistics.estimate([90.0, 100.0, 100.0], "held_precision_percent")
    assert share.half_width is not None
    assert share.mean + share.half_width > 100
    axes = Figure().subplots()
    scheme_pictures._bars(axes, ["PFC"], [{"PFC": share}], 1, str)
    (whisker,) = (line for line in axes.collections if isinstance(line, LineCollection))
    ((low, _), (high, _)) = whisker.get_segments()[0]
    assert (low, high) == pytest.approx((share.mean - share.half_width, 100.0))
