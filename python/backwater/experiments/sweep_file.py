"""What a sweep file says: which scenario, which of its keys take which values, under which schemes and seeds."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from backwater._core import ScenarioError
from backwater.experiments import axis_values
from backwater.experiments.plan import MOST_RUNS, Axis, Plan, Seeds
from backwater.experiments.sweep_measures import DEFAULT, MEASURES, TAKEN
from backwater.experiments.toml_document import Document, Key, shown
from backwater.scenario.scenario import MAX_SEED, MOST_SEEDS, Scenario
from backwater.scenario.toml_writer import value_text

SCENARIO = Key("scenario", "text", "", "The scenario file; its path counts from the folder of this file.", '"a.toml"')
SET = Key(
    "set", "list of texts", "`[]`", "Keys of the scenario that have another value in all runs.", '["run.until=2ms"]'
)
#: Every key of a sweep file.
KEYS = (
    SCENARIO,
    SET,
    Key(
        "axes",
        "table",
        "",
        "Keys of the scenario, each with a list of values or a range; every combination is run.",
        '"traffic.load" = [0.2, 0.4]',
    ),
    Key(
        "zip",
        "list of tables",
        "`[]`",
        "Keys whose values go together, the first of each with the first of the others: lists or ranges of one length.",
        '"topology.rate" = ["40Gbps", "100Gbps"]',
    ),
    Key("schemes", "list of texts", "all", "Which of the schemes that the scenario lists.", '["ECN", "TCD"]'),
    Key(
        "seeds",
        "number, list or table",
        "`1`",
        "How many seeds, from the scenario's own on; a list of them; or `{ from = 1, count = 5 }`.",
        "5",
    ),
    Key(
        "measures", "list of texts", ", ".join(f"`{name}`" for name in DEFAULT), "Columns of the tables.", '["pauses"]'
    ),
)
_BY_NAME = {key.name: key for key in KEYS}


@dataclass(frozen=True, kw_only=True)
class SweepPlan(Plan):
    """A plan that a document says."""

    document: Document

    @property
    def asked(self) -> Mapping[str, Any]:
        """The document."""
        return {"file": self.document.origin, "sweep": self.document.tables}

    @contextmanager
    def told_where(self, texts: Sequence[str]) -> Iterator[None]:
        """What the core says of ``--set`` is said of the line of this file that set it."""
        try:
            yield
        except ScenarioError as error:
            paths = {
                key: f"{axis.path}.{key}" if len(axis.keys) > 1 else axis.path
                for axis in self.axes
                for key in axis.keys
            }
            paths = {text: paths[text.partition("=")[0]] for text in texts} | dict.fromkeys(self.overrides, "set")
            told = str(error)
            for text, path in paths.items():
                told = told.replace(f"--> --set {text}:", f"--> {self.document.place(path)}: {text}:")
            raise ScenarioError(told) from None


def of(document: Document) -> SweepPlan:
    """What a document says; raises UsageError with the line, the value and what would do."""
    tables = document.tables
    if "scenario" not in tables and tables.keys() & {"topology", "traffic", "profile"}:
        told = f"this is a scenario, not a sweep: write a file with scenario = {shown(document.origin)} and [axes]"
        document.fail("", f"{told}, or do without one: backwater run {document.origin} --sweep KEY=VALUE,VALUE")
    document.require_known(tables, "", _BY_NAME, "a sweep")
    scenario = scenario_of(document)
    overrides = overrides_of(document)
    axes = (*_axes(document), *_zips(document))
    _require_each_once(document, axes, overrides)
    seeds = seeds_of(document, "seeds", _BY_NAME["seeds"], Seeds(1))
    schemes = document.texts("schemes", _BY_NAME["schemes"], tables["schemes"]) if "schemes" in tables else ()
    measures: tuple[str, ...] = DEFAULT
    if "measures" in tables:
        measures = document.texts("measures", _BY_NAME["measures"], tables["measures"])
        for name in measures:
            document.one_of("measures", "measures", name, MEASURES)
    runs = math.prod(len(axis.steps) for axis in axes) * seeds.count
    if runs > MOST_RUNS:
        factors = " x ".join([*(str(len(axis.steps)) for axis in axes), f"{seeds.count} seeds"])
        document.fail("axes", f"{factors} are {runs} runs; at most {MOST_RUNS} are possible: make several sweeps of it")
    return SweepPlan(
        scenario=scenario,
        overrides=overrides,
        axes=axes,
        schemes=schemes,
        seeds=seeds,
        document=document,
        measures=measures,
    )


def scenario_of(document: Document) -> Scenario:
    """The scenario that a document names."""
    found = document.tables.get("scenario")
    if found is None:
        document.fail("", f"there is no scenario; name a file: scenario = {SCENARIO.example}")
    if not isinstance(found, str) or not found or "\0" in found:
        document.fail("scenario", f"scenario = {shown(found)}: name a file, such as {SCENARIO.example}")
    file = document.base / found
    if not file.exists():
        document.fail(
            "scenario", f"scenario = {shown(found)}: there is no file {file}; paths count from the folder of this file"
        )
    return Scenario.load(file)


def overrides_of(document: Document) -> tuple[str, ...]:
    """What a document sets in all runs."""
    found = document.texts("set", SET, document.tables.get("set", []), optional=True)
    for text in found:
        if not text.partition("=")[0].strip() or not text.partition("=")[2].strip():
            document.fail("set", f"set = {shown(list(found))}: {shown(text)} is no KEY=VALUE, such as run.until=2ms")
    return found


def flat(document: Document, path: str, table: Mapping[str, Any], name: str = "") -> Iterator[tuple[str, Any]]:
    """Keys of a scenario with what is said of them, whether their dots are in quotes or part tables."""
    for key, found in table.items():
        whole = f"{name}.{key}" if name else key
        if not all(part.strip() for part in whole.split(".")):
            document.fail(f"{path}.{whole}", f"{shown(whole)} is not a key of a scenario, such as traffic.load")
        # A range says something plain of its ends; a table of keys has only lists and tables.
        if isinstance(found, dict) and found and not any(_is_plain(one) for one in found.values()):
            yield from flat(document, path, found, whole)
        else:
            yield whole, found


def _is_plain(found: Any) -> bool:
    return not isinstance(found, dict | list)


def _axes(document: Document) -> Iterator[Axis]:
    found = document.tables.get("axes", {})
    if not isinstance(found, dict):
        document.fail(
            "axes", f"axes = {shown(found)}: write a table [axes] with lines such as {_BY_NAME['axes'].example}"
        )
    for key, said in flat(document, "axes", found):
        path = f"axes.{key}"
        yield Axis((key,), tuple((one,) for one in axis_values.of_axis(document, path, key, said)), path)


def _zips(document: Document) -> Iterator[Axis]:
    found = document.tables.get("zip", [])
    if not isinstance(found, list) or not all(isinstance(one, dict) for one in found):
        document.fail("zip", f"zip = {shown(found)}: write [[zip]], then lines such as {_BY_NAME['zip'].example}")
    for number, table in enumerate(found):
        path = f"zip.{number}"
        lists = {key: _of_zip(document, f"{path}.{key}", key, said) for key, said in flat(document, path, table)}
        if not lists:
            document.fail(path, f"this [[zip]] is empty; write lines such as {_BY_NAME['zip'].example}")
        lengths = {len(one) for one in lists.values()}
        if len(lengths) > 1:
            told = ", ".join(f"{key} has {len(one)}" for key, one in lists.items())
            document.fail(path, f"values of a [[zip]] go together, but {told}; make the lists equally long")
        yield Axis(tuple(lists), tuple(zip(*lists.values(), strict=True)), path)


def _of_zip(document: Document, path: str, key: str, found: Any) -> tuple[Any, ...]:
    # Beside another key that changes, a value may come again.
    if isinstance(found, list) and 0 < len(found) <= axis_values.MOST:
        return tuple(found)
    return axis_values.of_axis(document, path, key, found)


def _require_each_once(document: Document, axes: tuple[Axis, ...], overrides: tuple[str, ...]) -> None:
    seen = {text.partition("=")[0].strip(): "set" for text in overrides}
    for axis in axes:
        for key in axis.keys:
            path = f"{axis.path}.{key}" if axis.path.startswith("zip") else axis.path
            if key in seen:
                document.fail(path, f"{key} is varied here and in {seen[key]}; let it stand in one place")
            if key == "run.seed":
                document.fail(path, "run.seed is no axis: write seeds = 5, or seeds = [1, 2, 3]")
            if key == "scheme" or key.startswith("scheme."):
                document.fail(path, "schemes are no axis: write schemes with the names of some, or nothing for all")
            if key in TAKEN:
                document.fail(path, f"{key} as a whole is no axis; vary its keys, such as {key}.kind")
            seen[key] = "zip" if axis.path.startswith("zip") else "axes"
        for step in axis.steps:
            for one in step:
                _require_value(document, axis.path, one)


def _require_value(document: Document, path: str, value: Any) -> None:
    try:
        value_text(value)
    except Exception:  # noqa: BLE001  dates and times of TOML, which a scenario has no use for
        document.fail(path, f"{value} is of type {type(value).__name__}, which no key of a scenario takes")


def seeds_of(document: Document, path: str, key: Key, default: Seeds) -> Seeds:
    """Seeds as a number, a list or a table."""
    found = document.tables.get(path)
    if found is None:
        return default
    if isinstance(found, list):
        for one in found:
            document.whole(path, key, one, 0, MAX_SEED)
        if not found or len(set(found)) < len(found):
            document.fail(path, f"{path} = {shown(found)}: list at least one seed, and each once")
        return Seeds(len(found), None, tuple(found))
    if isinstance(found, dict):
        document.require_known(found, path, ("from", "count"), path)
        if "count" not in found:
            document.fail(path, f"{path} = {shown(found)}: count is missing; write {{ from = 1, count = 5 }}")
        count = document.whole(path, Key(f"{path}.count", "", "", "", ""), found["count"], 1, MOST_SEEDS)
        most = MAX_SEED - count + 1
        begin = Key(f"{path}.from", "", "", "", "")
        return Seeds(count, document.whole(path, begin, found["from"], 0, most) if "from" in found else None)
    if isinstance(found, bool) or not isinstance(found, int) or not 1 <= found <= MOST_SEEDS:
        document.fail(
            path,
            f"{path} = {shown(found)}: give how many (1 to {MOST_SEEDS}), a list such as [1, 2, 3], "
            "or { from = 1, count = 5 }",
        )
    return Seeds(found)
