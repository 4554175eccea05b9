"""What Figures 15 and 18 measure in the victim scenario: how long S0's flows take, and what they are marked."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import polars as pl
from backwater.papers import Measurements, Metrics, Runs
from backwater.results import Results, measures

from papers.tcd.scene import MS, PRIORITY, US

#: The traffic entries of S0 begin with this: no flow of them ever meets a congested port.
VICTIMS = "victims"
#: Bins of flow size by name, in bytes, low <= size < high. The paper's text names two of their ends, 10 KB and 1 MB.
BINS: dict[str, tuple[float, float]] = {
    "under_10KB": (0, 10e3),
    "10KB_to_100KB": (10e3, 100e3),
    "100KB_to_1MB": (100e3, 1e6),
    "over_1MB": (1e6, math.inf),
}
#: The ports that the victims cross before the network branches off to the congested one: S0's own, P0 and P2.
VICTIMS_PORTS = ("S0->T0", "P0", "P2")
#: Burst sizes of Figures 15(b) and 18(b), in KB.
BURSTS_KB = (10, 25, 50, 75, 100, 150, 200, 250)


def finished(run: Results) -> pl.DataFrame:
    """The victims' flows that finished."""
    ours = pl.col("traffic").cast(pl.String).str.starts_with(VICTIMS)
    named = run.flows.filter(ours, pl.col("fct_ps").is_not_null())
    return named.select("size_bytes", "fct_ps", "ce_packets", "ue_packets").collect()


def mean_fct_us(run: Results, low: float = 0, high: float = math.inf) -> float:
    """Mean FCT of the victims of a size in microseconds; not a number if there is none."""
    sized = finished(run).filter(pl.col("size_bytes") >= low, pl.col("size_bytes") < high)
    mean = sized["fct_ps"].mean()
    return float(mean) / US if isinstance(mean, int | float) else math.nan


def by_bin(run: Results, bins: Mapping[str, tuple[float, float]] = BINS) -> dict[str, float]:
    """Mean FCT of the victims in each bin of size, in microseconds."""
    return {name: mean_fct_us(run, *ends) for name, ends in bins.items()}


def percent_marked(run: Results) -> dict[str, float]:
    """Shares of the victims' flows, in percent: at least one packet with CE; none with CE, but one with UE."""
    flows = finished(run)
    congested = pl.col("ce_packets") > 0
    shares = flows.select(CE=congested.mean(), UE=(~congested & (pl.col("ue_packets") > 0)).mean())
    return {code: 100 * float(shares[code].item()) for code in ("CE", "UE")}


def off_ms(run: Results) -> float:
    """For how long PFC held the ports on the victims' path, added up, in milliseconds."""
    return float(measures.by_port(run, VICTIMS_PORTS, PRIORITY)["paused_ps"].sum()) / MS


def compare_bins(runs: Runs, plain: str, bins: Mapping[str, tuple[float, float]] = BINS) -> Metrics:
    """Figures 15(a) to 18(a): how many times shorter the victims' mean time is with TCD, and the means themselves."""
    found: Metrics = {}
    times = {name: by_bin(runs[name], bins) for name in runs}
    for name, means in times.items():
        word = name.replace(" ", "_")
        found |= {f"{word}_{size}_us": mean for size, mean in means.items()}
        found |= {f"{word}_{code.lower()}_percent": share for code, share in percent_marked(runs[name]).items()}
        found[f"{word}_off_ms"] = off_ms(runs[name])
    found |= {f"gain_{size}": times[plain][size] / times["tcd"][size] for size in bins}
    if f"{plain} harsher" in times and "tcd gentler" in times:
        parts = {"cut": f"{plain} harsher", "detector": "tcd gentler"}
        alone = {part: {size: times[plain][size] / times[run][size] for size in bins} for part, run in parts.items()}
        found |= {f"{part}_alone_gain_{size}": gain for part, sizes in alone.items() for size, gain in sizes.items()}
        found |= {f"detector_over_cut_{size}": alone["detector"][size] / alone["cut"][size] for size in bins}
    found["gain_all"] = mean_fct_us(runs[plain]) / mean_fct_us(runs["tcd"])
    found["off_gain"] = ratio(off_ms(runs[plain]), off_ms(runs["tcd"]))
    return found


def sweep_name(scheme: str, size_kb: int) -> str:
    """Name of the run of a scheme at a burst size, as experiment.toml makes it."""
    return f"{scheme} {size_kb}KB"


def compare_bursts(runs: Runs, plain: str, tcd: str = "tcd", sizes_kb: Sequence[int] = BURSTS_KB) -> Measurements:
    """Figures 15(b) and 18(b): mean FCT of the victims over the size of the bursts, and what TCD marks them."""
    fct = {scheme: [mean_fct_us(runs[sweep_name(scheme, size)]) for size in sizes_kb] for scheme in (plain, tcd)}
    marked = [percent_marked(runs[sweep_name(tcd, size)]) for size in sizes_kb]
    gains = [slow / fast for slow, fast in zip(fct[plain], fct[tcd], strict=True)]
    ue = [shares["UE"] for shares in marked]
    found: Measurements = {}
    for index, size in enumerate(sizes_kb):
        found |= {f"{scheme}_{size}KB_us": fct[scheme][index] for scheme in (plain, tcd)}
        found |= {f"gain_{size}KB": gains[index], f"ue_percent_{size}KB": ue[index]}
        found[f"ce_percent_{size}KB"] = marked[index]["CE"]
        found[f"{plain}_ce_percent_{size}KB"] = percent_marked(runs[sweep_name(plain, size)])["CE"]
        if index:
            found[f"ue_step_to_{size}KB"] = ue[index] - ue[index - 1]
    return found | {
        "gain_by_size": {f"{size} KB": gain for size, gain in zip(sizes_kb, gains, strict=True)},
        "gain_over_last": {f"{size} KB": gain / gains[-1] for size, gain in zip(sizes_kb, gains[:-1], strict=False)},
    }


def ratio(above: float, below: float) -> float:
    """A quotient that is infinite, and not an error, where nothing is below."""
    return above / below if below else math.inf if above else math.nan
