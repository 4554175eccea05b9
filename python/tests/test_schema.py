"""`backwater schema` prints a valid JSON Schema for editors, which accepts every scenario of the repository."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest
from backwater import cli
from backwater.errors import Exit

ROOT = Path(__file__).parents[2]
jsonschema = pytest.importorskip("jsonschema")


@pytest.fixture
def schema(capsys: pytest.CaptureFixture[str]) -> Any:
    assert cli.main(["schema"]) == Exit.OK
    return json.loads(capsys.readouterr().out)


def test_it_is_a_schema_of_the_draft_that_it_names(schema: Any) -> None:
    assert schema["$schema"] == jsonschema.Draft202012Validator.META_SCHEMA["$id"]
    jsonschema.Draft202012Validator.check_schema(schema)


def test_it_accepts_every_scenario_of_the_repository_and_no_unknown_key(schema: Any) -> None:
    check = jsonschema.Draft202012Validator(schema)
    files = [file for room in ("scenarios", "papers") for file in sorted((ROOT / room).rglob("*.toml"))]
    texts = {file: tomllib.loads(file.read_text("utf-8")) for file in files}
    scenarios = {file: text for file, text in texts.items() if {"topology", "traffic"} <= text.keys()}
    assert len(scenarios) >= 60
    refused = [f"{file}: {error.message}" for file, text in scenarios.items() for error in check.iter_errors(text)]
    assert refused == []
    some = next(iter(scenarios.values()))
    assert not check.is_valid(some | {"congestion": 1})
