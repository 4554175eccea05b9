"""The command line: exit codes, messages without tracebacks, JSON that is only JSON. The simulator is a stand-in."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from backwater import InvariantError, Results, ScenarioError
from backwater.cli import main
from backwater.errors import Exit
from conftest import FakeCore, FakeScenario


@pytest.fixture
def scenario(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    (tmp_path / "one.toml").write_text("# a scenario")
    monkeypatch.chdir(tmp_path)
    return "one.toml"


def test_a_run_prints_its_tables_and_where_its_results_are(
    scenario: str, fake_core: FakeCore, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["run", scenario]) == Exit.OK
    shown = capsys.readouterr().out
    assert "digest 0123456789abcdef" in shown
    assert "results/one-s7" in shown
    assert fake_core.ran == [((), 7)]


def test_a_run_reads_its_scenario_once_for_all_that_is_asked_before_and_once_to_run(
    scenario: str, fake_core: FakeCore, monkeypatch: pytest.MonkeyPatch
) -> None:
    reads = list[list[str]]()

    def counted(text: str, origin: str, base: Path, overrides: list[str]) -> FakeScenario:
        reads.append(overrides)
        return fake_core.read(text, origin, base, overrides)

    monkeypatch.setattr("backwater._core.Scenario", counted)
    assert main(["run", scenario]) == Exit.OK
    assert reads == [[], ["run.seed=7"]]


def test_several_seeds_count_up_and_give_means_with_intervals(
    scenario: str, fake_core: FakeCore, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["run", scenario, "--seeds", "3", "--seed", "10"]) == Exit.OK
    assert sorted(seed or 0 for _, seed in fake_core.ran) == [10, 11, 12]
    assert "mean of 3 seeds ± 95 % confidence interval" in capsys.readouterr().out
    assert sorted(path.name for path in Path("results").iterdir()) == ["one-s10", "one-s11", "one-s12"]


def test_what_was_overridden_is_in_the_name_of_the_results(scenario: str, fake_core: FakeCore) -> None:
    main(["run", scenario, "--set", "switch.detector.kind=red", "--set", "traffic.load=0.6"])
    assert fake_core.ran[0][0] == ("switch.detector.kind=red", "traffic.load=0.6")
    assert [path.name for path in Path("results").iterdir()] == ["one-switch.detector.kind-red-traffic.load-0.6-s7"]


def test_json_is_all_that_stdout_gets(scenario: str, fake_core: FakeCore, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", scenario, "--json"]) == Exit.OK
    captured = capsys.readouterr()
    assert json.loads(captured.out)["digest"] == "0123456789abcdef"
    assert captured.err == ""
    assert fake_core.ran


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (ScenarioError("one.toml:3: no"), Exit.BAD_INPUT),
        (InvariantError("buffer of T2 overflows"), Exit.INVARIANT_BROKEN),
        (OSError(28, "No space left on device"), Exit.BAD_INPUT),
    ],
)
def test_a_failure_has_its_exit_code_and_its_message_but_no_traceback(
    scenario: str, fake_core: FakeCore, capsys: pytest.CaptureFixture[str], error: Exception, code: Exit
) -> None:
    fake_core.fail = lambda *_: error
    assert main(["run", scenario]) == code
    captured = capsys.readouterr()
    assert str(error) in captured.err
    assert "Traceback" not in captured.err


def test_an_interrupted_run_ends_with_the_code_of_caveats(
    scenario: str, fake_core: FakeCore, capsys: pytest.CaptureFixture[str]
) -> None:
    fake_core.fail = lambda *_: KeyboardInterrupt()
    assert main(["run", scenario]) == Exit.CAVEATS
    assert "interrupted" in capsys.readouterr().err


def test_one_failed_seed_does_not_take_the_others_with_it(
    scenario: str, fake_core: FakeCore, capsys: pytest.CaptureFixture[str]
) -> None:
    fake_core.fail = lambda _, seed: InvariantError("overflow") if seed == 8 else None
    assert main(["run", scenario, "--seeds", "3"]) == Exit.INVARIANT_BROKEN
    assert len(list(Path("results").iterdir())) == 2
    assert "overflow" in capsys.readouterr().err


def test_a_missing_scenario_is_named_by_its_absolute_path(scenario: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "no-such.toml"]) == Exit.BAD_INPUT
    assert str(Path(scenario).absolute().parent / "no-such.toml") in capsys.readouterr().err


def test_a_scenario_that_is_not_utf8_says_where(scenario: str, capsys: pytest.CaptureFixture[str]) -> None:
    Path(scenario).write_bytes(b'name = "caf\xe9"')
    assert main(["run", scenario]) == Exit.BAD_INPUT
    assert "not UTF-8 text (byte 11 is 0xe9)" in capsys.readouterr().err


@pytest.mark.parametrize("arguments", [["--seeds", "0"], ["--jobs", "-1"], ["--seed", "x"], []])
def test_an_option_out_of_range_is_bad_input(
    arguments: list[str], fake_core: FakeCore, capsys: pytest.CaptureFixture[str]
) -> None:
    target = ["one.toml"] if arguments else []
    assert main(["run", *target, *arguments]) == Exit.BAD_INPUT
    assert fake_core.ran == []
    assert capsys.readouterr().out == ""


def test_the_demo_runs_both_schemes_and_draws_them(
    scenario: str, fake_core: FakeCore, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["demo", "--scenario", scenario]) == Exit.OK
    shown = capsys.readouterr().out
    assert "Per port" in shown
    assert Path("queue-and-state.png").is_file()
    assert sorted(path.name for path in Path("results/demo").iterdir()) == ["ecn", "tcd"]
    assert len(fake_core.ran) == 2


def test_max_ton_of_the_papers_three_links_comes_out_to_the_last_digit(capsys: pytest.CaptureFixture[str]) -> None:
    for rate, ton in (("40Gbps", "34.4us"), ("100Gbps", "26.96us"), ("200Gbps", "24.48us")):
        assert main(["tcd", "max-ton", "--rate", rate, "--delay", "1us", "--mtu", "1000B", "--epsilon", "0.05"]) == 0
        assert capsys.readouterr().out.rstrip().endswith(f"= {ton}")


def test_headroom_is_two_flights_two_packets_and_a_frame(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["pfc", "headroom", "--rate", "40Gbps", "--delay", "4us", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["headroom_bytes"] == 2 * 20_000 + 2 * 1_000 + 64


def test_max_ton_under_credits_is_their_period(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["tcd", "max-ton", "--flow-control", "credits", "--period", "50us"]) == 0
    assert capsys.readouterr().out.rstrip().endswith("max(Ton) = Tc = 50us")
    assert main(["tcd", "max-ton", "--flow-control", "credits", "--period", "20us", "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    # T = max(Ton) = Tc (§4.4); with the rule of ours whole Tc's, at least 4 and 200 µs.
    assert (answer["max_ton_ps"], answer["period_ps"]) == (20_000_000, 20_000_000)
    assert answer["period_rise_bp_ps"] == 200_000_000


def test_the_papers_buffer_feeds_a_link_of_32_but_not_of_40_gbps(capsys: pytest.CaptureFixture[str]) -> None:
    link = ["cbfc", "feasibility", "--delay", "4us", "--period", "50us", "--buffer", "280KB", "--json"]
    fits = {}
    for rate in ("32Gbps", "40Gbps"):
        assert main([*link, "--rate", rate]) == 0
        answer = json.loads(capsys.readouterr().out)
        assert answer["in_loop_bytes"] == {"32Gbps": 232_000, "40Gbps": 290_000}[rate]
        fits[rate] = answer["fits"]
    assert fits == {"32Gbps": True, "40Gbps": False}
    assert main(["cbfc", "feasibility", "--rate", "100Gbps", "--delay", "500ns"]) == 0
    assert "100Gbps * 1us = 12.5KB" in capsys.readouterr().out


def test_virtual_lanes_share_a_buffer_and_wait_for_each_others_updates(capsys: pytest.CaptureFixture[str]) -> None:
    # 232 000 B, 3 packets of 2048 B and 3 updates of 9000 B of two lanes: 142.6 packets, and the one that starts.
    link = ["cbfc", "feasibility", "--rate", "32Gbps", "--delay", "4us", "--period", "50us", "--frame", "9KB", "--json"]
    for buffer, fits in (("585KB", False), ("586KB", True)):
        assert main([*link, "--lanes", "2", "--buffer", buffer]) == 0
        answer = json.loads(capsys.readouterr().out)
        assert (answer["needed_bytes"], answer["port_bytes"]) == (143 * 2_048, 2 * 143 * 2_048)
        assert answer["fits"] == fits


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        (["tcd", "max-ton", "--flow-control", "credits"], "--period 50us"),
        (["tcd", "max-ton", "--flow-control", "credits", "--period", "0us"], "--period 0ps"),
        (["tcd", "max-ton", "--rate", "40Gbps"], "--delay 4us"),
        (["tcd", "max-ton", "--rate", "40Gbps", "--delay", "4us", "--period", "50us"], "add --flow-control credits"),
        (
            ["tcd", "max-ton", "--flow-control", "credits", "--period", "50us", "--rate", "32Gbps", "--mtu", "2KB"],
            "remove --rate, --mtu",
        ),
        (["cbfc", "feasibility", "--rate", "32Gbps", "--delay", "4us", "--buffer", "many"], "--buffer many"),
        (["cbfc", "feasibility", "--rate", "32Gbps", "--delay", "4us", "--lanes", "0"], "--lanes 0"),
        (["cbfc", "feasibility", "--rate", "32Gbps", "--delay", "4us", "--lanes", "-1"], "--lanes -1"),
        (["tcd", "max-ton", "--rate", "40", "--delay", "4us"], "--rate 40"),
        (["tcd", "max-ton", "--rate", "0Gbps", "--delay", "4us"], "above 0"),
        (["tcd", "max-ton", "--rate", "40Gbps", "--delay", "4us", "--epsilon", "2"], "epsilon = 2"),
        (["pfc", "headroom", "--rate", "40Gbps", "--delay", "3600s"], "--delay"),
    ],
)
def test_a_quantity_that_makes_no_sense_is_refused_by_name(
    arguments: list[str], part: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments) == Exit.BAD_INPUT
    assert part in capsys.readouterr().err


def test_describe_explains_every_column_with_its_unit(
    scenario: str, fake_core: FakeCore, capsys: pytest.CaptureFixture[str]
) -> None:
    main(["run", scenario])
    capsys.readouterr()
    assert main(["describe", "results/one-s7", "--json"]) == Exit.OK
    columns = json.loads(capsys.readouterr().out)["columns"]
    units = {(entry["table"], entry["column"]): entry["unit"] for entry in columns}
    assert units["flows", "fct_ps"] == "ps"
    assert units["ports", "peak_queue_bytes"] == "bytes"
    assert all(entry["doc"] for entry in columns)
    assert fake_core.ran


def test_many_runs_share_the_cores(scenario: str, fake_core: FakeCore, monkeypatch: pytest.MonkeyPatch) -> None:
    real, busy, most = FakeScenario.run, 0, 0

    def slow(*arguments: Any) -> str:
        nonlocal busy, most
        busy += 1
        most = max(most, busy)
        time.sleep(0.05)
        busy -= 1
        return real(*arguments)

    monkeypatch.setattr(FakeScenario, "run", slow)
    assert main(["run", scenario, "--seeds", "4", "--jobs", "2"]) == Exit.OK
    assert most == 2
    assert len(fake_core.ran) == 4


def test_different_keys_with_equal_ends_have_different_folders_and_the_last_value_of_a_key_is_named(
    scenario: str, fake_core: FakeCore
) -> None:
    for sets in (["cc.kind=none"], ["switch.detector.kind=none"], ["a.x=1", "a.x=2"], ["b=[1,2]"], ["b=[12]"]):
        assert main(["run", scenario, *(word for text in sets for word in ("--set", text))]) == Exit.OK
    names = {path.name for path in Path("results").iterdir()}
    assert len(names) == len(fake_core.ran) == 5
    assert {"one-cc.kind-none-s7", "one-switch.detector.kind-none-s7", "one-a.x-2-s7"} < names


@pytest.mark.parametrize(
    "arguments",
    [["--seed", str(2**64)], ["--seed", str(2**64 - 1), "--seeds", "2"]],
)
def test_a_seed_beyond_64_bits_is_bad_input(
    scenario: str, fake_core: FakeCore, capsys: pytest.CaptureFixture[str], arguments: list[str]
) -> None:
    assert main(["run", scenario, *arguments]) == Exit.BAD_INPUT
    assert "Traceback" not in capsys.readouterr().err
    assert fake_core.ran == []


def test_the_demo_refuses_a_picture_it_cannot_write_before_it_runs(
    scenario: str, fake_core: FakeCore, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["demo", "--scenario", scenario, "--picture", "p.xyz"]) == Exit.BAD_INPUT
    assert "--picture p.xyz" in capsys.readouterr().err
    assert main(["demo", "--scenario", scenario, "--picture", "none/p.png"]) == Exit.BAD_INPUT
    assert "--picture none/p.png: there is no folder" in capsys.readouterr().err
    assert fake_core.ran == []


def test_an_interrupted_demo_ends_with_the_code_of_caveats(
    scenario: str, fake_core: FakeCore, capsys: pytest.CaptureFixture[str]
) -> None:
    fake_core.fail = lambda *_: KeyboardInterrupt()
    assert main(["demo", "--scenario", scenario]) == Exit.CAVEATS
    assert "interrupted" in capsys.readouterr().err


@pytest.mark.parametrize("command", ["blame", "describe"])
def test_a_file_in_the_place_of_a_results_folder_is_told_from_a_folder(
    command: str, scenario: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([command, scenario]) == Exit.BAD_INPUT
    assert f"{scenario} is a file; give the results folder" in capsys.readouterr().err


def test_blame_refuses_an_unusable_folder_before_it_prints(
    tcd_run: Results, scenario: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["blame", str(tcd_run.folder), "--out", scenario]) == Exit.BAD_INPUT
    printed = capsys.readouterr()
    assert (printed.out, f"--out {scenario}: it is a file" in printed.err) == ("", True)


@pytest.mark.parametrize("text", ["{}", "[1]", "3"])
def test_a_run_json_of_something_else_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str) -> None:
    (tmp_path / "run.json").write_text(text)
    assert main(["describe", str(tmp_path)]) == Exit.BAD_INPUT
    assert str(tmp_path / "run.json") in capsys.readouterr().err


def test_a_table_that_is_gone_is_named(tcd_run: Results, capsys: pytest.CaptureFixture[str]) -> None:
    (tcd_run.folder / "marks.parquet").unlink()
    assert main(["describe", str(tcd_run.folder)]) == Exit.BAD_INPUT
    assert str(tcd_run.folder / "marks.parquet") in capsys.readouterr().err


def _ended_without_reader(*words: str, both: bool = False) -> tuple[int, bytes | None]:
    """The exit code of a command, and what it says on standard error, when nobody reads its standard output."""
    reader, writer = os.pipe()
    os.close(reader)
    ended = subprocess.run(  # noqa: S603
        [sys.executable, "-m", "backwater", *words],
        stdout=writer,
        stderr=subprocess.STDOUT if both else subprocess.PIPE,
        check=False,
    )
    os.close(writer)
    return ended.returncode, ended.stderr


@pytest.mark.skipif(sys.platform == "win32", reason="pipes of Unix")
@pytest.mark.parametrize("command", ["describe", "--help", "describe --help"])
def test_a_pipe_closed_by_its_reader_is_no_failure(tcd_run: Results, command: str) -> None:
    words = command.split() if "--help" in command else [command, str(tcd_run.folder)]
    assert _ended_without_reader(*words) == (Exit.OK, b"")


#: Ports are named, and nothing is sampled of them.
_WITH_A_CAVEAT = """
topology = { kind = "star", hosts = 3, rate = "40Gbps", delay = "1us" }
traffic = [{ name = "one", kind = "incast", from = ["h1"], to = "h0", size = "1KB" }]
probe = { ports = ["s->h0"] }
"""


@pytest.mark.skipif(sys.platform == "win32", reason="pipes of Unix")
@pytest.mark.parametrize("both", [False, True], ids=["|", "2>&1 |"])
def test_the_exit_code_is_what_it_would_be_with_a_reader(tmp_path: Path, tcd_run: Results, both: bool) -> None:
    file = tmp_path / "idle.toml"
    file.write_text(_WITH_A_CAVEAT)
    out = tmp_path / "results"
    assert _ended_without_reader("run", str(file), "--out", str(out), both=both)[0] == Exit.CAVEATS
    # The command went on to its end.
    (run,) = out.iterdir()
    assert json.loads((run / "run.json").read_text())["caveats"]
    differs = _ended_without_reader("diff", str(run), str(tcd_run.folder), both=both)[0]
    assert differs == main(["diff", str(run), str(tcd_run.folder)]) != Exit.OK
    assert _ended_without_reader("run", "nowhere.toml", both=both)[0] == Exit.BAD_INPUT


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="a device of Linux")
def test_a_full_disk_is_told_once(tcd_run: Results) -> None:
    with Path("/dev/full").open("wb") as full:
        ended = subprocess.run(  # noqa: S603
            [sys.executable, "-m", "backwater", "describe", str(tcd_run.folder)],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert (ended.returncode, ended.stderr) == (Exit.BAD_INPUT, "error: [Errno 28] No space left on device\n")
