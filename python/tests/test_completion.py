"""`backwater completion`: shells that are here complete commands, options and keys with what it prints."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from backwater.cli import main

#: What is typed, and what must be among the answers; the last of bash are without what stands before "=".
TYPED = {
    "backwater comp": "compare",
    "backwater export pf": "pfc",
    "backwater run --se": "--seeds",
    "backwater run x.toml --set cc.kin": "cc.kind",
    "backwater run x.toml --set cc.kind=dcq": "cc.kind=dcqcn",
}

#: bash hands a function the words as it parts them.
_BASH = r"""
source "$1"
shift
for line in "$@"; do
  read -ra COMP_WORDS <<< "${line//=/ = }"
  COMP_CWORD=$((${#COMP_WORDS[@]} - 1)) COMPREPLY=()
  "$(complete -p backwater | sed 's/.*-F \([^ ]*\) .*/\1/')"
  echo "${COMPREPLY[*]}"
done
"""
_FISH = "source $argv[1]; for line in $argv[2..]; echo (complete -C $line | string split -f1 \\t); end"


def _script(shell: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> Path:
    assert main(["completion", shell]) == 0
    script = folder / f"completion.{shell}"
    script.write_text(capsys.readouterr().out, encoding="utf-8")
    return script


def _answers(command: list[str], script: Path) -> list[list[str]]:
    if shutil.which(command[0]) is None:
        pytest.skip(f"there is no {command[0]} here")
    # The scripts call `backwater` for what only it knows.
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    said = subprocess.run(  # noqa: S603
        [*command, str(script), *TYPED], env=os.environ | {"PATH": path}, capture_output=True, check=True, text=True
    )
    return [line.split() for line in said.stdout.splitlines()]


def test_bash_completes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    answers = _answers(["bash", "--norc", "-c", _BASH, "bash"], _script("bash", tmp_path, capsys))
    expected = [answer.rpartition("=")[2] for answer in TYPED.values()]
    assert [one in got for one, got in zip(expected, answers, strict=True)] == [True] * len(TYPED), answers


def test_fish_completes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    answers = _answers(["fish", "--no-config", "-c", _FISH], _script("fish", tmp_path, capsys))
    assert [one in got for one, got in zip(TYPED.values(), answers, strict=True)] == [True] * len(TYPED), answers


def test_zsh_reads_the_script(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    script = _script("zsh", tmp_path, capsys)
    if shutil.which("zsh") is None:
        pytest.skip("there is no zsh here")
    read = f"autoload -Uz compinit; compinit -u -D; source {script}; echo $_comps[backwater]"
    said = subprocess.run(["zsh", "-f", "-c", read], capture_output=True, check=True, text=True)  # noqa: S603, S607
    assert said.stdout.strip() == "_cyclopts_backwater"


def test_another_shell_is_told_and_json_holds_the_script(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["completion", "csh"]) == 2
    assert "bash" in capsys.readouterr().err
    assert main(["completion", "bash", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["shell"] == "bash"
    assert "complete -F" in told["script"]
