"""``backwater sensitivity``: which claims of a paper depend on what it leaves open."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Parameter, validators

from backwater.errors import Exit

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.table import Table

    from backwater.running import Outcome


def sensitivity(
    system: str,
    /,
    *,
    parameter: Annotated[list[str] | None, Parameter(negative="")] = None,
    seeds: Annotated[int | None, Parameter(validator=validators.Number(gte=1))] = None,
    jobs: Annotated[int | None, Parameter(validator=validators.Number(gte=1))] = None,
    quick: Annotated[bool, Parameter(negative="")] = False,
    profile: Literal["authors", "ideal", "both"] = "both",
    out: Path | None = None,
    json_: Annotated[bool, Parameter(name="--json", negative="")] = False,
) -> int:
    """Set each parameter that a paper leaves open to its other readings and print which claims flip.

    The parameters stand in papers/SYSTEM/sensitivity.toml. Runs are shared with `backwater reproduce` and stay done.
    Writes sensitivity.json and sensitivity.parquet; `backwater report` puts them into the report.

    Parameters
    ----------
    system
        Which paper: tcd.
    parameter
        Only this parameter, such as Q3. May be given more than once; what an earlier call found of others is kept.
    seeds
        How many seeds; what the file asks for if not given, and with --quick what each figure asks for.
    jobs
        How many runs at the same time; one per core if not given.
    quick
        Fewer seeds and shorter runs, to see whether everything works.
    profile
        Under which settings: authors, ideal, or both; both if not given.
    out
        Where the results of the reproduction are; results/reproduce/SYSTEM if not given.
    json_
        Print only JSON.
    """
    from backwater import costs
    from backwater import sensitivity as machinery
    from backwater.commands.reproduce import PROFILES, do
    from backwater.report import making

    root = out or Path("results/reproduce") / system
    own, every = machinery.load(system)
    _, chosen = machinery.load(system, parameter or ())
    count = seeds if seeds is not None else None if quick else own
    found = machinery.cases(system, chosen, PROFILES[profile])
    known = costs.read(root, quick=quick)
    first = machinery.plan_first(found, count, root, quick=quick)
    outcomes = do(costs.expected(first, known), jobs, "runs that settle values for others", quiet=json_)
    made = machinery.plan(found, count, root, quick=quick)
    if not any(outcome.interrupted for outcome in outcomes):
        outcomes += do(costs.expected(made, known), jobs, "runs", quiet=json_)
    earlier = making.sensitivity(root, quick=quick)
    told = machinery.merged(machinery.judge(found, quick=quick), earlier, every)
    _write(told, root / ("sensitivity-quick" if quick else "sensitivity"), root, as_json=json_, ids=parameter or ())
    return _failures(outcomes)


def _write(told: dict[str, Any], folder: Path, root: Path, *, as_json: bool, ids: Sequence[str]) -> None:
    import polars as pl

    from backwater import sensitivity as machinery
    from backwater import terminal

    folder.mkdir(parents=True, exist_ok=True)
    text = json.dumps(told, indent=1) + "\n"
    (folder / "sensitivity.json").write_text(text, encoding="utf-8")
    rows = machinery.rows(told)
    pl.DataFrame(rows, infer_schema_length=None).write_parquet(folder / "sensitivity.parquet")
    if as_json:
        print(text, end="")
        return
    console = terminal.stdout()
    console.print(_table(told, ids))
    report = root / "quick" if told["quick"] else root
    console.print(
        f"written: {folder / 'sensitivity.json'}, {folder / 'sensitivity.parquet'}; "
        f"`backwater report {report}` puts it into report.html",
        highlight=False,
        markup=False,
    )


def _table(told: dict[str, Any], ids: Sequence[str]) -> Table:
    from rich.markup import escape
    from rich.table import Table

    table = Table(title="Claims that flip with another reading", title_justify="left", header_style="bold")
    for heading in ("parameter", "ours", "reading", "claims that flip", "looked at"):
        table.add_column(heading, overflow="fold")
    for entry in told["parameters"]:
        if ids and entry["id"] not in ids:
            continue
        for number, reading in enumerate(entry["variants"]):
            flips = [
                f"{flip['claim']} ({flip['profile']}): {flip['before']} → {flip['after']} {flip['numbers']}".rstrip()
                for flip in reading["flips"]
            ]
            first = (f"{entry['id']}: {entry['text']}", entry["default"]) if number == 0 else ("", "")
            only = f" ({reading['profiles'][0]})" if len(reading["profiles"]) == 1 else ""
            looked = f"{reading['claims']} verdicts, {reading['seeds']}"
            told_flips = "\n".join([*flips, *reading["missing"]]) or "none"
            table.add_row(*map(escape, (*first, reading["name"] + only, told_flips, looked)))
        table.add_section()
    return table


def _failures(outcomes: Sequence[Outcome]) -> int:
    for outcome in outcomes:
        if outcome.error is not None and not outcome.interrupted:
            print(f"{outcome.job.label}: {outcome.error}", file=sys.stderr)
    for outcome in outcomes:
        if outcome.error is not None and not outcome.interrupted:
            raise outcome.error
    if any(outcome.interrupted for outcome in outcomes):
        print("interrupted: what was finished is kept; the same command continues", file=sys.stderr)
        return Exit.CAVEATS
    return Exit.OK
