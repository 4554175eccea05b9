"""``backwater diff``: where two runs part, held against what their tables say."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import backwater
import made_results
import polars as pl
import pytest
from backwater import _core
from backwater.cli import main
from backwater.errors import Exit
from backwater.experiments import run_differences

if TYPE_CHECKING:
    from backwater import Results

_SCENARIO = Path(__file__).parents[2] / "scenarios" / "single-congestion-point.toml"


def _run(tmp_path: Path, name: str, *overrides: str, seed: int | None = None) -> Results:
    return backwater.run(_SCENARIO, overrides=("run.until=2ms", *overrides), seed=seed, out=tmp_path / name)


def _diff(one: Results, other: Results, capsys: pytest.CaptureFixture[str]) -> tuple[int, dict[str, Any]]:
    code = main(["diff", str(one.folder), str(other.folder), "--json"])
    return code, json.loads(capsys.readouterr().out)


def test_runs_that_are_the_same_say_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    one, other = _run(tmp_path, "one"), _run(tmp_path, "other", "run.threads=2")
    code, found = _diff(one, other, capsys)
    assert code == Exit.OK
    assert found["same"]
    assert found["parting"] is None
    assert [entry["key"] for entry in found["settings"]] == ["run.threads"]
    assert main(["diff", str(one.folder), str(other.folder)]) == Exit.OK
    assert "the same runs: digest" in capsys.readouterr().out


def test_the_first_difference_is_the_first_packet_that_was_marked_otherwise(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    runs = (_run(tmp_path, "red", "switch.detector.kind=red"), _run(tmp_path, "tcd", "switch.detector.kind=tcd"))
    code, found = _diff(*runs, capsys)
    assert code == Exit.DIFFERS
    # A mark is made as the packet leaves: the first that is not the same in both is where the runs part.
    marks = [
        set(run.table("marks").select("time_ps", pl.col("port").cast(pl.String), "flow", "code").collect().rows())
        for run in runs
    ]
    first = min(marks[0] ^ marks[1])
    # 1020 B at 40 Gbps are 204 ns, and the link is 4 us long.
    assert found["parting"]["time_ps"] == first[0] + 204_000 + 4_000_000
    node, peer = reversed(first[1].split("->"))
    assert (found["parting"]["node"], found["parting"]["first"]["from"]) == (node, peer)
    assert found["parting"]["first"]["flow"] == found["parting"]["second"]["flow"] == first[2]
    assert (found["parting"]["first"]["code"], found["parting"]["second"]["code"]) == (3, 2)
    assert found["settings"] == [{"key": "switch.detector.kind", "first": "red", "second": "tcd"}]
    assert main(["diff", *(str(run.folder) for run in runs)]) == Exit.DIFFERS
    shown = capsys.readouterr().out
    assert "first difference: at T2" in shown
    assert ", CE\n" in shown
    assert ", UE\n" in shown


def test_a_run_that_ends_earlier_lacks_what_comes_after(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, found = _diff(_run(tmp_path, "short", "run.until=1100us"), _run(tmp_path, "long"), capsys)
    assert code == Exit.DIFFERS
    assert found["parting"]["first"] is None
    assert 1_100_000_000 <= found["parting"]["time_ps"] < 1_110_000_000


def test_a_run_that_does_not_give_its_digest_again_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    one, other = _run(tmp_path, "one"), _run(tmp_path, "other", seed=2)
    made_results.edit(other.folder, digest="0123456789abcdef", version="0.0.9")
    assert main(["diff", str(one.folder), str(other.folder)]) == Exit.BAD_INPUT
    shown = capsys.readouterr().err
    assert f"run again it gives the digest {other.digest}, not 0123456789abcdef" in shown
    assert "version 0.0.9" in shown


def test_a_run_whose_files_are_gone_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    one, other = _run(tmp_path, "one"), _run(tmp_path, "other", seed=2)
    gone = tmp_path / "gone.csv"
    made_results.edit(other.folder, files=[str(gone)])
    assert main(["diff", str(one.folder), str(other.folder)]) == Exit.BAD_INPUT
    assert f"{gone}, which its scenario names, is gone" in capsys.readouterr().err


def test_what_is_no_run_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run, _ = _run(tmp_path, "one"), _run(tmp_path, "other", seed=2)
    assert main(["diff", str(run.folder), str(tmp_path)]) == Exit.BAD_INPUT
    assert "is no run itself; name one of those in it" in capsys.readouterr().err


@pytest.mark.parametrize("scenario", ["incast", "infiniband", "put-incast", "isolation", "compare-deployed"])
def test_a_run_looked_at_from_outside_is_the_same_run(scenario: str) -> None:
    """Under PFC, credits, PUTs and isolation; the last digest is that of the run itself."""
    file = _SCENARIO.parent / f"{scenario}.toml"
    read = _core.Scenario(file.read_text(), str(file), file.parent, ["run.until=300us"])
    run = json.loads(read.run())
    window = json.loads(read.prefixes([]))["window_ps"]
    marks = [run["sim_time_ps"] * part // 8 // window * window for part in range(1, 8)]
    times = [*sorted(set(marks) - {0}), run["sim_time_ps"]]
    found = json.loads(read.prefixes(times))["prefixes"]
    # Stops in the middle of windows change nothing.
    more = sorted({*times, *(time - window // 3 for time in times)})
    among = json.loads(read.prefixes(more))["prefixes"]
    assert found == [prefix for prefix in among if prefix["time_ps"] in times]
    assert found[-1]["digest"] == run["digest"]
    begin, end = times[-2], times[-1]
    assert len(json.loads(read.arrivals(begin, end))) == found[-1]["arrivals"] - found[-2]["arrivals"]


@pytest.mark.filterwarnings("ignore::backwater.PlainPythonWarning")
@pytest.mark.parametrize("plain", [False, True])
def test_runs_with_functions_of_the_users_are_done_again_with_them(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], plain: bool
) -> None:
    text = """\
import backwater as bw

@bw.congestion_control(state={"cut": 0.5})
def controller(flow, event):
    if event.kind == bw.CNP:
        flow.rate_bps = max(flow.rate_bps * (1.0 - flow.cut), 1e9)
"""
    if plain:
        text = text.replace("state=", "compiled=False, state=")
    (tmp_path / "mine.py").write_text(text)
    given = ("cc.kind=custom", f"cc.custom.function={tmp_path / 'mine.py'}:controller")
    one, other = _run(tmp_path, "one", *given), _run(tmp_path, "other", *given, "cc.custom.parameters.cut=0.25")
    code, found = _diff(one, other, capsys)
    assert code == Exit.DIFFERS
    # They part after the first CNP has reached a sender.
    first = other.table("flows").select(pl.col("cnps_ce").sum() + pl.col("cnps_ue").sum()).collect().item()
    assert first > 0
    assert found["parting"]["time_ps"] > 0
    # What was changed meanwhile is noticed.
    (tmp_path / "mine.py").write_text(text.replace("* (1.0", "* (0.9"))
    assert main(["diff", str(one.folder), str(other.folder)]) == Exit.BAD_INPUT
    assert "run again it gives the digest" in capsys.readouterr().err


def test_keys_that_differ_are_named_as_they_are_set() -> None:
    one = {"a": {"b": 1}, "traffic": [{"name": "x", "load": 0.2}], "only": "here"}
    other = {"a": {"b": 1}, "traffic": [{"name": "x", "load": 0.4}], "there": True}
    found = list(run_differences.settings(one, other))
    assert found == [("traffic[0].load", 0.2, 0.4), ("only", "here", None), ("there", None, True)]
