"""Ray as the engine of a sweep: a cluster of this machine, which takes some seconds to start."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import backwater
import pytest
import sweep_scene
from backwater import _core, extras
from backwater.cli import main
from backwater.errors import Exit, UsageError
from backwater.experiments import ray_engine, sweep_file
from backwater.experiments.store import Cache, _Making
from backwater.experiments.toml_document import Document
from failing_core import FailingCore


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("BACKWATER_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    return tmp_path


def _started(*words: str) -> subprocess.Popen[str]:
    pytest.importorskip("ray", reason="Ray is not installed: pip install 'backwater[ray]'")
    paths = os.pathsep.join(filter(None, [str(Path(backwater.__file__).parents[1]), os.environ.get("PYTHONPATH")]))
    return subprocess.Popen(  # noqa: S603
        [sys.executable, "-m", "backwater", "sweep", "loads.toml", "--on", "ray", *words],
        env={**os.environ, "PYTHONPATH": paths},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def _in_session(leader: int) -> list[str]:
    """Processes that are still there of the session that a test began."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            name, _, rest = stat.read_text().rpartition(")")
        except OSError:
            continue
        state, _, _, session = rest.split()[:4]
        if int(session) == leader and state != "Z":
            found.append(name)
    return found


def _wait_until_gone(leader: int) -> list[str]:
    end = time.monotonic() + 15
    while (left := _in_session(leader)) and time.monotonic() < end:
        time.sleep(0.1)
    return left


def test_a_cluster_gives_the_same_tables_as_this_machine(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sweep_scene.write(here, scenario=sweep_scene.SCENARIO + sweep_scene.SCHEMES)
    begun = _started("--json", "--jobs", "2", "--out", "ray", "--cache", "of-ray")
    told, errors = begun.communicate(timeout=120)
    assert begun.returncode == Exit.OK, errors
    known = json.loads(told)
    assert (known["runs"], known["cached"], known["failed"]) == (8, 0, 0)
    assert main(["sweep", "loads.toml", "--out", "here"]) == Exit.OK
    capsys.readouterr()
    for file in Path("here").iterdir():
        assert file.read_bytes() == (Path("ray") / file.name).read_bytes()
    # What the cluster did is known here.
    assert main(["sweep", "loads.toml", "--gather", "--cache", "of-ray", "--out", "gathered"]) == Exit.OK
    assert not list(Path("of-ray/making").iterdir())
    assert _wait_until_gone(begun.pid) == []


def test_ctrl_c_keeps_what_is_done_and_leaves_no_process_behind(here: Path) -> None:
    sweep_scene.write(here, 'scenario = "star.toml"\nset = ["traffic.web.flows=20000"]\nseeds = 60\n')
    begun = _started("--jobs", "1")
    end = time.monotonic() + 60
    while not list(Path("cache").glob("runs/*/*/entry.json")) and time.monotonic() < end:
        assert begun.poll() is None, begun.communicate()
        time.sleep(0.05)
    # As a terminal does: to all of its processes.
    os.killpg(begun.pid, signal.SIGINT)
    _, told = begun.communicate(timeout=60)
    assert begun.returncode == Exit.CAVEATS, told
    done = len(list(Path("cache").glob("runs/*/*/entry.json")))
    assert 0 < done < 60
    assert f"interrupted: {done} of 60 runs done and kept" in told
    assert not list(Path("cache/making").iterdir())
    assert _wait_until_gone(begun.pid) == []


class _FakeRay:
    """Stands in for Ray where a test is about what a worker says: runs tasks at once, in this process."""

    class exceptions:  # noqa: N801
        class RayError(Exception):
            """As Ray's."""

    def __init__(self) -> None:
        self.lost = False

    def is_initialized(self) -> bool:
        return True

    def cluster_resources(self) -> dict[str, float]:
        return {"CPU": 2.0}

    def remote(self, **_: Any) -> Any:
        def task(function: Any) -> Any:
            return type("Task", (), {"remote": staticmethod(lambda *given: _Reference(lambda: function(*given)))})

        return task

    def wait(self, references: list[Any], **_: Any) -> Any:
        return references[:1], references[1:]

    def cancel(self, *_: Any, **__: Any) -> None:
        """There is nobody else who works."""

    def get(self, reference: _Reference) -> Any:
        if self.lost:
            raise self.exceptions.RayError("The worker died unexpectedly.\nMore.")
        return reference.call()


class _Reference:
    def __init__(self, call: Any) -> None:
        self.call = call


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> _FakeRay:
    made = _FakeRay()
    monkeypatch.setitem(sys.modules, "ray", made)
    return made


def _outcomes(here: Path) -> list[Any]:
    plan, cache = sweep_file.of(Document.load(sweep_scene.write(here), "sweep file")), Cache(here / "cache")
    return ray_engine.cluster()([cache.place(job) for job in plan.keyed()], watcher=None)


def test_a_worker_with_another_core_is_refused(here: Path, fake: _FakeRay, monkeypatch: pytest.MonkeyPatch) -> None:
    del fake
    builds = iter(["mine"] * 4)
    monkeypatch.setattr(ray_engine, "core_build", lambda: next(builds, "another"))
    refused = _outcomes(here)[0].error
    assert type(refused) is UsageError
    assert str(refused) == ("this worker has core another, the sweep was planned with mine; install the same on all")


def test_what_goes_wrong_on_a_worker_is_told_as_here(
    here: Path, fake: _FakeRay, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(overrides: list[str]) -> None:
        if "run.seed=2" in overrides:
            raise _core.InvariantError("port s->h0 lost a packet")

    FailingCore.install(monkeypatch, fail)
    kinds = [type(outcome.error).__name__ for outcome in _outcomes(here)]
    assert kinds == ["NoneType", "InvariantError"] * 2
    assert len(list(Path("cache").glob("runs/*/*"))) == 2
    fake.lost = True
    lost = _outcomes(here)[0].error
    assert "the cluster lost it (The worker died unexpectedly.); give the command again" in str(lost)


@pytest.mark.parametrize("where", ["while it is written", "before it is noted"])
def test_ctrl_c_between_a_run_and_the_note_of_it_loses_neither(
    here: Path, fake: _FakeRay, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    del fake
    keep = _Making.keep

    def struck(made: _Making) -> None:
        if where == "before it is noted":
            keep(made)
        raise KeyboardInterrupt

    sweep_scene.write(here)
    monkeypatch.setattr(_Making, "keep", struck)
    assert main(["sweep", "loads.toml", "--on", "ray"]) == Exit.CAVEATS
    done = 1 if where == "before it is noted" else 0
    assert f"interrupted: {done} of 4 runs done and kept" in capsys.readouterr().err
    assert len(list(Path("cache").glob("runs/*/*"))) == done
    assert not list(Path("cache/making").iterdir())


def test_without_ray_it_says_how_to_install_it(
    here: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    sweep_scene.write(here)
    monkeypatch.setitem(sys.modules, "ray", None)
    assert main(["sweep", "loads.toml", "--on", "ray"]) == Exit.BAD_INPUT
    assert "--on ray needs Ray, which is not installed: " + extras.install_group("ray") in capsys.readouterr().err


def test_a_cluster_that_is_not_there_is_named(here: Path) -> None:
    sweep_scene.write(here)
    begun = _started("--address", "127.0.0.1:1")
    # Ray itself would try for minutes.
    _, told = begun.communicate(timeout=90)
    assert begun.returncode == Exit.BAD_INPUT, told
    assert "there is no Ray cluster at 127.0.0.1:1" in told
    assert "Traceback" not in told
