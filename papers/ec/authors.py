"""The numbers of the authors' public simulator (commit 6ef0eb3): `reference/README.md` says how they were measured."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from backwater.papers import Metrics

from papers.ec.measured import Point, Window, mean, most

COMMIT = "6ef0eb3"
_FOLDER = Path(__file__).parent / "reference"
#: Two windows of the reference itself differ by more than this where less is retransmitted.
LITTLE = 0.05


@dataclass(frozen=True)
class Known:
    """One point of the reference, as shares of the link; None where its simulator ended by an assertion."""

    goodput: float | None
    retransmission: float | None
    difference: float | None = None


def _number(text: str | None) -> float | None:
    return float(text) if text else None


def _rows(name: str) -> list[dict[str, str]]:
    with (_FOLDER / f"{name}.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def _known(row: Mapping[str, str]) -> Known:
    return Known(_number(row["goodput"]), _number(row["retransmission"]), _number(row.get("difference")))


@cache
def points(name: str) -> dict[Point, Known]:
    """The points of ``unicast``, ``incast`` or ``depth``."""
    swept = "depth_bdp" if name == "depth" else "r"
    return {(row["policy"], int(row["size_bytes"]), float(row[swept])): _known(row) for row in _rows(name)}


@cache
def below(workload: str) -> dict[Point, Known]:
    """The points below the paper's range, of ``unicast`` or ``incast``."""
    rows = [row for row in _rows("below") if row["workload"] == workload]
    return {(row["policy"], int(row["size_bytes"]), float(row["r"])): _known(row) for row in rows}


@cache
def cases() -> dict[tuple[str, str], Known]:
    """Where the policy breaks: by case and by what is reserved after a NACK."""
    return {(row["case"], row["policy"]): _known(row) for row in _rows("robustness")}


def off(found: Mapping[Point, Window], known: Mapping[Point, Known], *, congested: float = 0.9) -> Metrics:
    """How far ours is from the reference, at points up to `congested`: relative to it, at points where it lost nothing.

    Of the paper's policy the most, of the others the mean. Retransmissions of the others count where the reference has
    more than little.
    """
    told: Metrics = {}
    for policy in ("opt", "aimd", "dack"):
        goodputs, resents = [], []
        for at, one in found.items():
            there = known.get(at)
            if at[0] != policy or at[2] > congested or there is None or there.goodput is None:
                continue
            resent = there.retransmission or 0.0
            if policy != "dack" or resent == 0:
                goodputs.append(abs(one.goodput / there.goodput - 1))
                resents.append(one.retransmission if policy == "dack" else None)
            if policy != "dack" and resent > LITTLE:
                resents.append(abs(one.retransmission / resent - 1))
        summary = (most, "most") if policy == "dack" else (mean, "mean")
        told[f"{policy}_goodput_off_reference_{summary[1]}"] = summary[0](goodputs)
        told[f"{policy}_resent_off_reference_{summary[1]}"] = summary[0](one for one in resents if one is not None)
    return told
