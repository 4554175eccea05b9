"""Where paper, text and public code disagree: each reading under its own name, at points that tell them apart."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from backwater.analysis import plot
from backwater.papers import Measurements, Runs, Seeds
from backwater.papers.number_tables import NumberTable

from papers.ec.beside import number
from papers.ec.measured import Point, Window, mean, over, points, share

#: The readings, and what each is.
READINGS = {
    "dack": "as everywhere in this report",
    "text": "the paper's words: no reservation, DACK frames, grants per ACK, fairness by its two verbs; after a NACK "
    "DACKs for what came before it, halted after a replay, no escape",
    "code": "the public code: 9 KB reserved, grants per ACK, NACKs that wait, occupancy below T releases",
    "reservation-none": "nothing is kept after a NACK",
    "reservation-9KB": "9 KB are kept after a NACK, and count as full",
    "fairness-none": "IACKs in the order of packets",
    "fairness-verbs": "DACK suppression and ACK coalescing (grants per ACK)",
    "grants-ack": "one packet per ACK, whatever it covers",
    "iack-processed": "an uncongested target acknowledges what it has processed",
    "dack-frames": "a DACK is a frame before each IACK",
    "packets-50": "50 packets outstanding",
    "nack-with-acks": "NACKs wait as ACKs do",
    "replay-at-end": "a NACK during a replay moves it when it ends",
    "after-nack-dacks": "after a NACK, DACKs for the packets that came before it (II-F)",
    "halt-after-replay": "halted after what a NACK asked for has been sent (II-F)",
    "escape-never": "a halted stream that hears nothing stays halted",
}
#: Points: how they are called, workload, size and r.
POINTS: dict[str, tuple[str, int, float]] = {
    "one sender, 2 KB, r = 0.5": ("unicast", 2048, 0.5),
    "eight, 2 KB, r = 0.5": ("incast", 2048, 0.5),
    "eight, 2 KB, r = 0.9": ("incast", 2048, 0.9),
    "eight, 8 KB, r = 0.5": ("incast", 8192, 0.5),
    "eight, 8 KB, r = 0.9": ("incast", 8192, 0.9),
}
_SMALL = ("one sender, 2 KB, r = 0.5", "eight, 2 KB, r = 0.5")


def windows(runs: Runs) -> dict[tuple[str, str], Window]:
    """By reading and point."""
    found: dict[str, dict[Point, Window]] = {one: points(runs, one) for one in ("unicast", "incast")}
    return {
        (reading, name): found[workload][reading, size, r]
        for reading in READINGS
        for name, (workload, size, r) in POINTS.items()
    }


def ideal(name: str) -> float:
    """Goodput at a point if nothing is lost: r without headers."""
    _, size, r = POINTS[name]
    return r * share(size)


def metrics(runs: Runs) -> Measurements:
    found, greedy = windows(runs), points(runs, "greedy")
    values: Measurements = {f"{reading}: {name}": one.retransmission for (reading, name), one in found.items()}
    for short, reading in (
        ("frames", "dack-frames"),
        ("processed", "iack-processed"),
        ("packets50_2KiB", "packets-50"),
    ):
        at = {name: found[reading, name] for name in _SMALL}
        values[f"{short}_resent"] = {name: one.retransmission for name, one in at.items()}
        values[f"{short}_goodput_over_ideal"] = {name: one.goodput / ideal(name) for name, one in at.items()}
    half, large = found["fairness-none", _SMALL[1]].difference, "eight, 8 KB, r = 0.5"
    nine = found["reservation-9KB", large].retransmission
    return values | {
        "packets50_1KiB_wire": greedy["packets-50", 1024, 1.0].wire,
        "packets50_512B_wire": greedy["packets-50", 512, 1.0].wire,
        "verbs_difference_over_none": over(found["fairness-verbs", _SMALL[1]].difference, half),
        "ordered_difference_over_none": over(found["dack", _SMALL[1]].difference, half),
        "code_reservation_resent_over_one": _times(nine, found["dack", large].retransmission),
        "code_reservation_resent_over_none": _times(nine, found["reservation-none", large].retransmission),
    }


def _times(above: float, below: float) -> float:
    """A quotient of retransmissions; less than a packet of a window counts as one of 8 KB."""
    return above / max(below, 0.0026)


def draw(seeds: Seeds, file: Path) -> None:
    every = [windows(runs) for runs in seeds]
    parts: tuple[tuple[str, Callable[[Window, str], float]], ...] = (
        ("goodput, share of the ideal", lambda one, name: one.goodput / ideal(name)),
        ("retransmissions, share of the link", lambda one, _: one.retransmission),
        ("largest difference, share of the link", lambda one, _: one.difference),
    )
    with plot.picture(file, "The paper's policy in several readings", 11.5, 6.2) as made:
        for axes, (title, value) in zip(made.subplots(1, 3, sharey=True), parts, strict=True):
            for place, name in enumerate(POINTS):
                values = [mean(value(one[reading, name], name) for one in every) or 0.0 for reading in READINGS]
                places = [row + 0.15 * (place - 2) for row in range(len(READINGS))]
                axes.plot(values, places, plot.marker(place), ms=5, color=plot.CYCLE[place], label=name, clip_on=False)
            axes.set_title(title, fontsize=9)
            axes.grid(visible=True, axis="x")
            axes.set_yticks(range(len(READINGS)), list(READINGS))
        made.axes[0].invert_yaxis()
        made.axes[0].set_xlim(None, 1.02)
        for axes in made.axes[1:]:
            axes.set_xlim(0, None)
        handles, labels = made.axes[0].get_legend_handles_labels()
        made.legend(handles, labels, loc="outside lower center", ncols=len(labels))


def tables(seeds: Seeds) -> Sequence[NumberTable]:
    every = [windows(runs) for runs in seeds]
    made = [NumberTable("the readings", ("name", "what it is"), tuple(READINGS.items()), words=2)]
    kinds: tuple[tuple[str, Callable[[Window], float]], ...] = (
        ("goodput", lambda one: one.goodput),
        ("retransmissions", lambda one: one.retransmission),
        ("largest difference of two senders", lambda one: one.difference),
    )
    for title, value in kinds:
        rows = [
            (reading, *(number(mean(value(one[reading, name]) for one in every)) for name in POINTS))
            for reading in READINGS
        ]
        rows += [("ideal", *(number(ideal(name)) for name in POINTS))] if title == "goodput" else []
        made.append(NumberTable(f"{title}, shares of the link", ("reading", *POINTS), tuple(rows)))
    return made
