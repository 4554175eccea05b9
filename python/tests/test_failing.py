"""What a command says when it fails: to a person, and with --json to a program."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from backwater import InvariantError, cli
from backwater.cli import failures, main
from backwater.common import codes
from backwater.errors import Exit

#: Two mistakes, each in its own line.
_WRONG = """\
topology = { kind = "star", hosts = 3, rate = "40Gps", delay = "1us" }
traffic = [{ name = "one", kind = "incst", from = ["h1"], to = "h0", size = "1KB" }]
"""
_COMMANDS = list(cli.COMMANDS)


def _failed(capsys: pytest.CaptureFixture[str], *words: str, code: Exit = Exit.BAD_INPUT) -> list[dict[str, Any]]:
    """The errors that a command prints with --json: one object, which has the exit code too."""
    assert main([*words, "--json"]) == code
    told = json.loads(capsys.readouterr().out)
    assert told["exit_code"] == code
    errors: list[dict[str, Any]] = told["errors"]
    return errors


def test_every_problem_of_a_scenario_has_its_code_place_value_and_fix(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "wrong.toml"
    file.write_text(_WRONG)
    rate, kind = _failed(capsys, "run", str(file))
    assert rate["code"] == "out-of-range"
    assert rate["message"] == 'topology.rate = "40Gps" is not allowed'
    assert (rate["place"]["line"], rate["place"]["column"]) == (1, _WRONG.index('"40Gps"') + 1)
    assert Path(rate["place"]["file"]).name == "wrong.toml"
    assert rate["value"] == '"40Gps"'
    assert rate["allowed"] == "expected one of the units bps, Kbps, Mbps, Gbps, Tbps"
    assert rate["fix"].startswith("give a rate from 1Kbps to 100Tbps")
    assert (kind["code"], kind["value"], kind["place"]["line"]) == ("unknown-word", '"incst"', 2)
    assert "incast" in kind["fix"]


#: Options that are missed before one that is too much is seen.
_NEEDED = {"pfc headroom": "--rate 40Gbps --delay 4us", "cbfc feasibility": "--rate 40Gbps --delay 4us"}


@pytest.mark.parametrize("command", _COMMANDS)
def test_every_command_fails_with_one_object(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    if command == "trace mpi":
        pytest.skip("what it does not know is of the program that it runs")
    (error,) = _failed(capsys, *command.split(), *_NEEDED.get(command, "").split(), "--no-such-thing")
    assert error["code"] == "unknown-option"
    assert "--no-such-thing" in error["message"]
    assert error["fix"] == f"backwater {command} --help says what it takes"


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        ("run x.toml --sed 3", "unknown-option", "Did you mean --seed"),
        ("sweep x.toml --sweep a=1,2", "unknown-option", "backwater run FILE --sweep KEY=VALUE,VALUE"),
        ("runn x.toml", "unknown-command", 'Did you mean "run"'),
        ("run", "missing-argument", "SCENARIO"),
        ("describe one two", "too-many-arguments", "two"),
        ("run x.toml --seeds 0", "bad-argument", ">= 1"),
        ("run x.toml --seeds few", "bad-argument", "few"),
        ("run nowhere.toml", "usage", "nowhere.toml"),
        ("describe nowhere", "usage", "nowhere"),
        ("pfc headroom --rate 40 --delay 4us", "usage", "40"),
    ],
)
def test_what_was_given_wrongly_has_a_code_that_is_explained(
    words: str, code: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (error,) = _failed(capsys, *words.split())
    assert error["code"] == code
    assert said in " ".join(map(str, error.values()))
    assert code in {one.id for one in codes.codes()}


def test_the_value_of_an_option_has_an_example(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "x.toml", "--seeds", "0"]) == Exit.BAD_INPUT
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err == (
        'error[bad-argument]: Invalid value "0" for --seeds. Must be >= 1.\n'
        "  = help: such as --seeds 1; backwater run --help says what it takes\n"
    )


def test_a_command_that_printed_its_answer_prints_no_second(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "nonsense", "--json"]) == Exit.BAD_INPUT
    assert json.loads(capsys.readouterr().out)["word"] == "nonsense"


def test_broken_invariants_bugs_and_ctrl_c_have_an_object_too(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def raising(error: BaseException) -> Any:
        def raise_it(*_: object) -> None:
            raise error

        return raise_it

    text = "the packet memory of switch s overflows"
    for error, code, kind in (
        (codes.as_coded(InvariantError(text), "buffer-overflow"), Exit.INVARIANT_BROKEN, "buffer-overflow"),
        (
            codes.as_coded(InvariantError("flow 3: 1 missing"), "packets-missing"),
            Exit.INVARIANT_BROKEN,
            "packets-missing",
        ),
        (ZeroDivisionError("by zero"), Exit.INVARIANT_BROKEN, "audit"),
        (KeyboardInterrupt(), Exit.CAVEATS, "interrupted"),
    ):
        monkeypatch.setattr("backwater.cli.explaining.find", raising(error))
        (found,) = _failed(capsys, "explain", "word", code=code)
        assert found["code"] == kind


def test_messages_without_a_place_keep_their_lines() -> None:
    (known,) = failures.problems("error: one thing\nand its second line")
    assert known == {"code": "usage", "message": "one thing\nand its second line"}


def test_the_object_is_the_whole_of_standard_output() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "backwater", "run", "nowhere.toml", "--json"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == Exit.BAD_INPUT
    assert json.loads(done.stdout)["exit_code"] == Exit.BAD_INPUT
    assert "nowhere.toml" in done.stderr
