"""`backwater compare` of a function of the user's own, before and after it was edited.

One flow of 100 packets from h1 to h0, 1048 B each on links of 40 Gbps. A function that holds it to R makes it later
than one at line rate by 99 gaps: 99 · 1048 B · 8 · (1 / R - 1 / 40 Gbps), 62.3 µs at 10 Gbps.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import backwater
import polars as pl
import pytest
from backwater.cli import main
from backwater.errors import Exit
from backwater.extend import abi

if TYPE_CHECKING:
    from collections.abc import Callable

SCENE = """
profile = "authors"
[packet]
payload = "1000B"
header = "48B"
[topology]
kind = "star"
hosts = 2
rate = "40Gbps"
delay = "1us"
[switch.detector]
kind = "none"
[cc]
kind = "none"
[[traffic]]
name = "one"
kind = "flow"
from = "h1"
to = "h0"
size = "100KB"
[probe]
blame = false
[[scheme]]
name = "line"
set = []
[[scheme]]
name = "mine"
set = [{settings}]
"""
PACE = """import backwater as bw
{before}
@bw.congestion_control(on=["send"], initial_rate_bps={first}, compiled=False)
def mine(flow, event):
    flow.rate_bps = {rate}
"""
MARK = """import backwater as bw

@bw.detector(compiled=False)
def mine(queue, event):
    queue.ce = {ce}
    queue.state = bw.CONGESTION
"""
IN_C = """
#include <backwater.h>
static uint32_t pace(struct backwater_flow *flow, const struct backwater_event *event) {{
    flow->rate_bps = {rate};
    return 0;
}}
const struct backwater_controller mine = {{BACKWATER_VERSION, BACKWATER_SEND, {rate}, "", pace}};
"""
GBPS = 10**9


def controlled(function: str) -> None:
    settings = f'"cc.kind=custom", "cc.custom.function={function}"'
    Path("scene.toml").write_text(SCENE.replace("{settings}", settings))


def compared(capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    """What `compare` says."""
    capsys.readouterr()
    assert main(["compare", "scene.toml", "--seeds", "1", "--json"]) == Exit.OK
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


def run_of(found: dict[str, Any]) -> tuple[Path, int]:
    """The results folder of the function's run, and when that was written."""
    (folder,) = (Path(run["folder"]) for run in found["runs"] if run["scheme"] == "mine")
    return folder, (folder / "run.json").stat().st_mtime_ns


def later_by_ps(found: dict[str, Any]) -> float:
    fct = {row["scheme"]: row["mean_fct_ps"] for row in found["rows"] if row["bin"] == "all sizes"}
    return float(fct["mine"] - fct["line"])


def gaps_ps(rate_bps: int) -> float:
    return 99 * 1048 * 8e12 * (1 / rate_bps - 1 / (40 * GBPS))


def in_the_function(rate: int) -> None:
    Path("mine.py").write_text(PACE.format(before="", first=rate, rate=f"{rate:e}"))
    controlled("mine.py:mine")


def in_the_decorator(rate: int) -> None:
    Path("mine.py").write_text(PACE.format(before="", first=rate, rate="flow.rate_bps"))
    controlled("mine.py:mine")


def in_a_constant_of_its_file(rate: int) -> None:
    Path("mine.py").write_text(PACE.format(before=f"RATE = {rate:e}", first="RATE", rate="RATE"))
    controlled("mine.py:mine")


def in_a_file_beside_it(rate: int) -> None:
    Path("mine.py").write_text(PACE.format(before="import helper\n", first="helper.RATE", rate="helper.RATE"))
    Path("helper.py").write_text(f"RATE = {rate:e}\n")
    controlled("mine.py:mine")


def in_a_module(rate: int) -> None:
    Path("own").mkdir(exist_ok=True)
    Path("own/paced.py").write_text(PACE.format(before="", first=rate, rate=f"{rate:e}"))
    controlled("own.paced:mine")


def in_a_library(rate: int) -> None:
    Path("mine.c").write_text(IN_C.format(rate=f"{rate:e}"))
    command = ["cc", "-shared", "-fPIC", f"-I{Path(abi.__file__).parent}", "mine.c", "-o", "mine.so"]
    subprocess.run(command, check=True)  # noqa: S603
    controlled("mine.so:mine")


WAYS = [in_the_function, in_the_decorator, in_a_constant_of_its_file, in_a_file_beside_it, in_a_module, in_a_library]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.mark.filterwarnings("ignore::backwater.PlainPythonWarning")
@pytest.mark.parametrize("write", WAYS)
def test_what_is_compared_is_the_function_as_it_is_now(
    write: Callable[[int], None], capsys: pytest.CaptureFixture[str]
) -> None:
    # The texts are equally long, and written within a second.
    runs = dict[int, tuple[Path, int]]()
    for rate in (10 * GBPS, 20 * GBPS, 16 * GBPS):
        write(rate)
        found = compared(capsys)
        assert later_by_ps(found) == pytest.approx(gaps_ps(rate), rel=1e-9)
        runs[rate] = run_of(found)
    assert len(set(runs.values())) == 3
    # As it was once before: that run is done, and its numbers are not those of the last edit.
    write(20 * GBPS)
    found = compared(capsys)
    assert later_by_ps(found) == pytest.approx(gaps_ps(20 * GBPS), rel=1e-9)
    assert run_of(found) == runs[20 * GBPS]


@pytest.mark.filterwarnings("ignore::backwater.PlainPythonWarning")
def test_a_sweep_in_one_session_runs_what_was_edited_and_keeps_it_by_what_it_was() -> None:
    for _ in range(2):
        for rate in (10 * GBPS, 20 * GBPS):
            in_a_file_beside_it(rate)
            frame = backwater.sweep(
                scenario="scene.toml", schemes=["mine"], measures=["mean_fct_ps"], seeds=1, cache="kept"
            )
            ideal = backwater.run("scene.toml", scheme="line", out="line", progress=False)
            alone = int(ideal.flows.collect()["fct_ps"][0])
            assert frame["mean_fct_ps"].to_list() == [pytest.approx(alone + gaps_ps(rate), rel=1e-9)]


@pytest.mark.filterwarnings("ignore::backwater.PlainPythonWarning")
def test_a_detector_that_was_edited_marks_as_it_does_now(capsys: pytest.CaptureFixture[str]) -> None:
    settings = '"switch.detector.kind=custom", "switch.detector.custom.function=mine.py:mine"'
    two = SCENE.replace("hosts = 2", "hosts = 3").replace('"flow"', '"incast"').replace('"h1"', '"*"')
    Path("scene.toml").write_text(two.replace("{settings}", settings))
    # It is told of no departure that leaves the queue empty before the first one that does not.
    for ce, least, most in (("1.0", 190, 200), ("0.0", 0, 0), ("0.5", 60, 140), ("1.0", 190, 200)):
        Path("mine.py").write_text(MARK.format(ce=ce))
        folder, _ = run_of(compared(capsys))
        assert least <= pl.read_parquet(folder / "flows.parquet")["ce_packets"].sum() <= most


def test_with_nothing_changed_another_process_finds_the_runs_done() -> None:
    said = list[str]()
    for rate in (10, 10, 20):
        in_a_file_beside_it(rate * GBPS)
        command = [sys.executable, "-m", "backwater", "compare", "scene.toml", "--seeds", "1"]
        told = subprocess.run(command, capture_output=True, text=True, check=True)  # noqa: S603
        said += [line for line in told.stderr.splitlines() if line.startswith("2 runs")]
    # The run at line rate names no function.
    assert said == [f"2 runs, {done} of them already done" for done in (0, 2, 1)]


def test_a_command_notes_that_a_function_is_not_compiled_without_a_place_in_our_source() -> None:
    in_the_function(10 * GBPS)
    ran = [sys.executable, "-m", "backwater", "run", "scene.toml", "--scheme", "mine"]
    said = subprocess.run(ran, capture_output=True, text=True, check=True).stderr  # noqa: S603
    assert "note: congestion control mine (mine.py:3) runs as plain Python: a call takes 5 us" in said.splitlines()[0]
    assert "Warning" not in said
    assert str(Path(backwater.__file__).parent) not in said
