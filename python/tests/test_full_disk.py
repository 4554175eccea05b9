"""A disk that is full: every command that writes says which file could not be written, and why.

A limit to the size of files stands in for the disk, since it needs no root: `write` fails as it does there.
"""

from __future__ import annotations

import errno
import os
import resource
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from backwater import errors
from backwater.api import experiment

if TYPE_CHECKING:
    from pathlib import Path

_SCENE = """
profile = "authors"
run.until = "6ms"
topology = { kind = "star", hosts = 9, rate = "40Gbps", delay = "1us" }
probe = { sample = "1us", frames = ["s->h0"] }

[[traffic]]
name = "incast"
kind = "incast"
from = "h[1-8]"
to = "h0"
size = "300KB"
"""
_SCHEMES = (
    '[[scheme]]\nname = "dcqcn"\nset = ["cc.kind=dcqcn"]\n[[scheme]]\nname = "timely"\nset = ["cc.kind=timely"]\n'
)
_SWEEP = 'scenario = "scene.toml"\nseeds = 2\n[axes]\n"traffic.incast.size" = ["100KB", "200KB"]\n'
_WHY = os.strerror(errno.EFBIG)
#: A command, the most bytes that a file may have, and a file that does not fit.
_WRITERS = [
    ("run scene.toml --out here", 1000, "flows.parquet"),
    ("run scene.toml --out here --html", 40_000, "here/scene-s1/view.html"),
    ("sweep sweep.toml --out here --cache kept", 1000, "flows.parquet"),
    ("sweep sweep.toml --out here --cache cache", 200, "here/runs.csv"),
    ("sweep sweep.toml --out here --cache cache", 1500, "here/runs.parquet"),
    ("compare schemes.toml --seeds 2 --out here", 1000, "flows.parquet"),
    ("compare schemes.toml --seeds 2 --out runs --base analytic", 20_000, "runs/compare.png"),
    ("export csv done --out here", 200, "here/crowds.csv"),
    ("export fct done --out here.txt", 200, "here.txt"),
    ("export pcapng done --out here.pcapng", 200, "here.pcapng"),
    ("export perfetto done --out here.json", 200, "here.json"),
    ("import hpcc hpcc/config.txt --out here", 200, "here"),
    ("init here", 200, "topology.txt"),
    ("view done --out here.html", 200, "here.html"),
]


@pytest.fixture(scope="module")
def room(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with files to run, and with what was done before: a run, a comparison, the cache of a sweep."""
    room = tmp_path_factory.mktemp("disk")
    for name, text in (("scene", _SCENE), ("schemes", _SCENE + _SCHEMES), ("sweep", _SWEEP)):
        (room / f"{name}.toml").write_text(text, encoding="utf-8")
    hpcc = room / "hpcc"
    hpcc.mkdir()
    (hpcc / "topology.txt").write_text("3 1 2\n0\n0 1 100Gbps 1us 0\n0 2 100Gbps 1us 0\n", encoding="utf-8")
    (hpcc / "flow.txt").write_text("1\n1 2 3 100 1000 2\n", encoding="utf-8")
    (hpcc / "config.txt").write_text("TOPOLOGY_FILE topology.txt\nFLOW_FILE flow.txt\nCC_MODE 1\n", encoding="utf-8")
    experiment.run(room / "scene.toml", out=room / "done")
    for command in ("sweep sweep.toml --out before --cache cache", "compare schemes.toml --seeds 2 --out runs"):
        assert backwater(room, command).returncode in (errors.Exit.OK, errors.Exit.CAVEATS)
    return room


def backwater(room: Path, command: str, most: int | None = None) -> subprocess.CompletedProcess[str]:
    """The command in that folder, whose files may have `most` bytes at most."""

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (most or resource.RLIM_INFINITY,) * 2)

    called = [sys.executable, "-m", "backwater", *command.split()]
    environment = {**os.environ, "COLUMNS": "200"}
    return subprocess.run(  # noqa: S603
        called, cwd=room, env=environment, capture_output=True, text=True, check=False, preexec_fn=limit
    )


@pytest.mark.parametrize(("command", "most", "file"), _WRITERS)
def test_what_cannot_be_written_is_named_with_the_reason(room: Path, command: str, most: int, file: str) -> None:
    shutil.rmtree(room / "here", ignore_errors=True)
    ended = backwater(room, command, most)
    told = [line for line in ended.stderr.splitlines() if _WHY in line]
    assert ended.returncode == errors.Exit.BAD_INPUT, ended.stderr
    assert told, ended.stderr
    assert any(file in line for line in told), ended.stderr
    # A name that a file has only while it is written helps nobody.
    assert ".part" not in ended.stderr
    assert "None" not in ended.stderr
    assert "Traceback" not in ended.stderr


def test_the_reason_is_the_systems_without_the_words_of_libraries() -> None:
    full = os.strerror(errno.ENOSPC)
    wrapped = OSError(f"parquet: File out of specification: underlying IO error: {full} (os error {errno.ENOSPC})")
    assert errors.reason(wrapped) == full
    assert errors.reason(OSError(errno.ENOSPC, full)) == full
    assert errors.reason(OSError("what only a library says")) == "what only a library says"
