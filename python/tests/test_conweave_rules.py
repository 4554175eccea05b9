"""The rules of the ConWeave simulator, written as a program of their own, give its answers, to the nanosecond.

Nothing is drawn in these cases: each has no ECN, and one path for each flow (tests/differential/data/README.md).
"""

from __future__ import annotations

import tarfile
from pathlib import Path
from typing import TYPE_CHECKING

import conweave_rules
import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

DATA = Path(__file__).parents[2] / "tests" / "differential" / "data"

SETTINGS = ("nopfc-gbn", "nopfc-irn-bdp104k", "nopfc-irn", "pfc-gbn")
#: Cases by name; without congestion control, and with that which only NACKs tell of losses.
CASES = [
    *(
        f"{case}/{name}-{ends}"
        for case in ("burst-exact", "incast2-exact")
        for name in SETTINGS
        for ends in ("nocc", "noecn")
    ),
    *(f"tails8/{name}-nocc" for name in SETTINGS),
]


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("conweave")
    with tarfile.open(DATA / "conweave.tar.xz") as archive:
        archive.extractall(folder, filter="data")
    return folder / "conweave"


def numbers(file: Path) -> Iterator[list[str]]:
    """The rows of a file, which is missing where nothing happened."""
    if file.exists():
        for line in file.read_text().splitlines():
            if not line.startswith("#"):
                yield line.split()


@pytest.mark.parametrize("name", CASES)
def test_every_flow_drop_and_pause_is_that_of_the_simulator(answers: Path, name: str) -> None:
    folder = answers / name
    star, flows = conweave_rules.case(folder)
    rows = sorted(numbers(folder / "fct.txt"), key=lambda row: int(row[8]))
    # The FCT, packets sent, NACKs, notifications and timeouts of each flow.
    wanted = [(int(row[6]), *map(int, row[9:])) for row in rows]
    assert [
        (flow.done and flow.done - flow.start, flow.sent, flow.nacks, flow.notified, flow.timeouts) for flow in flows
    ] == wanted
    # Its ports count from 1.
    drops = [
        (int(row[0]), int(row[2]) - 1, int(row[3]) - 1, row[4], int(row[5]), int(row[8]))
        for row in numbers(folder / "drops.txt")
    ]
    assert [(drop.time, drop.ingress, drop.egress, drop.why, drop.source, drop.seq) for drop in star.drops] == drops
    heard = [row[4] for row in numbers(folder / "pfc.txt")]
    assert (star.pauses, star.resumes) == (heard.count("1"), heard.count("0"))
