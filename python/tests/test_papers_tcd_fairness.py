"""What Figure 20 of the TCD paper measures, on tables that a reader can check in the head (see synthetic.py)."""

import json
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import polars as pl
import pytest
import synthetic
from backwater import Results
from backwater.papers import paper_figure
from synthetic import US

MS = 1000 * US
WHERE = {"port": synthetic.PORTS["P2"], "priority": synthetic.PRIORITY}


@pytest.fixture
def fig20() -> ModuleType:
    module: Any = paper_figure.discover("tcd", ["fig20"])[0].module()
    assert isinstance(module, ModuleType)
    return module


def states(*steps: tuple[int, str]) -> pl.DataFrame:
    return pl.DataFrame([{"time_ps": us * US, **WHERE, "state": state} for us, state in steps])


def run(
    folder: Path, steps: Sequence[tuple[int, str]], bytes_per_us: Sequence[int], rates_bps: Sequence[int]
) -> Results:
    """P2's states, bytes that B0 to B3 and S1 send each µs, B0's rate each 10 µs; B1 to B3 may send 8 Gbps."""
    ports = ["B0->L0", "B1->L0", "B2->L0", "B3->L0", "S1->T0"]
    samples = [
        {"time_ps": us * US, "port": port, "priority": synthetic.PRIORITY, "sent_bytes": us * rate}
        for port, rate in zip(ports, bytes_per_us, strict=True)
        for us in range(0, 20_000, 10)
    ]
    rates = [
        {"time_ps": 10 * index * US, "flow": flow, "traffic": "B", "rate_bps": rate if flow == 0 else 8_000_000_000}
        for index, rate in enumerate(rates_bps)
        for flow in range(4)
    ]
    synthetic.write(folder)
    for table, frame in {
        "samples": pl.DataFrame(samples),
        "rates": pl.DataFrame(rates),
        "states": states(*steps),
    }.items():
        frame.write_parquet(folder / f"{table}.parquet")
    file = folder / "run.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | {"sim_time_ps": 20 * MS}))
    return Results(folder)


HELD = ((100, "undetermined"), (600, "judging"), (900, "congestion"))
FAIR = (1000, 1000, 1000, 1000, 1000)


def test_rates_are_watched_from_a_tenth_of_a_millisecond_after_a_port_became_undetermined(
    fig20: ModuleType, tmp_path: Path
) -> None:
    # 16 Gbps until 200 µs, 8 until 600 µs, then 4
    made = run(tmp_path / "run", HELD, FAIR, [16 * 10**9] * 20 + [8 * 10**9] * 41 + [4 * 10**9] * 10)
    found = fig20.while_undetermined(made)
    assert found["undetermined_us"] == 400
    assert found["rate_change_percent"] == 0
    # all four may send 8 Gbps, 1000 bytes each µs, and do
    assert found["sent_over_rate"] == pytest.approx(1)
    assert found["jain_while_undetermined"] == pytest.approx(1)


def test_a_single_flow_whose_rate_is_halved_is_a_change_by_half(fig20: ModuleType, tmp_path: Path) -> None:
    made = run(tmp_path / "run", HELD, FAIR, [8 * 10**9] * 40 + [4 * 10**9] * 40)
    assert fig20.while_undetermined(made)["rate_change_percent"] == 50


def test_a_change_in_any_of_several_times_counts(fig20: ModuleType, tmp_path: Path) -> None:
    twice = ((100, "undetermined"), (600, "judging"), (700, "undetermined"), (1200, "judging"))
    made = run(tmp_path / "run", twice, FAIR, [8 * 10**9] * 100 + [2 * 10**9] * 40)
    found = fig20.while_undetermined(made)
    assert (found["undetermined_us"], found["rate_change_percent"]) == (800, 75)


def test_a_port_that_was_hardly_undetermined_shows_nothing(fig20: ModuleType, tmp_path: Path) -> None:
    made = run(tmp_path / "run", ((100, "undetermined"), (250, "judging")), FAIR, [8 * 10**9] * 100)
    assert set(fig20.while_undetermined(made).values()) == {0, None}


@pytest.mark.parametrize(("sent", "index"), [((1, 1, 1, 1), 1), ((1, 0, 0, 0), 0.25), ((3, 1), 0.8)])
def test_jains_index_is_one_for_equal_shares_and_one_over_n_if_one_has_all(
    fig20: ModuleType, sent: tuple[float, ...], index: float
) -> None:
    assert fig20.jain(sent) == pytest.approx(index)


def test_the_shares_at_the_end_are_those_of_all_five_flows(fig20: ModuleType, tmp_path: Path) -> None:
    made = run(tmp_path / "run", HELD, (1250, 1000, 1000, 1000, 750), [8 * 10**9] * 100)
    found = fig20.afterwards(made)
    assert found["p2_becomes_congested"] is True
    assert (found["least_gbps"], found["most_gbps"], found["f1_gbps"]) == pytest.approx((6, 10, 6))
    assert found["jain_at_the_end"] == pytest.approx(25 / (5 * 5.125))


def test_congestion_before_the_last_off_period_ended_is_not_what_comes_after_it(
    fig20: ModuleType, tmp_path: Path
) -> None:
    before = ((100, "congestion"), (300, "undetermined"), (700, "non-congestion"))
    assert fig20.afterwards(run(tmp_path / "run", before, FAIR, [8 * 10**9]))["p2_becomes_congested"] is False
