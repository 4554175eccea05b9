"""Pictures and tables of the documentation that carry their numbers are still what the model does."""

import importlib.util
import json
from pathlib import Path
from types import ModuleType

import polars as pl
from backwater import Results
from backwater.results import measures
from backwater.results.catalogue import named
from backwater.scenario import schemes
from backwater.scenario.scenario import Scenario
from PIL import Image

DOCS = Path(__file__).parents[2] / "docs"


def script(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, DOCS / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_figure_of_load_balancing_shows_what_its_scenario_does(tmp_path: Path) -> None:
    made = script("load_balancing")
    found = made.measure()
    again = "it shows something else by now: run `python docs/load_balancing.py`, look at it, and copy its table"
    with Image.open(made.PICTURE) as picture:
        assert json.loads(picture.info["Description"]) == found, again
    assert made.table(found) in (DOCS / "load-balancing.md").read_text(encoding="utf-8"), again
    # Arithmetic: sixteen flows of 4 MB, those that stay at their leaf not on these links; one that has a link for
    # itself is not held up, and one that shares it with two others takes three times as long.
    for way, values in found.items():
        assert len(values["load"]) == len(values["slowdown"]) == 64
        if way == "ecmp":
            assert all(load % 4 == 0 for load in values["load"])
            assert values["load"][-1] / 4 <= values["slowdown"][-1]
            assert values["early"] == [0] * 64
        # No flow is lost between the ways: what leaves the leaves is the same.
        assert abs(sum(values["load"]) - sum(found["ecmp"]["load"])) < 0.1
    assert made.draw(found, tmp_path / "x.png").stat().st_size > 10_000


def test_the_page_of_lossless_fabrics_says_what_its_scenario_does(tmp_path: Path) -> None:
    scenario = Scenario.load(DOCS.parent / "scenarios" / "lossless-or-not.toml")
    (scheme,) = schemes.of(scenario, only=["drop GBN DCQCN"])
    found = {}
    for seed in (3, 5):
        scenario.read((*scheme.overrides, f"run.seed={seed}")).run(tmp_path / str(seed))
        run = Results(tmp_path / str(seed))
        drops = measures.drops(run)
        rows = {row["traffic"]: row for row in measures.of_traffic(run, named("p99_slowdown timeouts")).to_dicts()}
        resent = run.flows.select(pl.col("resent_packets").sum()).collect().item()
        found[seed] = (
            drops,
            resent,
            round(rows["web-search"]["p99_slowdown"]),
            sum(r["timeouts"] for r in rows.values()),
        )
    page = (DOCS / "showcases" / "lossless.md").read_text(encoding="utf-8")
    assert found == {3: (2152, 4048, 20, 0), 5: (1681, 5802, 26, 2)}, "run `python docs/showcases/lossless.py` again"
    for told in ("429, 7 153, 20, 11 949 and 26", "39, 114, 0, 289 and 2", "| 1 681 to 93 914 | 4 048 to 355 236 |"):
        assert told in page
