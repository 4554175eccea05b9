"""Sweep files that are wrong, with the exact error of each; and any file at all is read or refused."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest
import sweep_scene
from backwater.errors import UsageError
from backwater.experiments import axis_values, sweep_file
from backwater.experiments.plan import combinations
from backwater.experiments.sweep_measures import MEASURES
from backwater.experiments.toml_document import Document
from hypothesis import given, settings
from hypothesis import strategies as st

_MEASURES = ", ".join(MEASURES)
_KEYS = "it has scenario, set, axes, zip, schemes, seeds, measures"
_RANGE = '{ from = "50KB", to = "200KB", step = "50KB" }'
_LINE = 'scenario = "star.toml"\n'


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def _refused(text: str) -> str:
    sweep_scene.write(Path(), text)
    with pytest.raises(UsageError) as told:
        sweep_file.of(Document.load("loads.toml", "sweep file"))
    message = str(told.value)
    assert message.startswith("loads.toml: ")
    return message.removeprefix("loads.toml: ")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", 'there is no scenario; name a file: scenario = "a.toml"'),
        ("x", "at the end: this is no TOML: Expected '=' after a key in a key/value pair"),
        ('scenario = "star.toml', "at the end: this is no TOML: Unterminated string"),
        (
            'scenario = "star.toml"\nscenario = "star.toml"\n',
            "line 2, column 23: this is no TOML: Cannot overwrite a value",
        ),
        ("scenario = 3", 'line 1: scenario = 3: name a file, such as "a.toml"'),
        ('scenario = ""', 'line 1: scenario = "": name a file, such as "a.toml"'),
        (
            '\ufeffscenario = "star.toml"\nseeds = 0',
            "line 2: seeds = 0: give how many (1 to 100000), a list such as [1, 2, 3], or { from = 1, count = 5 }",
        ),
        (_LINE + "seeds = \n", "line 2, column 9: this is no TOML: Invalid value"),
        (
            '[topology]\nkind = "star"',
            'this is a scenario, not a sweep: write a file with scenario = "loads.toml" and [axes], or do without one: '
            "backwater run loads.toml --sweep KEY=VALUE,VALUE",
        ),
        (_LINE + "sceeds = 3", f"line 2: 'sceeds' is not a key of a sweep; did you mean 'seeds'? {_KEYS}"),
        (_LINE + "[axis]\na = [1]", f"line 2: 'axis' is not a key of a sweep; did you mean 'axes'? {_KEYS}"),
        (
            _LINE + "seeds = 0",
            "line 2: seeds = 0: give how many (1 to 100000), a list such as [1, 2, 3], or { from = 1, count = 5 }",
        ),
        (
            _LINE + "seeds = true",
            "line 2: seeds = true: give how many (1 to 100000), a list such as [1, 2, 3], or { from = 1, count = 5 }",
        ),
        (
            _LINE + 'seeds = "3"',
            'line 2: seeds = "3": give how many (1 to 100000), a list such as [1, 2, 3], or { from = 1, count = 5 }',
        ),
        (_LINE + "seeds = [1, 1]", "line 2: seeds = [1, 1]: list at least one seed, and each once"),
        (_LINE + "seeds = []", "line 2: seeds = []: list at least one seed, and each once"),
        (_LINE + "seeds = [-1]", "line 2: seeds = -1: give a whole number from 0 to 18446744073709551615"),
        (
            _LINE + "seeds = { from = 1 }",
            "line 2: seeds = { from = 1 }: count is missing; write { from = 1, count = 5 }",
        ),
        (
            _LINE + "seeds = { form = 1, count = 3 }",
            "line 2: 'form' is not a key of seeds; did you mean 'from'? it has from, count",
        ),
        (
            _LINE + "seeds = { from = 18446744073709551615, count = 2 }",
            "line 2: seeds.from = 18446744073709551615: give a whole number from 0 to 18446744073709551614",
        ),
        (_LINE + "seeds = { count = 1e3 }", "line 2: seeds.count = 1000.0: give a whole number from 1 to 100000"),
        (_LINE + 'schemes = "ECN"', 'line 2: schemes = "ECN": give a list of texts, such as ["ECN", "TCD"]'),
        (_LINE + 'schemes = ["a", "a"]', "line 2: schemes lists 'a' twice; list it once"),
        (_LINE + 'measures = ["fct"]', f'line 2: measures = "fct": it may be {_MEASURES}'),
        (
            _LINE + 'measures = ["p99_slowdwon"]',
            f"line 2: measures = \"p99_slowdwon\": did you mean 'p99_slowdown'? it may be {_MEASURES}",
        ),
        (_LINE + "measures = []", 'line 2: measures = []: list at least one, such as ["pauses"]'),
        (
            _LINE + 'set = ["run.until"]',
            'line 2: set = ["run.until"]: "run.until" is no KEY=VALUE, such as run.until=2ms',
        ),
        (_LINE + "set = { run = 1 }", 'line 2: set = { run = 1 }: give a list of texts, such as ["run.until=2ms"]'),
        (_LINE + "axes = 3", 'line 2: axes = 3: write a table [axes] with lines such as "traffic.load" = [0.2, 0.4]'),
        (
            _LINE + '[axes]\n"traffic.load" = 0.2',
            f"line 3: traffic.load = 0.2: give a list of values, or a range such as {_RANGE}",
        ),
        (_LINE + '[axes]\n"traffic.load" = []', "line 3: traffic.load = []: there are no values; list at least one"),
        (_LINE + '[axes]\n"traffic.load" = [1, 1]', "line 3: traffic.load lists 1 twice; list it once"),
        (
            _LINE + '[axes]\n"traffic.load" = {}',
            f"line 3: traffic.load = {{}}: a range needs 'from'; write for example {_RANGE}",
        ),
        (
            _LINE + '[axes]\n"a.b" = { from = 1 }',
            f"line 3: a.b = {{ from = 1 }}: a range needs 'to'; write for example {_RANGE}",
        ),
        (
            _LINE + '[axes]\n"a.b" = { from = 1, to = 2 }',
            f"line 3: a.b has neither step nor count; give one of them, such as {_RANGE}",
        ),
        (
            _LINE + '[axes]\n"a.b" = { from = 1, to = 2, step = 1, count = 2 }',
            f"line 3: a.b has both step and count; give one of them, such as {_RANGE}",
        ),
        (
            _LINE + '[axes]\n"a.b" = { from = 2, to = 1, step = 1 }',
            "line 3: a.b: from = 2 is not below to = 1; exchange them",
        ),
        (
            _LINE + '[axes]\n"a.b" = { from = 1, to = 2, stp = 1 }',
            "line 3: 'stp' is not a key of the range a.b; did you mean 'step'? it has from, to, step, count, scale",
        ),
        (
            _LINE + '[axes]\n"a.b" = { from = "1KB", to = "2MB", step = "1KB" }',
            'line 3: a.b.to = "2MB" is in MB, from is in KB; write both in the same unit',
        ),
        (
            _LINE + '[axes]\n"a.b" = { from = "1KB", to = "2KB", step = 1 }',
            "line 3: a.b.step = 1 is without a unit, from is in KB; write both in the same unit",
        ),
        (
            _LINE + '[axes]\n"a.b" = { from = 0.1, to = 0.5, step = 0.3 }',
            "line 3: a.b: to is not a whole number of steps after from; the last value would be 0.4: write that",
        ),
        (_LINE + '[axes]\n"a.b" = { from = 0, to = 1, step = 0 }', "line 3: a.b.step = 0: a step is above 0"),
        (
            _LINE + '[axes]\n"a.b" = { from = 0, to = 1, step = 0.00001 }',
            "line 3: a.b would have 100001 values; at most 10000 are possible: a larger step",
        ),
        (
            _LINE + '[axes]\n"a.b" = { from = 0, to = 1, count = 1 }',
            "line 3: a.b.count = 1: give a whole number from 2 to 10000",
        ),
        (
            _LINE + '[axes]\n"a.b" = { from = 0, to = 1, count = 3, scale = "log" }',
            'line 3: a.b: scale = "log" needs a range above 0',
        ),
        (
            _LINE + '[axes]\n"a.b" = { from = 1, to = 9, step = 1, scale = "log" }',
            'line 3: a.b: scale = "log" has no steps; give count, how many values there are',
        ),
        (
            _LINE + '[axes]\n"a.b" = { from = 1, to = 9, count = 3, scale = "logarithmic" }',
            'line 3: a.b.scale = "logarithmic": it may be linear, log',
        ),
        (
            _LINE + '[axes]\n"a.b" = { from = nan, to = 9, count = 3 }',
            'line 3: a.b.from = nan: give a number, or a text of a number and a unit such as "50KB"',
        ),
        (
            _LINE + '[axes]\n"a.b" = { from = "fast", to = 9, count = 3 }',
            'line 3: a.b.from = "fast": give a number, or a text of a number and a unit such as "50KB"',
        ),
        (_LINE + '[axes]\n"run.seed" = [1, 2]', "line 3: run.seed is no axis: write seeds = 5, or seeds = [1, 2, 3]"),
        (
            _LINE + '[axes]\n"scheme" = ["a"]',
            "line 3: schemes are no axis: write schemes with the names of some, or nothing for all",
        ),
        (
            _LINE + "[axes]\ntraffic = [[]]",
            "line 3: traffic as a whole is no axis; vary its keys, such as traffic.kind",
        ),
        (_LINE + '[axes]\n"" = [1]', 'line 3: "" is not a key of a scenario, such as traffic.load'),
        (_LINE + '[axes]\n"a." = [1]', 'line 3: "a." is not a key of a scenario, such as traffic.load'),
        (
            _LINE + '[axes]\n"a.b" = [2020-01-01]',
            "line 3: 2020-01-01 is of type date, which no key of a scenario takes",
        ),
        (
            _LINE + "zip = 3",
            'line 2: zip = 3: write [[zip]], then lines such as "topology.rate" = ["40Gbps", "100Gbps"]',
        ),
        (
            _LINE + "[[zip]]",
            'line 2: this [[zip]] is empty; write lines such as "topology.rate" = ["40Gbps", "100Gbps"]',
        ),
        (
            _LINE + '[[zip]]\n"a.b" = [1, 2]\n"a.c" = [1]',
            "line 2: values of a [[zip]] go together, but a.b has 2, a.c has 1; make the lists equally long",
        ),
        (_LINE + '[[zip]]\n"a.b" = 1', f"line 3: a.b = 1: give a list of values, or a range such as {_RANGE}"),
        (
            _LINE + 'set = ["a.b=1"]\n[axes]\n"a.b" = [1, 2]',
            "line 4: a.b is varied here and in set; let it stand in one place",
        ),
        (
            _LINE + '[axes]\n"a.b" = [1, 2]\n[[zip]]\n"a.b" = [1, 2]',
            "line 5: a.b is varied here and in axes; let it stand in one place",
        ),
        (
            _LINE + '[axes]\n"a.b" = {from = 1, to = 10000, step = 1}\n"a.c" = {from = 1, to = 10000, step = 1}',
            "line 2: 10000 x 10000 x 1 seeds are 100000000 runs; at most 1000000 are possible: "
            "make several sweeps of it",
        ),
        (_LINE + '[axes]\na.b = [1]\n"a.b" = [2]', "line 3: a.b is varied here and in axes; let it stand in one place"),
    ],
)
def test_what_is_wrong_with_a_sweep_is_said_with_its_line_its_value_and_what_would_do(text: str, message: str) -> None:
    assert _refused(text) == message


def test_a_scenario_that_is_not_there_is_named_with_its_path(here: Path) -> None:
    assert _refused('scenario = "no.toml"') == (
        f'line 1: scenario = "no.toml": there is no file {here / "no.toml"}; paths count from the folder of this file'
    )


def test_files_that_are_not_there_or_no_text_are_refused(here: Path) -> None:
    with pytest.raises(UsageError, match=f"there is no sweep file {here / 'no.toml'}"):
        Document.load("no.toml", "sweep file")
    Path("bytes.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(UsageError, match=r"bytes\.toml is not UTF-8 text"):
        Document.load("bytes.toml", "sweep file")


def _axis(said: str) -> tuple[object, ...]:
    sweep_scene.write(Path(), f'{_LINE}[axes]\n"a.b" = {said}\n')
    return tuple(step[0] for step in sweep_file.of(Document.load("loads.toml", "sweep file")).axes[0].steps)


@pytest.mark.parametrize(
    ("said", "found"),
    [
        ("{ from = 0.1, to = 0.7, step = 0.2 }", (0.1, 0.3, 0.5, 0.7)),
        ("{ from = 1, to = 4, step = 1 }", (1, 2, 3, 4)),
        ("{ from = 1, to = 2, count = 3 }", (1, 1.5, 2)),
        ('{ from = "1us", to = "2us", count = 5 }', ("1us", "1.25us", "1.5us", "1.75us", "2us")),
        ('{ from = "0us", to = "1us", count = 4 }', ("0us", "0.333333333us", "0.666666667us", "1us")),
        ('{ from = "10KB", to = "1000KB", count = 3, scale = "log" }', ("10KB", "100KB", "1000KB")),
        ("{ from = 0.001, to = 1.0, count = 4, scale = 'log' }", (0.001, 0.01, 0.1, 1.0)),
        # Whole numbers stay whole, and what rounds to the same is one value.
        ("{ from = 1, to = 4, count = 9, scale = 'log' }", (1, 2, 3, 4)),
        ('["ecn", { kind = "tcd" }]', ("ecn", {"kind": "tcd"})),
    ],
)
def test_ranges_are_exact(said: str, found: tuple[object, ...]) -> None:
    assert _axis(said) == found


@settings(max_examples=200, deadline=None)
@given(st.integers(-1000, 1000), st.integers(1, 500), st.integers(1, 300), st.sampled_from(["", "KB", "us"]))
def test_a_range_begins_and_ends_as_it_says(
    tmp_path_factory: pytest.TempPathFactory, low: int, step: int, steps: int, unit: str
) -> None:
    table = {"from": low, "to": low + step * steps, "step": step}
    written = {key: f"{value / 100:.2f}{unit}" if unit else value for key, value in table.items()}
    document = Document("a", tmp_path_factory.getbasetemp(), {})
    found = axis_values.of_range(document, "", "a.b", written)
    scale = 100 if unit else 1
    numbers = [Fraction(str(value).removesuffix(unit)) * scale for value in found]
    assert numbers == [low + step * index for index in range(steps + 1)]


_PIECES = [
    'scenario = "star.toml"',
    "[axes]",
    "[[zip]]",
    "[seeds]",
    '"traffic.web.load" = [0.2, 0.4]',
    "traffic.web.load = { from = 0.1, to = 0.5, step = 0.1 }",
    '"a.b" = { from = "1KB", to = "9KB", count = 3, scale = "log" }',
    "seeds = 3",
    "seeds = { from = 2, count = 2 }",
    "from = 1",
    "count = 2",
    'schemes = ["a"]',
    'measures = ["pauses"]',
    'set = ["run.until=1ms"]',
]
_VALUES = st.recursive(
    st.one_of(st.integers(), st.floats(), st.booleans(), st.text(max_size=8), st.dates(), st.none()),
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.dictionaries(st.sampled_from(["from", "to", "step", "count", "scale", "a", "a.b", ""]), inner, max_size=5),
    ),
    max_leaves=12,
)


def _read_or_refused(document: Document) -> None:
    try:
        found = sweep_file.of(document)
    except UsageError as error:
        told = str(error)
    else:
        one, texts = next(combinations(found.axes))
        assert len(one) == len(texts) == len(found.keys)
        return
    assert told.startswith("loads.toml: ")


@settings(max_examples=300, deadline=None)
@given(st.lists(st.one_of(st.sampled_from(_PIECES), st.text(max_size=20)), max_size=10))
def test_any_text_is_read_or_refused(tmp_path_factory: pytest.TempPathFactory, lines: list[str]) -> None:
    file = sweep_scene.write(tmp_path_factory.getbasetemp())
    file.write_text("\n".join(lines), encoding="utf-8", errors="replace")
    try:
        read = Document.load(file, "sweep file")
    except UsageError as error:
        told = str(error)
    else:
        _read_or_refused(Document("loads.toml", read.base, read.tables, read.lines))
        return
    assert told.startswith(f"{file}: ")


@settings(max_examples=500, deadline=None)
@given(st.dictionaries(st.sampled_from(["axes", "zip", "seeds", "schemes", "measures", "set", "x"]), _VALUES))
def test_any_tables_are_read_or_refused(tmp_path_factory: pytest.TempPathFactory, tables: dict[str, object]) -> None:
    folder = tmp_path_factory.getbasetemp()
    sweep_scene.write(folder)
    _read_or_refused(Document("loads.toml", folder, {"scenario": "star.toml", **tables}))
