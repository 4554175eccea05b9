"""Every example of docs/sweeps.md runs as it stands there."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import TYPE_CHECKING

from backwater.cli import main
from backwater.errors import Exit

if TYPE_CHECKING:
    import pytest

FILE = Path(__file__).parents[2] / "docs" / "sweeps.md"
TEXT = FILE.read_text(encoding="utf-8")
#: What a job of a Slurm array of two finds.
SLURM = {"$SLURM_ARRAY_TASK_COUNT": "2", "$SLURM_CPUS_PER_TASK": "2", "$SLURM_SUBMIT_DIR/": ""}


def _commands(block: str) -> list[list[str]]:
    for variable, value in SLURM.items():
        block = block.replace(variable, value)
    lines = [re.sub(r"^BACKWATER_CACHE=cache ", "", line) for line in block.splitlines()]
    return [shlex.split(line, comments=True)[1:] for line in lines if line.startswith("backwater ")]


def test_the_page_runs_from_top_to_bottom(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("BACKWATER_CACHE", "cache")
    every = re.findall(r"(?:^|\n)((?:[^\n]+\n)*)\n```(\w+)\n(.*?)```", TEXT, re.DOTALL)
    for before, language, block in every:
        if language == "toml":
            names = [name for name in re.findall(r"`([\w-]+\.toml)`", before) if not Path(name).exists()]
            assert names, f"which file is this?\n{block}"
            Path(names[0]).write_text(block, encoding="utf-8")
    runs = 0
    for _, language, block in every:
        if language == "python":
            exec(compile(block, "page", "exec"), {"__name__": "page"})  # noqa: S102
        elif language in ("sh", "bash"):
            for words in _commands(block):
                if "auto" in words:
                    # There is no cluster; test_sweep_ray.py starts one.
                    continue
                # Both jobs of the array.
                for task in ("1", "2") if "$SLURM_ARRAY_TASK_ID/2" in words else ("",):
                    given = [word.replace("$SLURM_ARRAY_TASK_ID", task) for word in words]
                    assert main(given) == Exit.OK, capsys.readouterr().err
                    runs += 1
    assert runs >= 7
