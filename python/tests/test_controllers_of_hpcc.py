"""TIMELY and HPCC against the HPCC simulator's own answers, where nothing is drawn: one, two and four flows.

That simulator counts in whole nanoseconds, and two controllers that answer each other amplify what it rounds.
"""

from __future__ import annotations

import statistics
import tarfile
from typing import TYPE_CHECKING

import pytest
from hpcc_simulator import RULES, Net
from test_same_as_hpcc import DATA, fcts, run, theirs

if TYPE_CHECKING:
    from pathlib import Path

CASES = ("lone", "two", "line", "four")


@pytest.fixture(scope="module")
def controllers(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("hpcc")
    with tarfile.open(DATA / "controllers.tar.xz") as archive:
        archive.extractall(folder, filter="data")
    return folder / "controllers"


#: Median and greatest deviation of the nine FCTs, in percent, as measured: nothing is drawn, so a change means a change
#: of a rule. Each is rounded up to the next tenth.
BOUNDS = [("timely", (), 0.2, 5.9), ("hpcc", (), 1.1, 3.0), ("hpcc", ("cc.window-counts=wire",), 0.5, 17.4)]


@pytest.mark.parametrize(("controller", "settings", "median", "greatest"), BOUNDS)
def test_flows_take_as_long_as_there(
    controllers: Path, tmp_path: Path, controller: str, settings: tuple[str, ...], median: float, greatest: float
) -> None:
    off: list[float] = []
    for case in CASES:
        wanted = theirs(controllers / f"{controller}_{case}" / "fct.txt")
        found = fcts(run(controllers / f"{controller}_{case}", tmp_path / case, *settings))
        assert found.keys() == wanted.keys()
        # Nanoseconds there.
        off += [100 * abs(found[flow] / 1000 / wanted[flow] - 1) for flow in wanted]
    assert median - 0.1 < statistics.median(off) <= median
    assert greatest - 0.1 < max(off) <= greatest


def test_a_lone_flow_differs_by_that_simulators_rounding_alone(controllers: Path, tmp_path: Path) -> None:
    # Of the time of each packet it cuts what is below a nanosecond: 848 ns become 847 (it counts in floating seconds).
    wanted = theirs(controllers / "timely_lone" / "fct.txt")
    found = fcts(run(controllers / "timely_lone", tmp_path))
    packets = -(-2_000_000 // 1004)
    assert found[0, 1, 0] / 1000 - wanted[0, 1, 0] == pytest.approx(packets, rel=0.002)


def test_five_rules_are_what_makes_hpcc_differ(controllers: Path) -> None:
    # A program with the rules of that simulator gives its answers to the nanosecond; without any one of five, others.
    def off(rules: frozenset[str]) -> float:
        found: list[float] = []
        for case in CASES:
            folder = controllers / f"hpcc_{case}"
            made = Net(folder, rules).fcts
            found += [100 * abs(made[source] / fct - 1) for (source, _, _), fct in theirs(folder / "fct.txt").items()]
        assert len(found) == 9
        return max(found)

    assert off(RULES) == 0
    without = {rule: off(RULES - {rule}) for rule in RULES}
    # As the fidelity page has them.
    assert {rule: round(value, 1) for rule, value in without.items()} == {
        "units": 13.8,
        "cut": 13.1,
        "move": 2.6,
        "order": 1.2,
        "whole": 0.5,
    }
