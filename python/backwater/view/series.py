"""What ports and flows did over time, cut to what a page can show: queues, marks, rates of reaction points."""

from __future__ import annotations

from backwater.analysis.blame.tables import read
from backwater.common.late import NDArray, np, pl
from backwater.results import Results, measures
from backwater.view.encode import Columns
from backwater.view.network import Network, key_of

#: So many points of queues, and of rates, at most.
MOST_POINTS = 400_000
#: Marks are counted in so many bins over the run.
BINS = 1000


def queues(results: Results, network: Network, end_ps: int) -> tuple[pl.DataFrame, str, int]:
    """Points of queues (`port`, `time`, `bytes`), where they come from, and the step to which they had to be thinned.

    From the samples, or, without any, from what else tells a queue: gates that close or open, marks, long queues.
    """
    if results.has("samples") and results.tables["samples"]["rows"]:
        frame = read(results, "samples", ["time_ps", "node_index", "port_index", "queue_bytes"])
        points, source = [_points(frame, "time_ps")], "samples"
    else:
        source, points = "events", []
        for name, time in (("pauses", "time_ps"), ("marks", "time_ps"), ("crowds", "end_ps")):
            if results.has(name):
                frame = read(results, name, [time, "node_index", "port_index", "queue_bytes"])
                points.append(_points(frame, time))
    if not points:
        return pl.DataFrame(schema={"port": pl.Int64, "time": pl.Int64, "bytes": pl.Int64}), "none", 0
    # Priorities of one port add up at an instant of sampling; of events the longest counts.
    joined = pl.concat(points).group_by("key", "time")
    together = joined.agg(pl.col("bytes").sum() if source == "samples" else pl.col("bytes").max())
    placed = together.with_columns(pl.Series("port", network.numbers(together["key"]))).filter(pl.col("port") >= 0)
    changing = _without_repeats(placed.select("port", "time", "bytes").sort("port", "time"))
    thin, step = _thinned(changing, end_ps)
    return thin, source if thin.height else "none", step


def _points(frame: pl.DataFrame, time: str) -> pl.DataFrame:
    return frame.select(key=key_of(), time=time, bytes="queue_bytes").drop_nulls()


def _without_repeats(points: pl.DataFrame) -> pl.DataFrame:
    """Without points between equal ones of their port."""
    value = pl.col("bytes")
    same = (value == value.shift(1).over("port")) & (value == value.shift(-1).over("port"))
    return points.filter(~same.fill_null(value=False))


def _thinned(points: pl.DataFrame, end_ps: int) -> tuple[pl.DataFrame, int]:
    """Of each step of time the longest queue, if there are too many points."""
    step, thin = 0, points
    while thin.height > MOST_POINTS:
        step = max(end_ps // 4000, 2 * step)
        ranked = points.sort("port", "time").with_columns(_bin=pl.col("time") // step)
        thin = ranked.group_by("port", "_bin").agg(pl.all().sort_by("bytes", "time").last()).drop("_bin")
        thin = _without_repeats(thin.sort("port", "time"))
    return thin, step


def add_queues(columns: Columns, points: pl.DataFrame, tick_ps: int) -> None:
    """Put points of queues into the columns."""
    columns.add("queues.port", points["port"].cast(pl.Int64).to_numpy(), delta=True)
    columns.add("queues.time", (points["time"] // tick_ps).to_numpy(), delta=True)
    columns.add("queues.bytes", points["bytes"].to_numpy(), delta=True)


def add_marks(columns: Columns, results: Results, network: Network, bin_ps: int) -> None:
    """Put the marks of each port, counted by bin, into the columns."""
    frame = pl.DataFrame(schema={"port": pl.Int64, "bin": pl.Int64, "ce": pl.Int64, "ue": pl.Int64})
    if results.has("marks"):
        marks = read(results, "marks", ["time_ps", "node_index", "port_index", "code"])
        counted = marks.group_by(key_of().alias("key"), (pl.col("time_ps") // bin_ps).alias("bin")).agg(
            ce=(pl.col("code") == "CE").sum().cast(pl.Int64), ue=(pl.col("code") == "UE").sum().cast(pl.Int64)
        )
        counted = counted.with_columns(pl.Series("port", network.numbers(counted["key"])))
        frame = counted.filter(pl.col("port") >= 0).sort("port", "bin").select("port", "bin", "ce", "ue")
    for name in ("port", "bin"):
        columns.add(f"marks.{name}", frame[name].to_numpy(), delta=True)
    for name in ("ce", "ue"):
        columns.add(f"marks.{name}", frame[name].to_numpy())


def add_rates(columns: Columns, results: Results, tick_ps: int) -> None:
    """Put the rates that reaction points allow into the columns, where they change."""
    frame = pl.DataFrame(schema={"flow": pl.Int64, "time_ps": pl.Int64, "rate_bps": pl.Int64})
    if results.has("rates"):
        frame = read(results, "rates", ["flow", "time_ps", "rate_bps"]).sort("flow", "time_ps", maintain_order=True)
        every = 1 + frame.height // MOST_POINTS
        renamed = frame.select(port="flow", time="time_ps", bytes="rate_bps")
        kept = _without_repeats(renamed.gather_every(every))
        frame = kept.select(flow="port", time_ps="time", rate_bps="bytes")
    columns.add("rates.flow", frame["flow"].to_numpy(), delta=True)
    columns.add("rates.time", (frame["time_ps"] // tick_ps).to_numpy(), delta=True)
    columns.add("rates.mbps", (frame["rate_bps"] // 1_000_000).to_numpy())


def add_load(columns: Columns, results: Results, end_ps: int, tick_ps: int) -> None:
    """Put into the columns how many flows were under way in each bin, and what they moved at their mean rates.

    Queue pairs of ranks rest between messages: a mean rate would say that they send all the time.
    """
    wanted = ["traffic", "start_ps", "finish_ps", "received_bytes"]
    frame = read(results, "flows", wanted).filter(pl.col("start_ps") < end_ps)
    start = frame["start_ps"].cast(pl.Float64).to_numpy()
    end = frame["finish_ps"].fill_null(end_ps).cast(pl.Float64).to_numpy()
    edges = np.linspace(0, end_ps, BINS + 1)
    moved = pl.when(pl.col("traffic").is_in(measures.programs(results.meta["scenario"]))).then(0)
    frame = frame.with_columns(received_bytes=moved.otherwise("received_bytes"))
    mbps = frame["received_bytes"].cast(pl.Float64).to_numpy() * 8e6 / np.maximum(end - start, 1)
    width = end_ps / BINS
    for name, weight in (("flows", np.ones_like(start)), ("mbps", mbps)):
        covered = _until(edges, start, weight) - _until(edges, end, weight)
        columns.add(f"load.{name}", np.maximum(np.diff(covered) / width, 0).astype(np.float32))
    columns.add("load.time", (edges[:-1] // tick_ps).astype(np.int64), delta=True)


def _until(edges: NDArray[np.float64], times: NDArray[np.float64], weight: NDArray[np.float64]) -> NDArray[np.float64]:
    """For each edge the sum of weights of these times, each times how long before the edge it is."""
    order = np.argsort(times)
    summed = np.concatenate([[0.0], np.cumsum(weight[order])])
    weighted = np.concatenate([[0.0], np.cumsum((weight * times)[order])])
    before = np.searchsorted(times[order], edges)
    found: NDArray[np.float64] = edges * summed[before] - weighted[before]
    return found
