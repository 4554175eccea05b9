"""What came out of a sweep: one row per run and traffic entry, and means over seeds with 95 % intervals.

Nothing in these tables depends on when, where or in which order the runs were done: shards that are gathered give the
same files, byte by byte, as one machine.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from rich.markup import escape
from rich.table import Table

from backwater.analysis.scheme_tests import Row
from backwater.common import atomic_files, percentiles, statistics, terminal
from backwater.common.late import pl
from backwater.common.statistics import Estimate, estimate
from backwater.common.statistics import with_interval as told
from backwater.experiments import axis_values
from backwater.experiments.executor import Job
from backwater.experiments.plan import Plan
from backwater.experiments.sweep_measures import DEFAULT, MEASURES, OF_REPEATS, TAKEN
from backwater.experiments.toml_document import shown


def of(plan: Plan, jobs: Sequence[Job], rows: Iterable[Sequence[Mapping[str, Any]]]) -> pl.DataFrame:
    """One row per run and traffic entry; `rows` are those of :func:`sweep_measures.facts`, of each job in turn.

    A run that failed has one row, without measures, whose `status` is "failed".
    """
    rows = list(rows)
    again = plan.measures == DEFAULT and any(row.get(OF_REPEATS[0]) is not None for of_run in rows for row in of_run)
    measures = (*plan.measures, *(OF_REPEATS if again else ()))
    found: list[dict[str, Any]] = []
    for job, of_complete in zip(jobs, rows, strict=True):
        known = {
            "scheme": job.scheme,
            **dict(zip(plan.keys, map(_as_number, job.values), strict=True)),
            "seed": job.seed,
        }
        of_run = of_complete or [{"status": "failed"}]
        found += [
            known
            | {"traffic": row.get("traffic")}
            | {name: row.get(name) for name in measures}
            | {name: row.get(name) for name in ("status", "caveats", "digest")}
            for row in of_run
        ]
    named = any(job.scheme for job in jobs)
    columns = [name for name in found[0] if named or name != "scheme"] if found else []
    return pl.DataFrame([_column(name, [row[name] for row in found]) for name in columns])


def _as_number(value: Any) -> Any:
    """A value of an axis: the text of a number as that number, as it would be in a file."""
    found = axis_values.quantity(value) if isinstance(value, str) else None
    return value if found is None or found.unit else found.value(found.number, whole=found.whole)


def _column(name: str, values: Sequence[Any]) -> pl.Series:
    """Numbers as numbers; what is neither number, text nor truth, and mixed columns, as they are written."""
    if name == "seed":
        return pl.Series(name, values, dtype=pl.UInt64)
    kinds = {type(value) for value in values if value is not None}
    if kinds == {int, float}:
        return pl.Series(name, [None if value is None else float(value) for value in values], dtype=pl.Float64)
    if len(kinds) > 1 or kinds & {list, dict}:
        return pl.Series(name, [value if isinstance(value, str) else shown(value, 200) for value in values])
    return pl.Series(name, values, dtype=pl.Float64 if not kinds else None)


def groups(frame: pl.DataFrame) -> list[str]:
    """The columns that tell combinations from each other."""
    return [name for name in frame.columns if name in ("scheme", "traffic") or name not in TAKEN]


def measured(frame: pl.DataFrame) -> list[str]:
    """The measures that it has."""
    return [name for name in frame.columns if name in MEASURES]


def estimates(frame: pl.DataFrame) -> list[tuple[dict[str, Any], int, dict[str, Estimate | None]]]:
    """For each combination and traffic entry: what it is, how many seeds, and each measure's mean over them.

    Runs that failed do not count. A measure that one of the seeds does not have is None: a mean over the others would
    be one over the better ones.
    """
    made = []
    keys = groups(frame)
    for group in frame.partition_by(keys, maintain_order=True):
        whole = group.filter(pl.col("status") == "complete")
        means: dict[str, Estimate | None] = {}
        for name in measured(frame):
            values = [float(value) for value in whole[name].drop_nulls()]
            means[name] = estimate(values, name) if values and len(values) == whole.height else None
        made.append((group.select(keys).row(0, named=True), whole.height, means))
    return made


def means(frame: pl.DataFrame) -> pl.DataFrame:
    """One row per combination and traffic entry: each measure's mean, and the half of its 95 % interval (``_ci95``).

    The interval is Student's t over seeds; of one seed there is none. ``_low`` and ``_high`` are its ends, as far as
    they are possible: a slowdown is at least 1.
    """
    found = estimates(frame)
    keys = groups(frame)
    columns: dict[str, pl.Series] = {
        name: pl.Series(name, [row[name] for row, _, _ in found], dtype=frame.schema[name]) for name in keys
    }
    columns["seeds"] = pl.Series("seeds", [seeds for _, seeds, _ in found], dtype=pl.Int64)
    for name in measured(frame):
        every = [measures[name] for _, _, measures in found]
        columns[f"{name}_mean"] = pl.Series([None if one is None else one.mean for one in every], dtype=pl.Float64)
        columns[f"{name}_ci95"] = pl.Series(
            [None if one is None else one.half_width for one in every], dtype=pl.Float64
        )
        ends = [None if one is None or one.half_width is None else (one.low, one.high) for one in every]
        for place, end in enumerate(("low", "high")):
            columns[f"{name}_{end}"] = pl.Series([pair and pair[place] for pair in ends], dtype=pl.Float64)
    return pl.DataFrame(columns)


def to_compare(frame: pl.DataFrame, by: str = "scheme") -> list[Row]:
    """The runs of a table as paired tests take them: by scheme, or by the values of a key."""
    keys = [name for name in groups(frame) if name not in (by, "traffic")]
    return [
        Row(_cell(row[by]), ", ".join(_cell(row[key]) for key in keys), _cell(row["traffic"]), row["seed"], row)
        for row in frame.iter_rows(named=True)
    ]


def write(frame: pl.DataFrame, folder: Path) -> list[Path]:
    """runs.csv and runs.parquet, and the same of means; each file appears whole or not at all."""
    made = []
    for name, one in (("runs", frame), ("means", means(frame))):
        made.append(atomic_files.write_asked(folder / f"{name}.csv", one.write_csv))
        made.append(atomic_files.write_asked(folder / f"{name}.parquet", one.write_parquet))
    return made


def as_json(frame: pl.DataFrame, counts: Mapping[str, int], files: Sequence[Path]) -> dict[str, Any]:
    """What ``--json`` prints: how many runs, the means over seeds, where the rest is."""
    return {**counts, "means": means(frame).to_dicts(), "files": list(map(str, files))}


def table(frame: pl.DataFrame, title: str = "Sweep") -> Table:
    """What is printed: means over seeds, with 95 % intervals."""
    keys = groups(frame)
    made = terminal.table(title, map(escape, keys), (MEASURES[name].words for name in measured(frame)))
    found = estimates(frame)
    before: list[str] = []
    for row, seeds, measures in found:
        mine = [_cell(row[key]) for key in keys]
        if before and len(keys) > 2 and mine[0] != before[0]:
            made.add_section()
        shown_ = ["" if before[: n + 1] == mine[: n + 1] else escape(text) for n, text in enumerate(mine[:-1])]
        values = [with_interval(name, measures[name]) for name in measured(frame)]
        made.add_row(*shown_, escape(mine[-1]) if seeds else "failed", *values)
        before = mine
    counts = sorted({seeds for _, seeds, _ in found if seeds})
    words = f"{counts[0]} to {counts[-1]} seeds" if len(counts) > 1 else f"{counts[0]} seeds" if counts else ""
    notes = [f"means over {words}, 95 % confidence intervals; {statistics.CUT}"] if counts and counts[-1] > 1 else []
    if any(
        seeds and measures[name] is None for _, seeds, measures in found for name in measured(frame) if "p99" in name
    ):
        few = percentiles.least(99)
        notes.append(
            f"p99: - where a run has fewer than {few} flows that finished; the measure max_slowdown has a value"
        )
    notes += [MEASURES[name].footnote for name in measured(frame) if MEASURES[name].footnote]
    made.caption = "\n".join(notes) or None
    return made


def _cell(value: object) -> str:
    return "" if value is None else f"{value:g}" if isinstance(value, float) else str(value)


def with_interval(name: str, value: Estimate | None) -> str:
    """A mean with the half of its interval, in its unit."""
    return "-" if value is None else told(value, MEASURES[name].show)
