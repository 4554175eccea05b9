"""The numbers of the authors' public simulator (commit 6ef0eb3): `reference/README.md` says how they were measured."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from backwater.papers import Measurements

from papers.ec.compare import named
from papers.ec.measured import Point, Window, mean

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


def off(found: Mapping[Point, Window], known: Mapping[Point, Known], *, congested: float = 0.9) -> Measurements:
    """How far ours is from the reference, at points up to `congested`: relative to it, at points where it lost nothing.

    Of the paper's policy at each point, of the others the mean. Retransmissions of the others count where the reference
    has more than little.
    """
    told: Measurements = {}
    for policy in ("opt", "aimd", "dack"):
        goodputs: dict[str, float | None] = {}
        resents: dict[str, float | None] = {}
        for at, one in found.items():
            there = known.get(at)
            if at[0] != policy or at[2] > congested or there is None or there.goodput is None:
                continue
            resent = there.retransmission or 0.0
            if policy != "dack" or resent == 0:
                goodputs[named(at)] = abs(one.goodput / there.goodput - 1)
            if policy == "dack" and resent == 0:
                resents[named(at)] = one.retransmission
            elif policy != "dack" and resent > LITTLE:
                resents[named(at)] = abs(one.retransmission / resent - 1)
        for name, values in (("goodput", goodputs), ("resent", resents)):
            if policy == "dack":
                told[f"dack_{name}_off_reference"] = values
            else:
                told[f"{policy}_{name}_off_reference_mean"] = mean(one for one in values.values() if one is not None)
    return told
