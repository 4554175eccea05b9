"""What Figures 1 and 2 measure: uniform background, and one congestion tree or four that are offered for 1 ms."""

from __future__ import annotations

from backwater.papers import Measurements, Metrics, Runs
from backwater.results import Results

from papers.ici.measured import LINE_GBPS, SCHEMES, common, offered, offered_gbps, over, roots, throughput, told
from papers.ici.times import fct, latency

#: The schemes that the paper calls best in Figure 1.
BEST = ("ici", "ici+")


def measured(run: Results) -> Metrics:
    """Throughput of background and tree while it is offered, and the times of packets and messages."""
    start, end = offered(run)
    background, hot = (throughput(run, start, end, tree=tree) for tree in (False, True))
    found: Metrics = {
        "background_gbps": background,
        "hot_gbps": hot,
        "throughput_gbps": background + hot,
        "background_share": background / offered_gbps(run, start, end),
        "hot_share": hot / (LINE_GBPS * roots(run)),
    }
    times = {
        "latency": latency(run, tree=False),
        "fct": fct(run),
        "hot_latency": latency(run, tree=True),
    }
    for name, values in times.items():
        found |= {f"{word}_{name}_us": values.percentiles[word] for word in ("median", "p99")}
    return found | common(run)


def compare(runs: Runs) -> Metrics:
    """Every scheme, and ICI+ against ICI; `runs` by scheme."""
    found = told({scheme: measured(run) for scheme, run in runs.items()})
    return found | {"ici+_p99_latency_over_ici": ratio(found, "p99_latency_us", "ici+", "ici")}


def over_others(found: Metrics) -> Measurements:
    """The background's times under ICI and ICI+ over those under each of the others."""
    others = [scheme for scheme in SCHEMES if scheme not in BEST]
    return {
        f"{scheme}_p99_{time}_over": {other: ratio(found, f"p99_{time}_us", scheme, other) for other in others}
        for scheme in BEST
        for time in ("latency", "fct")
    }


def number(found: Metrics, name: str) -> float | None:
    """A metric as a number."""
    value = found[name]
    return None if value is None else float(value)


def ratio(found: Metrics, metric: str, above: str, below: str) -> float | None:
    """A metric of a scheme over that of another."""
    return over(number(found, f"{above}_{metric}"), number(found, f"{below}_{metric}"))


def peak_gain(found: Metrics, scheme: str = "ici+") -> float:
    """How many times lower the peak of BECNs is than with DCQCN; a peak of 0 counts as 1."""
    return float(found["dcqcn_becn_peak"] or 0) / max(float(found[f"{scheme}_becn_peak"] or 0), 1.0)
