"""`--live`: a look at runs while they go on changes nothing; it says how far, how fast, and which ports are hot."""

from __future__ import annotations

import io
import itertools
import json
import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from backwater import _core
from backwater.cli import main
from backwater.common.terminal import Printer
from backwater.experiments import live
from backwater.experiments.executor import Job, Outcome
from backwater.experiments.live import Live, Standing
from backwater.scenario.scenario import Scenario

if TYPE_CHECKING:
    from collections.abc import Sequence

#: Eight hosts send to one, whose link is full, for longer than half a second of the wall.
SCENE = """
profile = "authors"
[run]
until = "2s"
[topology]
kind = "star"
hosts = 9
rate = "40Gbps"
delay = "1us"
[cc]
kind = "none"
[[traffic]]
name = "incast"
kind = "incast"
from = "*"
to = "h0"
size = "4GB"
[probe]
pauses = false
marks = false
states = false
blame = false
"""


def _progress(at_ps: int, hops: int | None = None, ports: Sequence[tuple[str, int, bool, int]] = ()) -> _core.Progress:
    look: _core.Look | None = None
    if hops is not None:
        look = {"sim_time_ps": at_ps, "packet_hops": hops, "flows_done": 3, "ports": list(ports)}
    return {"sim_time_ps": at_ps, "expected_end_ps": 4_000_000_000, "flows": 1200, "plan": None, "look": look}


def test_who_is_looked_at_has_the_same_digest_and_shows_the_port_that_all_send_to() -> None:
    looks: list[_core.Look] = []

    def watch(progress: _core.Progress) -> None:
        if progress["look"] is not None and progress["look"] not in looks:
            looks.append(progress["look"])

    read = _core.Scenario(SCENE, "scene", ".", [])
    seen = json.loads(read.run(None, watch, None, True))
    blind = json.loads(read.run(None, lambda progress: looks.append(progress["look"]) if progress["look"] else None))
    assert seen["digest"] == blind["digest"]
    assert seen["packet_hops"] == blind["packet_hops"]
    assert looks, "the run was over before anybody could look"
    for look, later in itertools.pairwise(looks):
        assert look["sim_time_ps"] < later["sim_time_ps"]
        assert look["packet_hops"] < later["packet_hops"]
    for look in looks:
        assert look["flows_done"] == 0
        assert look["ports"][0][0] == "s->h0"
        # 40 Gbps of packets of 1020 B (header: 20 B) go to h0, as many came from the hosts, and besides what the switch
        # has not passed on: 320 KB of each host (Xoff), and a little more until the PAUSE is there.
        passed = 2 * 40e9 / 8 / 1020 * look["sim_time_ps"] / 1e12
        assert passed * 0.995 <= look["packet_hops"] <= passed * 1.005 + 8 * 330_000 / 1020


def test_pace_and_the_time_that_is_left_are_those_of_arithmetic() -> None:
    run = Standing("web", began=100.0)
    assert run.left_s(101.0) is None
    assert run.line(101.0) == "web: begins"
    run.take(0.125, _progress(500_000_000, hops=1_000_000), 105.0)
    assert run.pace == pytest.approx(1_000_000 / 5)
    run.take(0.25, _progress(1_000_000_000, hops=4_000_000), 110.0)
    # Three million in five seconds; a quarter took ten seconds, so the rest takes thirty.
    assert run.pace == pytest.approx(3_000_000 / 5)
    assert run.left_s(110.0) == pytest.approx(30)
    assert run.cells(110.0) == ("1.00 ms (25%)", "3 of 1 200", "0.60 M/s", "about 30 s")


def test_a_line_names_the_longest_queue_and_who_is_held_back() -> None:
    run = Standing("web", began=0.0)
    ports = [("s->h0", 743_000, False, 0), *((f"h{host}->s", 0, True, 5_000_000) for host in range(1, 5))]
    run.take(0.5, _progress(2_000_000_000, hops=10_000_000, ports=ports), 10.0)
    assert run.line(10.0) == (
        "web: 2.00 ms (50%) simulated, 3 of 1 200 flows, 1.00 M packet-hops/s, time left about 10 s, "
        "longest queue s->h0 743 KB, held back h1->s, h2->s, h3->s and others"
    )


def test_a_terminal_shows_runs_and_the_hottest_ports_of_all() -> None:
    out = io.StringIO()
    console = Printer(file=out, width=100, force_terminal=True, color_system=None)
    jobs = [Job(name, Scenario("", name, Path())) for name in ("one", "two")]
    watcher = Live(console, jobs)
    for job, queue in zip(jobs, (5_000, 743_000), strict=True):
        watcher.started(job)
        watcher.advanced(
            job, 0.5, _progress(2_000_000_000, hops=1_000, ports=[("s->h0", queue, queue < 10_000, 9_000)])
        )
    console.print(watcher)
    said = out.getvalue()
    assert re.search(r"one .*2\.00 ms \(50%\).*3 of 1 200", said)
    assert re.search(r"two .*s->h0 .*743 KB[\s\S]*one .*s->h0 .*now .*9\.00 ns .*5\.00 KB", said)
    for job in jobs:
        watcher.finished(Outcome(job, {}))
    assert watcher.standing() == []
    assert "[2/2] two: done" in out.getvalue()


def test_a_log_gets_a_line_now_and_then(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "scene.toml").write_text(SCENE, encoding="utf-8")
    monkeypatch.setattr(live, "_LINE_S", 0.2)
    assert main(["run", str(tmp_path / "scene.toml"), "--live", "--out", str(tmp_path / "out")]) == 0
    said = capsys.readouterr()
    assert "packet-hops/s" in said.err
    assert "longest queue s->h0" in said.err
    assert "[1/1] scene" in said.err
    assert "traffic" in said.out


def test_ray_and_live_do_not_go_together(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["sweep", str(tmp_path / "none.toml"), "--live", "--on", "ray"]) == 2
    assert "remove --live, or --on ray" in capsys.readouterr().err
