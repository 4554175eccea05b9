"""A results folder: run.json and its Parquet tables, read lazily."""

from __future__ import annotations

import difflib
import hashlib
import json
import os
import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Self

from backwater._core import __version__
from backwater.common import atomic_files
from backwater.common.late import pl
from backwater.errors import ResultsChangedError, UsageError, reason, require_text

#: The version of results folders that this code reads.
FORMAT = 3
#: Older ones that it reads as well. In the first, caveats and notes are sentences without codes.
_SENTENCES, _OLDER = 1, (1, 2)
#: What the older ones called columns of tables, and numbers of traffic entries in run.json.
_COLUMNS = {"flows": {"throughput_bps": "goodput_bps"}}
_OF_TRAFFIC = {"mean_throughput_bps": "mean_goodput_bps"}
#: What every run.json says, and of which type it is.
_NEEDED: dict[str, type | tuple[type, ...]] = {
    "scenario": dict,
    "seed": int,
    "digest": str,
    "status": str,
    "sim_time_ps": int,
    "wall_s": (int, float),
    "packet_hops": int,
    "caveats": list,
    "totals": dict,
    "tables": dict,
}
#: What it says of a table.
_OF_TABLE: dict[str, type | tuple[type, ...]] = {"file": str, "rows": int, "bytes": int}
#: The hash of its own text, as it is with an empty one. Nothing else in it begins like this: within texts, line ends
#: are escaped.
_CHECK = re.compile(rb'^(  "check": ")([^"]*)', re.MULTILINE)
#: What tells a file from every other: device, inode, size, time of its last change.
_Identity = tuple[int, int, int, int]


class _Forks:
    """Whether this process was forked from one in which polars was at work.

    Its threads do not come along, and polars would wait for them for ever.
    """

    hangs = False

    @classmethod
    def before(cls) -> None:
        """Look for polars' threads, in the process that forks."""
        try:
            tasks = [*Path("/proc/self/task").iterdir()]
        except OSError:  # no Linux
            return
        cls.hangs = any(_name_of(task).startswith("polars") for task in tasks) or (cls.hangs and os.getpid() != _HOME)

    @classmethod
    def require_none(cls) -> None:
        """Raise UsageError in a process that could not read a table."""
        if cls.hangs and os.getpid() != _HOME:
            raise UsageError(
                "tables cannot be read in this process: it was forked from one that had read tables with polars, whose "
                'threads do not come along; use multiprocessing.get_context("spawn"), or "forkserver"'
            )


def _name_of(task: Path) -> str:
    try:
        return (task / "comm").read_text(errors="replace")
    except OSError:  # it just ended
        return ""


#: The process that imported this.
_HOME = os.getpid()
os.register_at_fork(before=_Forks.before)


def _why_none(folder: Path) -> str:
    """Why there is no run.json, and where one may be."""
    if left := _last_written(folder):
        return (
            f"the run of {folder} is still under way, or was killed: its tables have no end and it has no run.json "
            f"(last written {left}). If it was killed, run the scenario again; Ctrl-C and SIGTERM keep what there is"
        )
    if not folder.exists():
        near = below(folder.parent, deep=False) if folder.parent.is_dir() else []
        alike = difflib.get_close_matches(folder.name, [place.name for place in near], 1, 0.6)
        if alike:
            return f"there is no folder {folder}; is it {folder.parent / alike[0]}?"
        if not near:
            return f"there is no folder {folder}; `backwater run` prints where it writes its results"
        return f"there is no folder {folder}; of runs there are {_some(near)}"
    # Commands that make several runs have them in a folder of their own.
    if within := below(folder, deep=False) or below(folder / "runs", deep=False):
        return f"{folder} is no run itself; name one of those in it: {_some(within)}"
    return f"{folder} is not a results folder: it has no run.json"


def _last_written(folder: Path) -> str:
    """When a run was last heard of that writes, or wrote, for a folder; empty if there is none."""
    parts = [*atomic_files.under_way(folder), *folder.glob("*.parquet.part")]
    try:
        last = max((one.stat().st_mtime for part in parts for one in (part, *part.glob("*"))), default=None)
    except OSError:  # it is over by now
        return ""
    return "" if last is None else time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(last))


def below(folder: Path, *, deep: bool = True) -> list[Path]:
    """The results folders in a folder, without those of runs under way; `deep`: and at it, and anywhere below."""
    files = folder.rglob("run.json") if deep else folder.glob("*/run.json")
    return sorted(file.parent for file in files if not atomic_files.is_under_way(file.relative_to(folder)))


def _only_run(folder: Path) -> Path:
    """The one run in a folder that is none itself, as `run --out` makes it; else the folder."""
    within = [] if (folder / "run.json").exists() else below(folder, deep=False)
    return within[0] if len(within) == 1 else folder


def _read(file: Path) -> tuple[dict[str, Any], _Identity]:
    """What a run.json says, if it is what a run wrote; raises UsageError for anything else."""
    try:
        with file.open("rb") as opened:
            raw, identity = opened.read(), _identity(os.fstat(opened.fileno()))
    except NotADirectoryError:
        raise UsageError(f"{file.parent} is a file; give the results folder, such as results/incast-s1") from None
    except FileNotFoundError:
        raise UsageError(_why_none(file.parent)) from None
    except OSError as error:
        raise UsageError(f"{file} cannot be read ({reason(error)})") from None
    try:
        meta = json.loads(raw.decode("utf-8"))
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{file} is damaged ({error}); run the scenario again") from None
    missing = [key for key in _NEEDED if key not in meta] if isinstance(meta, dict) else [*_NEEDED]
    if missing:
        raise UsageError(f"{file} is not of a run: it lacks {', '.join(missing)}; run the scenario again")
    if meta.get("format") not in (FORMAT, *_OLDER):
        version = meta.get("version", "?")
        raise UsageError(
            f"{file.parent} is of format {meta.get('format')} (Backwater {version}), not {FORMAT}: run the "
            f"scenario again with this version, {__version__}"
        )
    if wrong := _wrong(meta, raw):
        raise UsageError(f"{file} is damaged ({wrong}); run the scenario again")
    if meta["format"] == _SENTENCES:
        for kind in ("caveats", "notes"):
            meta[kind] = [_remark(str(message)) for message in meta.get(kind, ())]
    if meta["format"] in _OLDER and "traffic" in meta:
        entries = meta["traffic"]
        meta["traffic"] = [{_OF_TRAFFIC.get(name, name): entry[name] for name in entry} for entry in entries]
    return meta, identity


def _remark(message: str) -> dict[str, str | None]:
    """A sentence of an older run.json; the budget's begin with the table that they are about."""
    table, colon, _ = message.partition(": ")
    return {"code": None, "place": table if colon and table.isidentifier() else "", "message": message}


def _wrong(meta: dict[str, Any], raw: bytes) -> str:
    """Why a run.json is not what a run wrote, as far as that can be told; one that is edited is not."""
    if "check" in meta and meta["check"] != hashlib.sha256(_CHECK.sub(rb"\1", raw, count=1)).hexdigest():
        return "its check does not fit its text: it was changed after the run"
    for key, kind in _NEEDED.items():
        if not _is(meta[key], kind):
            return f"{key} is {meta[key]!r}"
    for name, table in meta["tables"].items():
        for key, kind in _OF_TABLE.items():
            if not isinstance(table, dict) or not _is(table.get(key), kind):
                return f"tables.{name} is {table!r}"
        if Path(table["file"]).name != table["file"]:
            return f"tables.{name}.file is {table['file']!r}"
    return ""


def _is(value: object, kind: type | tuple[type, ...]) -> bool:
    return isinstance(value, kind) and not isinstance(value, bool)


def _identity(status: os.stat_result) -> _Identity:
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns


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
    "dependencies": "probe.dependencies=true",
    "delivered": "probe.sample=10us --set probe.delivered=true",
    "isolation": "probe.isolation=true",
    "windows": "probe.isolation=true (with switch.isolation.kind=floodgate)",
    "frames": "'probe.frames=[\"PORT\"]' (such as leaf0->h0)",
    "throttle_states": "probe.throttle-states=true",
}


class Results:
    """One finished (or interrupted) run, and no other: if the folder holds another run by now, reading says so.

    `meta` is run.json: version, command, resolved scenario, seed, digest, caveats, totals. Every table is a lazy polars
    frame; `backwater describe FOLDER` lists the columns with their units.
    """

    def __init__(self, folder: str | Path) -> None:
        self.folder = _only_run(Path(folder))
        require_text(self.folder.absolute())
        self.meta, self._identity = _read(self.folder / "run.json")
        #: Tables that were found to be those of the run, by what their files are known by.
        self._sound: dict[str, _Identity] = {}

    def __repr__(self) -> str:
        return f"Results({str(self.folder)!r}, {self.meta.get('status')}, digest {self.digest})"

    @classmethod
    def find(cls, folder: str | Path) -> Iterator[Self]:
        """Every results folder at or below `folder`, in the order of their names."""
        for place in below(Path(folder)):
            yield cls(place)

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
        if name not in self.tables:
            known = ", ".join(self.tables) or "none"
            how = f"--set {RECORDED_BY[name]} records it" if name in RECORDED_BY else "see [probe] in the scenario"
            raise UsageError(f"{self.folder} has no table {name!r} (it has {known}); {how}")
        _Forks.require_none()
        self._require_sound(name)
        # A lazy frame reads when it is asked: until then another run may have come into the folder.
        table = pl.scan_parquet(self.file(name), glob=False).map_batches(
            lambda read: self._as_read(name, read),
            predicate_pushdown=True,
            projection_pushdown=True,
            slice_pushdown=True,
        )
        older = self.meta["format"] in _OLDER and name in _COLUMNS
        return table.rename(_COLUMNS[name], strict=False) if older else table

    def _as_read(self, name: str, read: pl.DataFrame) -> pl.DataFrame:
        self._require_sound(name)
        return read

    def _require_same(self) -> None:
        """Raise ResultsChangedError unless the folder holds the run that was opened, or the same run done again."""
        file = self.folder / "run.json"
        try:
            if _identity(file.stat()) == self._identity:
                return
            found, identity = _read(file)
        except (OSError, UsageError) as error:
            told = _why_none(self.folder) if isinstance(error, FileNotFoundError) else reason(error)
            raise ResultsChangedError(
                f"the run that was read from {self.folder}, digest {self.digest}, is not there any more: {told}"
            ) from None
        if any(found[key] != self.meta[key] for key in ("digest", "seed", "status", "tables")):
            raise ResultsChangedError(
                f"{self.folder} holds another run by now: digest {self.digest} was opened, digest {found['digest']} is "
                "there. Another run was given the same folder; open it again to read that one, and give each run an "
                "out= (--out) of its own to keep both"
            )
        self._identity = identity

    def _require_sound(self, name: str) -> None:
        """Raise UsageError unless a table is what the run wrote; it is hashed when it is first asked for."""
        self._require_same()
        file, table = self.file(name), self.tables[name]
        try:
            identity = _identity(file.stat())
            if self._sound.get(name) == identity:
                return
            fits = "sha256" not in table or table["sha256"] == atomic_files.hash_of(file)
        except OSError as error:
            raise UsageError(f"{file} cannot be read ({reason(error)})") from None
        if not fits:
            # Another run may have come meanwhile.
            self._require_same()
            raise UsageError(f"{file} is damaged (it is not what the run wrote); run the scenario again")
        self._sound[name] = identity

    def file(self, name: str) -> Path:
        """Where a table is."""
        file = self.folder / str(self.tables[name]["file"])
        if not file.is_file():
            self._require_same()
            raise UsageError(f"{file} is missing, though run.json lists it; run the scenario again")
        return file

    def check(self, name: str) -> None:
        """Raise UsageError unless a table is there, and is what the run wrote."""
        self._require_sound(name)
        if "sha256" in self.tables[name]:
            return
        file, rows = self.file(name), int(self.tables[name]["rows"])
        try:
            # Counting nulls reads every page.
            found = pl.scan_parquet(file, glob=False).select(pl.all().null_count(), **{"": pl.len()})
            count = found.collect()[""].item()
        except pl.exceptions.PolarsError as error:
            raise UsageError(f"{file} is damaged ({str(error).splitlines()[0]}); run the scenario again") from None
        if count != rows:
            raise UsageError(f"{file} has {count} rows, not {rows} as run.json says; run the scenario again")

    def has(self, name: str) -> bool:
        """Whether the run wrote this table."""
        return name in self.tables

    def port(self, name: str) -> str:
        """The label of an egress port, such as ``L0->T2``, from an alias such as ``P2``."""
        return str(self.meta.get("aliases", {}).get(name, name))

    def __getitem__(self, name: str) -> StoredTable:
        """One table, for pyarrow, pandas and DuckDB to read by themselves: ``pyarrow.table(results["flows"])``."""
        return StoredTable(self, name)

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
    def blocked(self) -> pl.LazyFrame:
        """Head-of-line blocking: one row per egress port of a switch and priority, with queueing = input."""
        return self.table("blocked")

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
        """One row per packet that was dropped, and why."""
        return self.table("drops")

    @property
    def drop_counts(self) -> pl.LazyFrame:
        """Packets dropped by port, priority and reason: totals over the run, of a run that may lose packets."""
        return self.table("drop_counts")

    @property
    def faults(self) -> pl.LazyFrame:
        """One row per event of a fault, and one per fault and port that lost packets by it."""
        return self.table("faults")

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
    def dependencies(self) -> pl.LazyFrame:
        """What each step of an application waited for, and which messages it started."""
        return self.table("dependencies")

    @property
    def job_steps(self) -> pl.LazyFrame:
        """One row per rank, iteration and step of a job: when the rank began it and was done with it."""
        return self.table("job_steps")

    @property
    def job_messages(self) -> pl.LazyFrame:
        """One row per message of the steps of a job: whose flow it is, and which step it belongs to."""
        return self.table("job_messages")

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
    def windows(self) -> pl.LazyFrame:
        """One row per change of the window of a destination at a switch (Floodgate)."""
        return self.table("windows")

    @property
    def packets(self) -> pl.LazyFrame:
        """One row per packet of the entries in `probe.packets`, from the tables `injected` and `arrived`.

        Columns ``flow``, ``seq``, ``traffic``, ``made_ps`` (by the application; null if not known), ``sent_ps`` (the
        first bit on the source's wire), ``arrived_ps`` (the last bit at the destination) and ``ce``; the last two are
        null for a packet that had not arrived when the run ended.
        """
        sent = self.table("injected").select("flow", "seq", "traffic", "made_ps", sent_ps="time_ps")
        arrived = self.table("arrived").select("flow", "seq", "ce", arrived_ps=pl.col("time_ps"))
        joined = sent.join(arrived, on=["flow", "seq"], how="left", maintain_order="left")
        return joined.select("flow", "seq", "traffic", "made_ps", "sent_ps", "arrived_ps", "ce")
