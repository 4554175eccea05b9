"""``backwater export``: results for the tools that people have."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter, validators

from backwater.cli.options import Json
from backwater.io.exporting import comma, hpcc
from backwater.io.exporting import pcapng as capture
from backwater.io.exporting import perfetto as trace
from backwater.results import Results

Out = Annotated[Path | None, Parameter(name="--out")]


def fct(results: Path, /, *, out: Out = None, json_: Json = False) -> None:
    """Write the flows that finished as HPCC's ns-3 simulator does: fct.txt.

    Parameters
    ----------
    results
        A results folder.
    out
        Where to write; `fct.txt` in the results folder if not given. One that exists is replaced.
    json_
        Print JSON.
    """
    _lines(results, out, "fct.txt", "flows", hpcc.write_fct, as_json=json_)
    for note in hpcc.of_fct(Results(results)):
        print(f"note: {note}", file=sys.stderr)


def pfc(results: Path, /, *, out: Out = None, json_: Json = False) -> None:
    """Write PAUSEs and RESUMEs as HPCC's ns-3 simulator does: pfc.txt. Needs the table `pauses`.

    Parameters
    ----------
    results
        A results folder.
    out
        Where to write; `pfc.txt` in the results folder if not given. One that exists is replaced.
    json_
        Print JSON.
    """
    _lines(results, out, "pfc.txt", "PAUSEs and RESUMEs", hpcc.write_pfc, as_json=json_)


def perfetto(results: Path, /, *, out: Out = None, json_: Json = False) -> None:
    """Write a trace for https://ui.perfetto.dev: flows, pauses, detectors' states, queues, marks.

    What the run has no table of is not in the trace; [probe] of the scenario says which there are.

    Parameters
    ----------
    results
        A results folder.
    out
        Where to write; `perfetto.json` in the results folder if not given. One that exists is replaced.
    json_
        Print JSON.
    """
    run = Results(results)
    place = out if out is not None else run.folder / "perfetto.json"
    events, left_out = trace.write(run, place)
    told = f"{place}: {events} events"
    if left_out:
        told += f"; {left_out} marks beyond the first {trace.MARKS} are left out"
    _tell(told, {"file": str(place), "events": events, "marks_left_out": left_out}, as_json=json_)


def pcapng(
    results: Path,
    /,
    *,
    ports: str | None = None,
    snap: Annotated[int, Parameter(validator=validators.Number(gte=1, lte=65535))] = 65535,
    out: Out = None,
    json_: Json = False,
) -> None:
    """Write a capture that Wireshark dissects (RoCEv2, CNP, PFC) of the ports in `probe.frames`.

    Headers are those of RoCEv2; a frame is as long as it was on the simulated wire, and what it carries are zeros.
    Wireshark calls PFC "CBFC", and knows no name for a CNP's opcode (129).

    Parameters
    ----------
    results
        A results folder.
    ports
        The ports, `s->h0,P2`; all that were recorded if not given. Each is an interface of the capture.
    snap
        How many bytes of each frame to keep.
    out
        Where to write; `frames.pcapng` in the results folder if not given. One that exists is replaced.
    json_
        Print JSON.
    """
    run = Results(results)
    place = out if out is not None else run.folder / "frames.pcapng"
    names = [name.strip() for name in (ports or "").split(",") if name.strip()]
    count, chosen = capture.write(run, place, names, snap)
    _tell(f"{place}: {count} frames of {', '.join(chosen)}", {"file": str(place), "frames": count}, as_json=json_)


def csv(results: Path, tables: tuple[str, ...] = (), /, *, out: Out = None, json_: Json = False) -> None:
    """Write tables as CSV, one file each, with the columns' names in the first line.

    Parameters
    ----------
    results
        A results folder.
    tables
        The tables; all that there are if none is named.
    out
        The folder to write to; `csv` in the results folder if not given. Files that exist are replaced.
    json_
        Print JSON.
    """
    run = Results(results)
    files = comma.write(run, tables, out if out is not None else run.folder / "csv")
    _tell("\n".join(str(file) for file in files), {"files": [str(file) for file in files]}, as_json=json_)


def _lines(
    results: Path, out: Path | None, name: str, what: str, write: Callable[[Results, Path], int], *, as_json: bool
) -> None:
    run = Results(results)
    place = out if out is not None else run.folder / name
    number = write(run, place)
    _tell(f"{place}: {number} {what}", {"file": str(place), "lines": number}, as_json=as_json)


def _tell(line: str, data: dict[str, Any], *, as_json: bool) -> None:
    print(json.dumps(data, indent=2) if as_json else line)
