"""GPCNeT's own tables, as those who know it expect them, and beside them the ranking of several schemes."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from rich.table import Table

from backwater.analysis import gpcnet
from backwater.analysis.gpcnet import Measured, Metrics, Phase, Test
from backwater.common import quantities, terminal
from backwater.common.statistics import estimate, with_interval

#: The width of GPCNeT's first column, of a number, and of the two factors.
_NAME, _NUMBER, _FACTORS = 31, 12, (20, 19)
_TITLES: Mapping[Phase, str] = {
    "isolated": "Isolated Network Tests",
    "congested": "Network Tests running with Congestion Tests",
}


def text(seeds: Sequence[Measured], *, verbose: bool = False) -> str:
    """The tables that GPCNeT prints, of one run or of the means over several seeds.

    `verbose` adds the columns of GPCNeT's verbose build. The congestors are those that ran beside the tests, or all
    kinds together if there are no tests.
    """
    first = seeds[0]
    parts = []
    for phase, title in _TITLES.items():
        over = [test for test in first.tests if all(test.key in one.metrics[phase] for one in seeds)]
        if over:
            rows = [(test.name, *_numbers(seeds, phase, test, verbose=verbose), test.unit) for test in over]
            parts.append(_table(title, _headings(verbose=verbose), rows))
    if first.congestors:
        rows = [_congestor(seeds, number, verbose=verbose) for number in range(len(first.congestors))]
        title = f"Congestion Tests {'running with Network Tests' if first.tests else 'alone'}"
        parts.append(_table(title, _headings(verbose=verbose), rows))
    every = [(test.name, factors(seeds, test.key)) for test in first.tests]
    shown = [(name, found) for name, found in every if found is not None]
    return "\n\n".join([*parts, *([_key_results(shown)] if shown else [])])


def places(profile: str | None, rows: Sequence[Mapping[str, Any]]) -> str:
    """What GPCNeT runs on: `rows` as :func:`backwater.analysis.roles.of` makes them. A node has one role."""
    ranks = sum(row["ranks"] for row in rows)
    nodes = {row["role"]: len(row["nodes"]) for row in rows}
    tests = nodes.pop("test", 0)
    kinds = ", ".join(f"{quantities.count(count)} {role}" for role, count in sorted(nodes.items()))
    others = sum(nodes.values())
    told = f"profile {profile}; " if profile else ""
    return (
        f"{told}{quantities.counted(ranks, 'rank')} on {quantities.counted(tests + others, 'node')}: "
        f"{quantities.count(tests)} for tests, {quantities.count(others)} for congestors"
        + (f" ({kinds})" if kinds else "")
    )


def _headings(*, verbose: bool) -> tuple[str, ...]:
    return ("Name", *(("Min", "Max", "Avg", "Avg(Worst)", "99%", "99.9%") if verbose else ("Avg", "99%")), "Units")


def _numbers(seeds: Sequence[Measured], phase: Phase, test: Test, *, verbose: bool) -> list[str]:
    names = ("minimum", "maximum", "average", "average_worst", "p99", "p999") if verbose else ("average", "p99")
    return [f"{_mean([getattr(one.metrics[phase][test.key], name) for one in seeds]):.1f}" for name in names]


def _mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values)


def _congestor(seeds: Sequence[Measured], number: int, *, verbose: bool) -> tuple[str, ...]:
    one = seeds[0].congestors[number]
    average = f"{_mean([seed.congestors[number].mib_per_s for seed in seeds]):.1f}"
    numbers = ("", "", average, "", "", "") if verbose else (average, "")
    return (one.name, *numbers, "MiB/s/rank")


def _table(title: str, headings: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    widths = [_NAME, *[_NUMBER] * (len(headings) - 1)]
    rule = _rule(widths)
    whole = len(rule)
    lines = [f"+{'-' * (whole - 2)}+", f"|{title.center(whole - 2)}|", rule, _row(headings, widths), rule]
    for row in rows:
        lines += [_row(row, widths), rule]
    return "\n".join(lines)


def _key_results(rows: Sequence[tuple[str, tuple[float, float]]]) -> str:
    widths = [_NAME, *_FACTORS]
    outer = [_NAME, sum(_FACTORS) + 3]
    rule = _rule(widths)
    whole = len(rule)
    lines = [
        f"+{'-' * (whole - 2)}+",
        f"|{'Network Tests running with Congestion Tests - Key Results'.center(whole - 2)}|",
        _rule(outer),
        _row(["Name", "Congestion Impact Factor"], outer),
        rule,
        _row(["", "Avg", "99%"], widths),
        rule,
    ]
    for name, found in rows:
        lines += [_row([name, *(f"{factor:.1f}X" for factor in found)], widths), rule]
    return "\n".join(lines)


def _rule(widths: Sequence[int]) -> str:
    return "+" + "+".join("-" * (width + 2) for width in widths) + "+"


def _row(cells: Sequence[str], widths: Sequence[int]) -> str:
    return "|" + "|".join(f" {cell[:width]:>{width}} " for cell, width in zip(cells, widths, strict=True)) + "|"


def factors(seeds: Sequence[Measured], key: str) -> tuple[float, float] | None:
    """Mean impact factors of a test over the seeds, of the average and of the 99th percentile; None without phases."""
    found = [both for one in seeds if (both := one.impacts(key)) is not None]
    if not found:
        return None
    averages, tails = zip(*found, strict=True)
    return _mean(averages), _mean(tails)


def ranking(runs: Mapping[str, Sequence[Measured]], baselines: Mapping[str, str]) -> list[Table]:
    """Schemes by their impact factors, best first, and what lies behind the factors, in absolute numbers.

    `baselines`: by scheme the one without control on the same switches, which F_C is against.
    """
    names = sorted(runs, key=lambda name: geometric_mean(runs[name]))
    seeds = len(next(iter(runs.values())))
    over = f", mean of {seeds} seeds ± 95 % confidence interval" if seeds > 1 else ""
    tested = bool(runs[names[0]][0].tests)
    found = [_impacts(runs, names, over), _absolute(runs, names, baselines, over)] if tested else []
    return [*found, *([_moved(runs, names, over)] if runs[names[0]][0].congestors else [])]


def geometric_mean(seeds: Sequence[Measured]) -> float:
    """What a scheme is ranked by: the geometric mean of its impact factors, of averages and of 99th percentiles."""
    found = [factor for test in seeds[0].tests for factor in factors(seeds, test.key) or ()]
    if not found or any(math.isnan(factor) or math.isinf(factor) for factor in found):
        return math.inf
    return math.exp(math.fsum(math.log(factor) for factor in found) / len(found))


_SHORT = {"lat": "latency", "bw": "bandwidth", "allreduce": "allreduce"}


def _impacts(runs: Mapping[str, Sequence[Measured]], names: Sequence[str], over: str) -> Table:
    tests = runs[names[0]][0].tests
    of_tests = [f"{_SHORT[test.key]} {what}" for test in tests for what in ("Avg", "99 %")]
    made = terminal.table(f"Congestion impact factors{over}", ["scheme"], [*of_tests, "geometric mean"])
    for name in names:
        cells = []
        for test in tests:
            found = [one.impacts(test.key) for one in runs[name]]
            both = [one for one in found if one is not None]
            columns = zip(*both, strict=True) if len(both) == len(found) else (None, None)
            cells += [_cell(column, lambda value: f"{value:.1f}") for column in columns]
        rank = geometric_mean(runs[name])
        made.add_row(name, *cells, "-" if math.isinf(rank) else f"{rank:.2f}")
    made.caption = "how many times worse a test is beside congestors than alone under the same scheme; 1.0: no harm"
    return made


def _absolute(
    runs: Mapping[str, Sequence[Measured]], names: Sequence[str], baselines: Mapping[str, str], over: str
) -> Table:
    tests = runs[names[0]][0].tests
    of_tests = [f"{_SHORT[test.key]} {what}, {test.unit}" for test in tests for what in ("Avg", "99 %")]
    controlled = {name: base for name, base in baselines.items() if name != base}
    with_factor = {"lat", "bw"} <= {test.key for test in tests} and bool(controlled)
    made = terminal.table(f"Beside congestors{over}", ["scheme"], of_tests + (["F_C"] if with_factor else []))
    for name in names:
        cells = []
        for test in tests:
            both = [one.metrics["congested"].get(test.key) for one in runs[name]]
            for what in ("average", "p99"):
                values = [getattr(one, what) for one in both if one is not None]
                cells.append(_cell(values if len(values) == len(both) else None, lambda value: f"{value:.1f}"))
        if with_factor:
            base = controlled.get(name)
            factors = None if base is None else control_factors(runs[base], runs[name])
            cells.append(_cell(factors, lambda value: f"{value:.2f}"))
        made.add_row(name, *cells)
    if with_factor:
        made.caption = _against(controlled)
    return made


def _against(controlled: Mapping[str, str]) -> str:
    """What F_C of each scheme is against."""
    bases = dict.fromkeys(controlled.values())
    pairs = (f"{', '.join(name for name in controlled if controlled[name] == base)}: {base}" for base in bases)
    return (
        "F_C: bandwidth over latency, Avg, as a multiple of that without control on the same switches (PFT paper, "
        f"equation 2); {'; '.join(pairs)}"
    )


def control_factors(without: Sequence[Measured], with_: Sequence[Measured]) -> list[float] | None:
    """F_C of each seed, of the averages; None if one of the two tests was not run beside congestors."""
    found = []
    for zero, one in zip(without, with_, strict=True):
        before, after = zero.metrics["congested"], one.metrics["congested"]
        if not {"lat", "bw"} <= before.keys() & after.keys():
            return None
        bandwidth, latency = after["bw"].average, after["lat"].average
        found.append(gpcnet.control_factor(bandwidth, latency, before["bw"].average, before["lat"].average))
    return found


def _moved(runs: Mapping[str, Sequence[Measured]], names: Sequence[str], over: str) -> Table:
    kinds = runs[names[0]][0].congestors
    headings = [*(one.name.partition(" (")[0] for one in kinds), "all congestors"]
    made = terminal.table(f"Goodput of the congestors{over}", ["scheme"], headings)
    for name in names:
        columns = [[one.congestors[number].bps for one in runs[name]] for number in range(len(kinds))]
        total = [math.fsum(one.bps for one in run.congestors) for run in runs[name]]
        made.add_row(name, *(_cell(column, quantities.rate) for column in [*columns, total]))
    made.caption = "what their ranks got across together, from the end of the isolated tests to the end of the run"
    return made


def _cell(values: Sequence[float] | None, show: Callable[[float], str]) -> str:
    if values is None:
        return "-"
    found = estimate(list(values), "bps")
    return show(found.mean) if found.identical else with_interval(found, show)


def rows(name: str, seed: int, measured: Measured) -> list[dict[str, object]]:
    """The same numbers for machines: one row per phase and test, with the impact factors in those of congestion."""
    found: list[dict[str, object]] = []
    for phase in gpcnet.PHASES:
        for test in measured.tests:
            one: Metrics | None = measured.metrics[phase].get(test.key)
            if one is None:
                continue
            both = measured.impacts(test.key) if phase == "congested" else None
            found.append(
                {"scheme": name, "seed": seed, "phase": phase, "test": test.name, "unit": test.unit}
                | {"min": one.minimum, "max": one.maximum, "avg": one.average, "avg_worst": one.average_worst}
                | {"p99": one.p99, "p999": one.p999, "samples": one.samples}
                | {"impact_avg": both[0] if both else None, "impact_p99": both[1] if both else None}
            )
    for kind in measured.congestors:
        empty = dict.fromkeys(("min", "max", "avg_worst", "p99", "p999", "samples", "impact_avg", "impact_p99"))
        found.append(
            {"scheme": name, "seed": seed, "phase": "congested", "test": kind.name, "unit": "MiB/s/rank"}
            | {"avg": kind.mib_per_s}
            | empty
        )
    return found
