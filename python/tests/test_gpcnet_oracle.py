"""GPCNeT's numbers of made-up samples, against an independent program (tests/ranks/oracle) that counts in fractions."""

from __future__ import annotations

import importlib.util
import random
from fractions import Fraction
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from backwater.analysis import gpcnet
from backwater.analysis.gpcnet import Test

SOURCE = Path(__file__).parents[2] / "tests" / "ranks" / "oracle" / "metrics.py"
_spec = importlib.util.spec_from_file_location("oracle_metrics", SOURCE)
assert _spec is not None
assert _spec.loader is not None
oracle = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(oracle)

TESTS = [
    Test("lat", "RR Two-sided Lat (8 B)", "usec"),
    Test("bw", "RR Two-sided BW+Sync (131072 B)", "MiB/s/rank", 4 * 131_072),
    Test("allreduce", "Multiple Allreduce (8 B)", "usec"),
]


def drawn(seed: int, rings: int, ranks: int, turns: int) -> list[tuple[int, int, int]]:
    """Ring, rank, elapsed picoseconds: most near 5 us, some far above."""
    dice = random.Random(seed)  # noqa: S311
    times = [dice.randrange(4_000_000, 6_000_000) * dice.choice([1, 1, 1, 9]) for _ in range(rings * ranks * turns)]
    return [(i // (ranks * turns), i // turns % ranks, time) for i, time in enumerate(times)]


def value(test: Test, elapsed: int) -> Fraction:
    """A sample."""
    if test.moved:
        return Fraction(test.moved * 10**12, 1024 * 1024 * elapsed)
    return Fraction(elapsed, 2_000_000 if test.key == "lat" else 1_000_000)


@pytest.mark.parametrize("test", TESTS, ids=lambda test: test.key)
@pytest.mark.parametrize("seed", range(4))
def test_averages_and_percentiles_are_those_of_exact_fractions(test: Test, seed: int) -> None:
    rows = drawn(seed, 1 + 3 * seed, 2 + 5 * seed, 3 + seed)
    table = pl.DataFrame(rows, schema=["label", "rank", "elapsed_ps"], orient="row")
    found = gpcnet.metrics(test, table)
    samples = [(ring, rank, value(test, elapsed)) for ring, rank, elapsed in rows]
    better = bool(test.moved)
    assert found.average == pytest.approx(float(oracle.average(samples, better)), rel=1e-12)
    values = [sample for _, _, sample in samples]
    for share, ours in [(Fraction(99, 100), found.p99), (Fraction(999, 1000), found.p999)]:
        bucket = float(max(values) - min(values)) / (gpcnet.BUCKETS - 1)
        # A sample on the edge of a bucket may fall into the one beside it where numbers are rounded.
        assert ours == pytest.approx(float(oracle.percentile(values, share, better)), abs=1.01 * bucket)


def test_a_percentile_lies_where_the_count_in_fractions_reaches_it() -> None:
    dice = random.Random(7)  # noqa: S311
    for count in (1, 2, 99, 100, 101, 1000, 5000):
        whole = [dice.randrange(1, 1 << 20) for _ in range(count)]
        fractions = [Fraction(one) for one in whole]
        samples = np.array(whole, dtype=np.float64)
        for smaller in (True, False):
            ours = gpcnet.percentile(samples, 0.99, smaller_is_better=smaller)
            theirs = float(oracle.percentile(fractions, Fraction(99, 100), not smaller))
            assert ours == pytest.approx(theirs, abs=1.01 * (max(whole) - min(whole)) / (gpcnet.BUCKETS - 1))


@pytest.mark.parametrize("smaller", [True, False])
def test_an_impact_factor_divides_what_is_printed(smaller: bool) -> None:
    dice = random.Random(3)  # noqa: S311
    for _ in range(200):
        # A 32nd is never halfway between two tenths, but where both ways of rounding it are printed alike.
        alone, beside = dice.randrange(10, 9_999) / 32 + 0.001, dice.randrange(10, 9_999) / 32 + 0.001
        ours = gpcnet.impact(alone, beside, smaller_is_better=smaller)
        assert ours == pytest.approx(float(oracle.impact(Fraction(alone), Fraction(beside), not smaller)), rel=1e-12)
