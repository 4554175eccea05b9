"""``backwater compare``: the same traffic under several schemes, as slowdown by flow size."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal

from backwater.analysis import (
    own_controllers,
    pictures,
    scheme_measures,
    scheme_slowdown,
    scheme_tables,
    scheme_tests,
    slowdown,
)
from backwater.analysis.pictures import Paper
from backwater.analysis.scheme_slowdown import Comparison
from backwater.analysis.scheme_tests import Row
from backwater.cli.commands import compare_over, failed
from backwater.cli.commands.missing import run_missing
from backwater.cli.options import AtLeastOne, Flag, Format, Json, Seed, Set, Width, Words
from backwater.common import codes, quantities, statistics, terminal
from backwater.common.atomic_files import write_asked
from backwater.common.codes import Remark
from backwater.common.late import pl
from backwater.common.quantities import parse_size, parse_time, time
from backwater.errors import Exit, UsageError, require_folder
from backwater.experiments import comparison, sweep_measures
from backwater.experiments.store import OwnFolder, RunFolders
from backwater.results import Results, offered
from backwater.scenario import schemes
from backwater.scenario.schemes import Scheme


def compare(
    *scenarios: Path,
    set_: Set = None,
    scheme: Words = None,
    traffic: str | None = None,
    base: Literal["alone", "analytic"] = "alone",
    edges: str | None = None,
    window: str | None = None,
    over: Words = None,
    measure: Words = None,
    seeds: AtLeastOne = None,
    seed: Seed = None,
    jobs: AtLeastOne = None,
    format_: Format = None,
    width: Width = None,
    keep_runs: Flag = False,
    out: Path | None = None,
    json_: Json = False,
) -> int:
    """Run the same traffic under several schemes and compare what becomes of it.

    Slowdown by flow size, if flows have an end; goodput, FCT, marks and BECNs of each traffic entry; PAUSEs and, if
    flows are isolated, the tables of those; of queue pairs what was lost, sent again and not finished; of PUTs goodput,
    what is sent again and dropped, and fairness. Refuses schemes whose [topology] or [[traffic]] differ, except in what
    carries it and who controls the rates, and names the key. Schemes with left-out are told and not run. Writes
    compare.parquet and compare.png (slowdown), traffic.parquet, network.parquet and schemes.png (the rest), and the
    results folders; runs that are done stay done.

    Parameters
    ----------
    scenarios
        Several TOML files, one scheme each, or one that lists [[scheme]]s. The first scheme is what others are
        divided by. A sweep file over such a scenario does what --over does.
    set_
        Change a key in every scheme: `--set traffic.load=0.4`. May be given more than once.
    scheme
        Compare only these schemes. May be given more than once; the first one is what others are divided by.
    traffic
        Look only at the flows of this traffic entry.
    base
        What an FCT is divided by: alone (the FCT of the same flow alone in the empty network) or analytic (size / line
        rate + propagation, as the TCD authors do).
    edges
        Cuts between size bins: `10KB,100KB,1MB`. If not given, each size of a few is a bin; else bins have about as
        many flows each, and enough for the percentiles.
    window
        Count as goodput what arrived from when until when: `0.2ms..1.2ms`, and all of PUTs within it. Needs
        probe.delivered; for PUTs probe.streams.
    over
        Compare at each of several values of a key: `--over traffic.load=0.2,0.4,0.6`. Then each measure is shown over
        them, as a table and as a picture. May be given twice. The runs are in the cache of `backwater sweep`.
    measure
        What is shown over the values and tested, of the measures in docs/reference/measures.md: `--measure
        p99_slowdown`. May be given more than once; some that suit the traffic if not given.
    seeds
        How many seeds; their spread gives the 95 % confidence intervals. Those of a sweep file, or 5, if not given.
    seed
        The first seed, instead of the file's.
    jobs
        How many runs at the same time; one per core if not given.
    format_
        Of the pictures: png, pdf or svg.
    width
        Print them: `3.33in` (or cm, mm, pt) wide, with letters of 7 to 9 points and no title.
    keep_runs
        With --over: copy the results folder of each run to `runs` in the folder of tables.
    out
        Where results go; results/compare/NAME if not given.
    json_
        Print only JSON.
    """
    if not scenarios:
        raise UsageError("name a scenario file that lists [[scheme]]s, or several files")
    paper = pictures.asked(format_, width)
    plan = compare_over.planned(scenarios, over or (), set_ or (), scheme or (), (seeds, seed), measure or ())
    if plan is not None:
        _require_plain(edges=edges, window=window, base=None if base == "alone" else base)
        return compare_over.compare(
            plan, scenarios[0], workers=jobs, traffic=traffic, tested=measure or (), out=out, paper=paper,
            keep_runs=keep_runs, as_json=json_,
        )  # fmt: skip
    if keep_runs:
        raise UsageError("--keep-runs goes with --over: without it the runs are kept anyway, in `runs`")
    seeds = seeds or _SEEDS
    found = schemes.of_files(scenarios, set_ or (), scheme or ())
    for sentence in schemes.told(found, set_ or ()):
        print(f"note: {sentence}", file=sys.stderr)
    if len(found) < 2:
        raise UsageError(f"there is one scheme only, {found[0].label!r}; list two [[scheme]]s or name two files")
    cuts = _edges(edges) if edges is not None else scheme_slowdown.cuts(found, traffic)
    span = _window(window) if window is not None else None
    own = OwnFolder.of(
        Path("results/compare") / "-".join(dict.fromkeys(one.scenario.name for one in found)), *scenarios
    )
    root = out or own.place
    if span is not None:
        _check_window(found, span)
    kept = RunFolders(root, needed=("flows",))
    todo = comparison.plan(found, schemes.numbers(found, seed, seeds), kept)
    comparison.check_traffic(found, next(iter(todo)))
    if out is None:
        own.claim()
    require_folder(root, "--out")
    outcomes = run_missing(
        [job for by_scheme in todo.values() for job in by_scheme.values()],
        kept,
        jobs,
        quiet=json_,
        warned=True,
    )
    complete = comparison.complete(todo, kept)
    idle = (
        _report(
            Comparison(complete, cuts, base, traffic, given=edges is not None),
            span,
            root,
            paper,
            measure or (),
            schemes.all_left_out(found),
            as_json=json_,
        )
        if complete
        else []
    )
    failed.raise_first(outcomes)
    if any(outcome.interrupted for outcome in outcomes):
        done = len(next(iter(complete.values()))) if complete else 0
        print(f"interrupted after {done} of {seeds} seeds; the same command continues", file=sys.stderr)
        return Exit.CAVEATS
    if idle:
        ends = next(iter(complete.values()))[0].meta["sim_time_ps"]
        print(
            f"no flow finished under {', '.join(idle)}, so there is nothing to compare: the runs end after "
            f"{quantities.time(ends)}; let them run longer, as by --set run.until={_longer(ends)}",
            file=sys.stderr,
        )
        return Exit.CAVEATS
    return Exit.CAVEATS if any(run.meta["caveats"] for runs in complete.values() for run in runs) else Exit.OK


#: How many seeds, if nothing says.
_SEEDS = 5


def _require_plain(**options: str | None) -> None:
    for name, value in options.items():
        if value is not None:
            raise UsageError(f"--{name} is of a comparison at one point: leave it out, or --over")


def _longer(ends: int) -> str:
    """Ten times as long, as a scenario writes it."""
    return f"{ends // 100_000}us" if ends >= 100_000 else "1us"


def _edges(text: str) -> list[int]:
    try:
        return slowdown.checked([parse_size(part) for part in text.split(",")])
    except ValueError as error:
        raise UsageError(f"--edges {text}: {error}") from None


def _window(text: str) -> tuple[int, int]:
    start, dots, end = text.partition("..")
    try:
        found = parse_time(start), parse_time(end)
    except ValueError as error:
        raise UsageError(f"--window {text}: {error if dots else 'write two times, such as 0.2ms..1.2ms'}") from None
    if found[0] >= found[1]:
        raise UsageError(f"--window {text} is empty; write the earlier time first")
    return found


def _check_window(schemes: Sequence[Scheme], window: tuple[int, int]) -> None:
    """Before anything runs: no scheme's runs may end before the window does."""
    for scheme in schemes:
        until = scheme.scenario.resolve(scheme.overrides).get("run", {}).get("until")
        if until is not None and parse_time(until) < window[1]:
            raise UsageError(
                f"--window ends at {time(window[1])}, after the runs do: run.until is {until}; let it end earlier, or "
                f"the runs later (--set run.until=...)"
            )


def _report(
    made: Comparison,
    window: tuple[int, int] | None,
    root: Path,
    paper: Paper,
    measures: Sequence[str],
    left_out: Mapping[str, str],
    *,
    as_json: bool,
) -> list[str]:
    """Write and print it, with the schemes that the file leaves out; returns those under which no flow finished."""
    table = made.table()
    found = scheme_measures.outcomes(made.runs, window)
    idle: list[str] = []
    root.mkdir(parents=True, exist_ok=True)
    files = [root / f"{name}.parquet" for name in ("traffic", "network")]
    write_asked(files[0], found.entries().write_parquet)
    write_asked(files[1], found.totals().write_parquet)
    if table is not None:
        idle = table.filter(pl.col("bin") == "all sizes", pl.col("flows") == 0)["scheme"].to_list()
        files.insert(0, root / "compare.parquet")
        write_asked(files[0], table.write_parquet)
        within = "" if found.seeds > 1 else "; whiskers: 95 % of each percentile, as if flows were independent"
        title = f"{root.name}: {scheme_slowdown.title(list(made.runs), made.traffic)}; {_over(found.seeds)}{within}"
        title += scheme_slowdown.unfinished(table)
        file = paper.named(root / "compare")
        files.append(paper.draw("scheme_slowdown_picture", table, file, title=title, base=made.base))
    file = paper.named(root / "schemes")
    files.append(paper.draw("scheme_pictures", found, file, title=f"{root.name}: {_over(found.seeds)}"))
    tests = scheme_tests.of(_rows(made), measures)
    if tests:
        files.append(write_asked(root / "tests.parquet", scheme_tests.table(tests).write_parquet))
    if as_json:
        runs = [
            {"scheme": name, "seed": run.meta["seed"], "digest": run.digest, "folder": str(run.folder)}
            for name, of_scheme in made.runs.items()
            for run in of_scheme
        ]
        told = {"base": made.base, "traffic": made.traffic, "rows": [] if table is None else table.to_dicts()}
        told |= {"entries": found.entries().to_dicts(), "network": found.totals().to_dicts(), "runs": runs}
        told["left_out"] = [{"scheme": name, "why": why} for name, why in left_out.items()]
        told["tests"] = [one.as_row() for one in tests]
        print(json.dumps(told, indent=2))
        return idle
    console = terminal.stdout()
    for caveat, names in _caveats(made.runs).items():
        console.say(caveat if len(names) == len(made.runs) else f"{', '.join(names)}: {caveat}")
    if table is None:
        console.print("no flow has an end, so there is no slowdown to compare", highlight=False)
    else:
        console.print(scheme_slowdown.shown(table, len(next(iter(made.runs.values()))), made.base))
    for one in scheme_tables.tables(found):
        console.print(one)
    for name, why in left_out.items():
        console.say(f"{name}: left out: {why}")
    for line in scheme_tests.sentences(tests) if found.seeds > 1 else [scheme_tests.of_one_seed()]:
        console.say(line)
    for name, of_scheme in made.runs.items():
        for slow in codes.once(remark for run in of_scheme for remark in own_controllers.notes(run))[:1]:
            console.say(f"{name}: {slow}")
    for remark in _loads(next(iter(made.runs.values()))):
        console.say(str(remark))
    console.say(f"written: {', '.join(map(str, files))}; runs: {root / 'runs'}")
    return idle


def _caveats(runs: Mapping[str, Sequence[Results]]) -> dict[str, list[str]]:
    """Each caveat, with the schemes whose runs have it."""
    found: dict[str, list[str]] = {}
    for name, of_scheme in runs.items():
        for caveat in codes.once(caveat for run in of_scheme for caveat in codes.told(run.meta)):
            found.setdefault(str(caveat), []).append(name)
    return found


def _loads(runs: Sequence[Results]) -> list[Remark]:
    """Where the load that was drawn is not the one that was asked for; `runs` are those of one scheme."""
    found = [offered.loads(run) for run in runs]
    remarks = (
        offered.note(name, load.asked, [loads[name].drawn for loads in found if name in loads])
        for name, load in found[0].items()
    )
    return [one for one in remarks if one is not None]


def _rows(made: Comparison) -> list[Row]:
    """What is tested: measures of each traffic entry in each run."""
    return [
        Row(name, "", row["traffic"], run.meta["seed"], row)
        for name, of_scheme in made.runs.items()
        for run in of_scheme
        for row in sweep_measures.of(run)
        if made.traffic in (None, row["traffic"])
    ]


def _over(seeds: int) -> str:
    return statistics.caption(seeds) if seeds > 1 else "one seed"
