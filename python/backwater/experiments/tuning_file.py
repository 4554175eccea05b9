"""What a tuning file says: which measure is to become small or large, and which keys may change within which bounds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from backwater.errors import UsageError
from backwater.experiments import axis_values, sweep_file
from backwater.experiments.plan import Axis, Seeds
from backwater.experiments.sweep_file import SweepPlan
from backwater.experiments.sweep_measures import MEASURES
from backwater.experiments.toml_document import Document, Key, shown
from backwater.scenario import senders
from backwater.scenario.scenario import MAX_SEED, Scenario, numbered
from backwater.scenario.toml_writer import value_text

_MOST = 100_000
_SEEDS = Key(
    "seeds", "number, list or table", "`3`", "Seeds of every trial, as in a sweep; the objective is the mean.", "3"
)
_REPORT = Key(
    "report-seeds",
    "number, list or table",
    "`5`",
    "Seeds of the result that is reported, none of them among `seeds`; a number: so many after those.",
    "5",
)
_TRIALS = Key("trials", "whole number", "`30`", "How many settings are tried.", "30")
_BATCH = Key("batch", "whole number", "`4`", "How many of them are chosen at a time, and so can run at a time.", "4")
_SEARCH = Key("search-seed", "whole number", "`0`", "The seed of the search itself.", "0")
#: Every key of a tuning file.
KEYS = (
    sweep_file.SCENARIO,
    sweep_file.SET,
    Key("scheme", "text", "", "One of the schemes that the scenario lists; needed if it lists some.", '"TCD"'),
    Key("objective", "text", "", "The measure that is tuned: a column of a sweep's tables.", '"p99_slowdown"'),
    Key("traffic", "text", "", "The traffic entry whose measure it is; needed if there are several.", '"web"'),
    Key("goal", "text", "", '`"minimize"` or `"maximize"`; by itself what is better of the measure.', '"minimize"'),
    _TRIALS,
    _SEEDS,
    _REPORT,
    _BATCH,
    _SEARCH,
    Key("parameters", "table", "", "Keys of the scenario, each with a list of choices or a range.", '"a.b" = [1, 2]'),
)
#: What a range of a parameter may say.
RANGE_KEYS = (
    Key("from", "number or quantity", "", "Its lowest value. Between whole numbers whole ones are tried.", '"50KB"'),
    Key("to", "number or quantity", "", "Its highest value, in the same unit.", '"500KB"'),
    Key("scale", "text", '`"linear"`', '`"linear"`, or `"log"` to try small values as densely as large ones.', '"log"'),
)
_EXAMPLE = '{ from = "50KB", to = "500KB", scale = "log" }'


@dataclass(frozen=True)
class Parameter:
    """A key with its choices, or else with its bounds."""

    key: str
    choices: tuple[Any, ...] = ()
    low: axis_values.Quantity | None = None
    high: axis_values.Quantity | None = None
    log: bool = False

    @property
    def whole(self) -> bool:
        """Whether only whole numbers are tried."""
        return self.low is not None and self.high is not None and self.low.whole and self.high.whole

    def ends(self) -> tuple[Any, Any]:
        """Its first and its last value, as the scenario takes them."""
        if self.low is None or self.high is None:
            return self.choices[0], self.choices[-1]
        return self.value(float(self.low.number)), self.value(float(self.high.number))

    def value(self, number: float) -> Any:
        """A number between the bounds as the scenario takes it: six digits, and the unit."""
        if self.low is None:
            raise UsageError(f"{self.key} has choices and no bounds")
        exact = Fraction(round(number)) if self.whole else Fraction(f"{number:.6g}")
        return self.low.value(exact, whole=self.whole)

    def told(self) -> str:
        """What it may be, for people."""
        if self.low is None:
            return shown(list(self.choices))
        first, last = self.ends()
        return f"{shown(first)} to {shown(last)}{', log' if self.log else ''}"


@dataclass(frozen=True)
class Task:
    """A tuning, before anything of its scenario is checked."""

    document: Document
    scenario: Scenario
    overrides: tuple[str, ...]
    scheme: tuple[str, ...]
    objective: str
    traffic: str
    maximize: bool
    trials: int
    seeds: tuple[int, ...]
    report_seeds: tuple[int, ...]
    batch: int
    search_seed: int
    parameters: tuple[Parameter, ...]

    def plan(self, found: Mapping[str, Any], seeds: Sequence[int]) -> SweepPlan:
        """The sweep of one point: values of some parameters, all else as it is."""
        axes = tuple(Axis((key,), ((value,),), f"parameters.{key}") for key, value in found.items())
        return SweepPlan(
            scenario=self.scenario,
            overrides=self.overrides,
            axes=axes,
            schemes=self.scheme,
            seeds=Seeds(len(seeds), None, tuple(seeds)),
            document=self.document,
            measures=(self.objective,),
        )


def of(document: Document, overrides: Sequence[str] = (), trials: int | None = None) -> Task:
    """What a document says; raises UsageError with the line, the value and what would do."""
    tables = document.tables
    document.require_known(tables, "", [key.name for key in KEYS], "a tuning")
    scenario = sweep_file.scenario_of(document)
    given = (*sweep_file.overrides_of(document), *overrides)
    if "objective" not in tables:
        document.fail("", 'there is no objective; name a measure: objective = "p99_slowdown"')
    objective = document.one_of("objective", "objective", tables["objective"], MEASURES)
    goal = _goal(document, objective)
    whole = {
        key.name: document.whole(key.name, key, tables.get(key.name, int(key.default.strip("`"))), low, _MOST)
        for key, low in ((_TRIALS, 1), (_BATCH, 1), (_SEARCH, 0))
    }
    parameters = _parameters(document, given)
    resolved = scenario.resolve(given)
    scheme = _scheme(document, [entry["name"] for entry in resolved.get("scheme", [])])
    entries = [str(name) for name in senders.names(resolved)]
    seeds, report = _seeds(document, scenario, given)
    return Task(
        document,
        scenario,
        given,
        scheme,
        objective,
        _traffic(document, objective, entries),
        goal == "maximize",
        trials or whole["trials"],
        seeds,
        report,
        whole["batch"],
        whole["search-seed"],
        parameters,
    )


def _goal(document: Document, objective: str) -> str:
    better = MEASURES[objective].better
    goal = document.tables.get("goal", better)
    if goal is None:
        document.fail("objective", f'whether much or little of {objective} is better depends: add goal = "minimize"')
    return document.one_of("goal", "goal", goal, ("minimize", "maximize"))


def _scheme(document: Document, listed: Sequence[str]) -> tuple[str, ...]:
    named = document.tables.get("scheme")
    if not listed:
        if named is not None:
            document.fail("scheme", f"scheme = {shown(named)}, but the scenario lists none; remove it")
        return ()
    if named is None:
        document.fail("", f"the scenario lists schemes; name the one to tune: scheme = {shown(listed[0])}")
    return (document.one_of("scheme", "scheme", named, listed),)


def _traffic(document: Document, objective: str, entries: Sequence[str]) -> str:
    named = document.tables.get("traffic")
    if MEASURES[objective].scope == "run":
        if named is not None:
            document.fail("traffic", f"{objective} is of the run as a whole, not of a traffic entry; remove traffic")
        return ""
    if named is None and len(entries) > 1:
        document.fail("", f"there are several traffic entries; say whose {objective}: traffic = {shown(entries[0])}")
    return entries[0] if named is None else document.one_of("traffic", "traffic", named, entries)


def _seeds(document: Document, scenario: Scenario, overrides: Sequence[str]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Those of trials, and those of the report; the second are others than the first."""
    asked = sweep_file.seeds_of(document, "seeds", _SEEDS, Seeds(3))
    seeds = asked.listed or tuple(numbered(scenario, overrides, asked.first, asked.count))
    then = sweep_file.seeds_of(document, "report-seeds", _REPORT, Seeds(5))
    after = max(seeds) + 1 if then.first is None else then.first
    if not then.listed and after + then.count - 1 > MAX_SEED:
        document.fail("report-seeds", f"report-seeds: there are no {then.count} seeds after {max(seeds)}; list some")
    report = then.listed or tuple(range(after, after + then.count))
    both = sorted(set(seeds) & set(report))
    if both:
        document.fail(
            "report-seeds",
            f"report-seeds has {both[0]}, which is among seeds, too; a result counts on seeds that were not tuned on",
        )
    return seeds, report


def _parameters(document: Document, overrides: Sequence[str]) -> tuple[Parameter, ...]:
    found = document.tables.get("parameters")
    if not isinstance(found, dict) or not found:
        document.fail("parameters", f'write a table [parameters] with lines such as "switch.pfc.xoff" = {_EXAMPLE}')
    taken = {text.partition("=")[0].strip() for text in overrides}
    made: list[Parameter] = []
    for key, said in sweep_file.flat(document, "parameters", found):
        path = f"parameters.{key}"
        if key in taken or any(key == one.key for one in made):
            document.fail(path, f"{key} is a parameter here and set elsewhere, too; let it stand in one place")
        if key == "run.seed" or key == "scheme" or key.startswith("scheme."):
            document.fail(path, f"{key} is no parameter: a good seed is luck, and one scheme is tuned at a time")
        made.append(_parameter(document, path, key, said))
    return tuple(made)


def _parameter(document: Document, path: str, key: str, said: Any) -> Parameter:
    if isinstance(said, list):
        choices = axis_values.of_axis(document, path, key, said)
        for one in choices:
            try:
                value_text(one)
            except UsageError:
                document.fail(path, f"{one} is of type {type(one).__name__}, which no key of a scenario takes")
        if len(choices) < 2:
            document.fail(
                path, f"{key} = {shown(said)}: there is nothing to choose; list at least two values, or set it"
            )
        return Parameter(key, choices)
    if not isinstance(said, dict):
        document.fail(path, f"{key} = {shown(said)}: give a list of choices, or a range such as {_EXAMPLE}")
    document.require_known(said, path, [one.name for one in RANGE_KEYS], f"the range {key}")
    low, high = axis_values.bounds(document, path, key, said, _EXAMPLE)
    scale = document.one_of(path, f"{key}.scale", said.get("scale", "linear"), ("linear", "log"))
    if scale == "log" and low.number <= 0:
        document.fail(path, f'{key}: scale = "log" needs a range above 0')
    return Parameter(key, (), low, high, scale == "log")
