"""How good a detector's marks are, judged by the ground truth.

A CE mark that was set while the port was held is wrong; one that was set at another port is right if the queue was
above K, otherwise early: RED's ramp begins below K. Precision: the right ones of the right and the wrong. Of the
packets that left the long queue of a root, those that carry CE were found: recall; a port's own recall counts only what
it could still mark. A UE mark is right while the port is held.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from functools import cache
from typing import Any

from backwater.analysis.blame.gates import Gates, within
from backwater.analysis.blame.tables import queue_of, read
from backwater.common.late import pl
from backwater.results import Results
from backwater.scenario import senders


@cache
def _judged() -> tuple[pl.Expr, pl.Expr, pl.Expr, pl.Expr]:
    """Of a frame of judged marks: the CE marks that are right, wrong and early, and the UE marks."""
    ce = pl.col("code") == "CE"
    right = ce & ~pl.col("is_held") & ~pl.col("is_early")
    return right, ce & pl.col("is_held"), ce & pl.col("is_early"), pl.col("code") == "UE"


@cache
def _sums() -> dict[str, pl.Expr]:
    """What is summed up over crowds: packets, those that left with CE.

    And where there is a detector, at switches, those that came without CE, and of them those that left with it.
    """
    before = pl.col("ce_before_packets")
    return {
        "packets": pl.col("packets"),
        "ce_packets": pl.col("ce_packets"),
        "own_packets": (pl.col("packets") - before).filter(~pl.col("is_drain")),
        "own_ce_packets": (pl.col("ce_packets") - before).filter(~pl.col("is_drain")),
    }


@dataclass(frozen=True)
class Score:
    """Shares from 0 to 1; None where there is nothing to take a share of."""

    #: CE marks, those that were set at a port that was not held with K or less in its queue, and of all others the
    #: share that was set at a port that was not held.
    ce_marks: int
    early_marks: int
    precision: float | None
    #: Data packets that left the long queue of a root, the share of them that left with CE, wherever it was set, and
    #: of those that came without CE the share that left with it.
    root_packets: int
    recall: float | None
    own_recall: float | None
    #: UE marks, and the share of them that was set at a held port.
    ue_marks: int
    ue_precision: float | None
    #: Flows that count as marked, the share of them that fed a root, and the share of those that fed a root which do.
    marked_flows: int
    flow_precision: float | None
    culprits: int
    flow_recall: float | None

    def values(self) -> dict[str, Any]:
        """As plain values."""
        return asdict(self)


def judged_marks(results: Results, gates: Gates) -> pl.DataFrame:
    """The marks: `time_ps`, `queue`, `flow`, `code`, `is_held`, `is_early` (not held, and K or less in the queue)."""
    place = ["node_index", "port_index", "priority"]
    marks = read(results, "marks", ["time_ps", *place, "code", "flow", "queue_bytes"]).with_columns(queue=queue_of())
    long = read(results, "crowds", [*place, "threshold_bytes"]).select("threshold_bytes", queue=queue_of()).unique()
    # A queue that no crowd ever left was never above K.
    known = marks.drop(place).join(long, on="queue", how="left", maintain_order="left")
    judged = within(known, gates.held, "time_ps", "is_held")
    short = (pl.col("queue_bytes") <= pl.col("threshold_bytes")).fill_null(value=True)
    return judged.with_columns(is_early=~pl.col("is_held") & short).drop("queue_bytes", "threshold_bytes")


def received(results: Results) -> pl.DataFrame:
    """`flow` and `is_marked`: whether it was told of congestion.

    It received CE; or, if its receiver reports CE only from a share of marked packets on (np-fraction), its sender got
    a CNP for CE.
    """
    frame = read(results, "flows", ["flow", "traffic", "ce_packets", "cnps_ce"])
    strict = pl.col("traffic").is_in(_judged_by_receiver(results.meta["scenario"]))
    marked = pl.when(strict).then(pl.col("cnps_ce") > 0).otherwise(pl.col("ce_packets") > 0)
    return frame.select("flow", is_marked=marked)


def _judged_by_receiver(scenario: dict[str, Any]) -> list[str]:
    """Traffic entries and jobs whose receivers send CNPs, and only from a share of marked packets on."""
    controls = {entry["name"]: entry.get("cc", scenario["cc"]) for entry in senders.of(scenario)}
    return [name for name, cc in controls.items() if cc["kind"] == "dcqcn" and cc["np-fraction"] > 0]


def score(marks: pl.DataFrame, crowding: pl.DataFrame, told: pl.DataFrame) -> Score:
    """The score of a run; `told` as from :func:`received`."""
    *ce_marks, of_ue = _judged()
    right, wrong, early = (int(marks.select(kind.sum()).item()) for kind in ce_marks)
    ue = marks.filter(of_ue)
    root = crowding.filter(~pl.col("is_held"))
    packets, found, own, own_found = (int(root.select(each.sum()).item()) for each in _sums().values())
    marked, culprit = told["is_marked"], told["flow"].is_in(root["flow"].unique().implode())
    both = int((marked & culprit).sum())
    return Score(
        ce_marks=right + wrong + early,
        early_marks=early,
        precision=_share(right, right + wrong),
        root_packets=packets,
        recall=_share(found, packets),
        own_recall=_share(own_found, own),
        ue_marks=ue.height,
        ue_precision=_share(int(ue["is_held"].sum()), ue.height),
        marked_flows=int(marked.sum()),
        flow_precision=_share(both, int(marked.sum())),
        culprits=int(culprit.sum()),
        flow_recall=_share(both, int(culprit.sum())),
    )


def by_port(marks: pl.DataFrame, crowding: pl.DataFrame) -> pl.DataFrame:
    """The score per queue: columns as in :func:`shares`, with `queue`."""
    return shares(marks, crowding.filter(~pl.col("is_held")), ["queue"])


def shares(marks: pl.DataFrame, root: pl.DataFrame, by: list[str]) -> pl.DataFrame:
    """Per group that has something to share, from judged marks and the crowds of roots.

    Columns `ce_marks`, `early_marks`, `precision`, `ue_marks`, `ue_precision`, `root_packets`, `recall`, `own_recall`.
    """
    right, wrong, early, ue = _judged()
    marked = marks.group_by(by).agg(
        ce_marks=(right | wrong | early).sum(),
        early_marks=early.sum(),
        precision=right.sum() / (right | wrong).sum(),
        ue_marks=ue.sum(),
        ue_precision=(ue & pl.col("is_held")).sum() / ue.sum(),
    )
    sums = root.group_by(by).agg(**{name: each.sum() for name, each in _sums().items()})
    recall, own = pl.col("ce_packets") / pl.col("packets"), pl.col("own_ce_packets") / pl.col("own_packets")
    found = sums.select(*by, root_packets="packets", recall=recall, own_recall=own)
    joined = marked.join(found, on=by, how="full", coalesce=True)
    counts = pl.col("ce_marks", "early_marks", "ue_marks", "root_packets").fill_null(0)
    known = pl.col("precision", "ue_precision", "own_recall").fill_nan(None)
    return joined.with_columns(counts, known).sort(by)


def _share(part: int, whole: int) -> float | None:
    return part / whole if whole else None
