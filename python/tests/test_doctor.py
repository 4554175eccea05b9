"""``backwater doctor``: what it says of an installation that works, and of one that does not."""

from __future__ import annotations

import json
import shutil
from typing import TYPE_CHECKING, Any

import pytest
from backwater import _core, extras
from backwater.cli import doctor_checks, main
from backwater.cli.doctor_checks import Check, Finding
from backwater.errors import Exit
from backwater.experiments import self_check

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the self-check, for tests of all else."""
    monkeypatch.setattr(doctor_checks, "self_checks", lambda: iter(()))


def _doctor(tmp_path: Path, capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, dict[str, dict[str, Any]]]:
    code = main(["doctor", "--json", *(words or ("--out", str(tmp_path / "results")))])
    data = json.loads(capsys.readouterr().out)
    assert data["exit_code"] == code
    return code, {check["name"]: check for check in data["checks"]}


def test_the_self_check_gives_its_digest_on_any_number_of_threads() -> None:
    found = list(doctor_checks.self_checks())
    assert [check.finding for check in found] == [Finding.OK] * 3, found
    assert found[-1].name == "speed"
    # It is worth its name: PFC, marks and congestion control are all in it.
    run = json.loads(_core.Scenario(self_check.SCENARIO, "self-check", ".", []).run())
    assert run["totals"]["pauses"] > 0
    assert sum(entry["ce_packets"] + entry["ue_packets"] for entry in run["traffic"]) > 0
    assert run["status"] == "complete"


def test_an_installation_that_works_says_what_it_is(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, found = _doctor(tmp_path, capsys)
    assert code == Exit.OK, found
    assert found["backwater"]["told"].startswith(_core.__version__)
    assert "opt-level" in found["core"]["told"]
    assert "cores usable" in found["machine"]["told"]
    assert found["polars"]["finding"] == "ok"
    assert {"numba", "optuna", "ray", "tshark", "chromium", "backwater-switch"} <= set(found)
    # Nothing is written, not even the folder.
    assert list(tmp_path.iterdir()) == []


@pytest.mark.usefixtures("quick")
def test_its_text_can_be_copied_line_by_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor", "--out", str(tmp_path)]) == Exit.OK
    lines = capsys.readouterr().out.splitlines()
    assert all(line.split()[0] in set(Finding) for line in lines)
    assert any(line.startswith("ok      backwater ") for line in lines)


def test_another_digest_is_a_broken_invariant(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(self_check, "DIGEST", "0123456789abcdef")
    code, found = _doctor(tmp_path, capsys)
    assert code == Exit.INVARIANT_BROKEN
    assert "not 0123456789abcdef" in found["self-check, 2 threads"]["told"]


def test_a_core_that_fails_is_told_without_a_traceback(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken(*_: object) -> str:
        raise _core.InvariantError("12us: deadlock: a -> b\nmore")

    monkeypatch.setattr(self_check, "run", broken)
    code, found = _doctor(tmp_path, capsys)
    assert code == Exit.INVARIANT_BROKEN
    assert found["self-check, 1 thread"]["told"] == "12us: deadlock: a -> b"


@pytest.mark.usefixtures("quick")
def test_a_debug_build_and_a_full_disk_are_worth_a_word(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    facts = {"profile": "debug", "opt_level": "0", "target": "x", "debug_assertions": True, "mpi": False}
    monkeypatch.setattr(_core, "build_facts", lambda: json.dumps(facts))
    monkeypatch.setattr(shutil, "disk_usage", lambda _: type("Usage", (), {"free": 1000})())
    code, found = _doctor(tmp_path, capsys)
    assert code == Exit.CAVEATS
    assert found["core"]["finding"] == found["results folder"]["finding"] == "poor"
    assert "ten times slower" in found["core"]["hint"]


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize(
    ("place", "told"), [("file", "is a file"), ("file/below", "is a file"), ("locked/results", "cannot be written to")]
)
def test_a_results_folder_that_cannot_be_is_told(
    place: str, told: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text("")
    (tmp_path / "locked").mkdir()
    # Root may write everywhere, so access is asked.
    monkeypatch.setattr("os.access", lambda path, _: "locked" not in str(path))
    code, found = _doctor(tmp_path, capsys, "--out", str(tmp_path / place))
    assert code == Exit.CAVEATS
    assert told in found["results folder"]["told"]
    assert "--out" in found["results folder"]["hint"]


@pytest.mark.usefixtures("quick")
def test_the_cache_of_sweeps_is_looked_at(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("BACKWATER_CACHE", str(tmp_path / "file"))
    code, found = _doctor(tmp_path, capsys)
    assert code == Exit.CAVEATS
    assert "is a file" in found["cache of sweeps"]["told"]
    assert "BACKWATER_CACHE" in found["cache of sweeps"]["hint"]


@pytest.mark.usefixtures("quick")
def test_what_is_absent_says_what_for_and_how_to_get_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    there: Callable[[str], str | None] = doctor_checks._version
    monkeypatch.setattr(doctor_checks, "_version", lambda name: None if name in ("ray", "polars") else there(name))
    monkeypatch.setattr(shutil, "which", lambda _: None)
    code, found = _doctor(tmp_path, capsys)
    # What is only absent does not count, what is needed does.
    assert code == Exit.CAVEATS
    assert found["ray"]["finding"] == found["tshark"]["finding"] == "absent"
    assert found["ray"]["hint"] == f"for backwater sweep --on ray: {extras.install_group('ray')}"
    assert found["polars"]["finding"] == "broken"


def test_exit_codes_follow_from_what_was_found() -> None:
    def code(*findings: tuple[str, Finding]) -> Exit:
        return doctor_checks.exit_code([Check(name, finding, "") for name, finding in findings])

    assert code(("ray", Finding.ABSENT), ("core", Finding.OK)) == Exit.OK
    assert code(("core", Finding.POOR)) == Exit.CAVEATS
    assert code(("numpy", Finding.BROKEN)) == Exit.CAVEATS
    assert code(("self-check, 2 threads", Finding.BROKEN)) == Exit.INVARIANT_BROKEN
