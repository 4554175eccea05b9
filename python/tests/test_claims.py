"""Claims are judged by their bounds, and bounds are what they say."""

from dataclasses import replace
from pathlib import Path

import pytest
from backwater.errors import UsageError
from backwater.papers import claims
from backwater.papers.claims import Bound, Claim, Verdict, judge
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError


def claim(bound: str = ">= 500", **more: object) -> Claim:
    return Claim.model_validate(
        {"id": "X-1", "text": "the queue is long", "paper": "> 500 KB", "metric": "peak_kb", "bound": bound} | more
    )


@pytest.mark.parametrize(
    ("text", "inside", "outside"),
    [
        (">= 5", [5, 6], [4.999]),
        ("> 5", [5.001], [5]),
        ("<= 5", [5, -1], [5.001]),
        ("< 5", [4.999], [5]),
        ("== 0", [0], [1e-9, -1]),
        ("1.2..2.5", [1.2, 2.5], [1.19, 2.51]),
        ("-1 .. 1", [0], [2]),
        ("true", [1], [0, 0.8]),
    ],
)
def test_a_bound_admits_what_it_says(text: str, inside: list[float], outside: list[float]) -> None:
    bound = Bound.parse(text)
    assert all(bound.admits(value) for value in inside)
    assert not any(bound.admits(value) for value in outside)


@pytest.mark.parametrize("text", ["", "5", "about 5", ">= 5 KB", "3..1", "=> 5"])
def test_what_is_no_bound_is_refused_with_the_forms_that_are(text: str) -> None:
    with pytest.raises(ValueError, match=r"write (one of|the smaller)"):
        Bound.parse(text)


@given(st.text(max_size=20))
def test_any_text_is_a_bound_or_refused(text: str) -> None:
    try:
        bound = Bound.parse(text)
    except ValueError:
        return
    assert bound.low <= bound.high


def test_a_claim_holds_if_the_mean_over_seeds_lies_within_the_bound() -> None:
    assert judge(claim(), "fig", "ideal", [{"peak_kb": 490.0}, {"peak_kb": 520.0}]).verdict is Verdict.HOLDS
    assert judge(claim(), "fig", "ideal", [{"peak_kb": 490.0}, {"peak_kb": 500.0}]).verdict is Verdict.DIFFERS


def test_a_bound_inside_the_confidence_interval_is_said() -> None:
    found = judge(claim(), "fig", "ideal", [{"peak_kb": 490.0}, {"peak_kb": 520.0}])
    assert "within the confidence interval" in found.reason
    assert judge(claim(), "fig", "ideal", [{"peak_kb": 740.0}, {"peak_kb": 741.0}]).reason == ""


def test_every_check_of_a_claim_must_hold() -> None:
    both = Claim.model_validate(
        {"id": "X-2", "text": "t", "paper": "p", "checks": [
            {"metric": "a", "bound": "== 0"}, {"metric": "b", "bound": "true"},
        ]}
    )  # fmt: skip
    assert judge(both, "fig", "ideal", [{"a": 0, "b": True}]).verdict is Verdict.HOLDS
    assert judge(both, "fig", "ideal", [{"a": 0, "b": True}, {"a": 0, "b": False}]).verdict is Verdict.DIFFERS


def test_a_number_that_the_runs_do_not_show_makes_a_claim_not_decidable() -> None:
    found = judge(claim(), "fig", "ideal", [{"peak_kb": 700.0}, {"peak_kb": None}])
    assert found.verdict is Verdict.NOT_DECIDABLE
    assert "peak_kb" in found.reason


def test_what_the_text_leaves_open_stays_not_decidable_whatever_was_measured() -> None:
    open_claim = claim(undecidable="the paper gives no load")
    found = judge(open_claim, "fig", "ideal", [{"peak_kb": 700.0}])
    assert (found.verdict, found.reason) == (Verdict.NOT_DECIDABLE, "the paper gives no load")


def test_a_figure_that_was_not_run_has_no_verdict() -> None:
    noted = claim(notes={"ideal": "pauses do not wobble"})
    found = judge(noted, "fig", "ideal", [])
    assert (found.verdict, found.reason, found.as_json()["reason"]) == (Verdict.NOT_RUN, "", "")


def test_what_is_known_of_a_difference_is_of_the_full_run_not_of_a_quick_look() -> None:
    noted = claim(notes={"ideal": "pauses do not wobble"})
    found = replace(judge(noted, "fig", "ideal", [{"peak_kb": 1.0}]), quick=True)
    assert found.reason == "in the full run: pauses do not wobble"


def test_a_difference_carries_its_known_reason_in_its_profile_only() -> None:
    noted = claim(notes={"ideal": "pauses do not wobble"})
    assert judge(noted, "fig", "ideal", [{"peak_kb": 1.0}]).reason == "pauses do not wobble"
    assert judge(noted, "fig", "authors", [{"peak_kb": 1.0}]).reason == ""
    assert judge(noted, "fig", "ideal", [{"peak_kb": 700.0}]).reason == ""


def test_a_metric_that_the_figure_does_not_measure_is_a_mistake_in_the_figure() -> None:
    with pytest.raises(UsageError, match=r"measures no 'peak_kb'.*it has peak"):
        judge(claim(), "fig", "ideal", [{"peak": 1.0}])


def test_a_claim_without_a_metric_must_say_why() -> None:
    with pytest.raises(ValidationError, match="neither a metric"):
        Claim.model_validate({"id": "X-3", "text": "t", "paper": "p"})


def test_an_unknown_key_in_claims_toml_is_an_error_that_names_it(tmp_path: Path) -> None:
    file = tmp_path / "claims.toml"
    file.write_text('[[claim]]\nid = "A"\ntext = "t"\npaper = "p"\nmetric = "m"\nbound = "== 0"\ntolerance = 5\n')
    with pytest.raises(UsageError, match=r"claims.toml.*\n.*tolerance"):
        claims.load(file)


def test_a_claim_that_is_there_twice_is_an_error(tmp_path: Path) -> None:
    file = tmp_path / "claims.toml"
    file.write_text('[[claim]]\nid = "A"\ntext = "t"\npaper = "p"\nmetric = "m"\nbound = "== 0"\n' * 2)
    with pytest.raises(UsageError, match="A is there twice"):
        claims.load(file)
