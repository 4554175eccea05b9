from __future__ import annotations

import atexit
import json
import os
import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import backwater
import pytest
import synthetic
from backwater import Results, _core
from backwater.analysis.blame import Blame
from backwater.experiments import plan
from backwater.experiments.plan import Content
from backwater.papers import paper_figure
from blame_scenes import figure_3, overlapped_trees
from small_paper import CLAIMS, EXPERIMENT, FIGURE

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from backwater.scenario.scenario import Scenario

# What fails unexpectedly in a test shows where.
os.environ.setdefault("BACKWATER_TRACEBACK", "1")

# Tests know nothing that was run before, and leave nothing behind.
os.environ["BACKWATER_CACHE"] = tempfile.mkdtemp(prefix="backwater-cache-")
atexit.register(shutil.rmtree, os.environ["BACKWATER_CACHE"], ignore_errors=True)

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

    def content(self, scenario: Scenario, overrides: Sequence[str]) -> Content:
        return Content({"settings": scenario.resolve(tuple(overrides))}, None)

    def read(self, text: str, _origin: str, _base: Path, overrides: list[str]) -> FakeScenario:
        return FakeScenario(self, text, overrides)


class FakeScenario:
    """The handle that it gives."""

    def __init__(self, core: FakeCore, text: str, overrides: list[str]) -> None:
        seeds = [int(key.removeprefix("run.seed=")) for key in overrides if key.startswith("run.seed=")]
        self.core, self.text, self.seed = core, text, seeds[-1] if seeds else None
        self.overrides = tuple(key for key in overrides if not key.startswith(("run.seed=", "run.threads=")))

    def resolved(self) -> str:
        return json.dumps({"run": {"seed": 7, "threads": 1}, "text": self.text, "overrides": self.overrides})

    def estimate(self) -> str:
        raise _core.ScenarioError("a stand-in takes no time")

    def functions(self) -> None:
        return None

    def run(self, out: Path, progress: Callable[[Any], None], *_functions: Any) -> str:
        self.core.ran.append((self.overrides, self.seed))
        progress({"sim_time_ps": 1, "expected_end_ps": 2, "flows": 4, "plan": "at most 2GB"})
        error = self.core.fail(self.overrides, self.seed)
        if error is not None:
            raise error
        scheme = "ECN" if any("red" in override for override in self.overrides) else "TCD"
        folder = synthetic.write(Path(out), scheme, seed=self.seed or 7)
        return (folder / "run.json").read_text(encoding="utf-8")


@pytest.fixture
def fake_core(monkeypatch: pytest.MonkeyPatch) -> FakeCore:
    fake = FakeCore()
    monkeypatch.setattr(plan, "content", fake.content)
    monkeypatch.setattr(_core, "Scenario", fake.read)
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
