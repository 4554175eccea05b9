"""What §6 of the TCD paper measures, on tables that a reader can check in the head (see synthetic.py)."""

import math
from pathlib import Path
from types import ModuleType
from typing import Any

import polars as pl
import pytest
import synthetic
from backwater import Results
from backwater.papers import paper_figure
from synthetic import US


@pytest.fixture
def sec6() -> ModuleType:
    module: Any = paper_figure.discover("tcd", ["sec6"])[0].module()
    assert isinstance(module, ModuleType)
    return module


@pytest.fixture
def run(tmp_path: Path) -> Results:
    """P2 is OFF for 5 µs of every 10, until 595 µs; undetermined from 105 to 692 µs, then judged."""
    return Results(synthetic.write(tmp_path / "run"))


def replaced(run: Results, **tables: pl.DataFrame) -> Results:
    for table, frame in tables.items():
        frame.write_parquet(run.folder / f"{table}.parquet")
    return run


def states(*steps: tuple[int, str]) -> pl.DataFrame:
    where = {"port": synthetic.PORTS["P2"], "priority": synthetic.PRIORITY}
    return pl.DataFrame([{"time_ps": us * US, **where, "state": state} for us, state in steps])


def test_an_on_period_lies_between_two_off_periods(sec6: ModuleType, run: Results) -> None:
    assert sec6.on_us(run) == 5


def test_a_port_that_was_never_held_is_on_for_ever(sec6: ModuleType, run: Results) -> None:
    assert sec6.on_us(replaced(run, pauses=run.pauses.collect().clear())) == math.inf


def test_a_release_counts_from_the_end_of_the_last_off_period_before_it(sec6: ModuleType, run: Results) -> None:
    assert sec6.releases_us(run) == [692 - 595]
    twice = states((105, "undetermined"), (309, "judging"), (311, "undetermined"), (692, "congestion"))
    assert sec6.releases_us(replaced(run, states=twice)) == [4, 97]


def test_a_port_flaps_when_it_is_undetermined_again(sec6: ModuleType, run: Results) -> None:
    assert sec6.flaps(run) == 0
    again = states((105, "undetermined"), (309, "judging"), (530, "undetermined"), (692, "congestion"))
    # once from 105 to 1500 µs
    assert sec6.flaps(replaced(run, states=again)) == 1
    assert sec6.flaps_per_max_ton(run) == pytest.approx(97 / 1395)


def test_a_port_that_was_never_undetermined_does_not_flap(sec6: ModuleType, run: Results) -> None:
    never = replaced(run, states=states((105, "congestion")))
    assert (sec6.flaps(never), sec6.flaps_per_max_ton(never)) == (0, 0)


def test_a_link_is_busy_for_the_bytes_that_it_sent(sec6: ModuleType, run: Results) -> None:
    row = {"port": "sw->h0", "priority": synthetic.PRIORITY, "rate_bps": 40_000_000_000, "sent_bytes": 3_750_000}
    assert sec6.busy_percent(replaced(run, ports=pl.DataFrame([row]))) == pytest.approx(50)
