"""Every number that is measured in runs: tables, sweeps, tunings, comparisons and `explain` take it from here.

What PUTs, tables of congested flows and throttles did is in the catalogue only by name: `analysis` measures it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal

from backwater.common import quantities
from backwater.common.late import pl
from backwater.results.flow_expressions import Flows

#: What a measure is of: of each traffic entry; of the run as a whole; or only some runs have it.
Scope = Literal["traffic", "run", "isolation", "throttles", "puts"]
_WORDS = {"fct": "FCT", "ce": "CE", "ue": "UE"}


@dataclass(frozen=True)
class Measure:
    """A number that is measured in a run. Its unit is in its name."""

    name: str
    #: In words, for `explain` and docs/sweeps.md; the tables of sweeps have those that have any.
    meaning: str = ""
    #: Which way is better, for tuning; None where that depends.
    better: Literal["minimize", "maximize"] | None = None
    #: Of a traffic entry, from its flows.
    expression: Callable[[Flows], pl.Expr] | None = None
    #: Its heading in tables that have it beside others of its kind.
    heading: str = ""
    scope: Scope = "traffic"
    #: What stands below tables that have it, and in a few words beside the axes of figures.
    footnote: str = ""
    aside: str = ""

    @property
    def title(self) -> str:
        """Its heading, in words of its name if it has no other."""
        return self.heading or self.words

    @property
    def words(self) -> str:
        """Its name as a heading: its unit is in the cells."""
        stem = self.name
        for unit in ("_ps", "_bps", "_bytes"):
            stem = stem.removesuffix(unit)
        return " ".join(_WORDS.get(word, word) for word in stem.split("_"))

    def show(self, value: float) -> str:
        """A value, with its unit."""
        return next((one for unit, one in _SHOWN.items() if self.name.endswith(unit)), quantities.count)(value)


def _percent(value: float) -> str:
    return f"{quantities.three_digits(value)} %"


#: What is printed how, by the unit at the end of a name.
_SHOWN: dict[str, Callable[[float], str]] = {
    "_bps": quantities.rate,
    "_ps": quantities.time,
    "_bytes": quantities.size,
    "_percent": _percent,
    "slowdown": quantities.three_digits,
    "_load": quantities.three_digits,
    "jain": quantities.three_digits,
    "fairness": quantities.three_digits,
}

_LESS: Literal["minimize"] = "minimize"
_MORE: Literal["maximize"] = "maximize"
_P99_FCT = "99th percentile of the FCT (nearest rank); null of fewer than 100."
_MEAN_SLOWDOWN = "Mean of FCT over that of the flow alone in the network."
_P99_SLOWDOWN = "99th percentile of the slowdown (nearest rank); null of fewer than 100."
_APPLICATION = "Time of an application or collective from its start; null if it did not end."
_OFFERED = "Load that Poisson arrivals drew, counted as `traffic.load` is; null of other traffic."
_NO_REPEATS = "null where nothing is sent again."
_UNFINISHED = "Flows with an end that they did not come to: FCT and slowdown are without them; null without ends."
_FAILED = (
    f"Flows whose queue pair is in error after its last retry; if all had arrived, they have finished; {_NO_REPEATS}"
)
_RESENT = f"Packets that sources sent again; {_NO_REPEATS}"
_TWICE = f"Packets that came to a queue pair which had them; {_NO_REPEATS}"
_DROPPED = f"Packets that receivers did not take, no room or out of order; {_NO_REPEATS}"
_NACKS = f"NACKs that came to queue pairs; {_NO_REPEATS}"
_FAIRNESS = (
    "Jain's index of the payload of each flow over its time: 1 if all are as fast; null unless all have one size and "
    "start at once."
)
_LOST = "Packets that switches, links and faults dropped; null where nothing is sent again."
_TRIMS = "Packets that switches cut to their headers; null where they do not trim."
_TIMEOUTS = f"How often queue pairs waited too long for an ACK; {_NO_REPEATS}"
_PAUSES = "How often gates closed: PAUSEs that took effect, or credits that ran out; null without flow control."
_PAUSED = "Time for which gates were closed, summed over all ports; null without flow control."
_SENT = "Bytes that hosts put on the wire: data, headers, what is sent again, ACKs."
_USEFUL = "Payload that hosts took, each byte once, of the bytes that hosts put on the wire: goodput over throughput."
_HELD_RIGHT = (
    "held: precision: of the time that closed gates and rates kept flows back, the share of flows that go "
    "through a root for which it was"
)
_HELD_ENOUGH = (
    "held: recall: of what flows through roots had to wait, in those queues beyond K or held rightly, the share of the "
    "latter"
)
_HOLDS_SENT = "holds sent: PAUSEs and other frames that hold something upstream; about as many let it go again"
_HELD_FOR = (
    "held for: in all, summed over flows; unexplained: that of it which is in no share, as nobody can tell the root or "
    "the way of the flow; where it is most of all there are no shares"
)
_HELD_AT_END = "held at the end: up to so many flows were when the run ended; what they waited by then is not counted"
_HELD_WRONG = "held wrongly: the other flows that were, and for how long, summed over them"
_OF_ENTRIES = (
    Measure("flows", "Flows.", None, lambda of: of.count),
    Measure("finite", "", None, lambda of: of.finite),
    Measure(
        "finished", "Flows that finished; null where flows have no end of their own.", _MORE, lambda of: of.finished
    ),
    Measure("unfinished", _UNFINISHED, _LESS, lambda of: of.unfinished),
    Measure("packets", "Data packets sent.", None, lambda of: of.sum("packets")),
    Measure("ce_packets", "Packets that arrived marked CE (or FECN).", None, lambda of: of.sum("ce_packets"), "CE"),
    Measure("ue_packets", "Packets that arrived marked UE.", None, lambda of: of.sum("ue_packets"), "UE"),
    Measure("received_bytes", "Payload that arrived.", _MORE, lambda of: of.sum("received_bytes")),
    Measure(
        "goodput_bps",
        "Payload that receivers got, each byte once, over first start to last finish, which the last flow decides.",
        _MORE,
        lambda of: of.goodput,
        footnote=(
            "goodput: payload, each byte once, from an entry's first start to its last finish, or to the end of the "
            "run; one late flow lowers it"
        ),
        aside="to the last finish",
    ),
    Measure("offered_load", _OFFERED),
    Measure("asked_load", "The load that was asked for of Poisson arrivals; null of other traffic."),
    Measure(
        "mean_fct_ps", "Mean flow completion time of the flows that finished.", _LESS, lambda of: of.mean("fct_ps")
    ),
    Measure("p50_fct_ps", "Median flow completion time (nearest rank).", _LESS, lambda of: of.rank("fct_ps", 50)),
    Measure("p99_fct_ps", _P99_FCT, _LESS, lambda of: of.rank("fct_ps", 99)),
    Measure("max_fct_ps", "The longest flow completion time.", _LESS, lambda of: of.most("fct_ps"), "longest FCT"),
    Measure("mean_slowdown", _MEAN_SLOWDOWN, _LESS, lambda of: of.mean("slowdown")),
    Measure("p50_slowdown", "Median slowdown (nearest rank).", _LESS, lambda of: of.rank("slowdown", 50)),
    Measure("p99_slowdown", _P99_SLOWDOWN, _LESS, lambda of: of.p99_slowdown),
    Measure("max_slowdown", "The greatest slowdown.", _LESS, lambda of: of.slowdown.max(), "greatest slowdown"),
    Measure("application_ps", _APPLICATION, _LESS),
    Measure(
        "fairness",
        _FAIRNESS,
        _MORE,
        lambda of: of.fairness,
        footnote="fairness: Jain's index of what flows of one size that start at once get per time; 1 if the same",
    ),
    Measure("median_fct_ps", "", None, lambda of: of.rank("fct_ps", 50)),
    Measure("slowdowns", "", None, lambda of: of.slowdown.len()),
    Measure("timed", "", None, lambda of: of.timed, "flows"),
    Measure("ce_percent", "", None, lambda of: of.share("ce_packets"), "CE"),
    Measure("ue_percent", "", None, lambda of: of.share("ue_packets"), "UE"),
    Measure("becns", "", None, lambda of: of.sum("cnps_ce") + of.sum("cnps_ue"), "BECNs"),
    Measure("resent_packets", _RESENT, _LESS, lambda of: of.sum("resent_packets"), "resent"),
    Measure("dropped_packets", _DROPPED, _LESS, lambda of: of.sum("dropped_packets"), "dropped"),
    Measure("duplicate_packets", _TWICE, _LESS, lambda of: of.sum("duplicate_packets"), "came twice"),
    Measure("nacks", _NACKS, _LESS, lambda of: of.sum("nacks"), "NACKs"),
    Measure("timeouts", _TIMEOUTS, _LESS, lambda of: of.sum("timeouts")),
    Measure("failed", _FAILED, _LESS, lambda of: of.sum("failed")),
)
_RECOVERY = (
    "recovery: from the end of the last incast until the last message came that others had begun before; 0 if all were "
    "there; null without an incast beside others"
)
_OF_RUNS = (
    Measure("pauses", _PAUSES, _LESS),
    Measure("paused_ps", _PAUSED, _LESS, heading="OFF"),
    Measure("peak_queue_bytes", "Largest egress queue of all ports.", _LESS),
    Measure("sent_bytes", _SENT, heading="sent by hosts"),
    Measure("useful_percent", _USEFUL, _MORE, heading="of it useful"),
    Measure("switch_drops", _LOST, _LESS, heading="dropped by switches"),
    Measure("trims", _TRIMS, _LESS, heading="trimmed by switches"),
    Measure("recovery_ps", f"{_RECOVERY[:1].upper()}{_RECOVERY[1:]}.", _LESS, footnote=_RECOVERY),
    Measure("sim_time_ps", "When the run ended."),
    Measure("ce_marks", heading="CE marks"),
    Measure("victims", heading="victims"),
    Measure("holds_sent", heading="holds sent", footnote=_HOLDS_SENT),
    Measure("held_precision_percent", heading="held: precision", footnote=_HELD_RIGHT),
    Measure("held_recall_percent", heading="held: recall", footnote=_HELD_ENOUGH),
    Measure("held_for_ps", heading="held for", footnote=_HELD_FOR),
    Measure("held_unexplained_ps", heading="unexplained", footnote=_HELD_FOR),
    Measure("held_at_end", heading="held at the end", footnote=_HELD_AT_END),
    Measure("wrongly_held", heading="held wrongly", footnote=_HELD_WRONG),
    Measure("wrongly_held_ps", heading="for", footnote=_HELD_WRONG),
)
#: Of those that `analysis` measures, the headings.
_OTHERS: dict[str, tuple[Scope, str]] = {
    "allocations": ("isolation", "isolated"),
    "refusals": ("isolation", "refused"),
    "peak_slots": ("isolation", "most slots"),
    "cims": ("isolation", "CIMs"),
    "throttled_nics": ("throttles", "throttled NICs"),
    "throttled_ps": ("throttles", "throttled"),
    "throttle_held_ps": ("throttles", "held by throttles"),
    "goodput_percent": ("puts", "of the link"),
    "resent_percent": ("puts", "of all sent"),
    "target_drops": ("puts", "dropped by hosts"),
    "dacks": ("puts", "DACKs"),
    "marked_iacks": ("puts", "marked IACKs"),
    "difference_percent": ("puts", "largest difference"),
    "jain": ("puts", "Jain"),
    "receive_peak_bytes": ("puts", "peak receive queue"),
    "holding_ps": ("puts", "switch held"),
}
#: Every measure by its name.
CATALOGUE = {
    **{one.name: one for one in _OF_ENTRIES},
    **{one.name: replace(one, scope="run") for one in _OF_RUNS},
    **{name: Measure(name, heading=heading, scope=scope) for name, (scope, heading) in _OTHERS.items()},
}


def named(names: str) -> tuple[Measure, ...]:
    """Some of them, by their names with spaces between."""
    return tuple(CATALOGUE[name] for name in names.split())
