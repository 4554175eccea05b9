"""What waits for what in an application: its steps and messages as a graph, with the times that they had.

Every node has an instant. It is the latest of those of the nodes before it, each with two times added: what passes at
least (a step computes, a message crosses an empty network), and what the message waited beyond that.
"""

from __future__ import annotations

from dataclasses import dataclass

from backwater.analysis.blame import groups
from backwater.analysis.blame.tables import read
from backwater.common.late import NDArray, np, pl
from backwater.errors import UsageError
from backwater.results import Results, measures

#: What a step can wait for of a flow, and how these are numbered here.
_OF_FLOWS = {"sent": 0, "acked": 1, "received": 2}
_COLUMNS = [
    "flow",
    "src",
    "dst",
    "src_index",
    "dst_index",
    "priority",
    "size_bytes",
    "start_ps",
    "finish_ps",
    "ideal_fct_ps",
]


@dataclass(frozen=True)
class Graph:
    """The steps and messages of one application that came to their end. Node 0 is its start."""

    traffic: str
    #: When each node happened, in picoseconds.
    time_ps: NDArray[np.int64]
    #: The row of `messages` that each node is the end of; -1: none, it is a step.
    message: NDArray[np.int64]
    #: Node `n` comes after the nodes `before[first[n] : first[n + 1]]`, by a way each.
    first: NDArray[np.int64]
    before: NDArray[np.int64]
    #: Of each way what passes at least, and what a message on it waited beyond that.
    least_ps: NDArray[np.int64]
    wait_ps: NDArray[np.int64]
    #: One row per message and event that ends it: `flow`, `what` (sent, acked, received), `src`, `dst`, `src_rank`,
    #: `dst_rank` (null of a rank that waits for nothing), `size_bytes`, `start_ps`, `time_ps`, `alone_ps`, `wait_ps`,
    #: `iteration`, `part` (the step of a job), `line` (null without one).
    messages: pl.DataFrame
    #: The node of each row of `messages`.
    nodes: NDArray[np.int64]
    #: Whether all of its messages were complete.
    done: bool

    @property
    def start_ps(self) -> int:
        """When the application began."""
        return int(self.time_ps[0])

    def last(self, iteration: int | None = None) -> int:
        """The node at which the application, or one iteration of it, was done."""
        complete = pl.col("what") == "received"
        if iteration is not None:
            complete &= pl.col("iteration") == iteration
        rows = self.messages.with_row_index().filter(complete)
        if not rows.height:
            known = self.messages.select(pl.col("iteration").max()).item()
            raise UsageError(
                f"--iteration {iteration}: {self.traffic} has none of that number that sent a message"
                + (f"; its iterations are 0 to {known:d}" if known is not None else "; it has no iterations")
            )
        row = rows.sort("time_ps", "flow", descending=[True, False]).row(0, named=True)
        return int(self.nodes[row["index"]])


def applications(results: Results) -> list[str]:
    """The traffic entries of a run that have a graph."""
    scenario = results.meta["scenario"]
    if not scenario.get("probe", {}).get("dependencies"):
        return []
    known = measures.applications(scenario)
    if results.has("dependencies"):
        entries = results.dependencies.select(pl.col("traffic").cast(pl.String).unique(maintain_order=True)).collect()
        known += [name for name in entries["traffic"].to_list() if name not in known]
    return known


def of(results: Results, traffic: str) -> Graph:
    """The graph of a traffic entry: of what it had come to until the end of the run."""
    rows = _rows(results).filter(pl.col("traffic") == traffic)
    flows = read(results, "flows", [*_COLUMNS, "traffic"]).filter(pl.col("traffic") == traffic).drop("traffic")
    start = _start(results, traffic)
    steps = rows.filter(pl.col("done_ps").is_not_null()).group_by("step").agg(pl.col("done_ps").first()).sort("step")
    messages = _messages(results, traffic, rows, flows)
    numbers, times = steps["step"].to_numpy(), steps["done_ps"].to_numpy()
    nodes = 1 + len(numbers) + np.arange(messages.height)
    before, after, least, wait = _ways(rows, messages, numbers, start)
    order = np.argsort(after, kind="stable")
    count = 1 + len(numbers) + messages.height
    first = np.searchsorted(after[order], np.arange(count + 1))
    message = np.full(count, -1)
    message[nodes] = np.arange(messages.height)
    return Graph(
        traffic,
        np.concatenate([[start], times, messages["time_ps"].to_numpy()]).astype(np.int64),
        message,
        first,
        before[order],
        least[order],
        wait[order],
        messages,
        nodes,
        bool(flows["finish_ps"].is_not_null().all()),
    )


def _start(results: Results, traffic: str) -> int:
    """When an application began; a job may wait for another one."""
    if results.has("job_steps"):
        steps = results.job_steps.filter(pl.col("traffic").cast(pl.String) == traffic)
        began = steps.select(pl.col("start_ps").min().cast(pl.Int64)).collect().item()
        if began is not None:
            return int(began)
    return measures.application_starts(results.meta["scenario"]).get(traffic, 0)


def _rows(results: Results) -> pl.DataFrame:
    """The dependencies; where no step waits for anything, there is no table of them."""
    numbers = ["step", "flow", "before", "time_ps", "alone_ps", "delay_ps", "done_ps", "rank", "line"]
    words = ["what", "traffic", "node"]
    if results.has("dependencies"):
        return read(results, "dependencies", [*numbers, *words])
    return pl.DataFrame(schema=dict.fromkeys(numbers, pl.Int64) | dict.fromkeys(words, pl.String))


def _messages(results: Results, traffic: str, rows: pl.DataFrame, flows: pl.DataFrame) -> pl.DataFrame:
    """The ends of messages that happened, sorted by flow and kind."""
    starts = rows.filter(pl.col("what") == "starts").select("flow", "step", "line", by_rank="rank")
    ranks = rows.group_by("node").agg(pl.col("rank").min())
    other = rows.filter(pl.col("what").is_in(["sent", "acked"]) & pl.col("time_ps").is_not_null())
    other = other.unique(["flow", "what"]).select("flow", "what", "time_ps", "alone_ps")
    complete = flows.filter(pl.col("finish_ps").is_not_null()).select(
        "flow", what=pl.lit("received"), time_ps="finish_ps", alone_ps="ideal_fct_ps"
    )
    known = _parts(results, traffic, flows.sort("flow").drop("finish_ps"))
    return (
        pl.concat([other, complete])
        .join(known, on="flow", how="left")
        .join(starts, on="flow", how="left")
        .join(ranks.rename({"node": "src", "rank": "src_rank"}), on="src", how="left")
        .join(ranks.rename({"node": "dst", "rank": "dst_rank"}), on="dst", how="left")
        .with_columns(
            src_rank=pl.coalesce("by_rank", "src_rank"),
            wait_ps=pl.col("time_ps") - pl.col("start_ps") - pl.col("alone_ps"),
            code=pl.col("what").replace_strict(_OF_FLOWS, return_dtype=pl.Int64),
        )
        .sort("flow", "code")
    )


def _parts(results: Results, traffic: str, flows: pl.DataFrame) -> pl.DataFrame:
    """Adds the `iteration` of each flow of a collective or job, and the `part` of the job: its step."""
    if results.has("job_messages"):
        parts = read(results, "job_messages", ["flow", "iteration", "step"]).rename({"step": "part"})
        named = flows.join(parts, on="flow", how="left", maintain_order="left")
        if named["iteration"].null_count() < named.height:
            return named
    return flows.with_columns(iteration=_iteration(results, traffic), part=pl.lit(None, pl.Int64))


def _iteration(results: Results, traffic: str) -> pl.Expr:
    """The iteration of each flow of a collective."""
    entries = {entry["name"]: entry for entry in results.meta["scenario"]["traffic"]}
    entry = entries.get(traffic, {})
    if entry.get("kind") != "collective":
        return pl.lit(None, pl.Int64)
    return groups.iteration(["src", "dst"], entry["iterations"])


def _ways(
    rows: pl.DataFrame, messages: pl.DataFrame, numbers: NDArray[np.int64], start: int
) -> tuple[NDArray[np.int64], ...]:
    """What comes before what: the node before, the node after, what passes at least, what is waited."""
    happened = rows.filter(pl.col("step").is_in(numbers) & (pl.col("what") != "starts"))
    step = 1 + np.searchsorted(numbers, happened["step"].to_numpy())
    what = happened["what"].to_numpy()
    delay = happened["delay_ps"].to_numpy()
    keys = (messages["flow"] * 3 + messages["code"]).to_numpy()
    code = happened["what"].replace_strict(_OF_FLOWS, default=0, return_dtype=pl.Int64)
    wanted = (happened["flow"].fill_null(0) * 3 + code).to_numpy()
    after_message = 1 + len(numbers) + np.searchsorted(keys, wanted)
    after_step = 1 + np.searchsorted(numbers, happened["before"].fill_null(0).to_numpy())
    before = np.select([what == "start", what == "step"], [np.zeros_like(step), after_step], after_message)
    done = happened["done_ps"].to_numpy()
    least = np.where(what == "start", done - start, delay)
    # Messages: each comes after the step that starts it, or after the start of the application.
    own = 1 + len(numbers) + np.arange(messages.height)
    started = messages["step"].is_not_null().to_numpy()
    by = 1 + np.searchsorted(numbers, messages["step"].fill_null(0).to_numpy())
    idle = np.where(started, 0, messages["start_ps"].to_numpy() - start)
    return (
        np.concatenate([before, np.where(started, by, 0)]).astype(np.int64),
        np.concatenate([step, own]).astype(np.int64),
        np.concatenate([least, messages["alone_ps"].to_numpy() + idle]).astype(np.int64),
        np.concatenate([np.zeros_like(step), messages["wait_ps"].to_numpy()]).astype(np.int64),
    )
