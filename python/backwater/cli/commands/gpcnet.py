"""``backwater gpcnet``: GPCNeT's network load test on a simulated fabric, under one scheme or several."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from backwater.analysis import gpcnet as metrics
from backwater.analysis import gpcnet_blame, gpcnet_profile, gpcnet_tables, pictures, roles, throttle
from backwater.analysis.blame import NEEDED, Blame, report
from backwater.analysis.gpcnet import Measured
from backwater.analysis.pictures import Paper
from backwater.cli.commands import failed
from backwater.cli.commands.import_ import Delay, Tables
from backwater.cli.commands.missing import run_missing
from backwater.cli.options import AtLeastOne, Count, Flag, Format, Json, Seed, Set, Width
from backwater.common import codes, terminal
from backwater.common.codes import Remark
from backwater.errors import Exit, UsageError, require_folder
from backwater.experiments import comparison, gpcnet_runs
from backwater.experiments.executor import Job
from backwater.experiments.store import RunFolders
from backwater.io.importing.workloads import Place
from backwater.results import Results
from backwater.scenario import schemes as lists

#: How many roots are printed, and rows for each; the time step of the score over time.
_TOP, _BIN_PS = 3, 100_000_000


def gpcnet(
    what: Path | None = None,
    /,
    *,
    topology: str | None = None,
    lfts: Tables = None,
    delay: Delay = None,
    schemes: str | None = None,
    quick: Flag = False,
    blame: Flag = False,
    top: Count = _TOP,
    congestors_alone: Flag = False,
    set_: Set = None,
    seeds: Count = 1,
    seed: Seed = None,
    jobs: AtLeastOne = None,
    out: Path | None = None,
    plot: Path | None = None,
    format_: Format = None,
    width: Width = None,
    verbose: Flag = False,
    json_: Json = False,
) -> int:
    """Run GPCNeT's network load test under every scheme: print its own tables, and rank the schemes.

    Random-ring latency, random-ring bandwidth with a barrier, and allreduce, first alone, then beside four congestors;
    the congestion impact factor is how many times worse they get. Runs that are done stay done. Writes gpcnet.parquet
    and gpcnet.json beside the results folders.

    Parameters
    ----------
    what
        A scenario file with traffic of kind gpcnet, or a folder with results of one; scenarios/gpcnet.toml of the
        checkout if not given.
    topology
        Another network: a TOML file whose [topology] is taken, a .topo file of htsim, a topology file of the HPCC
        simulator, what ibnetdiscover prints, or a kind with its keys, such as "fat-tree k=8". GPCNeT then runs on all
        of its hosts; schemes that do not fit it, unless asked for by name, are left out. The profile stays.
    schemes
        Only these of the file's schemes: `none,PFT`.
    quick
        Fewer rings and turns, for a first look; what is scaled is printed.
    blame
        Record the ground truth, and print under each scheme which ports were congestion roots, and who fed them:
        congestors of which kind, or tests. Costs space: see probe.budget.
    top
        With --blame, how many roots to print, and how many rows for each.
    congestors_alone
        Run no tests, only the congestors, all kinds at the same time, for 1 ms if run.until says nothing else.
    set_
        Change a key under every scheme: `--set traffic.ranks-per-host=4`. May be given more than once.
    seeds
        How many seeds: placement and rings differ between them. Prints means.
    seed
        The first seed, instead of the file's.
    jobs
        How many runs at the same time; one per core if not given.
    out
        Where results go; results/gpcnet/NAME if not given.
    plot
        Draw how many processes have which latency and bandwidth under each scheme, and the impact factors, to this
        file (.png, .pdf, .svg).
    format_
        Of the picture: png, pdf or svg; what --plot ends in if not given.
    width
        Print it: `3.33in` (or cm, mm, pt) wide, with letters of 7 to 9 points and no title.
    verbose
        Print the columns of GPCNeT's verbose build, too: minimum, maximum, the worst of each ring, 99.9 %.
    json_
        Print only JSON.
    """
    plot, paper = pictures.to_plot(plot, format_, width)
    if what is not None and what.is_dir():
        if (
            topology
            or lfts
            or delay
            or schemes
            or quick
            or congestors_alone
            or set_
            or seed is not None
            or seeds != 1
            or out
            or jobs
        ):
            raise UsageError(f"{what} is a folder of results, which are only shown; options for runs need a scenario")
        return _show(
            gpcnet_runs.of_folder(what), None, plot, paper, verbose=verbose, blame=blame, top=top, as_json=json_
        )
    asked = {"quick": quick, "alone": congestors_alone, "blame": blame}
    place = Place(topology, lfts=lfts, delay=delay)
    todo, kept, left_out = _plan(what, place, schemes, set_ or [], seeds, seed, out, asked)
    outcomes = run_missing(
        [job for by_scheme in todo.values() for job in by_scheme.values()],
        kept,
        jobs,
        quiet=json_,
        warned=True,
    )
    complete = gpcnet_runs.complete(todo, kept)
    shown: dict[str, Any] = {"verbose": verbose, "blame": blame, "top": top, "as_json": json_}
    code = _show(complete, kept.root, plot, paper, **shown) if complete else Exit.OK
    failed.raise_first(outcomes)
    if any(outcome.interrupted for outcome in outcomes):
        done = sum(map(len, complete.values()))
        every = sum(map(len, todo.values()))
        print(f"interrupted: of {every} runs {done} are shown; the same command continues", file=sys.stderr)
        return Exit.CAVEATS
    return Exit.CAVEATS if left_out else code


def _plan(
    what: Path | None,
    place: Place,
    only: str | None,
    overrides: Sequence[str],
    seeds: int,
    seed: int | None,
    out: Path | None,
    asked: Mapping[str, bool],
) -> tuple[dict[int, dict[str, Job]], RunFolders, bool]:
    """What is to be run and where its results go, checked before anything runs; and whether a scheme is left out."""
    file = what or gpcnet_runs.shipped()
    names = [name.strip() for name in only.split(",") if name.strip()] if only is not None else []
    words = [gpcnet_runs.name_of(file, place.topology), *(word for word in ("quick", "alone") if asked[word])]
    root = out or Path("results/gpcnet") / "-".join(words)
    found, notes, left_out = gpcnet_runs.found_schemes(file, place, overrides, names, root, **asked)
    for line in notes:
        print(line, file=sys.stderr)
    needed = gpcnet_runs.NEEDED_ALONE if asked["alone"] else gpcnet_runs.NEEDED
    kept = RunFolders(root, (*needed, *(NEEDED if asked["blame"] else ())))
    todo = comparison.plan(found, lists.numbers(found, seed, seeds), kept)
    if len(found) > 1:
        comparison.check_traffic(found, next(iter(todo)))
    require_folder(root, "--out")
    return todo, kept, left_out


def _show(
    runs: Mapping[str, Sequence[Results]],
    root: Path | None,
    plot: Path | None,
    paper: Paper,
    *,
    verbose: bool,
    blame: bool,
    top: int,
    as_json: bool,
) -> int:
    """Print everything, write what `root` and `plot` ask for."""
    measured = gpcnet_runs.measure(runs)
    if plot is not None and not next(iter(measured.values()))[0].tests:
        raise UsageError("--plot draws the tests, and here congestors ran alone; leave it out, or run the tests, too")
    first = next(iter(runs.values()))[0]
    profile = gpcnet_profile.lines(metrics.entry(first))
    written = gpcnet_runs.write(root, runs, measured) if root is not None else []
    if plot is not None:
        written.append(paper.draw("gpcnet_picture", runs, measured, plot))
    caveats = {name: _caveats(seeds, measured[name]) for name, seeds in runs.items()}
    where = roles.of(first)
    truths = {name: Blame(seeds[0]) for name, seeds in runs.items()} if blame else {}
    if as_json:
        rows = gpcnet_runs.rows(runs, measured)
        ranks = {name: _finite(gpcnet_tables.geometric_mean(seeds)) for name, seeds in measured.items()}
        told: dict[str, Any] = {
            "profile": profile,
            "ranks": where,
            "rows": rows,
            "geometric_mean": ranks,
            "caveats": caveats,
        }
        if blame:
            told["blame"] = {
                name: {**report.values(truth, _BIN_PS), "roles": gpcnet_blame.values(truth)}
                for name, truth in truths.items()
            }
        print(json.dumps(told, indent=2))
    else:
        console = terminal.stdout()
        console.say(gpcnet_tables.places(first.meta["scenario"].get("profile"), where), soft_wrap=True)
        for name, seeds in measured.items():
            over = f", mean of {len(seeds)} seeds" if len(seeds) > 1 else ""
            console.say(f"\n{name}{over}", style="bold")
            console.say(gpcnet_tables.text(seeds, verbose=verbose), soft_wrap=True)
            for caveat in caveats[name]:
                console.say(caveat, soft_wrap=True)
        console.print()
        for table in gpcnet_tables.ranking(measured, gpcnet_runs.baselines(runs)):
            console.print(table)
        for name, truth in truths.items():
            console.say(f"\nBlame under {name}, seed {runs[name][0].meta['seed']}", style="bold")
            for part in [*report.report(truth, top), gpcnet_blame.table(truth)]:
                console.say(part)
        console.print("What of GPCNeT this is:", style="bold")
        console.say("\n".join(f"  {line}" for line in profile), soft_wrap=True)
        for name, kept in runs.items():
            console.say(f"{name}: {kept[0].folder}", soft_wrap=True)
        if any(throttle.applies(seeds[0]) for seeds in runs.values()):
            shown = root or next(seeds[0].folder for seeds in runs.values() if throttle.applies(seeds[0]))
            console.print(f"which NICs were throttled: backwater throttle {shown}", highlight=False, soft_wrap=True)
        if written:
            console.say(f"written: {', '.join(map(str, written))}", soft_wrap=True)
    return Exit.CAVEATS if any(caveats.values()) else Exit.OK


def _caveats(runs: Sequence[Results], measured: Sequence[Measured]) -> list[str]:
    """What to know before the numbers are used; each once."""
    own = [caveat for run in runs for caveat in codes.told(run.meta)]
    if not measured[0].tests:
        # What the file says of tests has no effect, as the command was asked for.
        own = [caveat for caveat in own if caveat.code != "no-effect"]
    cut = [
        Remark("caveat", "not-over", f"not over when the run ended, and left out: {name}; see run.until")
        for one in measured
        for name in one.cut
    ]
    return codes.once(own + cut)


def _finite(value: float) -> float | None:
    return value if value < float("inf") else None
