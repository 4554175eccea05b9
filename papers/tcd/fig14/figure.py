"""Figure 14: packets of victims that are marked CE by mistake, over the ε that max(Ton) is made for."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path

from backwater import _core
from backwater.analysis import plot
from backwater.papers import Metrics, Runs, Seeds
from backwater.results import Results

from papers.tcd import scene
from papers.tcd.scene import US, Scene

EPSILONS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5)
#: Starts of F0 and F2 after F1's rate fell below 15 Gbps, in microseconds, and the runs that have them.
STARTS_US = {0: "tcd", 100: "tcd +100us", 200: "tcd +200us"}


def settle(first: Runs) -> dict[str, str]:
    falls = scene.f1_falls_ps(first["tcd"])
    later = {f"tcd-start+{us}us": f"{falls + us * US}ps" for us in STARTS_US if us}
    return {"tcd-start": f"{falls}ps", **later}


def wrong(run: Results) -> int:
    """Packets of F0 and F2 that arrived with CE."""
    here = Scene(run)
    return here.received("F0", "ce_packets") + here.received("F2", "ce_packets")


def counts(runs: Runs) -> dict[float, list[int]]:
    """By ε, the wrongly marked packets at each start."""
    return {epsilon: [wrong(runs[f"{name} {epsilon}"]) for name in STARTS_US.values()] for epsilon in EPSILONS}


def metrics(runs: Runs) -> Metrics:
    found = counts(runs)
    means = {epsilon: sum(values) / len(values) for epsilon, values in found.items()}
    return {
        **{f"step_to_{high}": means[high] - means[low] for low, high in pairwise(EPSILONS)},
        "most_wrong_below_0.1": max(max(values) for epsilon, values in found.items() if epsilon < 0.1),
        **{f"wrong_at_{epsilon}": mean for epsilon, mean in means.items()},
    }


def draw(seeds: Seeds, file: Path) -> None:
    found = [counts(runs) for runs in seeds]
    positions = range(len(EPSILONS))
    with plot.style():
        made = plot.figure(6.4, 3.6)
        axes = made.add_subplot()
        means = [sum(sum(seed[e]) for seed in found) / (len(found) * len(STARTS_US)) for e in EPSILONS]
        axes.bar(positions, means, width=0.62, color=plot.SCHEME_COLOURS["TCD"], alpha=0.35, label="mean")
        for index, us in enumerate(STARTS_US):
            shift = (index - 1) * 0.16
            values = [(position + shift, seed[e][index]) for position, e in enumerate(EPSILONS) for seed in found]
            label = "F1 below 15 Gbps" if us == 0 else f"{us} µs later"
            axes.plot(
                *zip(*values, strict=True), "o", ms=4, color=plot.CYCLE[index], alpha=0.8, clip_on=False, label=label
            )
        axes.set_xticks(positions, [f"{e:g}\n{max_ton(seeds[0], e)}" for e in EPSILONS])
        axes.set_xlabel("ε, and max($T_{on}$)")
        axes.set_ylabel("packets of F0 and F2 marked CE")
        axes.set_ylim(0)
        axes.legend(title=f"start of F0 and F2 (seeds: {len(found)})")
        axes.set_title("Figure 14: packets of victims marked CE by mistake")
        plot.save(made, file)


def max_ton(runs: Runs, epsilon: float) -> str:
    """max(Ton) at 40 Gbps and 4 µs for the run's detector: see `epsilon` in the JSON Schema."""
    switch = runs[f"tcd {epsilon}"].meta["scenario"]["switch"]
    gap = f"{scene.size_bytes(switch['pfc']['xoff']) - scene.size_bytes(switch['pfc']['xon'])}B"
    if switch["detector"]["tcd"]["trend"] == "authors":
        return f"{max_ton_us(_core.max_ton_authors('40Gbps', '4us', gap, epsilon)):.0f} µs"
    return f"{max_ton_us(_core.max_ton('40Gbps', '4us', '1000B', epsilon, gap)):.1f} µs"


def max_ton_us(answer: str) -> float:
    return float(json.loads(answer)["max_ton_ps"]) / US
