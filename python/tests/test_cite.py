"""`backwater cite`: BibTeX of Backwater and of the papers that a scenario's algorithms come from."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path

import backwater as bw
import pytest
from backwater import _core
from backwater.cli import main
from backwater.scenario import references
from backwater.scenario.scenario import Scenario, folder_name

ROOT = Path(__file__).parents[2]
LISTED = tomllib.loads((Path(references.__file__).parent / "references.toml").read_text(encoding="utf-8"))["reference"]

#: Two flows with two controllers, beside PUTs, which have none.
MIXED = """
profile = "ideal"
[topology]
kind = "star"
hosts = 4
rate = "40Gbps"
delay = "1us"
[cc]
kind = "timely"
[switch.detector]
kind = "red"
[[traffic]]
name = "one"
kind = "flow"
from = "h1"
to = "h0"
size = "10KB"
[[traffic]]
name = "two"
kind = "flow"
from = "h2"
to = "h0"
size = "10KB"
[traffic.cc]
kind = "swift"
"""


def _cited(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> dict[str, list[str]]:
    assert main(["cite", *arguments, "--json"]) == 0
    return {one["key"]: one["because"] for one in json.loads(capsys.readouterr().out)}


def test_alone_it_cites_the_program_as_the_citation_file_does(capsys: pytest.CaptureFixture[str]) -> None:
    text = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    file = {key: value.strip('"') for key, value in re.findall(r"^[ -]*([\w-]+): (.+)$", text, re.MULTILINE)}
    assert main(["cite"]) == 0
    said = capsys.readouterr().out
    assert said.startswith("@misc{backwater,\n")
    assert file["cff-version"] == "1.2.0"
    for fact in (file["title"], file["name"], file["version"], file["repository-code"]):
        assert f"{fact}}}" in said
    assert file["version"] == _core.__version__


def test_a_scenario_cites_the_controller_of_each_entry_and_nothing_that_is_idle(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    scene = tmp_path / "mixed.toml"
    scene.write_text(MIXED, encoding="utf-8")
    assert _cited([str(scene)], capsys) == {
        "backwater": [],
        "zhang2021tcd": ["profile = ideal"],
        "mittal2015timely": ["cc.kind = timely"],
        "kumar2020swift": ["cc.kind = swift"],
        "floyd1993red": ["switch.detector.kind = red"],
    }


def test_every_scheme_of_a_file_counts(capsys: pytest.CaptureFixture[str]) -> None:
    cited = _cited([str(ROOT / "scenarios" / "compare-deployed.toml")], capsys)
    assert {"zhu2015dcqcn", "mittal2015timely", "kumar2020swift", "alizadeh2010dctcp", "li2019hpcc"} <= cited.keys()


def test_results_cite_what_they_were_run_with(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    scene = tmp_path / "mixed.toml"
    scene.write_text(MIXED, encoding="utf-8")
    bw.run(scene, out=tmp_path / "runs" / "one")
    bw.run(scene, out=tmp_path / "runs" / "two", overrides=["cc.kind=dctcp", "switch.detector.kind=np-ecn"])
    one = _cited([str(tmp_path / "runs" / "one")], capsys)
    assert one == _cited([str(scene)], capsys)
    more = {"alizadeh2010dctcp", "rfc8257", "cheng2020pcn"}
    assert _cited([str(tmp_path / "runs")], capsys).keys() == one.keys() | more


def test_a_folder_without_results_and_a_missing_file_are_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["cite", str(tmp_path)]) == 2
    assert "holds no results" in capsys.readouterr().err
    assert main(["cite", str(tmp_path / "none.toml")]) == 2
    assert "there is no scenario file" in capsys.readouterr().err


@pytest.mark.parametrize("one", LISTED, ids=[one["key"] for one in LISTED])
def test_a_reference_is_whole_and_its_settings_are_those_of_scenarios(one: dict[str, object]) -> None:
    reference = references.Reference(
        str(one["key"]),
        str(one["title"]),
        tuple(map(str, one["authors"])),  # type: ignore[call-overload]
        {name: value for name, value in one.items() if name not in ("key", "title", "authors", "used")},
    )
    assert set(reference.fields) <= set(references._FIELDS)
    said = reference.bibtex()
    assert said.count("{") == said.count("}")
    assert str(one["year"]) in reference.key or reference.key.startswith("rfc")
    if doi := one.get("doi"):
        assert re.fullmatch(r"10\.\d{4,5}/[A-Za-z0-9./-]+", str(doi))
    schema = _core.schema()
    for used in one["used"]:  # type: ignore[attr-defined]
        for key, value in used.items():
            assert f'"{key.rpartition(".")[2]}"' in schema, key
            assert f'"{value}"' in schema, value


@pytest.mark.parametrize("key", ["cc.kind", "switch.detector.kind", "switch.isolation.kind"])
def test_every_published_algorithm_has_a_reference(key: str) -> None:
    cited = {used[key] for one in LISTED for used in one["used"] if key in used}
    path = _choices(json.loads(_core.schema()), key.split("."))
    # PFC by destination is an ideal that no paper proposes.
    assert path - {"none", "custom", "oracle", "dst-pfc"} == cited


def _choices(schema: dict[str, object], path: list[str]) -> set[str]:
    """The values that a key may have, by the schema."""

    def resolved(part: dict[str, object]) -> dict[str, object]:
        while True:
            if "$ref" in part:
                part = schema["$defs"][str(part["$ref"]).rpartition("/")[2]]  # type: ignore[index]
            elif found := [one for one in part.get("anyOf", []) if one.get("type") != "null"]:  # type: ignore[attr-defined]
                part = found[0]
            else:
                return part

    part = resolved(schema)
    for name in path:
        part = resolved(part["properties"][name])  # type: ignore[index]
    return {str(one["const"]) for one in part["oneOf"]}  # type: ignore[attr-defined]


def test_a_file_of_python_is_said_to_be_no_scenario(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "mine.py").write_text("x = 1")
    assert main(["cite", str(tmp_path / "mine.py")]) == 2
    assert "mine.py is Python; name the scenario" in capsys.readouterr().err


def test_a_folder_of_results_has_the_scheme_in_its_name(tmp_path: Path) -> None:
    (tmp_path / "cmp.toml").write_text("")
    one = Scenario.load(tmp_path / "cmp.toml")
    assert folder_name(one, ["cc.custom.function=mine.py:mine"], 1, "AIMD").startswith("cmp-AIMD-")
    assert folder_name(one, ["traffic.load=0.4"], 1, "AIMD") == "cmp-AIMD-traffic.load-0.4-s1"
