"""What the ConWeave simulator (ns-3) answers in cases where nothing is drawn: tests/differential/data/README.md."""

from __future__ import annotations

import tarfile
import tempfile
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

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


@cache
def folder(case: str) -> Path:
    """The files of a case."""
    return _unpacked() / case


@cache
def _unpacked() -> Path:
    where = Path(tempfile.mkdtemp(prefix="conweave-"))
    with tarfile.open(DATA / "conweave.tar.xz") as archive:
        archive.extractall(where, filter="data")
    return where / "conweave"


def numbers(file: Path) -> Iterator[list[str]]:
    """The rows of a file, which is missing where nothing happened."""
    if file.exists():
        for line in file.read_text().splitlines():
            if not line.startswith("#"):
                yield line.split()


@dataclass(frozen=True)
class Answers:
    """FCT, packets sent, NACKs, notifications and timeouts by flow; drops; PAUSEs (time, host, whether it is none)."""

    flows: list[tuple[int, ...]]
    drops: list[tuple[int, int, int, str, int, int]]
    pauses: list[tuple[int, int, bool]]


def answers(case: str) -> Answers:
    """What it answers in a case. Its ports count from 1; times begin at 0."""
    here = folder(case)
    rows = sorted(numbers(here / "fct.txt"), key=lambda row: int(row[8]))
    return Answers(
        [(int(row[6]), *map(int, row[9:])) for row in rows],
        [
            (int(row[0]), int(row[2]) - 1, int(row[3]) - 1, row[4], int(row[5]), int(row[8]))
            for row in numbers(here / "drops.txt")
        ],
        [(int(row[0]), int(row[1]), row[4] == "1") for row in numbers(here / "pfc.txt")],
    )
