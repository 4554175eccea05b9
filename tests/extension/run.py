"""Applies each stored patch to a checkout of its own, builds it, runs its scenario, and counts what the patch touches.

``make extensions``; names of patches as arguments choose some of them. It fails if a patch does not apply, touches more
than its goal, or gives another digest than ``expected.toml`` has.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
PLACE = ROOT / "target/extensions"
CHECKOUT = PLACE / "checkout"


@dataclass(frozen=True)
class Counts:
    """Product files that a patch touches, and lines that it adds to or takes from files that there were before."""

    files: int
    lines: int


def counts(patch: Path) -> Counts:
    """Tests and documentation are no product code."""
    told = _git("apply", "--numstat", "--summary", str(patch), at=ROOT).splitlines()
    new = {line.split(maxsplit=3)[3] for line in told if line.startswith(" create mode")}
    rows = [line.split("\t") for line in told if "\t" in line]
    rows = [row for row in rows if not re.match(r"(tests|docs)/|.*/tests/", row[2])]
    return Counts(len(rows), sum(int(added) + int(taken) for added, taken, path in rows if path not in new))


def _git(*arguments: str, at: Path) -> str:
    done = subprocess.run(["git", *arguments], cwd=at, check=True, text=True, stdout=subprocess.PIPE)  # noqa: S603, S607
    return done.stdout


def checkout() -> None:
    """A work tree of HEAD, always at the same place, so that cargo compiles again only what a patch touches."""
    if not (CHECKOUT / ".git").exists():
        shutil.rmtree(CHECKOUT, ignore_errors=True)
        _git("worktree", "prune", at=ROOT)
        _git("worktree", "add", "--force", "--detach", "--quiet", str(CHECKOUT), "HEAD", at=ROOT)
    _git("checkout", "--force", "--quiet", "--detach", _git("rev-parse", "HEAD", at=ROOT).strip(), at=CHECKOUT)
    _git("clean", "-fdq", at=CHECKOUT)


def digest(name: str, keys: list[str]) -> str:
    """The digest of the scenario of a patch, run by its code in the dev profile."""
    checkout()
    _git("apply", str(HERE / f"{name}.patch"), at=CHECKOUT)
    shutil.copy(HERE / "measure.rs", CHECKOUT / "crates/backwater/examples/measure.rs")
    results = PLACE / name
    shutil.rmtree(results, ignore_errors=True)
    measure = ["cargo", "run", "--quiet", "--locked", "--package", "backwater", "--example", "measure", "--"]
    done = subprocess.run(  # noqa: S603
        [*measure, str(HERE / f"{name}.toml"), str(results), *keys],
        cwd=CHECKOUT,
        env=os.environ | {"CARGO_TARGET_DIR": str(ROOT / "target")},
        text=True,
        stdout=subprocess.PIPE,
        check=True,
    )
    blame(results)
    return done.stdout.strip()


def blame(results: Path) -> None:
    """Refuses results in which nobody was held back, or whose columns `backwater blame` does not explain in full."""
    command = [sys.executable, "-m", "backwater", "blame", str(results), "--json"]
    done = subprocess.run(command, text=True, stdout=subprocess.PIPE, check=True)  # noqa: S603
    said = json.loads(done.stdout)
    if not said["roots"] or said["unexplained_ps"] != 0:
        raise SystemExit(f"{results}: {len(said['roots'])} roots, {said['unexplained_ps']} ps not explained")


def main(names: list[str]) -> int:
    """Prints the table; the exit status is 1 if something is not as it should be."""
    expected: dict[str, dict[str, Any]] = tomllib.loads((HERE / "expected.toml").read_text())
    PLACE.mkdir(parents=True, exist_ok=True)
    wrong = []
    print(f"{'patch':<16}{'files':>6}{'goal':>6}{'lines':>7}{'goal':>6}  digest", flush=True)
    for name in names or expected:
        wanted = expected[name]
        found = counts(HERE / f"{name}.patch")
        got = digest(name, wanted["keys"])
        print(f"{name:<16}{found.files:>6}{wanted['files']:>6}{found.lines:>7}{wanted['lines']:>6}  {got}", flush=True)
        if found.files > wanted["files"] or found.lines > wanted["lines"]:
            wrong.append(f"{name} touches more than its goal")
        if got != wanted["digest"]:
            wrong.append(f"{name} has another digest than {wanted['digest']}")
    for line in wrong:
        print(line, file=sys.stderr)
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
