"""What holds for every command of the command line: quick help, JSON, summaries, exit codes."""

from __future__ import annotations

import importlib
import json
import resource
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from backwater import cli
from backwater.cli import main, overview
from backwater.errors import Exit

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_SCENARIOS = Path(__file__).parents[2] / "scenarios"


def _commands() -> Iterator[tuple[str, Callable[..., Any]]]:
    """Every command that the command line has, by its words."""

    def walk(app: Any, words: tuple[str, ...]) -> Iterator[tuple[str, Callable[..., Any]]]:
        for name in app:
            if name.startswith("-"):
                continue
            below = app[name]
            if below.default_command is not None:
                yield " ".join((*words, name)), below.default_command
            else:
                yield from walk(below, (*words, name))

    yield from walk(cli.app(), ())


def _listed() -> list[tuple[str, str]]:
    """Words and place of every command of the tables."""
    return [(words, cli.place(words)) for words in cli.COMMANDS]


def test_the_tables_hold_every_command_that_there_is() -> None:
    assert sorted(words for words, _ in _commands()) == sorted(words for words, _ in _listed())


@pytest.mark.parametrize(("words", "path"), _listed())
def test_every_command_explains_itself_and_has_json(words: str, path: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*words.split(), "--help"]) == Exit.OK
    shown = capsys.readouterr().out
    assert f"Usage: backwater {words}" in shown
    # Whatever a person reads, a program can.
    assert "--json" in shown, f"backwater {words} has no --json"
    module, _, function = path.partition(":")
    assert hasattr(importlib.import_module(f"backwater.cli.commands.{module}"), function)


def test_the_list_of_commands_names_each_of_them(capsys: pytest.CaptureFixture[str]) -> None:
    for given in ([], ["--help"], ["-h"]):
        assert main(given) == Exit.OK
        shown = capsys.readouterr().out
        assert shown.startswith("Usage: backwater")
        for words, _ in _listed():
            assert f"\n  {words} " in shown


@pytest.mark.parametrize("width", [60, 80, 200])
def test_the_list_fits_the_terminal(width: int) -> None:
    lines = overview.text(cli.ABOUT, cli.COMMANDS, width).splitlines()
    assert max(map(len, lines[:-3])) <= min(width, 100)


def _cpu_seconds(code: str) -> tuple[float, str]:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)  # noqa: S603
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, done.stderr


#: What answers without these is quick.
_HEAVY = {"numpy", "polars", "matplotlib", "pydantic", "cyclopts", "rich", "asyncio"}


@pytest.mark.parametrize("given", ["[]", "['--help']", "['--version']"])
def test_the_list_of_commands_answers_within_150_ms(given: str) -> None:
    code = f"import sys; from backwater.cli import main; main({given}); print(*sorted(sys.modules), file=sys.stderr)"
    # CPU time, as others may use the machine; the best of a few, as the first one fills caches.
    best, modules = min(_cpu_seconds(code) for _ in range(5))
    assert best < 0.15
    assert not _HEAVY & set(modules.split())


def test_the_help_of_a_command_imports_no_other() -> None:
    code = (
        "import sys; from backwater.cli import main\n"
        "assert main(['pfc', 'headroom', '--help']) == main(['pfc', '-h']) == 0\n"
        "print(*sys.modules, file=sys.stderr)"
    )
    _, modules = _cpu_seconds(code)
    imported = {name for name in modules.split() if name.startswith("backwater.cli.commands.")}
    assert imported == {"backwater.cli.commands.calculate"}
    assert not {"numpy", "polars", "matplotlib"} & set(modules.split())


def test_no_command_imports_tables_and_what_draws_before_it_uses_them() -> None:
    modules = {f"backwater.cli.commands.{cli.place(words).partition(':')[0]}" for words in cli.COMMANDS}
    code = f"import sys; import {', '.join(sorted(modules))}; print(*sys.modules, file=sys.stderr)"
    _, imported = _cpu_seconds(code)
    assert not {"numpy", "polars", "matplotlib"} & set(imported.split())


def test_a_command_that_judges_no_paper_does_not_import_what_reads_their_claims() -> None:
    # It took two fifths of the time in which a command starts.
    judge = {"explain", "report", "reproduce", "sensitivity", "testbed"}
    modules = {cli.place(words).partition(":")[0] for words in cli.COMMANDS} - judge
    wanted = ", ".join(f"backwater.cli.commands.{one}" for one in sorted(modules))
    code = f"import sys; import {wanted}; print(*sys.modules, file=sys.stderr)"
    _, imported = _cpu_seconds(code)
    assert not {"pydantic", "backwater.papers.claims"} & set(imported.split())


def _parsed(words: str) -> Any:
    """What the library that parses commands reads of one."""
    app = cli.app()
    for word in words.split():
        app = app[word]
    return app.assemble_argument_collection()


@pytest.fixture
def _wide(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "100")


@pytest.mark.parametrize("words", [words for words, _ in _listed()])
@pytest.mark.usefixtures("_wide")
def test_help_says_what_is_parsed(words: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*words.split(), "--help"]) == Exit.OK
    page = capsys.readouterr().out
    usage = page.splitlines()[0].replace("...", "")
    rows = {line.strip().split("  ")[0] for line in page.splitlines() if line.startswith("  ") and line[2] != " "}
    parsed = _parsed(words)
    named = {name for argument in parsed for name in argument.names if name.startswith("--")}
    # One that may be given by position is shown so.
    named -= {name for argument in parsed if argument.index is not None for name in argument.names}
    assert {name for row in rows for name in row.split(", ") if name.startswith("--")} == named
    whole = " ".join(page.split())
    for argument in parsed:
        shown = argument.names[0] if argument.names[0] in named else argument.names[0].lstrip("-").upper()
        assert shown in whole
        assert argument.required == (shown in usage.split()), shown
        for choice in argument.get_choices() or ():
            assert choice in whole
        default = argument.field_info.default
        if isinstance(default, int | str | Path) and not isinstance(default, bool):
            assert f"[default: {default}]" in whole


def test_help_of_a_group_names_its_commands(capsys: pytest.CaptureFixture[str]) -> None:
    for name, (_, about) in cli.GROUPS.items():
        assert main([name, "--help"]) == Exit.OK
        shown = capsys.readouterr().out
        assert about in shown
        words = [words.removeprefix(f"{name} ") for words in cli.COMMANDS if words.startswith(f"{name} ")]
        assert all(f"\n  {word} " in shown for word in words)


@pytest.mark.parametrize("room", [60, 100])
def test_lines_of_help_fit(room: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("COLUMNS", str(room))
    for words, _ in _listed():
        assert main([*words.split(), "--help"]) == Exit.OK
        # A name or a path cannot be broken, and the usage is one line.
        lines = capsys.readouterr().out.splitlines()[1:]
        assert all(len(line) <= room or len(line.split()[-1]) > room // 3 for line in lines), words


def test_a_bug_is_told_without_a_traceback(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def broken(*_: object, **__: object) -> None:
        raise ZeroDivisionError("by zero")

    monkeypatch.delenv("BACKWATER_TRACEBACK", raising=False)
    monkeypatch.setattr(cli, "_quickly", broken)
    assert main(["--version"]) == Exit.INVARIANT_BROKEN
    shown = capsys.readouterr().err
    assert "ZeroDivisionError: by zero" in shown
    assert "bug" in shown
    assert "Traceback" not in shown


def test_ctrl_c_anywhere_in_a_command_has_the_exit_code_of_interrupted_ones(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def pressed(_: str) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("backwater.cli.explaining.find", pressed)
    assert main(["explain", "slowdown"]) == Exit.CAVEATS
    assert capsys.readouterr().err == "interrupted\n"


def test_json_of_commands_that_need_no_run_is_json(capsys: pytest.CaptureFixture[str]) -> None:
    for given in (["schema"], ["pfc", "headroom", "--rate", "40Gbps", "--delay", "4us"]):
        assert main([*given, "--json"]) == Exit.OK
        json.loads(capsys.readouterr().out)


@pytest.fixture(scope="module")
def room(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a scenario and two runs of it."""
    made = tmp_path_factory.mktemp("json")
    file = str(_SCENARIOS / "incast.toml")
    for seed in ("1", "2"):
        words = ["--set", "run.until=300us", "--set", 'probe.frames=["s->h0"]']
        assert main(["run", file, *words, "--seed", seed, "--out", str(made / seed)]) == Exit.OK
        (next((made / seed).iterdir())).rename(made / f"run{seed}")
    return made


#: What each command is called with, and a key that its answer has; {run} and {other} are results folders.
_ANSWERS = [
    ("run {scenarios}/trace.toml --out made", "digest"),
    ("run {scenarios}/compare-tcd.toml --estimate", "groups"),
    ("init mine", "scenario"),
    ("topology {scenarios}/fat-tree.toml", "deadlock"),
    ("describe {run}", "columns"),
    ("blame {run}", "roots"),
    ("diff {run} {other}", "parting"),
    ("explain slowdown", "found"),
    ("explain", "column"),
    ("doctor", "checks"),
    ("schema", "$defs"),
    ("view {run} --out page.html", "bytes"),
    ("export fct {run} --out fct.txt", "lines"),
    ("export pfc {run} --out pfc.txt", "lines"),
    ("export perfetto {run} --out trace.json", "events"),
    ("export pcapng {run} --out frames.pcapng", "frames"),
    ("export csv {run} flows ports --out csv", "files"),
    ("import htsim ring.cm --out ring", "scenario"),
    ("tcd max-ton --rate 40Gbps --delay 4us --mtu 1000B --epsilon 0.05", "max_ton_ps"),
    ("pfc headroom --rate 40Gbps --delay 4us", "headroom_bytes"),
    ("cbfc feasibility --rate 32Gbps --delay 4us --period 50us --buffer 280KB", "fits"),
    ("cache info", "runs"),
]


@pytest.mark.parametrize(("words", "key"), _ANSWERS)
def test_what_a_command_prints_with_json_is_one_json_value(
    words: str,
    key: str,
    room: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("BACKWATER_CACHE", str(tmp_path / "cache"))
    (tmp_path / "ring.cm").write_text("Nodes 4\nConnections 1\n0->1 id 1 start 0 size 1000\n")
    places = {"scenarios": _SCENARIOS, "run": room / "run1", "other": room / "run2"}
    code = main([*(word.format(**places) for word in words.split()), "--json"])
    assert code == (Exit.DIFFERS if words.startswith("diff") else Exit.OK)
    assert key in json.loads(capsys.readouterr().out)
