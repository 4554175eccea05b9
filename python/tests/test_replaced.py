"""A setting of the user's that schemes have, too, makes them alike in it: that is said."""

from __future__ import annotations

from pathlib import Path

from backwater.scenario import schemes
from backwater.scenario.scenario import Scenario

ISOLATION = Path(__file__).parents[2] / "scenarios/isolation.toml"


def _told(*overrides: str, only: tuple[str, ...] = ()) -> list[str]:
    return schemes.replaced(schemes.of(Scenario.load(ISOLATION), overrides, only), overrides)


def test_what_schemes_set_themselves_and_the_user_replaces_is_named() -> None:
    assert _told("switch.isolation.kind=ici", only=("none", "ici")) == [
        "--set switch.isolation.kind=ici replaces what the file sets in none (none)"
    ]


def test_what_no_scheme_sets_or_sets_alike_is_no_news() -> None:
    assert _told("run.seed=3", only=("none", "ci")) == []
    assert _told("cc.kind=none", only=("none", "ci")) == []


def test_schemes_that_have_the_same_settings_are_named() -> None:
    # What makes them differ is replaced by one value for all.
    found = schemes.of(Scenario.load(ISOLATION), ("switch.isolation.kind=none", "switch.detector.kind=none"), ())
    (first, *_) = schemes.alike(found)
    assert first.startswith("none and ")
    assert first.endswith(" have the same settings: their numbers are equal")
    assert schemes.alike(schemes.of(Scenario.load(ISOLATION), (), ())) == []
