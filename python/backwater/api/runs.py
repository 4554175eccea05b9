"""Several runs of one experiment side by side; means over seeds with their confidence intervals."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, overload

from backwater.analysis import pictures
from backwater.api import notebook
from backwater.api.results import Results
from backwater.common.late import pl
from backwater.common.statistics import estimate
from backwater.errors import UsageError

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class Runs:
    """The results of several runs, in the order of the sweeps and then of the seeds.

    A table is that of all runs, lazily, with ``seed`` and a column for each swept key. The column has the key's last
    word where that is clear, such as ``load``. It can be iterated and indexed; `pick` takes out some of them.
    """

    def __init__(self, results: Sequence[Results], keys: Sequence[Mapping[str, Any]] = ()) -> None:
        if not results:
            raise UsageError("there are no runs")
        self.results = tuple(results)
        self.keys = tuple(dict(one) for one in keys) or tuple({} for _ in results)
        self._names = _short_names(list(self.keys[0]))

    def __len__(self) -> int:
        return len(self.results)

    def __iter__(self) -> Iterator[Results]:
        return iter(self.results)

    @overload
    def __getitem__(self, index: int) -> Results: ...
    @overload
    def __getitem__(self, index: slice) -> Runs: ...
    def __getitem__(self, index: int | slice) -> Results | Runs:
        if isinstance(index, slice):
            return Runs(self.results[index], self.keys[index])
        return self.results[index]

    def __repr__(self) -> str:
        over = "; ".join(
            f"{name} = {', '.join(dict.fromkeys(str(one[key]) for one in self.keys))}"
            for key, name in self._names.items()
        )
        seeds = len({run.meta["seed"] for run in self.results})
        return f"Runs({len(self)} runs{'; ' + over if over else ''}; {seeds} seed{'' if seeds == 1 else 's'})"

    def pick(self, **values: Any) -> Runs:
        """Those with these values of swept keys, or this ``seed``: ``runs.pick(load=0.6)``."""
        kept = [
            (run, key)
            for run, key, labels in zip(self.results, self.keys, self.labels, strict=True)
            if all(labels.get(name, _NOTHING) == value for name, value in values.items())
        ]
        if not kept:
            known = {name: list(dict.fromkeys(labels[name] for labels in self.labels)) for name in self.labels[0]}
            raise UsageError(f"no run has {values}; there are {known}")
        return Runs([run for run, _ in kept], [key for _, key in kept])

    @property
    def labels(self) -> list[dict[str, Any]]:
        """For each run its values of the swept keys, and its seed."""
        return [
            {**{name: key[long] for long, name in self._names.items()}, "seed": run.meta["seed"]}
            for run, key in zip(self.results, self.keys, strict=True)
        ]

    def table(self, name: str) -> pl.LazyFrame:
        """One table of all runs."""
        frames = [
            run.table(name).with_columns(**{key: pl.lit(value) for key, value in labels.items()})
            for run, labels in zip(self.results, self.labels, strict=True)
        ]
        return pl.concat(frames, how="vertical_relaxed")

    @property
    def flows(self) -> pl.LazyFrame:
        """One row per flow of every run."""
        return self.table("flows")

    @property
    def ports(self) -> pl.LazyFrame:
        """One row per egress port and priority of every run."""
        return self.table("ports")

    @property
    def summary(self) -> pl.DataFrame:
        """One row per run and traffic entry: flows, marks, goodput, FCT, slowdown."""
        frames = [
            run.summary.select(*(pl.lit(value).alias(key) for key, value in labels.items()), pl.all())
            for run, labels in zip(self.results, self.labels, strict=True)
        ]
        return pl.concat(frames, how="diagonal_relaxed")

    @property
    def digests(self) -> list[str]:
        """The trajectory digest of each run."""
        return [run.digest for run in self.results]

    def plot(self, *, width: str | float | None = None) -> Figure:
        """The slowdown of the flows of each combination, over all seeds, as a cumulative share.

        `width` as of :meth:`Results.plot`.
        """
        with pictures.asked(None, width).printed():
            figure: Figure = pictures.load("run_picture").slowdowns(self._groups())
            return figure

    def _groups(self) -> dict[str, list[Results]]:
        groups: dict[str, list[Results]] = {}
        for run, labels in zip(self.results, self.labels, strict=True):
            name = ", ".join(f"{key} {value}" for key, value in labels.items() if key != "seed") or "all runs"
            groups.setdefault(name, []).append(run)
        return groups

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """The flows of all runs, for pyarrow, pandas, DuckDB."""
        return self.flows.collect().__arrow_c_stream__(requested_schema)

    def _repr_html_(self) -> str:
        return notebook.html_of_runs(repr(self), self.summary)


_NOTHING = object()


def _short_names(keys: list[str]) -> dict[str, str]:
    """The last word of each key, or the whole where two would be alike or a column of the tables is called so."""
    short = [key.rpartition(".")[2].replace("-", "_") for key in keys]
    taken = {"seed", "flow", "traffic", "src", "dst", "priority", "size", "start", "packets"}
    return {
        key: name if short.count(name) == 1 and name not in taken else key
        for key, name in zip(keys, short, strict=True)
    }


def ci(column: str, q: float | None = None, *, seed: str = "seed") -> pl.Expr:
    """Mean over seeds of a column's mean, or of its `q`-quantile, with the 95 % confidence interval (Student's t).

    For `Runs`: ``runs.flows.group_by("load").agg(bw.ci("slowdown", q=0.99)).unnest("slowdown")`` gives ``mean``,
    ``low``, ``high`` and ``seeds``. First each seed is summed up, then the seeds: they are what is independent. With
    one seed, `low` and `high` are null. Nulls (flows that did not finish) do not count. The quantile is the nearest
    rank.
    """
    if q is not None and not 0 <= q <= 1:
        raise UsageError(f"ci: q = {q} is no quantile; give a number from 0 to 1, such as 0.99")
    fields = {"mean": pl.Float64, "low": pl.Float64, "high": pl.Float64, "seeds": pl.Int64}

    def estimated(columns: Sequence[pl.Series]) -> pl.Series:
        values, seeds = columns
        frame = pl.DataFrame({"value": values.cast(pl.Float64), "seed": seeds}).drop_nulls()
        value = pl.col("value").mean() if q is None else pl.col("value").quantile(q, interpolation="nearest")
        found = frame.group_by("seed").agg(value).get_column("value").sort().to_list()
        if not found:
            return pl.Series([dict.fromkeys(fields) | {"seeds": 0}], dtype=pl.Struct(fields))
        made = estimate(found, column if "slowdown" in column else None)
        low, high = (None, None) if made.half_width is None else (made.low, made.high)
        return pl.Series([{"mean": made.mean, "low": low, "high": high, "seeds": len(found)}], dtype=pl.Struct(fields))

    return pl.map_groups([column, seed], estimated, return_dtype=pl.Struct(fields), returns_scalar=True).alias(column)
