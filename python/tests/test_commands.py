"""What holds for every command of the command line: quick help, JSON, summaries, exit codes."""

from __future__ import annotations

import importlib
import json
import resource
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest
from backwater import cli, overview
from backwater.cli import main
from backwater.errors import Exit

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


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
    plain = [(overview.name(path), path) for path, _ in cli.COMMANDS]
    return plain + [(f"{group} {word}", path) for group, _, members in cli.GROUPS for path, word, _ in members]


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
    assert hasattr(importlib.import_module(f"backwater.commands.{module}"), function)


def test_the_list_of_commands_names_each_of_them(capsys: pytest.CaptureFixture[str]) -> None:
    for given in ([], ["--help"], ["-h"]):
        assert main(given) == Exit.OK
        shown = capsys.readouterr().out
        assert shown.startswith("Usage: backwater")
        for words, _ in _listed():
            assert f"\n  {words} " in shown


@pytest.mark.parametrize("width", [60, 80, 200])
def test_the_list_fits_the_terminal(width: int) -> None:
    lines = overview.text(cli.ABOUT, cli.COMMANDS, cli.GROUPS, width).splitlines()
    assert max(map(len, lines[:-3])) <= min(width, 100)


def _cpu_seconds(code: str) -> tuple[float, str]:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)  # noqa: S603
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, done.stderr


@pytest.mark.parametrize("given", ["[]", "['--help']", "['--version']"])
def test_help_answers_within_150_ms(given: str) -> None:
    code = f"import sys; from backwater.cli import main; main({given}); print(*sorted(sys.modules), file=sys.stderr)"
    # CPU time, as others may use the machine; the best of a few, as the first one fills caches.
    best, modules = min(_cpu_seconds(code) for _ in range(5))
    assert best < 0.15
    heavy = {"numpy", "polars", "matplotlib", "pydantic", "cyclopts", "rich", "asyncio"}
    assert not heavy & set(modules.split())


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


def test_json_of_commands_that_need_no_run_is_json(capsys: pytest.CaptureFixture[str]) -> None:
    for given in (["schema"], ["pfc", "headroom", "--rate", "40Gbps", "--delay", "4us"]):
        assert main([*given, "--json"]) == Exit.OK
        json.loads(capsys.readouterr().out)
