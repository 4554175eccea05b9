"""Tuning files that are wrong, with the exact error of each; and any tables at all are read or refused."""

from __future__ import annotations

from pathlib import Path

import pytest
import sweep_scene
from backwater import ScenarioError
from backwater.errors import UsageError
from backwater.experiments import tuning_file
from backwater.experiments.sweep_measures import MEASURES
from backwater.experiments.toml_document import Document
from hypothesis import given, settings
from hypothesis import strategies as st

_MEASURES = ", ".join(MEASURES)
_RANGE = '{ from = "50KB", to = "500KB", scale = "log" }'
_LINE = 'scenario = "star.toml"\n'
_TASK = _LINE + 'objective = "p99_slowdown"\ntraffic = "web"\n'
_ONE = '[parameters]\n"a.b" = [1, 2]\n'


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (_LINE, 'there is no objective; name a measure: objective = "p99_slowdown"'),
        (
            _LINE + 'objektive = "p99_slowdown"',
            "line 2: 'objektive' is not a key of a tuning; did you mean 'objective'? it has "
            + ", ".join(key.name for key in tuning_file.KEYS),
        ),
        (_LINE + 'objective = "p99"', f'line 2: objective = "p99": it may be {_MEASURES}'),
        (
            _LINE + 'objective = "p99_slowdown"\n',
            f'write a table [parameters] with lines such as "switch.pfc.xoff" = {_RANGE}',
        ),
        (
            _LINE + 'objective = "packets"\ntraffic = "web"\n' + _ONE,
            'line 2: whether much or little of packets is better depends: add goal = "minimize"',
        ),
        (
            _LINE + 'objective = "p99_slowdown"\n' + _ONE,
            'there are several traffic entries; say whose p99_slowdown: traffic = "web"',
        ),
        (
            _LINE + 'objective = "p99_slowdown"\ntraffic = "wep"\n' + _ONE,
            "line 3: traffic = \"wep\": did you mean 'web'? it may be web, incast",
        ),
        (
            _LINE + 'objective = "pauses"\ntraffic = "web"\n' + _ONE,
            "line 3: pauses is of the run as a whole, not of a traffic entry; remove traffic",
        ),
        (_TASK + 'goal = "up"\n' + _ONE, 'line 4: goal = "up": it may be minimize, maximize'),
        (_TASK + "trials = 0\n" + _ONE, "line 4: trials = 0: give a whole number from 1 to 100000"),
        (_TASK + "trials = 2.5\n" + _ONE, "line 4: trials = 2.5: give a whole number from 1 to 100000"),
        (_TASK + 'batch = "4"\n' + _ONE, 'line 4: batch = "4": give a whole number from 1 to 100000'),
        (_TASK + "search-seed = -1\n" + _ONE, "line 4: search-seed = -1: give a whole number from 0 to 100000"),
        (_TASK + 'scheme = "TCD"\n' + _ONE, 'line 4: scheme = "TCD", but the scenario lists none; remove it'),
        (
            _TASK + "seeds = [1, 2]\nreport-seeds = [2, 3]\n" + _ONE,
            "line 5: report-seeds has 2, which is among seeds, too; a result counts on seeds that were not tuned on",
        ),
        (
            _TASK + "seeds = [18446744073709551615]\n" + _ONE,
            "report-seeds: there are no 5 seeds after 18446744073709551615; list some",
        ),
        (
            _TASK + "report-seeds = 0\n" + _ONE,
            "line 4: report-seeds = 0: give how many (1 to 100000), a list such as [1, 2, 3], or { fr"
            "om = 1, count = 5 }",
        ),
        (_TASK, f'write a table [parameters] with lines such as "switch.pfc.xoff" = {_RANGE}'),
        (
            _TASK + "parameters = 3\n",
            f'line 4: write a table [parameters] with lines such as "switch.pfc.xoff" = {_RANGE}',
        ),
        (
            _TASK + "[parameters]\n",
            f'line 4: write a table [parameters] with lines such as "switch.pfc.xoff" = {_RANGE}',
        ),
        (_TASK + '[parameters]\n"a.b" = 3', f"line 5: a.b = 3: give a list of choices, or a range such as {_RANGE}"),
        (
            _TASK + '[parameters]\n"a.b" = [1]',
            "line 5: a.b = [1]: there is nothing to choose; list at least two values, or set it",
        ),
        (_TASK + '[parameters]\n"a.b" = [1, 1]', "line 5: a.b lists 1 twice; list it once"),
        (
            _TASK + '[parameters]\n"a.b" = { from = 1 }',
            f"line 5: a.b = {{ from = 1 }}: a range needs 'to'; write for example {_RANGE}",
        ),
        (
            _TASK + '[parameters]\n"a.b" = { from = 2, to = 1 }',
            "line 5: a.b: from = 2 is not below to = 1; exchange them",
        ),
        (
            _TASK + '[parameters]\n"a.b" = { from = "1KB", to = "2" }',
            'line 5: a.b.to = "2" is without a unit, from is in KB; write both in the same unit',
        ),
        (
            _TASK + '[parameters]\n"a.b" = { from = 1, to = 2, step = 1 }',
            "line 5: 'step' is not a key of the range a.b; it has from, to, scale",
        ),
        (
            _TASK + '[parameters]\n"a.b" = { from = 0, to = 2, scale = "log" }',
            'line 5: a.b: scale = "log" needs a range above 0',
        ),
        (
            _TASK + '[parameters]\n"run.seed" = [1, 2]',
            "line 5: run.seed is no parameter: a good seed is luck, and one scheme is tuned at a time",
        ),
        (
            _TASK + '[parameters]\n"scheme" = ["a", "b"]',
            "line 5: scheme is no parameter: a good seed is luck, and one scheme is tuned at a time",
        ),
        (
            _TASK + 'set = ["a.b=1"]\n' + _ONE,
            "line 6: a.b is a parameter here and set elsewhere, too; let it stand in one place",
        ),
        (
            _TASK + '[parameters]\n"a.b" = [1, 2020-01-01]',
            "line 5: 2020-01-01 is of type date, which no key of a scenario takes",
        ),
    ],
)
def test_what_is_wrong_with_a_tuning_is_said_with_its_line_its_value_and_what_would_do(text: str, message: str) -> None:
    sweep_scene.write(Path(), text)
    with pytest.raises(UsageError) as told:
        tuning_file.of(Document.load("loads.toml", "tuning file"))
    assert str(told.value) == f"loads.toml: {message}"


def test_of_a_scenario_with_schemes_one_is_named() -> None:
    sweep_scene.write(Path(), _TASK + _ONE, sweep_scene.SCENARIO + sweep_scene.SCHEMES)
    with pytest.raises(UsageError, match='the scenario lists schemes; name the one to tune: scheme = "none"'):
        tuning_file.of(Document.load("loads.toml", "tuning file"))


_VALUES = st.recursive(
    st.one_of(st.integers(), st.floats(), st.booleans(), st.text(max_size=8), st.dates(), st.just("web")),
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.dictionaries(st.sampled_from(["from", "to", "scale", "count", "a", "a.b", ""]), inner, max_size=4),
    ),
    max_leaves=10,
)
_GOOD = {"scenario": "star.toml", "objective": "p99_slowdown", "traffic": "web", "parameters": {"a.b": [1, 2]}}


@settings(max_examples=500, deadline=None)
@given(st.dictionaries(st.sampled_from([key.name for key in tuning_file.KEYS if key.name != "scenario"]), _VALUES))
def test_any_tables_are_read_or_refused(tmp_path_factory: pytest.TempPathFactory, tables: dict[str, object]) -> None:
    folder = tmp_path_factory.getbasetemp()
    sweep_scene.write(folder)
    try:
        made = tuning_file.of(Document("loads.toml", folder, {**_GOOD, **tables}))
    except UsageError as error:
        told = str(error)
    except ScenarioError:
        # What it sets is told by the core.
        assert "set" in tables
        return
    else:
        assert not set(made.seeds) & set(made.report_seeds)
        assert all(one.ends() for one in made.parameters)
        return
    assert told.startswith("loads.toml: ")
