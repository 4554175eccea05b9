"""What `backwater critical` prints."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from rich.table import Table

from backwater.analysis.critical.analysis import Critical, Wait
from backwater.analysis.critical.parts import Blamed, Piece
from backwater.analysis.critical.path import Path
from backwater.common import quantities, terminal

#: Pieces of a wait below this share of it are summed up.
_WORTH = 0.05
#: Shares below this are not printed: they would be 0.0 %.
_NAMED = 0.0005


def report(found: Critical, alone: Path | None = None) -> Iterator[Table | str]:
    """The sums, the waits, the places, the sums to the picosecond; `alone` is the path when nothing else sends."""
    graph, path = found.path.graph, found.path
    yield from (f"note: {note}" for note in found.notes)
    name = graph.traffic if found.iteration is None else f"{graph.traffic}, iteration {found.iteration}"
    messages = quantities.count(len(path.rows))
    yield from (f"caveat: {caveat}" for caveat in _caveats(path))
    computing = path.ideal_ps - path.alone_ps
    yield (
        f"{name}: {_time(found.time_ps)}; the critical path has {messages} messages, which take "
        f"{_time(path.alone_ps)} in an empty network, and {_time(computing)} of hosts' time between them"
    )
    yield f"{name}: {_time(path.wait_ps)} late, {_share(path.wait_ps, found.time_ps)} of its time{_alone(alone)}"
    if found.waits:
        yield f"{name}: {kinds(found.kinds)}"
        laid = [(whom, ps) for whom, ps in found.whom.items() if ps >= _NAMED * path.wait_ps]
        yield f"{name}: laid to {', '.join(f'{whom} {_time(ps)} ({_share(ps, path.wait_ps)})' for whom, ps in laid)}"
        yield _waits(found)
        yield _places(found)
    yield (
        f"{name}: {_ps(path.alone_ps)} messages alone + {_ps(computing)} hosts + {_ps(path.wait_ps)} waits = "
        f"{_ps(found.time_ps)} ps"
    )


#: What the tables mean by their remark.
_HIDDEN = "another path is as late: messages beside the path waited as long, and would have to be faster, too"


def kinds(sums: dict[str, int]) -> str:
    """What the messages waited, by kind; what is taken off stands at the end."""
    added = [f"{_time(ps)} {how}" for how, ps in sums.items() if ps > 0]
    off = -sum(ps for ps in sums.values() if ps < 0)
    return ", ".join(added) + (f"; {_time(off)} of these in an empty network, too, are taken off" if off else "")


def _caveats(path: Path) -> Iterator[str]:
    """What the path is not of."""
    graph = path.graph
    ended, followed = graph.ended
    if not graph.done:
        if graph.rank_ends is None:
            yield f"{graph.traffic} did not come to its end; this is the path to its last complete message"
        elif ended:
            yield (
                f"{ended} of {followed} ranks of {graph.traffic} came to their end; this is the path to the end of "
                "the last of them"
            )
        else:
            yield f"no rank of {graph.traffic} came to its end; this is the path to the last that one of them did"
    if path.cut is not None:
        yield (
            f"the path begins with what a rank at {path.cut} did: that goes on for ever, and is not followed from its "
            "endless loop on"
        )


def _waits(found: Critical) -> Table:
    table = terminal.table(
        "Waits on the critical path, the longest first",
        ("message", "from", "to", "where it waited, and for whom"),
        ("size", "begins", "late", "of all waits", "without this wait"),
    )
    for wait in found.waits:
        message = wait.message
        table.add_row(
            _number(wait),
            _end(message["src_rank"], message["src"]),
            _end(message["dst_rank"], message["dst"]),
            "\n".join(_pieces(wait.pieces, wait.ps)),
            quantities.size(message["size_bytes"]),
            _time(message["start_ps"]),
            _time(wait.ps),
            _share(wait.ps, found.path.wait_ps),
            left(wait.without_ps, found.time_ps, wait.ps),
        )
    table.caption = (
        "message: its number on the path; late: beyond its time in an empty network\n"
        "without this wait: the application's time if this message does not wait and all other waits stay\n"
        f"{_HIDDEN}"
    )
    return table


def _places(found: Critical) -> Table:
    table = terminal.table(
        "Where the messages of the path waited", ("place", "how", "for whom"), ("messages", "waits", "share", "without")
    )
    for row in found.places:
        if row["ps"] <= 0:
            # What is taken off, as a message waits alone, too.
            continue
        table.add_row(
            row["place"],
            row["how"],
            _blamed(row["blamed"], row["place"]),
            quantities.count(row["messages"]),
            _time(row["ps"]),
            _share(row["ps"], found.path.wait_ps),
            left(row["without_ps"], found.time_ps, row["ps"]),
        )
    table.caption = f"without: the application's time if messages of the path do not wait there\n{_HIDDEN}"
    return table


def _number(wait: Wait) -> str:
    message = wait.message
    told = str(wait.number)
    if message["iteration"] is not None:
        told += f", iteration {message['iteration']}"
    if message["part"] is not None:
        told += f", step {message['part']}"
    if message["line"]:
        told += f", line {message['line']}"
    return told if message["what"] == "received" else f"{told}, until {message['what']}"


def _end(rank: int | None, host: str) -> str:
    return host if rank is None else f"rank {rank} ({host})"


def _pieces(pieces: list[tuple[Piece, Blamed | None]], wait_ps: int) -> Iterator[str]:
    shown = [one for one in pieces if one[0].ps >= _WORTH * wait_ps]
    for piece, blamed in sorted(shown, key=lambda one: -one[0].ps):
        whom = _blamed(blamed, piece.place)
        yield f"{_time(piece.ps)} {piece.how}, {piece.place}{f': {whom}' if whom else ''}"
    rest = sum(piece.ps for piece, _ in pieces) - sum(piece.ps for piece, _ in shown)
    if rest >= _NAMED * wait_ps:
        yield f"{_time(rest)} elsewhere"


def _blamed(blamed: Blamed | None, place: str) -> str:
    if blamed is None:
        return ""
    shares = ", ".join(f"{name} {100 * share:.0f} %" for name, share in blamed.traffic.items())
    root = f"root {blamed.root}" if blamed.root is not None and blamed.root != place else ""
    return ", fed by ".join(word for word in (root, shares) if word) if root else shares


def _whom(blamed: Blamed | None) -> dict[str, Any]:
    return {} if blamed is None else {"root": blamed.root, "traffic": blamed.traffic}


def left(left_ps: int, time_ps: int, wait_ps: int) -> str:
    """What is left without a wait, and how much less that is; where that is next to nothing, why."""
    less = time_ps - left_ps
    told = f"-{_time(less)}" if less > 0 else "no less"
    if less < _WORTH * wait_ps:
        told += "; another path is as late"
    return f"{_time(left_ps)} ({told})"


def _share(part: int, whole: int) -> str:
    return f"{100 * part / whole:.1f} %" if whole else "-"


def _time(ps: int) -> str:
    return f"-{quantities.time(-ps)}" if ps < 0 else quantities.time(ps) if ps else "0"


def _ps(ps: int) -> str:
    return f"{ps:,}".replace(",", " ")


def _alone(path: Path | None) -> str:
    """What an application waits anyhow: its own messages wait for each other."""
    return f"; alone it waits for {_time(path.wait_ps)}" if path is not None else ""


def line(path: Path, folder: str, alone: Path | None = None) -> str:
    """One line for `run`: how late the path is, and its longest wait; `alone` is the path when nothing else sends."""
    name, rows = path.graph.traffic, path.rows
    if not path.wait_ps:
        return f"{name}: critical path of {quantities.count(len(rows))} messages, none of which waited"
    messages = path.graph.messages
    row = max(rows, key=lambda row: messages["wait_ps"][row])
    longest = messages.row(row, named=True)
    ends = f"{_end(longest['src_rank'], longest['src'])} to {_end(longest['dst_rank'], longest['dst'])}"
    told = f"{name}: critical path of {quantities.count(len(rows))} messages, {_time(path.wait_ps)} of waits"
    return (
        f"{told}{_alone(alone)}; the longest, {_time(longest['wait_ps'])}: "
        f"message {rows.index(row) + 1}, {ends} (backwater critical {folder})"
    )


def values(found: Critical, alone: Path | None = None) -> dict[str, Any]:
    """For JSON: every message of the path, the waits and places that are printed; what it waits alone, if known."""
    graph, path = found.path.graph, found.path
    keys = ("flow", "what", "iteration", "part", "line", "message", "src", "dst", "src_rank", "dst_rank", "size_bytes")
    times = ("start_ps", "time_ps", "alone_ps", "wait_ps")
    messages = [graph.messages.row(row, named=True) for row in path.rows]
    return {
        "traffic": graph.traffic,
        "iteration": found.iteration,
        "done": graph.done,
        "notes": found.notes,
        "start_ps": path.start_ps,
        "end_ps": path.end_ps,
        "time_ps": found.time_ps,
        "ideal_ps": path.ideal_ps,
        "messages_alone_ps": path.alone_ps,
        "hosts_ps": path.ideal_ps - path.alone_ps,
        "wait_ps": path.wait_ps,
        "alone_wait_ps": None if alone is None else alone.wait_ps,
        "kinds_ps": found.kinds,
        "whom_ps": found.whom,
        "path": [{name: message[name] for name in (*keys, *times)} for message in messages],
        "waits": [
            {
                "message": wait.number,
                "flow": wait.message["flow"],
                "wait_ps": wait.ps,
                "without_ps": wait.without_ps,
                "pieces": [
                    {"place": piece.place, "how": piece.how, "ps": piece.ps} | _whom(blamed)
                    for piece, blamed in wait.pieces
                ],
            }
            for wait in found.waits
        ],
        "places": [
            {name: value for name, value in row.items() if name != "blamed"} | _whom(row["blamed"])
            for row in found.places
        ],
    }
