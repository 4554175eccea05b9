"""Figure 2: four congestion trees, six schemes; DCQCN's thresholds; the size of the table."""

from __future__ import annotations

from pathlib import Path

from backwater.papers import Measurements, Runs, Seeds

from papers.ici import panels_trees, trees
from papers.ici.measured import becn_peak, becns, of, over, switch_peak
from papers.ici.panels import VICTIMS, draw_grid
from papers.ici.tables_and_thresholds import SIZES, THRESHOLDS, draw_sizes, draw_thresholds, thresholds


def metrics(runs: Runs) -> Measurements:
    found = trees.compare(of(runs, "w2")) | thresholds(runs)
    for scheme in ("ci", "ici"):
        free = trees.measured(runs[f"w2 {scheme} slots unlimited"])
        found |= {f"{scheme}_unlimited_{name}": value for name, value in free.items()}
        for metric, name in (("p99_latency_us", "p99_latency"), ("throughput_gbps", "throughput")):
            own = trees.number(found, f"{scheme}_{metric}")
            found[f"{scheme}_{name}_over_unlimited"] = over(own, trees.number(free, metric))
    for other in ("dcqcn", "ci+dcqcn"):
        found[f"ici+_hot_over_{other}"] = trees.ratio(found, "hot_gbps", "ici+", other)
        found[f"ici+_background_over_{other}"] = trees.ratio(found, "background_gbps", "ici+", other)
        found[f"{other}_p99_latency_over_ici+"] = trees.ratio(found, "p99_latency_us", other, "ici+")
    found["dcqcn_becn_peak_over_ici+"] = trees.peak_gain(found)
    # A quick look has no other sizes of the table.
    for size in SIZES:
        run = runs.get(f"w2 ici+ slots {size}")
        if run is not None:
            peak = becn_peak(run)
            found |= {
                f"ici+_{size}_slots_becns": becns(run),
                f"ici+_{size}_slots_becn_peak": peak,
                f"ici+_{size}_slots_peak_slots": switch_peak(run, "peak_slots"),
                f"dcqcn_becn_peak_over_ici+_{size}_slots": float(found["dcqcn_becn_peak"] or 0) / max(peak, 1),
            }
    return found | {
        "isolation_throughput_over_unlimited": {
            scheme: trees.number(found, f"{scheme}_throughput_over_unlimited") for scheme in ("ci", "ici")
        },
        "dcqcn_least_share": {name: trees.number(found, f"{name}_least_share") for name in THRESHOLDS},
    }


def draw(seeds: Seeds, file: Path) -> None:
    last = [*panels_trees.ROWS[-1][:2], lambda axes, _: draw_thresholds(axes, seeds)]
    last.append((lambda axes, _: draw_sizes(axes, seeds)) if "w2 ici+ slots 8" in seeds[0] else VICTIMS)
    title = "Figure 2: four congestion trees of 16 sources, 0.2 to 1.2 ms"
    draw_grid([*panels_trees.ROWS[:-1], last], [of(runs, "w2") for runs in seeds], file, title=title)
