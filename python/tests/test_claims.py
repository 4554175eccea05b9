"""Claims are judged by their bounds, and bounds are what they say."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest
from backwater.errors import UsageError
from backwater.papers import claims
from backwater.papers.bounds import Bound
from backwater.papers.claims import Claim, Judged, Verdict, judge
from backwater.papers.kinds import Kind
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError


def claim(bound: str = ">= 500", **more: object) -> Claim:
    return Claim.model_validate(
        {"id": "X-1", "kind": "result", "text": "the queue is long", "paper": "> 500 KB"}
        | {"metric": "peak_kb", "bound": bound}
        | more
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


def of(*values: float, bound: str = ">= 500", **more: object) -> Judged:
    return judge(claim(bound, **more), "fig", "ideal", [{"peak_kb": value} for value in values])


def test_a_claim_holds_with_its_interval_inside_the_bound_differs_outside_and_is_open_across_it() -> None:
    # Student's t of one degree of freedom is 12.7: the interval of 740 and 742 is 741 ± 12.7.
    assert of(740, 742).verdict is Verdict.HOLDS
    assert of(340, 342).verdict is Verdict.DIFFERS
    assert of(490, 520).verdict is Verdict.OPEN
    assert of(490, 492).verdict is Verdict.OPEN
    assert "straddles the bound" in of(490, 520).reason
    assert of(740, 742).reason == ""


@pytest.mark.parametrize(
    ("values", "bound", "verdict"),
    [
        # The interval of 1, 2 and 3 is 2 ± 2.48.
        ((1, 2, 3), "> -0.5", Verdict.HOLDS),
        ((1, 2, 3), "> 0", Verdict.OPEN),
        ((1, 2, 3), "> 4.5", Verdict.DIFFERS),
        ((1, 2, 3), "-1..5", Verdict.HOLDS),
        ((1, 2, 3), "1..3", Verdict.OPEN),
        ((1, 2, 3), "5..6", Verdict.DIFFERS),
        # The same at every seed: no width, and a strict bound does not admit itself.
        ((1, 1, 1), "> 1", Verdict.DIFFERS),
        ((1, 1, 1), ">= 1", Verdict.HOLDS),
        # An exact bound is met by every seed, or refuted by one.
        ((0, 0, 0), "== 0", Verdict.HOLDS),
        ((0, 0, 1), "== 0", Verdict.DIFFERS),
        ((1, 1), "true", Verdict.HOLDS),
        ((1, 0), "true", Verdict.DIFFERS),
    ],
)
def test_where_the_interval_lies_decides(values: tuple[float, ...], bound: str, verdict: Verdict) -> None:
    assert of(*values, bound=bound).verdict is verdict


def test_one_seed_of_random_runs_decides_nothing() -> None:
    inside, outside = of(700), of(300)
    assert (inside.verdict, outside.verdict) == (Verdict.OPEN, Verdict.OPEN)
    assert "it lies within the bound" in inside.reason
    assert "it lies outside the bound" in outside.reason
    assert of(0, bound="== 0").verdict is Verdict.OPEN


def test_one_seed_decides_where_nothing_is_drawn() -> None:
    arithmetic = judge(claim(), "fig", "ideal", [{"peak_kb": 700.0}], certain=True)
    assert arithmetic.verdict is Verdict.HOLDS
    assert [of(700, kind=kind).verdict for kind in ("setting", "definition", "formula", "text")] == [Verdict.HOLDS] * 4
    assert of(300, kind="formula").verdict is Verdict.DIFFERS
    assert [of(700, kind=kind).verdict for kind in ("result", "mechanism", "own")] == [Verdict.OPEN] * 3


def family(*seeds: Mapping[str, float | None], bound: str, over: str) -> Judged:
    return judge(claim(bound, over=over), "fig", "ideal", [{"peak_kb": dict(one)} for one in seeds])


def test_of_several_points_every_one_must_lie_within_or_some_with_intervals_that_allow_for_their_number() -> None:
    seeds = [{"a": 10 + 0.1 * noise, "b": 20 + 0.1 * noise} for noise in (-1, 0, 1)]
    assert family(*seeds, bound="> 9", over="every").verdict is Verdict.HOLDS
    assert family(*seeds, bound="> 15", over="every").verdict is Verdict.DIFFERS
    assert family(*seeds, bound="> 15", over="some").verdict is Verdict.HOLDS
    assert family(*seeds, bound="> 30", over="some").verdict is Verdict.DIFFERS
    # With 2.5 % either side of each of two, t of two degrees of freedom is 6.205 instead of 4.303.
    worst = family(*seeds, bound="> 15", over="every").measured[0]
    assert worst.name == "a"
    assert worst.value is not None
    assert worst.value.half_width == pytest.approx(6.205 * 0.1 / 3**0.5, rel=1e-3)


def test_the_largest_of_many_numbers_that_only_scatter_is_no_result() -> None:
    # Thirty points without any effect: the largest mean of three seeds is above 0 by luck, and its interval says so.
    seeds = [{f"p{i}": ((7 * i + 11 * seed) % 13 - 6) / 6 for i in range(30)} for seed in range(3)]
    found = family(*seeds, bound="> 0", over="some")
    assert found.measured[0].value is not None
    assert found.measured[0].value.mean > 0
    assert found.verdict is Verdict.OPEN


def test_a_point_that_a_seed_does_not_have_is_left_out() -> None:
    found = family({"a": 1.0, "b": None}, {"a": 1.0, "b": 5.0}, bound="< 2", over="every")
    assert found.verdict is Verdict.HOLDS
    assert family({"a": None}, {"a": 1.0}, bound="< 2", over="every").verdict is Verdict.NOT_DECIDABLE


def test_what_was_chosen_on_a_row_makes_it_one_by_construction_in_that_profile_only() -> None:
    fitted = claim(chosen={"ideal": "T is 200 µs"})
    found = judge(fitted, "fig", "ideal", [{"peak_kb": 700.0}] * 2)
    assert (found.kind, found.word) == (Kind.BY_CONSTRUCTION, "by construction (holds)")
    assert found.reason == "T is 200 µs"
    other = judge(fitted, "fig", "authors", [{"peak_kb": 700.0}] * 2)
    assert (other.kind, other.word, other.reason) == (Kind.RESULT, "holds", "")
    everywhere = judge(claim(chosen={"all": "32 slots"}), "fig", "authors", [{"peak_kb": 700.0}] * 2)
    assert not everywhere.kind.counts


def test_a_file_says_the_kind_of_its_claims_and_a_claim_its_own(tmp_path: Path) -> None:
    file = tmp_path / "claims.toml"
    one = '[[claim]]\nid = "{}"\ntext = "t"\npaper = "p"\nmetric = "m"\nbound = "== 0"\n'
    file.write_text('kind = "own"\n' + one.format("A") + one.format("B") + 'kind = "formula"\n')
    assert [one.kind for one in claims.load(file)] == [Kind.OWN, Kind.FORMULA]
    file.write_text(one.format("A"))
    with pytest.raises(UsageError, match="kind"):
        claims.load(file)
    file.write_text('kind = "by construction"\n' + one.format("A"))
    with pytest.raises(UsageError, match="say what was chosen"):
        claims.load(file)


def test_a_headline_is_a_result() -> None:
    with pytest.raises(ValidationError, match="is a headline, but no result"):
        claim(kind="own", headline=True)


def test_every_check_of_a_claim_must_hold() -> None:
    both = Claim.model_validate(
        {"id": "X-2", "kind": "result", "text": "t", "paper": "p", "checks": [
            {"metric": "a", "bound": "== 0"}, {"metric": "b", "bound": "true"},
        ]}
    )  # fmt: skip
    assert judge(both, "fig", "ideal", [{"a": 0, "b": True}] * 2).verdict is Verdict.HOLDS
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
    found = replace(judge(noted, "fig", "ideal", [{"peak_kb": 1.0}] * 2), quick=True)
    assert found.reason == "in the full run: pauses do not wobble"


def test_a_difference_carries_its_known_reason_in_its_profile_only() -> None:
    noted = claim(notes={"ideal": "pauses do not wobble"})
    assert judge(noted, "fig", "ideal", [{"peak_kb": 1.0}] * 2).reason == "pauses do not wobble"
    assert judge(noted, "fig", "authors", [{"peak_kb": 1.0}] * 2).reason == ""
    assert judge(noted, "fig", "ideal", [{"peak_kb": 700.0}] * 2).reason == ""


def test_a_metric_that_the_figure_does_not_measure_is_a_mistake_in_the_figure() -> None:
    with pytest.raises(UsageError, match=r"measures no 'peak_kb'.*it has peak"):
        judge(claim(), "fig", "ideal", [{"peak": 1.0}])


def test_a_claim_without_a_metric_must_say_why() -> None:
    with pytest.raises(ValidationError, match="neither a metric"):
        Claim.model_validate({"id": "X-3", "kind": "own", "text": "t", "paper": "p"})


def test_an_unknown_key_in_claims_toml_is_an_error_that_names_it(tmp_path: Path) -> None:
    file = tmp_path / "claims.toml"
    file.write_text(
        'kind = "own"\n[[claim]]\nid = "A"\ntext = "t"\npaper = "p"\nmetric = "m"\nbound = "== 0"\ntolerance = 5\n'
    )
    with pytest.raises(UsageError, match=r"claims.toml.*\n.*tolerance"):
        claims.load(file)


def test_a_claim_that_is_there_twice_is_an_error(tmp_path: Path) -> None:
    file = tmp_path / "claims.toml"
    file.write_text('kind = "own"\n[[claim]]\nid = "A"\ntext = "t"\npaper = "p"\nmetric = "m"\nbound = "== 0"\n' * 2)
    with pytest.raises(UsageError, match="A is there twice"):
        claims.load(file)
