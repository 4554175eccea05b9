"""A results folder: run.json and its Parquet tables, read lazily."""

from __future__ import annotations

import difflib
import json
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from backwater._core import __version__
from backwater.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator

    import polars as pl
    from matplotlib.figure import Figure

    from backwater.blame import Blame
    from backwater.view import View


#: The version of results folders that this code reads.
FORMAT = 1
#: What every run.json says.
_NEEDED = (
    "scenario",
    "seed",
    "digest",
    "status",
    "sim_time_ps",
    "wall_s",
    "packet_hops",
    "caveats",
    "totals",
    "tables",
)


def _why_none(folder: Path) -> str:
    """Why there is no run.json, and where one may be."""
    if not folder.exists():
        near = sorted(file.parent for file in folder.parent.glob("*/run.json")) if folder.parent.is_dir() else []
        alike = difflib.get_close_matches(folder.name, [place.name for place in near], 1, 0.6)
        if alike:
            return f"there is no folder {folder}; is it {folder.parent / alike[0]}?"
        if not near:
            return f"there is no folder {folder}; `backwater run` prints where it writes its results"
        return f"there is no folder {folder}; of runs there are {_some(near)}"
    if parts := list(folder.glob("*.parquet.part")):
        last = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(max(part.stat().st_mtime for part in parts)))
        return (
            f"the run of {folder} is still under way, or was killed: its tables have no end and it has no run.json "
            f"(last written {last}). If it was killed, run the scenario again; Ctrl-C and SIGTERM keep what there is"
        )
    within = sorted(file.parent for file in folder.glob("*/run.json"))
    if within:
        return f"{folder} is no run itself; name one of those in it: {_some(within)}"
    return f"{folder} is not a results folder: it has no run.json"


def _some(places: list[Path]) -> str:
    more = f" and {len(places) - 3} more" if len(places) > 3 else ""
    return ", ".join(map(str, places[:3])) + more


class StoredTable:
    """One table of a run, read when it is used; `__arrow_c_stream__` gives it to any library that knows Arrow."""

    def __init__(self, results: Results, name: str) -> None:
        self._frame = results.table(name)
        self.name = name
        self.file = results.file(name)

    def __repr__(self) -> str:
        return f"StoredTable({self.name!r}, {str(self.file)!r})"

    def lazy(self) -> pl.LazyFrame:
        """As a lazy polars frame."""
        return self._frame

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return self._frame.collect().__arrow_c_stream__(requested_schema)


#: What records a table that a run lacks, as it is written after ``--set``.
RECORDED_BY = {
    "pauses": "probe.pauses=true",
    "states": "probe.states=true",
    "marks": "probe.marks=true",
    "drops": "probe.drops=true",
    "samples": "probe.sample=10us",
    "rates": "probe.sample=10us --set 'probe.rates=[\"TRAFFIC\"]' (the name of a traffic entry)",
    "holds": "probe.blame=true",
    "crowds": "probe.blame=true",
    "waits": "probe.blame=true",
    "delivered": "probe.sample=10us --set probe.delivered=true",
    "isolation": "probe.isolation=true",
    "frames": "'probe.frames=[\"PORT\"]' (such as leaf0->h0)",
    "throttle_states": "probe.throttle-states=true",
}


class Results:
    """One finished (or interrupted) run.

    `meta` is run.json: version, command, resolved scenario, seed, digest, caveats, totals. Every table is a lazy polars
    frame; `backwater describe FOLDER` lists the columns with their units.
    """

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)
        file = self.folder / "run.json"
        try:
            self.meta: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
        except NotADirectoryError:
            raise UsageError(f"{self.folder} is a file; give the results folder, such as results/incast-s1") from None
        except FileNotFoundError:
            raise UsageError(_why_none(self.folder)) from None
        except (json.JSONDecodeError, UnicodeDecodeError) as error:
            raise UsageError(f"{file} is damaged ({error}); run the scenario again") from None
        missing = [key for key in _NEEDED if key not in self.meta] if isinstance(self.meta, dict) else _NEEDED
        if missing:
            raise UsageError(f"{file} is not of a run: it lacks {', '.join(missing)}; run the scenario again")
        if self.meta.get("format") != FORMAT:
            version = self.meta.get("version", "?")
            raise UsageError(
                f"{self.folder} is of format {self.meta.get('format')} (Backwater {version}), not {FORMAT}: run the "
                f"scenario again with this version, {__version__}"
            )

    def __repr__(self) -> str:
        return f"Results({str(self.folder)!r}, {self.meta.get('status')}, digest {self.digest})"

    @classmethod
    def find(cls, folder: str | Path) -> Iterator[Results]:
        """Every results folder at or below `folder`, in the order of their names."""
        for file in sorted(Path(folder).rglob("run.json")):
            yield cls(file.parent)

    @property
    def digest(self) -> str:
        """The trajectory digest: equal digests mean that the same things happened at every node."""
        return str(self.meta["digest"])

    @property
    def complete(self) -> bool:
        """Whether the run reached its end; an interrupted one keeps what it had."""
        return bool(self.meta["status"] == "complete")

    @property
    def tables(self) -> dict[str, dict[str, Any]]:
        """The tables that this run wrote: file, rows, bytes."""
        return dict(self.meta["tables"])

    def table(self, name: str) -> pl.LazyFrame:
        """One table by name."""
        import polars as pl

        if name not in self.tables:
            known = ", ".join(self.tables) or "none"
            how = f"--set {RECORDED_BY[name]} records it" if name in RECORDED_BY else "see [probe] in the scenario"
            raise UsageError(f"{self.folder} has no table {name!r} (it has {known}); {how}")
        return pl.scan_parquet(self.file(name))

    def file(self, name: str) -> Path:
        """Where a table is."""
        file = self.folder / str(self.tables[name]["file"])
        if not file.is_file():
            raise UsageError(f"{file} is missing, though run.json lists it; run the scenario again")
        return file

    def check(self, name: str) -> None:
        """Raise UsageError unless a table is there, can be read, and has the rows that run.json says."""
        import polars as pl

        file, rows = self.file(name), int(self.tables[name]["rows"])
        try:
            # Counting nulls reads every page.
            found = pl.scan_parquet(file).select(pl.all().null_count(), **{"": pl.len()}).collect()[""].item()
        except pl.exceptions.PolarsError as error:
            raise UsageError(f"{file} is damaged ({str(error).splitlines()[0]}); run the scenario again") from None
        if found != rows:
            raise UsageError(f"{file} has {found} rows, not {rows} as run.json says; run the scenario again")

    def has(self, name: str) -> bool:
        """Whether the run wrote this table."""
        return name in self.tables

    def port(self, name: str) -> str:
        """The label of an egress port, such as ``L0->T2``, from an alias such as ``P2``."""
        return str(self.meta.get("aliases", {}).get(name, name))

    def view(self, beside: Results | None = None) -> View:
        """The page that shows this run, with another `beside` it if given; shows itself in a notebook."""
        from backwater.view import View

        return View([self] if beside is None else [self, beside])

    def __getitem__(self, name: str) -> StoredTable:
        """One table, for pyarrow, pandas and DuckDB to read by themselves: ``pyarrow.table(results["flows"])``."""
        return StoredTable(self, name)

    @property
    def summary(self) -> pl.DataFrame:
        """One row per traffic entry: flows, packets, marks, throughput, FCT, slowdown."""
        from backwater import measures

        return measures.by_traffic(self)

    def blame(self) -> Blame:
        """Who held whom back: roots, branches, culprits, victims; needs `probe.blame` in the scenario."""
        from backwater.blame import Blame

        return Blame(self)

    def plot(self, kind: str | None = None) -> Figure:
        """A matplotlib figure: ``"queues"`` or ``"rates"`` over time (`probe.sample`), or ``"slowdown"`` of the flows.

        By default queues where some are sampled, else slowdown.
        """
        from backwater import shown

        return shown.plot(self, kind)

    def _repr_html_(self) -> str:
        from backwater import shown

        return shown.html(self)

    @property
    def flows(self) -> pl.LazyFrame:
        """One row per flow: what became of it."""
        return self.table("flows")

    @property
    def ports(self) -> pl.LazyFrame:
        """One row per egress port and priority: totals over the run."""
        return self.table("ports")

    @property
    def marks(self) -> pl.LazyFrame:
        """One row per mark that a detector set."""
        return self.table("marks")

    @property
    def pauses(self) -> pl.LazyFrame:
        """One row per closing or opening of a gate, by PFC or for want of credits."""
        return self.table("pauses")

    @property
    def states(self) -> pl.LazyFrame:
        """One row per change of a detector's verdict."""
        return self.table("states")

    @property
    def samples(self) -> pl.LazyFrame:
        """Egress queues at the sampling instants."""
        return self.table("samples")

    @property
    def rates(self) -> pl.LazyFrame:
        """The rates that reaction points allow, at the sampling instants."""
        return self.table("rates")

    @property
    def holds(self) -> pl.LazyFrame:
        """What each hold was for."""
        return self.table("holds")

    @property
    def crowds(self) -> pl.LazyFrame:
        """Which flows left long queues."""
        return self.table("crowds")

    @property
    def waits(self) -> pl.LazyFrame:
        """Where followed packets waited."""
        return self.table("waits")

    @property
    def delivered(self) -> pl.LazyFrame:
        """What each host got of each traffic entry, by sampling period."""
        return self.table("delivered")

    @property
    def isolation(self) -> pl.LazyFrame:
        """What happened to the entries of congested-flow tables."""
        return self.table("isolation")

    @property
    def switches(self) -> pl.LazyFrame:
        """One row per switch with combined queueing: totals over the run."""
        return self.table("switches")

    @property
    def puts(self) -> pl.LazyFrame:
        """One row per event of the PUT streams of the entries in `probe.puts`."""
        return self.table("puts")

    @property
    def streams(self) -> pl.LazyFrame:
        """What each end of each PUT stream did, by sampling period."""
        return self.table("streams")

    @property
    def endpoints(self) -> pl.LazyFrame:
        """Receive queues of hosts, by sampling period."""
        return self.table("endpoints")

    @property
    def drops(self) -> pl.LazyFrame:
        """One row per packet that a switch dropped."""
        return self.table("drops")

    @property
    def frames(self) -> pl.LazyFrame:
        """One row per frame that left an egress port in `probe.frames`."""
        return self.table("frames")

    @property
    def timings(self) -> pl.LazyFrame:
        """One row per reading of a stopwatch by a rank of a program."""
        return self.table("timings")

    @property
    def collectives(self) -> pl.LazyFrame:
        """One row per iteration of a collective operation: when it began and ended."""
        return self.table("collectives")

    @property
    def ranks(self) -> pl.LazyFrame:
        """One row per rank of a program: what became of it."""
        return self.table("ranks")

    @property
    def throttle(self) -> pl.LazyFrame:
        """What the throttle of each NIC did, by sampling period."""
        return self.table("throttle")

    @property
    def throttle_states(self) -> pl.LazyFrame:
        """One row per change of the state of a NIC's throttle."""
        return self.table("throttle_states")

    @property
    def packets(self) -> pl.LazyFrame:
        """One row per packet of the entries in `probe.packets`, from the tables `injected` and `arrived`.

        Columns ``flow``, ``seq``, ``traffic``, ``made_ps`` (by the application; null if not known), ``sent_ps`` (the
        first bit on the source's wire), ``arrived_ps`` (the last bit at the destination) and ``ce``; the last two are
        null for a packet that had not arrived when the run ended.
        """
        import polars as pl

        sent = self.table("injected").select("flow", "seq", "traffic", "made_ps", sent_ps="time_ps")
        arrived = self.table("arrived").select("flow", "seq", "ce", arrived_ps=pl.col("time_ps"))
        joined = sent.join(arrived, on=["flow", "seq"], how="left", maintain_order="left")
        return joined.select("flow", "seq", "traffic", "made_ps", "sent_ps", "arrived_ps", "ce")
