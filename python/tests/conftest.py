from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import backwater
import pytest
import synthetic
from backwater import Results, _core
from backwater.analysis.blame import Blame
from backwater.experiments import content_key
from backwater.papers import paper_figure
from blame_scenes import figure_3, overlapped_trees
from small_paper import CLAIMS, EXPERIMENT, FIGURE

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from backwater.scenario.scenario import Scenario

# What fails unexpectedly in a test shows where.
os.environ.setdefault("BACKWATER_TRACEBACK", "1")

_SCENARIOS = Path(__file__).parents[2] / "scenarios"


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

    def content(self, scenario: Scenario, overrides: Sequence[str]) -> dict[str, Any]:
        return {"settings": scenario.resolve(tuple(overrides))}

    def run(self, *arguments: Any) -> str:
        _text, _origin, _base, overrides, out, _threads, seed, progress, *_functions = arguments
        self.ran.append((tuple(overrides), seed))
        progress({"sim_time_ps": 1, "expected_end_ps": 2, "flows": 4, "plan": "at most 2GB"})
        error = self.fail(tuple(overrides), seed)
        if error is not None:
            raise error
        scheme = "ECN" if any("red" in override for override in overrides) else "TCD"
        folder = synthetic.write(Path(out), scheme, seed=seed or 7)
        return (folder / "run.json").read_text(encoding="utf-8")


@pytest.fixture
def fake_core(monkeypatch: pytest.MonkeyPatch) -> FakeCore:
    fake = FakeCore()
    monkeypatch.setattr(_core, "validate", fake.validate, raising=False)
    monkeypatch.setattr(content_key, "of", fake.content)
    monkeypatch.setattr(_core, "run", fake.run, raising=False)
    return fake


@pytest.fixture(scope="session")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Blame]:
    """Runs a scenario once for all tests."""
    folder, kept = tmp_path_factory.mktemp("blame"), dict[tuple[str, ...], Blame]()

    def run(name: str, text: str, *overrides: str) -> Blame:
        key = (name, *overrides)
        if key not in kept:
            file = folder / f"{name}.toml"
            file.write_text(text, encoding="utf-8")
            kept[key] = Blame(backwater.run(file, overrides=overrides, out=folder / f"{name}-{len(kept)}"))
        return kept[key]

    return run


@pytest.fixture(scope="session")
def isolated(runs: Callable[..., Blame]) -> Blame:
    return runs("figure-3", figure_3())


@pytest.fixture(scope="session")
def overlapped(runs: Callable[..., Blame]) -> Blame:
    return runs("overlapped", overlapped_trees())


@pytest.fixture(scope="session")
def covered(runs: Callable[..., Blame]) -> Blame:
    return runs("covered", (_SCENARIOS / "multi-congestion-points.toml").read_text(encoding="utf-8"))


@pytest.fixture
def papers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    figure = tmp_path / "papers" / "demo" / "fig03"
    figure.mkdir(parents=True)
    for name, text in (("experiment.toml", EXPERIMENT), ("claims.toml", CLAIMS), ("figure.py", FIGURE)):
        (figure / name).write_text(text)
    (figure / "one.toml").write_text("# a scenario")
    monkeypatch.setattr(paper_figure, "papers", lambda: tmp_path / "papers")
    monkeypatch.chdir(tmp_path)
    return tmp_path / "papers"
