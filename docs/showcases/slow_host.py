"""A slow host over time, its congestion tree and what is sent twice: a picture and a table from the runs of `compare`.

Runs that `backwater compare scenarios/lossy-or-lossless.toml` has left in its folder are taken; those missing are run.
"""

import argparse
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from backwater import Results
from backwater.analysis import deliveries, plot
from backwater.analysis.blame import Blame
from backwater.common import quantities
from backwater.common.statistics import estimate
from backwater.experiments import comparison
from backwater.experiments.executor import run_jobs
from backwater.experiments.progress import watching
from backwater.experiments.store import RunFolders
from backwater.scenario import schemes

NAME = "lossy-or-lossless"
ROOT = Path(__file__).parents[2]

LOSSY = ("opt", "aimd", "dack")
LOSSLESS = ("PFC", "PFC+ECN", "PFC+TCD", "PFC+opt", "PFC+dack")
#: From when until when h0 is slow, in picoseconds.
SLOW = (500_000_000, 3_500_000_000)
#: A step of the lines.
BIN_PS = 100_000_000

Values = dict[str, float]
Steps = np.ndarray[Any, np.dtype[np.float64]]


def runs(only: Sequence[str], seeds: Sequence[int], folder: Path, overrides: Sequence[str]) -> dict[str, list[Results]]:
    """Every seed under each scheme, in the folder of `backwater compare`."""
    listed = schemes.of_files([ROOT / "scenarios" / f"{NAME}.toml"], overrides, only)
    kept = RunFolders(folder, needed=("flows",))
    planned = comparison.plan(listed, seeds, kept)
    missing = [job for jobs in planned.values() for job in jobs.values() if kept.find(job) is None]
    with watching(missing, quiet=False) as watcher:
        run_jobs(missing, watcher=watcher)
    return comparison.complete(planned, kept)


def measured(run: Results) -> Values:
    """Who suffers, the tree behind h0, and what its writers put on the wire while h0 was slow."""
    blame = Blame(run)
    roots = blame.roots.filter(pl.col("root_port").str.starts_with("h0 ")).to_dicts()
    tree: dict[str, Any] = roots[0] if roots else {"branches": 0, "depth": 0, "weighted_ps": 0}
    got = deliveries.goodput(run, ["writers"])
    inside = (got.time_ps >= SLOW[0]) & (got.time_ps < SLOW[1])
    found: Values = {
        "victims": blame.flows.filter(pl.col("verdict") == "victim", pl.col("traffic") == "background").height,
        "taken by h0, Gbps": float(got.value[inside].mean()) / 1e9,
        "ports held": tree["branches"],
        "depth": tree["depth"],
        "held back, ms": tree["weighted_ps"] / 1e9,
    }
    if run.meta["scenario"]["switch"]["detector"]["kind"] != "none":
        found["CE of its long queue, %"] = 100 * tree["ce_packets"] / tree["packets"]
    return found | (of_streams(run) if run.has("streams") else {})


def of_streams(run: Results) -> Values:
    """What writers sent while h0 was slow, on the wire, and how much of it again; how evenly h0 took from them."""
    sent = pl.col("sent_bytes") + pl.col("resent_bytes")
    total, again, packets = (
        of_writers(run, "initiator")
        .select(sent.sum().alias("sent"), pl.col("resent_bytes").sum(), pl.col("resent_packets").sum())
        .collect()
        .row(0)
    )
    taken = (
        of_writers(run, "target")
        .group_by("src")
        .agg(pl.col("accepted_bytes").sum())
        .collect()["accepted_bytes"]
        .to_numpy()
    )
    return {
        "sent, Gbps": total * 8e3 / (SLOW[1] - SLOW[0]),
        "sent again, %": 100 * again / total,
        "packets sent again": packets,
        "least of a mean share, %": 100 * float(taken.min() / taken.mean()),
    }


def of_writers(run: Results, side: str) -> pl.LazyFrame:
    """The rows of the writers' streams at one of their ends, while h0 was slow."""
    found = run.table("streams").filter(pl.col("side").cast(pl.String) == side, pl.col("dst").cast(pl.String) == "h0")
    return found.filter(pl.col("start_ps").is_between(*SLOW, closed="left"))


def show(found: Mapping[str, Sequence[Results]]) -> None:
    """Print one row per scheme, as a table in Markdown: means over the seeds, with half of the 95 % interval."""
    rows = {scheme: [measured(run) for run in seeds] for scheme, seeds in found.items()}
    names = list(dict.fromkeys(name for seeds in rows.values() for seed in seeds for name in seed))
    print("| scheme | " + " | ".join(names) + " |\n" + "|---" * (len(names) + 1) + "|")
    for scheme, seeds in rows.items():
        print(f"| `{scheme}` | " + " | ".join(_cell([seed.get(name) for seed in seeds]) for name in names) + " |")


def _cell(values: Sequence[float | None]) -> str:
    known = [float(value) for value in values if value is not None]
    if not known:
        return "-"
    found = estimate(known)
    return quantities.three_digits(found.mean) + (
        f" ± {quantities.three_digits(found.half_width)}" if found.half_width else ""
    )


def background(run: Results) -> Steps:
    """What the background gets in each step, in Gbps."""
    series = deliveries.goodput(run, ["background"]).value / 1e9
    means: Steps = series.reshape(-1, BIN_PS // deliveries.period_ps(run)).mean(axis=1)
    return means


def sent(run: Results) -> Steps:
    """What the writers put on the wire in each step, in Gbps."""
    step = (pl.col("start_ps") // BIN_PS).alias("step")
    size = (pl.col("sent_bytes") + pl.col("resent_bytes")).sum()
    mine = pl.col("side").cast(pl.String) == "initiator", pl.col("dst").cast(pl.String) == "h0"
    return _steps(run, run.table("streams").filter(*mine).group_by(step).agg(size).collect().rows(), 8e3 / BIN_PS)


def held(run: Results) -> Steps:
    """How many ports are OFF, on average over each step."""
    changes = run.table("pauses").select("time_ps", "paused").sort("time_ps").collect()
    times = np.append(changes["time_ps"].to_numpy().astype(float), _end(run))
    level = np.cumsum(np.where(changes["paused"].to_numpy(), 1, -1))
    # The area below a line of steps, at the edges of the bins.
    area = np.append(0.0, np.cumsum(level * np.diff(times)))
    edges = np.arange(0, _end(run) + 1, BIN_PS)
    means: Steps = np.diff(np.interp(edges, times, area, left=0.0)) / BIN_PS
    return means


def _end(run: Results) -> int:
    return quantities.parse_time(run.meta["scenario"]["run"]["until"])


def _steps(run: Results, rows: Iterable[tuple[Any, ...]], unit: float) -> Steps:
    values = np.zeros(-(-_end(run) // BIN_PS))
    for step, value in rows:
        values[step] = value * unit
    return values


PANELS = (
    (LOSSY, "the fabric may lose packets", "background [Gbps]", background),
    (LOSSLESS, "PFC, nothing is lost", "background [Gbps]", background),
    (LOSSY, "", "sent to h0, with headers [Gbps]", sent),
    (LOSSLESS, "", "ports that a PAUSE holds", held),
)


def draw(found: Mapping[str, Sequence[Results]], file: Path) -> None:
    """Four panels, of the first seed: what the background gets, and what the fabric has to bear for h0."""
    with plot.style():
        made = plot.figure(8.4, 5.4)
        for axes, (names, title, label, values) in zip(made.subplots(2, 2).flat, PANELS, strict=True):
            axes.axvspan(SLOW[0] / 1e9, SLOW[1] / 1e9, color="#EEEEEE", lw=0)
            for name in names:
                series = values(found[name][0])
                edges = np.arange(len(series) + 1) * (BIN_PS / 1e9)
                look = {"color": plot.SCHEME_COLOURS[name], "ls": plot.dashes(name), "label": name}
                axes.stairs(series, edges, baseline=None, lw=1.6, **look)
            axes.set_title(title)
            axes.set_ylabel(label)
            axes.set_xlim(0, 5)
            axes.set_ylim(0)
            if title:
                axes.legend(loc="lower center", handlelength=3, columnspacing=1, ncols=3)
            else:
                axes.set_xlabel("time [ms]; grey: h0 takes a quarter")
        plot.save(made, file)


def main() -> None:
    """Print the table, draw the picture and say where."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=Path, default=Path("results/compare") / NAME, help="folder of `compare`")
    parser.add_argument("--seeds", type=int, default=5, help="how many seeds")
    parser.add_argument("--scheme", action="append", help="only these schemes; no picture then")
    parser.add_argument("--set", action="append", default=[], dest="overrides", help="change a key in every scheme")
    parser.add_argument("--out", type=Path, default=Path(__file__).with_name("slow-host-over-time.png"), help="picture")
    options = parser.parse_args()
    only = options.scheme or [*LOSSY, *LOSSLESS]
    found = runs(only, range(1, options.seeds + 1), options.runs, options.overrides)
    show(found)
    if not options.scheme:
        draw(found, options.out)
        print(f"written: {options.out}; runs: {options.runs}")


if __name__ == "__main__":
    main()
