from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
import synthetic
from backwater import _core
from backwater.results import Results

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


@pytest.fixture
def tcd_run(tmp_path: Path) -> Results:
    return Results(synthetic.write(tmp_path / "tcd", "TCD"))


@pytest.fixture
def ecn_run(tmp_path: Path) -> Results:
    return Results(synthetic.write(tmp_path / "ecn", "ECN"))


class FakeCore:
    """Stands in for the simulator where a test is about what surrounds it."""

    def __init__(self) -> None:
        self.ran: list[tuple[tuple[str, ...], int | None]] = []
        self.fail: Callable[[tuple[str, ...], int | None], BaseException | None] = lambda *_: None

    def validate(self, text: str, origin: str, base_dir: str, overrides: list[str]) -> str:
        del origin, base_dir
        return json.dumps({"run": {"seed": 7, "threads": 1}, "text": text, "overrides": overrides})

    def run(self, *arguments: Any) -> str:
        _text, _origin, _base, overrides, out, _threads, seed, progress = arguments
        self.ran.append((tuple(overrides), seed))
        progress({"sim_time_ps": 1, "expected_end_ps": 2, "flows": 4, "plan": "at most 2GB"})
        error = self.fail(tuple(overrides), seed)
        if error is not None:
            raise error
        from pathlib import Path

        scheme = "ECN" if any("red" in override for override in overrides) else "TCD"
        folder = synthetic.write(Path(out), scheme, seed=seed or 7)
        return (folder / "run.json").read_text(encoding="utf-8")


@pytest.fixture
def fake_core(monkeypatch: pytest.MonkeyPatch) -> FakeCore:
    fake = FakeCore()
    monkeypatch.setattr(_core, "validate", fake.validate, raising=False)
    monkeypatch.setattr(_core, "run", fake.run, raising=False)
    return fake
