"""What is given to read and is no file, is too much for the memory, or is wrong in very many places."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import backwater as bw
import pytest
from backwater.cli import main
from backwater.errors import Exit

if TYPE_CHECKING:
    from pathlib import Path

STAR = """\
profile = "authors"
[topology]
kind = "star"
hosts = 4
rate = "40Gbps"
delay = "1us"
"""
ONE = STAR + '[[traffic]]\nname = "one"\nkind = "flow"\nfrom = "h0"\nto = "h1"\nsize = "1MB"\n'


def _entry(kind: str) -> str:
    more = {
        "poisson": 'load = 0.5\nflows = 10\nfile = "FILE"',
        "hpcc-flows": 'file = "FILE"',
        "trace": 'file = "FILE"',
        "program": 'file = "FILE"',
    }[kind]
    return f'[[traffic]]\nname = "a"\nkind = "{kind}"\n{more}\n'


@pytest.mark.parametrize("kind", ["poisson", "hpcc-flows", "trace", "program"])
@pytest.mark.parametrize("file", ["/dev/zero", "fifo", "."])
def test_a_scenario_reads_files_and_nothing_else(
    kind: str, file: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    os.mkfifo(tmp_path / "fifo")
    scenario = tmp_path / "one.toml"
    scenario.write_text(STAR + _entry(kind).replace("FILE", file))
    assert main(["run", str(scenario), "--out", str(tmp_path / "out")]) == Exit.BAD_INPUT
    what = {"/dev/zero": "a device", "fifo": "a named pipe", ".": "a folder"}[file]
    assert f'"{file}" cannot be read: it is {what}, not a file' in capsys.readouterr().err


def test_a_device_is_no_scenario_and_nothing_to_import(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    os.mkfifo(tmp_path / "fifo")
    assert main(["run", "/dev/zero"]) == Exit.BAD_INPUT
    assert "/dev/zero cannot be read: it is a device, not a file" in capsys.readouterr().err
    for file in ("/dev/zero", str(tmp_path / "fifo")):
        assert main(["import", "goal", file, "--out", str(tmp_path / "out")]) == Exit.BAD_INPUT
        assert f"{file} cannot be read (it is a" in capsys.readouterr().err


def test_what_needs_more_memory_than_there_is_is_refused_before_it_is_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scenario = tmp_path / "one.toml"
    scenario.write_text(ONE)
    monkeypatch.setenv("BACKWATER_MEMORY", "1MB")
    with pytest.raises(bw.ScenarioError, match=r"takes about 0\.01 GB of memory, and 0\.00 GB are left \(BACKWATER"):
        bw.run(scenario, out=tmp_path / "out")
    assert not (tmp_path / "out").exists()
    many = STAR + '[[traffic]]\nname = "a"\nkind = "poisson"\nload = 0.5\nsize = "1KB"\nflows = 19000000\n'
    scenario.write_text(many)
    monkeypatch.setenv("BACKWATER_MEMORY", "1GB")
    with pytest.raises(bw.ScenarioError, match=r"this means 19000000 flows, and to list them takes 3\.\d GB"):
        bw.run(scenario, out=tmp_path / "out")
    scenario.write_text(ONE)
    assert bw.run(scenario, out=tmp_path / "out").meta["status"] == "complete"
    for wrong in ("lots", "64", "-1GB"):
        monkeypatch.setenv("BACKWATER_MEMORY", wrong)
        with pytest.raises(bw.ScenarioError, match=f"BACKWATER_MEMORY={wrong} is no size: write a number and its unit"):
            bw.run(scenario, out=tmp_path / "out")
    monkeypatch.setenv("BACKWATER_MEMORY", "")
    assert bw.run(scenario, out=tmp_path / "out").meta["status"] == "complete"


def test_more_seeds_than_a_command_may_have_are_refused_at_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    scenario = tmp_path / "one.toml"
    scenario.write_text(ONE)
    other = tmp_path / "two.toml"
    other.write_text(ONE)
    for more in (["run"], ["run", "--estimate"], ["compare", str(other)]):
        assert main([*more, str(scenario), "--seeds", "100000000"]) == Exit.BAD_INPUT
        assert "seeds = 100000000: at most 100000" in capsys.readouterr().err
    with pytest.raises(bw.UsageError, match="at most 100000"):
        bw.run(scenario, seeds=100_000_000)


def test_flows_are_limited_in_sum_and_nothing_is_made_of_what_is_too_much(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    entry = '[[traffic]]\nname = "{}"\nkind = "poisson"\nload = 0.5\nsize = "1KB"\nflows = 20000000\n'
    scenario = tmp_path / "many.toml"
    scenario.write_text(STAR + "".join(entry.format(f"a{number}") for number in range(10)))
    for more in (["--estimate"], []):
        assert main(["run", str(scenario), *more]) == Exit.BAD_INPUT
        said = capsys.readouterr().err
        assert "the traffic entries have 200000000 flows together" in said
        assert "at most 20000000 flows in a run" in said


def test_of_very_many_problems_the_first_are_shown(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    scenario = tmp_path / "bad.toml"
    for line in ("a\n", "[t{}]\n"):
        scenario.write_text("".join(line.format(number) for number in range(5000)))
        assert main(["run", str(scenario)]) == Exit.BAD_INPUT
        said = capsys.readouterr().err
        assert said.count("error[") == 20
        assert len(said) < 10_000
        assert "more; these are the first 20 in the order of the text" in said


def test_a_region_that_overflows_without_flow_control_is_not_told_of_pause(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    # 800 KB at eight times the rate of the port to h0, into eight regions of 64 KiB.
    file = tmp_path / "s.toml"
    file.write_text(
        'cc = { kind = "none" }\ntopology = { kind = "star", hosts = 9, rate = "100Gbps", delay = "1us" }\n'
        'switch = { queueing = "combined", flow-control = "none", combined.ingress = "64KiB", '
        'combined.egress = "64KiB" }\n'
        '[[traffic]]\nname = "in"\nkind = "incast"\nto = "h0"\nsize = "100KB"\n'
    )
    assert main(["run", str(file), "--out", str(tmp_path / "out")]) == Exit.INVARIANT_BROKEN
    said = capsys.readouterr().err
    assert "error[region-overflow]: " in said
    assert "Flow control is off: raise switch.combined.ingress or set switch.flow-control" in said
    assert "PAUSE" not in said
