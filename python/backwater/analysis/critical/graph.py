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
    """The steps and messages of one application that came to their end. Node 0 is its start.

    The last nodes, `cuts` of them, stand for what came from ranks that go on for ever: nothing is known before it.
    """

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
    #: One row per message and event that ends it: `flow`, `message` (its number in a flow between ranks; else null),
    #: `what` (sent, acked, received), `src`, `dst`, `src_rank`, `dst_rank` (null of a rank that waits for nothing),
    #: `size_bytes`, `start_ps`, `time_ps`, `alone_ps`, `wait_ps`, `iteration`, `part` (the step of a job), `line` (null
    #: without one).
    messages: pl.DataFrame
    #: The node of each row of `messages`.
    nodes: NDArray[np.int64]
    #: Whether all of its messages were complete, or all of its ranks came to their end.
    done: bool
    #: Of ranks of a program: the last node of each that came to its end, or of all if none did; the latest first.
    rank_ends: list[int] | None = None
    #: How many of its ranks came to their end, and how many are followed.
    ended: tuple[int, int] = (0, 0)
    #: The hosts that what is cut came from.
    cuts: tuple[str, ...] = ()

    @property
    def start_ps(self) -> int:
        """When the application began."""
        return int(self.time_ps[0])

    def cut(self, node: int) -> str | None:
        """The host of the rank that what a node stands for came from, if that rank is not followed."""
        place = node - len(self.time_ps) + len(self.cuts)
        return self.cuts[place] if place >= 0 else None

    def ends(self, iteration: int | None = None) -> list[int]:
        """The nodes with the last of which the application, or one iteration of it, was done, the latest first."""
        if self.rank_ends is not None and iteration is None:
            return self.rank_ends
        complete = pl.col("what") == "received"
        if iteration is not None:
            complete &= pl.col("iteration") == iteration
        rows = self.messages.with_row_index().filter(complete)
        if iteration is not None and not rows.height:
            known = self.messages.select(pl.col("iteration").max()).item()
            raise UsageError(
                f"--iteration {iteration}: {self.traffic} has none of that number that sent a message"
                + (f"; its iterations are 0 to {known:d}" if known is not None else "; it has no iterations")
            )
        latest = rows.sort("time_ps", "flow", descending=[True, False])["index"].to_numpy()
        found: list[int] = self.nodes[latest].tolist()
        return found


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


def is_cut(results: Results) -> bool:
    """Whether probe.budget was too small for what was recorded."""
    return any(caveat["place"] == "dependencies" for caveat in results.meta["caveats"])


def of(results: Results, traffic: str) -> Graph:
    """The graph of a traffic entry: of what it had come to until the end of the run."""
    rows = _rows(results).filter(pl.col("traffic") == traffic)
    flows = read(results, "flows", [*_COLUMNS, "traffic"]).filter(pl.col("traffic") == traffic).drop("traffic")
    start = _start(results, traffic)
    of_ranks = traffic in measures.programs(results.meta["scenario"])
    steps = rows.filter(pl.col("done_ps").is_not_null()).group_by("step").agg(pl.col("done_ps").first()).sort("step")
    messages = _between_ranks(rows, flows) if of_ranks else _messages(results, traffic, rows, flows)
    rows, cuts = _cut(rows, messages, flows) if of_ranks else (rows, rows.clear())
    numbers, times = steps["step"].to_numpy(), steps["done_ps"].to_numpy()
    nodes = 1 + len(numbers) + np.arange(messages.height)
    before, after, least, wait = _ways(rows, messages, numbers, start, cuts)
    order = np.argsort(after, kind="stable")
    count = 1 + len(numbers) + messages.height + cuts.height
    first = np.searchsorted(after[order], np.arange(count + 1))
    message = np.full(count, -1)
    message[nodes] = np.arange(messages.height)
    ends, ended, followed = _rank_ends(results, traffic, rows, numbers) if of_ranks else (None, 0, 0)
    return Graph(
        traffic,
        np.concatenate([[start], times, messages["time_ps"].to_numpy(), cuts["time_ps"].to_numpy()]).astype(np.int64),
        message,
        first,
        before[order],
        least[order],
        wait[order],
        messages,
        nodes,
        (ended == followed or _to_the_end(results)) if of_ranks else bool(flows["finish_ps"].is_not_null().all()),
        ends,
        (ended, followed),
        tuple(cuts["src"]) if of_ranks else (),
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
    words, between = ["what", "traffic", "node"], ["message", "size_bytes"]
    if results.has("dependencies"):
        # Runs of earlier versions know no messages between ranks.
        old = "message" not in results.dependencies.collect_schema()
        rows = read(results, "dependencies", [*numbers, *words, *([] if old else between)])
        return rows.with_columns(pl.lit(None, pl.Int64).alias(name) for name in between) if old else rows
    numbers += between
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
        .with_columns(message=pl.lit(None, pl.Int64))
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


def _between_ranks(rows: pl.DataFrame, flows: pl.DataFrame) -> pl.DataFrame:
    """The same of messages between ranks of a program, as far as it is known what sent them."""
    own = rows.filter(pl.col("message").is_not_null())
    key = ["flow", "message"]
    starts = own.filter(pl.col("what") == "starts").select(
        *key, "step", "line", "size_bytes", start_ps="done_ps", src_rank="rank"
    )
    ends = own.filter(pl.col("what").is_in(list(_OF_FLOWS))).select(*key, "what", "time_ps", "alone_ps")
    takers = own.filter(pl.col("what") == "received").unique("flow").select("flow", dst_rank="rank")
    known = flows.select("flow", "src", "dst", "src_index", "dst_index", "priority")
    return (
        ends.join(starts, on=key)
        .join(known, on="flow", how="left")
        .join(takers, on="flow", how="left")
        .with_columns(
            iteration=pl.lit(None, pl.Int64),
            part=pl.lit(None, pl.Int64),
            wait_ps=pl.col("time_ps") - pl.col("start_ps") - pl.col("alone_ps"),
            code=pl.col("what").replace_strict(_OF_FLOWS, return_dtype=pl.Int64),
        )
        .sort("flow", "message", "code")
    )


def _cut(rows: pl.DataFrame, messages: pl.DataFrame, flows: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The rows without those of which it is not known what came before; and these, with the host they came from."""
    events = pl.col("what").is_in(list(_OF_FLOWS))
    unknown = rows.filter(events).join(messages, on=["flow", "message"], how="anti")
    unknown = unknown.join(flows.select("flow", "src"), on="flow", how="left")
    nobody = rows.filter((pl.col("what") == "step") & pl.col("before").is_null()).with_columns(src="node")
    cuts = pl.concat([unknown, nobody.select(unknown.columns)])
    left = rows.filter((pl.col("what") != "step") | pl.col("before").is_not_null())
    return left.join(unknown, on=["step", "what", "flow", "message"], how="anti", nulls_equal=True), cuts


def _rank_ends(
    results: Results, traffic: str, rows: pl.DataFrame, numbers: NDArray[np.int64]
) -> tuple[list[int], int, int]:
    """The last steps of the ranks that came to their end, or of all if none did; how many did, of how many."""
    if not rows.height:
        return [], 0, 0
    ranks = results.ranks.filter(pl.col("traffic").cast(pl.String) == traffic)
    finished = ranks.select(rank=pl.col("number").cast(pl.Int64), end=pl.col("finished_ps").cast(pl.Int64)).collect()
    steps = rows.select("rank", "step", "done_ps").join(finished, on="rank", how="left")
    ended = steps.filter(pl.col("done_ps") == pl.col("end"))
    counts = ended["rank"].n_unique(), steps["rank"].n_unique()
    latest = (ended if ended.height else steps).group_by("rank").agg(pl.col("step", "done_ps").sort_by("step").last())
    latest = latest.sort("done_ps", "rank", descending=[True, False])
    found: list[int] = (1 + np.searchsorted(numbers, latest["step"].to_numpy())).tolist()
    return found, *counts


def _to_the_end(results: Results) -> bool:
    """Whether the run ended because all had that do not go on for ever."""
    until = results.meta["scenario"].get("run", {}).get("until")
    return results.complete and until is None


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
    rows: pl.DataFrame, messages: pl.DataFrame, numbers: NDArray[np.int64], start: int, cuts: pl.DataFrame
) -> tuple[NDArray[np.int64], ...]:
    """What comes before what: the node before, the node after, what passes at least, what is waited."""
    happened = rows.filter(pl.col("step").is_in(numbers) & (pl.col("what") != "starts"))
    step = 1 + np.searchsorted(numbers, happened["step"].to_numpy())
    what = happened["what"].to_numpy()
    delay = happened["delay_ps"].to_numpy()
    key = ["flow", "message", "what"]
    places = messages.select(*key, place=pl.int_range(pl.len()))
    found = happened.join(places, on=key, how="left", nulls_equal=True, maintain_order="left")["place"]
    after_message = 1 + len(numbers) + found.fill_null(0).to_numpy()
    after_step = 1 + np.searchsorted(numbers, happened["before"].fill_null(0).to_numpy())
    before = np.select([what == "start", what == "step"], [np.zeros_like(step), after_step], after_message)
    done = happened["done_ps"].to_numpy()
    least = np.where(what == "start", done - start, delay)
    # Messages: each comes after the step that starts it, or after the start of the application.
    own = 1 + len(numbers) + np.arange(messages.height)
    started = messages["step"].is_not_null().to_numpy()
    by = 1 + np.searchsorted(numbers, messages["step"].fill_null(0).to_numpy())
    idle = np.where(started, 0, messages["start_ps"].to_numpy() - start)
    # What is cut happened when it did.
    unknown = 1 + len(numbers) + messages.height + np.arange(cuts.height)
    none = np.zeros_like(unknown)
    return (
        np.concatenate([before, np.where(started, by, 0), unknown]).astype(np.int64),
        np.concatenate([step, own, 1 + np.searchsorted(numbers, cuts["step"].to_numpy())]).astype(np.int64),
        np.concatenate([least, messages["alone_ps"].to_numpy() + idle, none]).astype(np.int64),
        np.concatenate([np.zeros_like(step), messages["wait_ps"].to_numpy(), none]).astype(np.int64),
    )
