"""Blame for the terminal, as plain values for ``--json``, and as Parquet files."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from rich.table import Table

from backwater.analysis import roles
from backwater.analysis.blame import groups, losses, threshold
from backwater.analysis.blame.analysis import Blame
from backwater.analysis.blame.scoring import Score
from backwater.common import atomic_files, quantities, terminal
from backwater.common.late import pl
from backwater.results import measures

#: A root without a long queue of its own is shown if at least this share of all OFF time is for its sake.
_WORTH = 0.01
#: How many flows of a traffic entry are named.
_LARGEST = 3
_PARTS = {
    "connection_wait_ps": "connection",
    "paced_ps": "paced",
    "nic_held_ps": "NIC held",
    "nic_queue_ps": "NIC queue",
    "recovery_ps": "recovery",
    "gate_ps": "behind gates",
    "backlog_ps": "held ports' queues",
    "queue_ps": "other queues",
    "drain_ps": "receive queue",
    "reorder_wait_ps": "reordered",
}
#: Parts that most runs do not have.
_RARE = ("connection_wait_ps", "recovery_ps", "drain_ps", "reorder_wait_ps")


def report(blame: Blame, limit: int) -> Iterator[Table | str]:
    """Everything there is to say, `limit` rows for each root or list."""
    yield from (f"caveat: {note}" for note in blame.notes)
    worthy = shown_roots(blame)
    long = threshold.line(blame.results)
    if long:
        yield long
    roots = worthy.head(limit)
    if not worthy.height:
        yield "no root: no queue was above K while its port was not held, and no port held another back"
    else:
        yield _roots(worthy, limit)
    yield from left_out(blame, worthy)
    found = blame.branches.filter(pl.col("root").is_in(roots["root"].to_list()))
    if found.height:
        yield _branches(found, roots, limit)
    if blame.feeding.height:
        yield _feeding(blame.feeding, roots, limit)
    yield from _victims(blame, limit)
    said = held_line(blame)
    if said:
        yield said
    yield from (f"note: {note}" for note in blame.held.notes)
    if blame.brief is not None:
        yield score_line(blame.brief, threshold.text(blame.results))
        if blame.port_scores is not None and blame.port_scores.height:
            yield _port_scores(blame.port_scores, limit)


def shown_roots(blame: Blame) -> pl.DataFrame:
    """Roots with a long queue, and those that much OFF time is for."""
    total = max(1, int(blame.roots["weighted_ps"].sum()))
    return blame.roots.filter((pl.col("crowd_ps") > 0) | (pl.col("weighted_ps") >= _WORTH * total))


def left_out(blame: Blame, shown: pl.DataFrame) -> Iterator[str]:
    """Sentences on the roots that are not shown, and on OFF time that has none."""
    others = blame.roots.filter(~pl.col("root").is_in(shown["root"].to_list()))
    if others.height:
        time = quantities.time(int(others["weighted_ps"].sum()))
        ports = "port" if others.height == 1 else "ports"
        yield f"{others.height} more {ports}, never with a queue above K, held others back for {time} in all"
    if blame.unexplained_ps:
        time = quantities.time(blame.unexplained_ps)
        yield f"{time} of OFF time has no root: holds go round in a circle, or the tables do not tell"


def _table(title: str, *headings: str, left: int = 1) -> Table:
    return terminal.table(title, headings[:left], headings[left:])


def _roots(roots: pl.DataFrame, limit: int) -> Table:
    headings = ("root", "queue > K", "fed by flows", "packets", "branches", "depth", "held back", "from", "to")
    table = _table("Congestion roots", *headings)
    for row in roots.head(limit).to_dicts():
        table.add_row(
            row["root_port"],
            _time(row["crowd_ps"]),
            quantities.count(row["flows"]),
            quantities.count(row["packets"]),
            quantities.count(row["branches"]),
            str(row["depth"]),
            _time(row["weighted_ps"]),
            quantities.time(row["first_ps"]),
            quantities.time(row["last_ps"]),
        )
    rest = roots.tail(max(0, roots.height - limit))
    if rest.height:
        sums = {name: int(rest[name].sum()) for name in ("crowd_ps", "packets", "weighted_ps")}
        held = _time(sums["weighted_ps"])
        table.add_row(
            f"{rest.height} more", _time(sums["crowd_ps"]), "", quantities.count(sums["packets"]), "", "", held, "", ""
        )
    table.caption = "queue > K: while the port was not held; held back: OFF time of its branches because of it"
    return table


def _branches(found: pl.DataFrame, roots: pl.DataFrame, limit: int) -> Table:
    headings = ("root", "branch", "holds away", "OFF periods", "OFF", "for this root")
    table = _table("Branches: ports that were OFF because of a root", *headings, left=2)
    for root in roots["root"].to_list():
        rows = found.filter(pl.col("root") == root).sort("at_host", maintain_order=True)
        for row in rows.head(limit).to_dicts():
            table.add_row(
                row["root_port"],
                row["branch"],
                str(row["depth"]),
                quantities.count(row["offs"]),
                _time(row["off_ps"]),
                _time(row["weighted_ps"]),
            )
        rest = rows.tail(max(0, rows.height - limit))
        if rest.height:
            sums = [_time(int(rest[name].sum())) for name in ("off_ps", "weighted_ps")]
            offs = quantities.count(int(rest["offs"].sum()))
            table.add_row(rest["root_port"][0], f"{rest.height} more", "", offs, *sums)
    return table


def _feeding(feeding: pl.DataFrame, roots: pl.DataFrame, limit: int) -> Table:
    headings = ("root", "traffic", "flows", "packets", "share", "with CE", "largest flows")
    table = _table("Culprits: flows that fed a root while its queue was above K", *headings, left=2)
    for root in roots["root"].to_list():
        rows = by_traffic(feeding.filter(pl.col("root") == root))
        for row in rows.head(limit).to_dicts():
            table.add_row(
                row["root_port"],
                ", ".join(filter(None, (row["traffic"], row["role"]))),
                quantities.count(row["flows"]),
                quantities.count(row["packets"]),
                percent(row["share"]),
                percent(row["ce_packets"] / row["packets"]),
                "\n".join(row["largest"]),
            )
        if rows.height > limit:
            table.add_row(rows["root_port"][0], f"{rows.height - limit} more", *[""] * 5)
    return table


def by_traffic(feeding: pl.DataFrame) -> pl.DataFrame:
    """Flows that fed roots, by root, traffic entry and role, the largest share first; with their largest flows."""
    shares = (100 * pl.col("share")).round(1)
    named = pl.format("{}: {} → {}, {} %", "flow", "src", "dst", shares)
    largest = named.sort_by("sent_bytes", "flow", descending=[True, False]).head(_LARGEST)
    grouped = feeding.group_by("root", "root_port", "traffic", "role").agg(
        pl.len().alias("flows"),
        pl.col("packets", "sent_bytes", "ce_packets", "share").sum(),
        largest=largest,
    )
    return grouped.sort("root", "share", "traffic", "role", descending=[False, True, False, False])


def _victims(blame: Blame, limit: int) -> Iterator[Table | str]:
    counts = dict(blame.flows.group_by("verdict").len().iter_rows())
    known = [(counts.get(verdict, 0), verdict) for verdict in ("culprit", "victim", "unaffected")]
    unseen = f", {quantities.count(counts['unseen'])} of which nothing had arrived yet" if "unseen" in counts else ""
    yield "flows: " + ", ".join(f"{quantities.count(n)} {_plural(word, n)}" for n, word in known) + unseen
    victims = blame.flows.filter(pl.col("verdict") == "victim")
    finished = victims.filter(pl.col("lost_ps").is_not_null()).sort("lost_ps", "flow", descending=[True, False])
    if finished.height:
        title = "Victims that finished: what they lost against an empty network, and where"
        parts = {**_parts(finished), "ideal_wait_ps": "less alone"}
        if (finished["rest_ps"] != 0).any():
            parts["rest_ps"] = "rest"
        yield _losses(title, finished, ["lost_ps", *parts], ["lost", *parts.values()], limit)
    others = victims.filter(pl.col("lost_ps").is_null()).sort("waited_ps", "flow", descending=[True, False])
    if others.height:
        yield _endless(others, limit)
    later = blame.flows.filter((pl.col("verdict") == "culprit") & (pl.col("held_before_ps") > 0))
    if later.height:
        yield _later(later, limit)


def _endless(rows: pl.DataFrame, limit: int) -> Table:
    title = (
        "Victims that have no end or did not finish: over the run at their source; per packet on its way, in the mean"
    )
    parts = _parts(rows)
    return _losses(title, rows, list(parts), list(parts.values()), limit)


def _parts(rows: pl.DataFrame) -> dict[str, str]:
    """The columns to show, with their heads; most runs have no connections, and no slow hosts."""
    return {name: head for name, head in _PARTS.items() if name not in _RARE or (rows[name] != 0).any()}


def _later(rows: pl.DataFrame, limit: int) -> Table:
    title = "Culprits that had been held back before they fed a root"
    ordered = rows.sort("held_before_ps", "flow", descending=[True, False])
    table = _table(title, "flow", "traffic", "culprit from", "held before that for", left=2)
    for row in ordered.head(limit).to_dicts():
        name = f"{row['flow']}: {row['src']} → {row['dst']}"
        times = (_time(row[column]) for column in ("culprit_from_ps", "held_before_ps"))
        table.add_row(name, row["traffic"], *times)
    if ordered.height > limit:
        mean = quantities.time(float(ordered.select(pl.col("held_before_ps").mean()).item()))
        table.add_row(f"mean of all {quantities.count(ordered.height)}", "", "", mean, style="italic")
    table.caption = "held: a followed packet of it waited for a held port"
    return table


def by_group(blame: Blame, by: str, limit: int) -> Iterator[Table | str]:
    """Who held whom back, summed up: one row for each group that received something."""
    yield from (f"caveat: {note}" for note in blame.notes)
    if by == "rank":
        yield from roles.waits(blame.results)
    lost, laid = groups.totals(blame, by)
    if not lost.height:
        why = "the run has no jobs" if by == "job" else "no flow was recorded"
        yield f"{why}, so there is nothing to sum up by {groups.KEYS[by]}"
        return
    head = f"What finished flows lost, by {groups.KEYS[by]} that received them, and who fed what they waited for"
    table = _table(head, "receiver", "because of", "flows", "lost", *_parts(lost).values(), left=2)
    for row in lost.head(limit).to_dicts():
        whom = laid.filter(pl.col("group") == row["group"])
        causes = [f"{name} {_time(ps)}" for name, ps in whom.select("whom", "ps").head(_LARGEST).iter_rows()]
        if whom.height > _LARGEST:
            causes.append(f"{whom.height - _LARGEST} more {_time(int(whom['ps'][_LARGEST:].sum()))}")
        times = (_time(row[column]) for column in ("lost_ps", *_parts(lost)))
        table.add_row(row["group"], "\n".join(causes), _finished(row["finished"], row["flows"]), *times)
    if lost.height > limit:
        rest = lost.tail(lost.height - limit)
        known = (rest[column].drop_nulls() for column in ("lost_ps", *_parts(lost)))
        sums = [_time(int(column.sum()) if column.len() else None) for column in known]
        counts = _finished(int(rest["finished"].sum()), int(rest["flows"].sum()))
        table.add_row(f"{rest.height} more", "", counts, *sums)
    table.caption = (
        "because of: senders whose packets fed the roots, by bytes; what waited at the source alone has none"
    )
    if (lost["finished"] < lost["flows"]).any():
        table.caption += "\nflows: those that finished, of all; what was lost is known of finished flows only"
        if measures.programs(blame.results.meta["scenario"]):
            table.caption += (
                "\nranks of programs: their queue pairs never finish; the times are what the last packet of each "
                "message waited on its way"
            )
    yield table


def _finished(done: int, every: int) -> str:
    return quantities.count(done) if done == every else f"{quantities.count(done)} of {quantities.count(every)}"


def sums(blame: Blame, by: str) -> dict[str, Any]:
    """The same as plain values."""
    lost, laid = groups.totals(blame, by)
    return {"results": str(blame.results.folder), "by": by, "lost": lost.to_dicts(), "because_of": laid.to_dicts()}


def _plural(word: str, number: int) -> str:
    return word if number == 1 or word == "unaffected" else f"{word}s"


def _losses(title: str, rows: pl.DataFrame, columns: Sequence[str], headings: Sequence[str], limit: int) -> Table:
    table = _table(title, "flow", "traffic", *headings, left=2)
    for row in rows.head(limit).to_dicts():
        name = f"{row['flow']}: {row['src']} → {row['dst']}"
        table.add_row(name, row["traffic"], *(_time(row[column]) for column in columns))
    if rows.height > limit:
        means = rows.select(pl.col(columns).mean()).row(0)
        table.add_row(f"mean of all {quantities.count(rows.height)}", "", *map(_time, means), style="italic")
    return table


def _port_scores(scores: pl.DataFrame, limit: int) -> Table:
    headings = ("port", "CE marks", "early", "of the rest right", "UE marks", "right", "packets from a root")
    table = _table("Marks by port", *headings, "own recall", "left with CE")
    ordered = scores.sort(pl.col("ce_marks") + pl.col("root_packets") + pl.col("ue_marks"), descending=True)
    for row in ordered.head(2 * limit).to_dicts():
        table.add_row(
            row["port"] or "?",
            quantities.count(row["ce_marks"]),
            quantities.count(row["early_marks"]),
            percent(row["precision"]),
            quantities.count(row["ue_marks"]),
            percent(row["ue_precision"]),
            quantities.count(row["root_packets"]),
            percent(row["own_recall"]),
            percent(row["recall"]),
        )
    if ordered.height > 2 * limit:
        table.add_row(f"{ordered.height - 2 * limit} more", *[""] * 8)
    table.caption = (
        "CE is right where the port was not held, UE where it was; early: not held, but K or less in the queue\n"
        "own recall: of the packets that came without CE, those that left with it"
    )
    return table


def score_line(score: Score, long: str) -> str:
    """One line for a run, such as ``blame: precision 94.6 % of 40 858 CE marks; recall: ...; K = 56.1 KB``."""
    ce, packets = quantities.count(score.ce_marks - score.early_marks), quantities.count(score.root_packets)
    early = f" and {quantities.count(score.early_marks)} early" if score.early_marks else ""
    marks = f"precision {percent(score.precision)} of {ce} CE marks{early}"
    roots = f"recall: {percent(score.recall)} of {packets} packets from roots left with CE"
    marked, culprits = quantities.count(score.marked_flows), quantities.count(score.culprits)
    recall = percent(score.flow_recall)
    flows = f"flows: precision {percent(score.flow_precision)} of {marked}, recall {recall} of {culprits}"
    undetermined = f"; UE right {percent(score.ue_precision)} of {quantities.count(score.ue_marks)}"
    return f"blame: {marks}; {roots}; {flows}{undetermined if score.ue_marks else ''}{f'; {long}' if long else ''}"


def held_line(blame: Blame) -> str:
    """What was held back, and how rightly, in a line; empty if nothing was and nothing was to be."""
    found = blame.held
    if found.precision is None and found.recall is None and not found.held_ps:
        return ""
    time = quantities.time(found.right_ps + found.wrong_ps)
    recall = f"recall: {percent(found.recall)} of what flows to roots had to wait they were held"
    unknown = f"; {quantities.time(found.unexplained_ps)} more nobody can tell of" if found.unexplained_ps else ""
    return f"held: precision {percent(found.precision)} of {time}, summed over flows; {recall}{unknown}"


def percent(share: float | None) -> str:
    """A share in percent; a share that is not quite all is not 100 %."""
    if share is None:
        return "-"
    text = f"{100 * share:.1f}"
    if share < 1 and text == "100.0":
        return "99.9 %"
    return f"{text} %"


def _time(ps: float | None) -> str:
    if ps is None:
        return "-"
    return quantities.time(ps) if ps else "0"


def frames(blame: Blame, bin_ps: int) -> dict[str, pl.DataFrame]:
    """Every frame of the report, without internal numbers."""
    found = {
        "roots": blame.roots.drop("root"),
        "branches": blame.branches.drop("root", "queue"),
        "feeding": blame.feeding.drop("root"),
        "flows": blame.flows,
    }
    curves, ports, flows = blame.curves(bin_ps), blame.port_curves(bin_ps), blame.flow_curves(bin_ps)
    if blame.port_scores is not None and curves is not None and ports is not None and flows is not None:
        found |= {"port_scores": blame.port_scores.drop("queue"), "curves": curves}
        found |= {"port_curves": ports.drop("queue"), "flow_curves": flows}
    return found


def values(blame: Blame, bin_ps: int) -> dict[str, Any]:
    """The report as plain values; of the flows only victims and later culprits, culprits by root and traffic entry."""
    made = frames(blame, bin_ps)
    made["feeding"] = by_traffic(blame.feeding).drop("root")
    flows = made.pop("flows")
    made["victims"] = flows.filter(pl.col("verdict") == "victim").select(
        "flow", "traffic", "src", "dst", "lost_ps", *losses.PARTS, "ideal_wait_ps", "rest_ps"
    )
    later = flows.filter((pl.col("verdict") == "culprit") & (pl.col("held_before_ps") > 0))
    made["later_culprits"] = later.select("flow", "traffic", "src", "dst", "culprit_from_ps", "held_before_ps")
    return {
        "results": str(blame.results.folder),
        "notes": [*blame.notes, *blame.held.notes],
        "threshold": threshold.values(blame.results),
        "flows": dict(flows.group_by("verdict").len().sort("verdict").iter_rows()),
        "score": None if blame.score is None else blame.score.values(),
        "held": blame.held.values(),
        "unexplained_ps": blame.unexplained_ps,
        "bin_ps": bin_ps,
        **{name: frame.to_dicts() for name, frame in made.items()},
    }


def write(blame: Blame, folder: Path, bin_ps: int) -> list[Path]:
    """Write blame.json and one Parquet file for each frame; returns the files."""
    folder.mkdir(parents=True, exist_ok=True)
    files = [folder / "blame.json"]
    atomic_files.write_text(files[0], json.dumps(values(blame, bin_ps), indent=2))
    for name, frame in frames(blame, bin_ps).items():
        files.append(folder / f"blame-{name.replace('_', '-')}.parquet")
        frame.write_parquet(files[-1])
    return files
