"""Figure 2: the network of the observations as a run has it, and what each of its four ports did."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
from backwater.analysis import plot
from backwater.common import quantities
from backwater.papers import Metrics, Runs, Seeds
from backwater.results import Results, measures

from papers.tcd import schematic
from papers.tcd.scene import MS, US, Scene, settle

__all__ = ["draw", "metrics", "settle"]

#: The links of the paper's text (§3.1.1) and of its figure, beside those of A0 to A14.
LINKS = ("S0-T0", "S1-T0", "S2-T1", "T0-L0", "T1-L0", "L0-T2", "T2-R0", "T2-R1")
#: Where the figure has its nodes.
PLACES = {
    "S0": (0.0, 2.0),
    "S1": (0.0, 1.0),
    "S2": (0.0, -0.6),
    "T0": (1.2, 1.5),
    "T1": (1.2, -0.6),
    "L0": (2.5, 0.45),
    "T2": (3.8, 0.45),
    "R0": (5.0, 1.5),
    "R1": (5.0, 0.45),
}


def metrics(runs: Runs) -> Metrics:
    run = runs["tcd"]
    scene = Scene(run)
    network = run.meta["network"]
    names, links = network["nodes"]["name"], network["links"]
    built = {f"{names[a]}-{names[b]}" for a, b in schematic.links(run)}
    wanted = {*LINKS, *(f"A{n}-T2" for n in range(15))}
    same = [pair == (40_000_000_000, 4 * US) for pair in zip(links["rate_bps"], links["delay_ps"], strict=True)]
    begin, end = queueing_ps(scene)
    return {
        "links_of_40_gbps_and_4_us_percent": 100 * sum(same) / len(same),
        "wired_as_in_the_paper": {frozenset(link.split("-")) for link in built}
        == {frozenset(link.split("-")) for link in wanted},
        "p3_off_periods": len(scene.off("P3")),
        "p3_gbps_while_it_queues": scene.sent_bps("P3", begin, end) / 1e9,
        "fewest_off_periods_upstream": min(len(scene.off(port)) for port in ("P0", "P1", "P2")),
    }


def queueing_ps(scene: Scene) -> tuple[int, int]:
    """From when P3's queue begins to when it has drained for the last time."""
    queue = scene.queue("P3")
    waiting = queue.time_ps[queue.value > 0]
    return int(waiting[0]), int(waiting[-1])


def all_held_ps(scene: Scene) -> int:
    """The middle of the time in which P0, P1 and P2 all alternate between ON and OFF."""
    off = [scene.off(port) for port in ("P0", "P1", "P2")]
    return (max(periods[0].start_ps for periods in off) + min(periods[-1].end_ps for periods in off)) // 2


def did(scene: Scene, port: str) -> str:
    """What a port did in the run, in three lines."""
    off = scene.off(port)
    spent = sum(period.end_ps - period.start_ps for period in off)
    begin, end = queueing_ps(scene)
    marks = {code: scene.marks(port, code) for code in ("UE", "CE")}
    held = f"OFF {len(off)} times, {quantities.time(spent)}" if off else "never OFF"
    peak = quantities.size(scene.peak_bytes(port))
    sends = f"sends {scene.sent_bps(port, begin, end) / 1e9:.1f} Gbps, queue up to {peak}"
    return f"{held}\n{sends}\n{marks['UE']} UE, {marks['CE']} CE marks"


def flow_lines(run: Results) -> str:
    """The traffic of the run, one line per entry."""
    lines = []
    for entry in run.meta["scenario"]["traffic"]:
        rate = entry.get("rate") or (
            f"{entry['rounds']} × {entry['size']} each" if "rounds" in entry else "as DCQCN allows"
        )
        start = Scene(run).start_ps(entry["name"]) / MS
        lines.append(f"{entry['name']}: {entry['from']} → {entry['to']}, {rate}, from {start:.2f} ms on")
    return re.sub(r"(?<=\d)(?=[KMG]b?)", " ", "\n".join(lines))


def draw(seeds: Seeds, file: Path) -> None:
    run = seeds[0]["tcd"]
    scene = Scene(run)
    begin, end = queueing_ps(scene)
    with plot.picture(file, "Figure 2: the network of the observations, as a run has it", 10.6, 6.2) as made:
        upper, lower = made.subplots(2, 1, height_ratios=[3, 1.5])
        shown = all_held_ps(scene)
        colours = {port: plot.STATE_COLOURS[schematic.state_at(run, port, shown)] for port in schematic.PORTS}
        labels = {port: port for port in schematic.PORTS}
        schematic.draw_network(upper, run, PLACES, colours, labels=labels, grouped={"A0–A14": (5.0, -0.6)})
        ends = run.meta["network"]["links"]
        rate, delay = quantities.rate(ends["rate_bps"][0]), quantities.time(ends["delay_ps"][0])
        boxes = {"P0": (1.35, 1.62), "P1": (1.35, -1.05), "P2": (2.6, 1.25), "P3": (5.35, 0.45)}
        for port, (x, y) in boxes.items():
            upper.text(x, y, f"{port}: {did(scene, port)}", fontsize=7, va="center" if port == "P3" else "bottom")
        upper.text(
            0,
            -1.05,
            f"every link {rate}, {delay};\ncolours: states at {shown / MS:.2f} ms",
            fontsize=8,
            va="bottom",
            style="italic",
        )
        upper.text(5.35, 2.2, flow_lines(run), fontsize=7, va="top")
        upper.set_xlim(-0.3, 7.2)
        upper.set_ylim(-1.15, 2.3)
        for height, port in enumerate(reversed(schematic.PORTS)):
            plot.band(lower, schematic.ternary(run, port), (height + 0.45, height + 0.95))
            plot.off(lower, scene.off(port), (height + 0.1, height + 0.4))
        lower.set_yticks(np.arange(len(schematic.PORTS)) + 0.5, list(reversed(schematic.PORTS)))
        lower.set_ylim(0, len(schematic.PORTS))
        lower.set_xlim(0, measures.end_ps(run) / MS)
        lower.set_xlabel(
            f"time [ms]     (rates: mean from {begin / MS:.2f} to {end / MS:.2f} ms, while P3 has a queue)"
        )
        lower.grid(visible=False)
        lower.axvline(shown / MS, color=plot.BLUE, ls=":", lw=1.2)
        handles, names = zip(*schematic.state_legend(), strict=True)
        made.legend(handles, names, loc="outside lower center", ncols=4)
