"""One PUT stream packet by packet: the command and what the picture is made of."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import put_scene
import pytest
from backwater import Results
from backwater.analysis import plot, put_picture, put_trace
from backwater.cli import main
from backwater.errors import Exit, UsageError

if TYPE_CHECKING:
    from pathlib import Path

US = put_scene.US


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return put_scene.write(tmp_path / "run")


def test_a_trace_is_of_one_stream_with_the_threshold_and_the_depth_of_its_queue(folder: Path) -> None:
    trace = put_trace.of(Results(folder))
    assert (trace.name, trace.policy, trace.threshold, trace.depth) == ("h1->h0", "dack", 8992, 80_992)
    assert trace.events.filter(trace.events["event"] == "resent")["seq"].to_list() == [2, 3]


def test_a_queue_keeps_what_it_held_before_the_picture_begins(folder: Path) -> None:
    late = put_trace.of(Results(folder)).within(123 * US // 10, 17 * US)
    assert late.queue["queue_bytes"].to_list() == [2112, 4224, 4224]
    assert late.queue["time_ps"][0] == 123 * US // 10


def test_every_event_of_a_packet_has_its_own_look(folder: Path) -> None:
    looks = {(marker, colour) for _, marker, _, colour in put_picture.LOOKS.values()}
    assert len(looks) == len(put_picture.LOOKS)
    seen = set(put_trace.of(Results(folder)).events["event"]) - {"state", "processed"}
    assert {event for event in seen if not event.endswith("-sent")} <= set(put_picture.LOOKS)


def test_the_three_policies_look_different() -> None:
    assert len({plot.SCHEME_COLOURS[name] for name in ("opt", "aimd", "dack")}) == 3


def test_the_command_prints_streams_and_draws_one(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "x.png"
    assert main(["puts", str(folder), "--plot", str(file), "--stream", "h1->h0", "--until", "17us"]) == Exit.OK
    out = capsys.readouterr().out
    assert "h1->h0" in out
    assert "24.0 Gbps" in out  # 300 000 bytes in 100 µs
    assert file.read_bytes().startswith(b"\x89PNG")
    assert main(["puts", str(folder), "--json"]) == Exit.OK
    told = json.loads(capsys.readouterr().out)
    assert [row["accepted_packets"] for row in told] == [300, 250, 0]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--stream", "h9->h0"], "there is no trace of h9->h0; there are h1->h0"),
        (["--from", "2ms"], "--from 2ms: nothing of h1->h0 was recorded after that"),
        (["--from", "2us", "--until", "1us"], "--until 1us is not after --from 2us"),
        (["--until", "soon"], "--until: 'soon' is not a time"),
    ],
)
def test_a_picture_that_cannot_be_drawn_is_refused_with_what_can(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], options: list[str], said: str
) -> None:
    assert main(["puts", str(folder), "--plot", str(tmp_path / "x.png"), *options]) == Exit.BAD_INPUT
    assert said in capsys.readouterr().err


def test_a_picture_that_begins_late_still_shows_as_many_events(folder: Path) -> None:
    trace = put_trace.of(Results(folder))
    assert trace.end_ps(10 * US) == trace.end_ps() == 17 * US
    assert trace.end_ps(2000 * US) == 2000 * US


def test_a_run_without_puts_is_not_told_to_record_them(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="has no PUT streams"):
        put_trace.of(Results(put_scene.write(tmp_path / "run", transport="roce", without=("puts",))))


def test_a_run_without_a_trace_says_how_to_get_one(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"probe\.puts"):
        put_trace.of(Results(put_scene.write(tmp_path / "run", without=("puts",))))
