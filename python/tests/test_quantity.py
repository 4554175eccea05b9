"""Quantities are printed with three digits and a unit."""

import pytest
from backwater.common import quantities
from hypothesis import given
from hypothesis import strategies as st


@pytest.mark.parametrize(
    ("ps", "text"),
    [
        (0, "0 ps"),
        (1, "1.00 ps"),
        (999, "999 ps"),
        (97_000_000, "97.0 µs"),
        (1_611_000_000, "1.61 ms"),
        (2e12, "2.00 s"),
    ],
)
def test_a_time_is_shown_in_the_largest_unit_that_leaves_at_least_one(ps: float, text: str) -> None:
    assert quantities.time(ps) == text


def test_a_kilobyte_is_1000_bytes_as_in_the_papers() -> None:
    assert quantities.size(743_000) == "743 KB"
    assert quantities.size(1_024) == "1.02 KB"


def test_a_rate_is_in_bits_per_second() -> None:
    assert quantities.rate(10.04e9) == "10.0 Gbps"
    assert quantities.rate(999.9e6) == "1.00 Gbps"


def test_a_count_has_its_thousands_apart() -> None:
    assert quantities.count(14_800) == "14 800"


@given(st.floats(min_value=1.0, max_value=1e15))
def test_what_is_shown_is_within_half_a_percent_of_the_value(ps: float) -> None:
    number, unit = quantities.time(ps).split()
    shown = float(number) * {"ps": 1, "ns": 1e3, "µs": 1e6, "ms": 1e9, "s": 1e12}[unit]
    assert shown == pytest.approx(ps, rel=5.1e-3)
