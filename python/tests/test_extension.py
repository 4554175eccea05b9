"""The stored extensions apply to this tree, touch no more than their goals, and are what docs/extend.md shows."""

from __future__ import annotations

import re
import runpy
import subprocess
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
HERE = ROOT / "tests" / "extension"
EXPECTED = tomllib.loads((HERE / "expected.toml").read_text(encoding="utf-8"))
MEASURE = runpy.run_path(str(HERE / "run.py"))


def test_every_patch_has_a_goal_and_a_scenario() -> None:
    assert sorted(file.stem for file in HERE.glob("*.patch")) == sorted(EXPECTED)
    assert all((HERE / f"{name}.toml").is_file() for name in EXPECTED)


@pytest.mark.parametrize("name", EXPECTED)
def test_a_patch_applies_and_keeps_its_goal(name: str) -> None:
    patch = HERE / f"{name}.patch"
    subprocess.run(["git", "apply", "--check", str(patch)], cwd=ROOT, check=True)  # noqa: S603, S607
    found = MEASURE["counts"](patch)
    assert 0 < found.files <= EXPECTED[name]["files"]
    assert 0 < found.lines <= EXPECTED[name]["lines"]


def test_what_the_page_shows_in_rust_is_in_the_patches() -> None:
    page = (ROOT / "docs" / "extend.md").read_text(encoding="utf-8")
    shown = re.findall(r"```rust\n(.*?)```", page, re.DOTALL)
    patches = [(HERE / f"{name}.patch").read_text(encoding="utf-8") for name in ("controller", "detector")]
    added = ["".join(line[1:] for line in patch.splitlines(keepends=True) if line[0] == "+") for patch in patches]
    assert shown
    assert [code for code in shown if not any(code in text for text in added)] == []
