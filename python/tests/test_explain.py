"""``backwater explain``: every word that the program prints or reads is known, and means what its source says."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from backwater import InvariantError, ScenarioError, _core
from backwater.cli import explaining, main
from backwater.common import codes
from backwater.errors import MEANS, Exit, UsageError
from backwater.experiments.sweep_measures import MEASURES
from backwater.papers import paper_figure
from hypothesis import given, settings
from hypothesis import strategies as st

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[2]
VALID = ROOT / "crates" / "scenario" / "src" / "valid"
STAR = """profile = "authors"
[topology]
kind = "star"
hosts = 4
rate = "100Gbps"
delay = "1us"
[[traffic]]
name = "bg"
kind = "flow"
from = "h0"
to = "h1"
size = "1MB"
start = "0us"
"""


def explain(word: str, capsys: pytest.CaptureFixture[str]) -> list[dict[str, Any]]:
    assert main(["explain", word, "--json"]) == Exit.OK, word
    found: list[dict[str, Any]] = json.loads(capsys.readouterr().out)["found"]
    return found


def test_every_code_says_what_happened_and_what_to_do() -> None:
    ids = [code.id for code in codes.codes()]
    assert len(ids) == len(set(ids))
    for code in codes.codes():
        assert re.fullmatch(r"[a-z]+(-[a-z]+)*", code.id)
        assert code.short.endswith(".")
        assert len(code.means) > 20
        assert len(code.todo) > 10
        assert code.kind in {"error", "invariant", "caveat", "note"}


def test_every_code_of_commands_is_told_of_somewhere() -> None:
    core = {known["id"] for known in json.loads(_core.codes())}
    sources = "".join(file.read_text("utf-8") for file in (ROOT / "python" / "backwater").rglob("*.py"))
    for code in codes.codes():
        if code.id not in core:
            assert sources.count(f'"{code.id}"') > 1, code.id


def test_a_broken_invariant_comes_with_its_code(capsys: pytest.CaptureFixture[str]) -> None:
    overrides = ["switch.flow-control=none", "switch.buffer=20KB", "traffic.bg.from=*", "traffic.bg.kind=incast"]
    with pytest.raises(InvariantError) as broken:
        _core.Scenario(STAR, "star.toml", ".", overrides).run()
    assert broken.value.code == "buffer-overflow"
    assert explain(broken.value.code, capsys)[0]["kind"] == "invariant"


_CAVEATS = [
    ("no-effect", ["cc.kind=none", "cc.timely.beta=0.8"]),
    ("not-lossless", ["traffic.bg.priority=5", "switch.pfc.priorities=[3]"]),
    ("starts-late", ["run.until=1ms", "traffic.bg.start=2ms"]),
    ("drain-too-fast", ["host.drain=400Gbps"]),
    ("blame-without-pauses", ["probe.blame=true", "probe.pauses=false"]),
    (
        "long-credit-period",
        ["profile=infiniband", "switch.credits.period=100us", "switch.credits.buffer=8MB", "switch.buffer=64MB"],
    ),
    ("slow-credits", ["profile=infiniband", "switch.credits.returned=at-once", "switch.credits.buffer=8KB"]),
    ("no-marks", ["cc.kind=dctcp", "switch.detector.kind=none", "ack.every=1"]),
    ("ramp-for-dctcp", ["cc.kind=dctcp", "switch.detector.kind=red", "ack.every=1"]),
    ("free-telemetry", ["cc.kind=hpcc", "ack.every=1"]),
    ("target-off", ["cc.kind=hpcc", "ack.every=1", "cc.hpcc.base-rtt=1ms"]),
    ("target-off", ["cc.kind=swift", "ack.every=1", "cc.swift.base-target=1us", "cc.swift.hop=1us"]),
    ("other-line-rate", ["topology.rate=400Gbps"]),
    (
        "target-forgotten",
        ["profile=hpcc-ns3", "cc.kind=dcqcn", "switch.detector.kind=tcd", "cc.dcqcn.on-ue=reset-hold"],
    ),
    ("host-not-guarded", ["host.drain=50Gbps", "switch.flow-control=none"]),
]


@pytest.mark.parametrize(("code", "overrides"), _CAVEATS)
def test_caveats_of_scenarios_are_known_by_their_codes(
    code: str, overrides: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    told = codes.told(json.loads(_core.Scenario(STAR, "star.toml", ".", overrides).estimate()))
    line = next((str(remark) for remark in told if remark.code == code), f"not in {told}")
    assert line.startswith(f"caveat[{code}]: ")
    # The whole line can be pasted.
    for word in (line, code):
        assert explain(word, capsys)[0]["word"] == code


_MALFORMED = [
    ("syntax", STAR + "x = = 2", []),
    ("syntax", "", []),
    ("unknown-key", STAR + "[switch]\nbufer = '1MB'", []),
    ("missing-key", STAR.replace('to = "h1"', ""), []),
    ("wrong-type", STAR + "[switch]\nbuffer = 3", []),
    ("unknown-word", STAR + "[cc]\nkind = 'dcqn'", []),
    ("out-of-range", STAR + "[cc.dcqcn]\ng = 7.5", []),
    ("out-of-range", STAR + "[switch]\nbuffer = '3 lightyears'", []),
    ("override", STAR, ["cc.nothing=1"]),
    ("override", STAR, ["cc.kind"]),
    ("traffic.from", STAR.replace('from = "h0"', 'from = "h9"'), []),
    ("switch.pfc.headroom", STAR, ["profile=hpcc-ns3", "switch.pfc.headroom=1KB"]),
]


@pytest.mark.parametrize(("code", "text", "overrides"), _MALFORMED)
def test_a_problem_of_a_file_carries_a_word_that_is_explained(
    code: str, text: str, overrides: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(ScenarioError) as refused:
        _core.Scenario(text, "star.toml", ".", overrides).resolved()
    found = re.findall(r"^error\[([^\]]+)\]: ", str(refused.value), re.MULTILINE)
    assert code in found, str(refused.value)
    for word in found:
        assert explain(word, capsys)[0]["word"] == word


def test_every_key_at_which_a_scenario_is_refused_is_known() -> None:
    known = {entry.word for entry in explaining.entries() if entry.kind == "key"}
    paths = set()
    for file in VALID.rglob("*.rs"):
        for found in re.findall(r"at!\[([^\]]*)\]", file.read_text("utf-8")):
            steps = [step.strip() for step in found.split(",") if step.strip()]
            # Names that are no texts are numbers of entries; where they are keys the rest says so.
            if all(re.fullmatch(r'"[a-z-]+"|[\w.]*(?:index|entry|number)|\d+', step) for step in steps):
                paths.add(".".join(step.strip('"') for step in steps if step.startswith('"')))
    assert len(paths) > 40
    assert paths - known - {""} == set()


def test_every_column_is_explained_as_the_page_of_columns_has_it(capsys: pytest.CaptureFixture[str]) -> None:
    text = (ROOT / "docs" / "reference" / "columns.md").read_text("utf-8")
    count = 0
    for part in text.split("\n## `")[1:]:
        table = part.partition(".parquet")[0]
        for column, kind, unit, meaning in re.findall(
            r"^\| `(\w+)` \| (.*?) \| (.*?) \| (.*?) \|$", part, re.MULTILINE
        ):
            word = f"{table}.{column}"
            entry = next(entry for entry in explaining.find(word) if entry.word == word)
            assert entry.facts["type"] == kind
            assert entry.facts["unit"] == unit
            assert entry.summary == meaning.replace("\\|", "|")
            count += 1
        assert explain(f"{table}.parquet", capsys)[0]["word"] == f"{table}.parquet"
    assert count > 250


def test_every_key_and_word_of_the_schema_is_explained() -> None:
    schema = json.loads(_core.schema())
    known = {entry.word.rsplit(".", 1)[-1].partition("=")[0] for entry in explaining.entries() if entry.kind == "key"}
    words = {entry.word.partition("=")[2] for entry in explaining.entries() if entry.kind == "value"}

    def walk(value: Any) -> Iterator[tuple[str, str]]:
        if isinstance(value, dict):
            for key, below in value.get("properties", {}).items():
                yield "key", key
                yield from walk(below)
            if isinstance(value.get("const"), str):
                yield "word", value["const"]
            for name in ("oneOf", "anyOf", "$defs"):
                inner = value.get(name, {})
                for below in inner.values() if isinstance(inner, dict) else inner:
                    yield from walk(below)

    found = set(walk(schema))
    assert {name for kind, name in found if kind == "key"} <= known
    alone = {"auto", "unlimited", "never"}  # words that stand beside quantities
    assert {name for kind, name in found if kind == "word"} - words <= alone


def test_an_algorithm_has_no_links_of_rust() -> None:
    found = [entry for entry in explaining.algorithms.entries() if "](" in entry.summary + entry.text]
    assert [entry.word for entry in found] == []


def test_every_algorithm_is_explained_with_its_reference_and_parameters(capsys: pytest.CaptureFixture[str]) -> None:
    source = ROOT / "crates" / "control" / "src"
    for file in source.rglob("*.rs"):
        head = re.match(r"(?://!.*\n)+", file.read_text("utf-8"))
        word = file.relative_to(source).as_posix().removesuffix(".rs").removesuffix("/mod")
        if head and word not in ("lib", "mod"):
            assert [entry for entry in explaining.find(word) if entry.word == word], word
    dcqcn = explain("dcqcn", capsys)[0]
    assert dcqcn["word"] == "reaction/dcqcn"
    assert "SIGCOMM 2015" in dcqcn["text"]
    assert "| symbol | unit | default | source |" in dcqcn["text"]
    assert "judging" in explain("tcd", capsys)[0]["text"]
    assert explain("ib-cc", capsys)[0]["word"] == "reaction/ib_cc"


def test_every_claim_and_definition_of_the_papers_is_explained() -> None:
    count = 0
    for file in (ROOT / "papers").rglob("*.toml"):
        data = tomllib.loads(file.read_text("utf-8"))
        kinds = {"claims.toml": "claim", "paper.toml": "definition"}
        for one in data.get(kinds.get(file.name, ""), ()):
            # Two figures may have a claim of the same id.
            found = [entry for entry in explaining.find(one["id"]) if entry.word == one["id"]]
            assert [entry for entry in found if entry.summary == one["text"] and one["paper"] in entry.text]
            count += 1
    assert count > 200


def test_exit_codes_are_explained_by_number_and_name(capsys: pytest.CaptureFixture[str]) -> None:
    for code in Exit:
        for word in (str(code.value), code.name, f"exit-{code.value}"):
            assert explain(word, capsys)[0]["summary"] == MEANS[code]
    assert main(["explain", "exit-codes"]) == Exit.OK
    shown = capsys.readouterr().out
    for code in Exit:
        assert f"{code.value}  {code.name}" in shown


def test_every_term_leads_to_words_that_are_known(capsys: pytest.CaptureFixture[str]) -> None:
    terms = [entry for entry in explaining.entries() if entry.kind == "term"]
    assert len(terms) >= 25
    for term in terms:
        for word in term.facts["see also"].split(", "):
            assert explaining.find(word), f"{term.word}: {word}"
        for name in (term.word, *term.aliases):
            assert term in explaining.find(name), name
    assert "priority flow control" in explain("pfc", capsys)[0]["summary"].lower()


def test_a_short_word_lists_all_that_end_in_it(capsys: pytest.CaptureFixture[str]) -> None:
    assert {"switch.detector.kmin", "switch.detector.by-rate.kmin"} <= {
        entry["word"] for entry in explain("kmin", capsys)
    }
    assert main(["explain", "kmin"]) == Exit.OK
    shown = capsys.readouterr().out
    assert "switch.detector.kmin (key): " in shown
    assert "in full: backwater explain switch." in shown
    assert main(["explain", "switch.detector.kmin"]) == Exit.OK
    shown = capsys.readouterr().out
    assert "type: a size such as 320KB" in shown
    # What a scenario that names no profile has comes first.
    assert 'default: roce, hpcc-ns3: "400KB"; ' in shown
    assert 'authors: "5.15KB"' in shown


def test_a_key_has_the_default_of_each_profile_where_they_differ(capsys: pytest.CaptureFixture[str]) -> None:
    # That of the TCD authors' release is 320 units of 1030 B.
    assert main(["explain", "switch.pfc.xoff"]) == Exit.OK
    assert ': "320KB"; authors: "329.6KB"' in capsys.readouterr().out
    (found,) = explain("switch.pfc.xoff", capsys)
    assert found["defaults"]["authors"] == "329.6KB"
    assert {value for name, value in found["defaults"].items() if name != "authors"} == {"320KB"}
    assert set(found["defaults"]) == set(json.loads(_core.profile_defaults()))
    (same,) = explain("switch.pfc.reserve", capsys)
    assert same["facts"]["default"] == '"4KiB"'
    assert same["defaults"] == {}


@pytest.mark.parametrize(("word", "near"), [("slowdwn", "flows.slowdown"), ("dcqcnn", "dcqcn"), ("kmim", "kmin")])
def test_a_word_that_is_not_known_gets_suggestions(word: str, near: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", word]) == Exit.BAD_INPUT
    shown = capsys.readouterr()
    assert shown.out == ""
    assert f"error: nothing is called '{word}'; did you mean " in shown.err
    assert near in shown.err
    assert main(["explain", word, "--json"]) == Exit.BAD_INPUT
    data = json.loads(capsys.readouterr().out)
    assert data["found"] == []
    assert any(near in name for name in data["nearest"])


def test_where_there_are_no_papers_their_claims_are_said_to_be_elsewhere(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def nowhere() -> Path:
        raise UsageError("no folder `papers` was found")

    monkeypatch.setattr(paper_figure, "papers", nowhere)
    explaining.entries.cache_clear()
    try:
        assert main(["explain", "TCD-F11a"]) == Exit.BAD_INPUT
        assert "claims of papers are known in a checkout" in capsys.readouterr().err
        assert main(["explain", "slowdown"]) == Exit.OK
    finally:
        explaining.entries.cache_clear()


@pytest.mark.parametrize("word", ["", "  ", "%s", "[]", "\x00", "…", "a" * 10_000])
def test_what_is_no_word_is_refused(word: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", word]) == Exit.BAD_INPUT
    assert "error: nothing is called" in capsys.readouterr().err


@settings(max_examples=60, deadline=None)
@given(st.text(max_size=40))
def test_any_text_is_answered(word: str) -> None:
    assert isinstance(explaining.find(word) or explaining.nearest(word), list)


def test_without_a_word_it_says_what_kinds_there_are(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain"]) == Exit.OK
    shown = capsys.readouterr().out
    assert "x algorithm: " in shown
    assert "deadlock-possible" in shown
    assert main(["explain", "--json"]) == Exit.OK
    data = json.loads(capsys.readouterr().out)
    assert "flows.slowdown" in data["column"]
    assert data["error"] == [code.id for code in codes.codes() if code.kind == "error"]


def test_measures_of_sweeps_and_formats_of_other_tools_are_known() -> None:
    for name, measure in MEASURES.items():
        assert measure.meaning in [entry.summary for entry in explaining.find(name)], name
    for name in ("goal", "htsim", "chakra", "vef"):
        assert f"`backwater import {name} " in explaining.find(name)[0].summary


def test_words_may_stand_apart() -> None:
    assert explaining.find("exit codes") == explaining.find("exit-codes") != []
