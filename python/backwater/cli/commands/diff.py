"""``backwater diff``: where two runs part."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rich.markup import escape

from backwater.cli.options import Json
from backwater.common import quantities, terminal
from backwater.errors import Exit
from backwater.experiments import run_differences
from backwater.experiments.run_differences import Difference
from backwater.results import Results


def diff(first: Path, second: Path, /, *, json_: Json = False) -> int:
    """Print what two runs differ in: settings, version, and the first frame that is not the same in both.

    Runs with the same digest are the same, frame by frame. Otherwise both are run again, without writing anything; a
    run that does not give its digest again is refused. The exit code is 0 if the same happened in both, else 1.

    Parameters
    ----------
    first
        A results folder.
    second
        Another one.
    json_
        Print JSON.
    """
    runs = (Results(first), Results(second))
    found = run_differences.between(*runs)
    if json_:
        print(json.dumps(_plain(found), indent=2))
    else:
        _print(found, runs)
    return Exit.OK if found.same else Exit.DIFFERS


def _plain(found: Difference) -> dict[str, Any]:
    parting = found.parting
    return {
        "same": found.same,
        "digests": found.digests,
        "versions": found.versions,
        "files": found.files,
        "settings": [{"key": key, "first": one, "second": other} for key, one, other in found.settings],
        "parting": None
        if parting is None
        else {
            "time_ps": parting.time_ps,
            "node": parting.node,
            "first": parting.sides[0],
            "second": parting.sides[1],
        },
    }


def _print(found: Difference, runs: tuple[Results, Results]) -> None:
    console = terminal.stdout()
    names = [str(run.folder) for run in runs]
    if found.versions[0] != found.versions[1]:
        console.say(f"versions: {found.versions[0]} and {found.versions[1]}")
    if found.settings:
        table = terminal.table("Settings that differ", map(escape, ("key", *names)))
        for key, one, other in found.settings:
            table.add_row(escape(key), escape(_shown(one)), escape(_shown(other)))
        console.print(table)
    else:
        console.say("settings: all the same")
    parting = found.parting
    if parting is None:
        told = f"the same runs: digest {found.digests[0]}, every frame at every node at the same time"
        console.say(told)
        return
    console.say(f"digests: {found.digests[0]} and {found.digests[1]}")
    if not parting.node:
        console.say("one run ends earlier; until then both are the same")
        return
    place = f"at {parting.node}, {quantities.time(parting.time_ps)} ({quantities.count(parting.time_ps)} ps)"
    console.say(f"first difference: {place}")
    room = max(map(len, names))
    for name, frame in zip(names, parting.sides, strict=True):
        console.say(f"  {name:<{room}}  {_frame(frame)}")
    console.say("until then every frame at every node is the same")


def _shown(value: Any) -> str:
    return "-" if value is None else value if isinstance(value, str) else json.dumps(value)


_CODES = ("not-ECT", "ECT", "UE", "CE")
_KINDS = {
    "data": "data packet",
    "ack": "ACK",
    "cnp": "CNP",
    "nack": "NACK",
    "pfc": "PFC frame",
    "credit": "credit update",
    "cim": "congestion isolation message",
    "hold": "hold frame",
    "return": "return frame",
    "aside": "frame that sets a queue aside",
    "halt": "halt frame",
    "free": "frame that frees a queue",
    "merge": "frame that merges roots",
    "put": "PUT",
    "put-ack": "ACK of a PUT",
    "put-nack": "NACK of a PUT",
}


def _frame(frame: Mapping[str, Any] | None) -> str:
    """A frame in words; None: the run has nothing of the kind there and then."""
    if frame is None:
        return "no such frame"
    kind = str(frame["kind"])
    words = [f"{_KINDS.get(kind, kind)} from {frame['from']}"]
    if frame["of_flow"] is not None:
        of_flow = frame["of_flow"]
        words.append(f"flow {frame['flow']} ({of_flow['traffic']}, {of_flow['src']} to {of_flow['dst']})")
        words.append(f"number {frame['seq']}")
    if kind == "pfc":
        words.append(_pauses(int(frame["word"])))
    elif kind == "credit":
        words.append(f"FCTBS {frame['flow']}, FCCL {frame['word']}")
    words += [f"{frame['bytes']} B", f"class {frame['class']}"]
    if kind in ("data", "put"):
        words.append(_CODES[int(frame["code"])])
    elif kind in ("ack", "nack", "cnp", "put-ack", "put-nack"):
        words.append(f"reports {_CODES[int(frame['echo'])]}")
    return ", ".join(words)


def _pauses(word: int) -> str:
    """Which priorities a PFC frame stops and which it lets go."""
    paused, resumed = ([str(p) for p in range(8) if word >> shift + p & 1] for shift in (0, 8))
    told = [f"PAUSE {', '.join(paused)}"] if paused else []
    return " ".join([*told, *([f"RESUME {', '.join(resumed)}"] if resumed else [])]) or "nothing"
