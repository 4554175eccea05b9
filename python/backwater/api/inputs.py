"""What an experiment holds that is no text: graphs as topologies, tables of flows as files, functions by name."""

from __future__ import annotations

import hashlib
import shutil
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from backwater import extras
from backwater.common.late import pl
from backwater.errors import UsageError
from backwater.extend.functions import UserFunction
from backwater.extend.loading import register
from backwater.scenario.toml_writer import value_text

#: What a table of flows needs, and the priority that it may have besides.
COLUMNS = ("src", "dst", "size_bytes", "start_ps")


class Inputs:
    """What an experiment holds that is no text: each is replaced by what a scenario can say."""

    def __init__(self) -> None:
        #: By the file that the scenario names: its text, and the traffic entry that names it.
        self.files: dict[str, tuple[str, str]] = {}
        self._hosts: list[str] = []

    def replaced(self, tables: Mapping[str, Any]) -> dict[str, Any]:
        """A mapping of a scenario's tables, with graphs, frames and functions replaced."""
        # The topology first: flows may name its hosts.
        order = sorted(tables, key=lambda name: name != "topology")
        made = {name: self.replaced_at("", name, tables[name]) for name in order}
        return {name: made[name] for name in tables}

    def replaced_at(self, table: str, key: str, value: Any) -> Any:
        """One value for a key of a table."""
        if isinstance(value, UserFunction):
            return register(value)
        if key == "topology" and not isinstance(value, Mapping) and hasattr(value, "nodes"):
            return self._graph(value)
        if key == "traffic" and not isinstance(value, list | tuple):
            return [self._entry({"name": "flows", "flows": value})]
        if key == "traffic":
            return [self._entry(entry) for entry in value]
        if isinstance(value, Mapping):
            path = f"{table}.{key}" if table else key
            return {name: self.replaced_at(path, name, one) for name, one in value.items()}
        return value

    def _entry(self, entry: Any) -> dict[str, Any]:
        if not isinstance(entry, Mapping):
            raise UsageError(
                f"traffic: {type(entry).__name__} is no entry; give mappings, or a table with {', '.join(COLUMNS)}"
            )
        made = {name: self.replaced_at("traffic", name, value) for name, value in entry.items() if name != "flows"}
        if isinstance(entry.get("flows"), str | int | None):
            return dict(made) if "flows" not in entry else {**made, "flows": entry["flows"]}
        name = str(entry.get("name", "flows"))
        text = flow_file(_frame(entry["flows"], name), self._hosts, name)
        file = f"inputs/{name}-{hashlib.sha256(text.encode()).hexdigest()[:8]}.txt"
        self.files[file] = (text, name)
        return {**made, "name": name, "kind": "hpcc-flows", "file": file}

    def _graph(self, graph: Any) -> dict[str, Any]:
        made = topology(graph)
        self._hosts = made["hosts"]
        return made

    @contextmanager
    def written(self) -> Iterator[tuple[str, ...]]:
        """Writes the files for as long as a run takes; what to override so that it finds them."""
        if not self.files:
            yield ()
            return
        folder = Path(tempfile.mkdtemp(prefix="backwater-inputs-"))
        try:
            made = []
            for file, (text, entry) in self.files.items():
                path = folder / Path(file).name
                path.write_text(text, encoding="utf-8")
                made.append(f"traffic.{entry}.file={value_text(str(path))}")
            yield tuple(made)
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def keep(self, folder: Path) -> None:
        """Puts the files beside the results, where `scenario_text` of run.json looks for them."""
        for file, (text, _) in self.files.items():
            place = folder / file
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(text, encoding="utf-8")


def _frame(table: Any, name: str) -> pl.DataFrame:
    """A table of flows as polars: of polars, of pandas, of anything with Arrow's C stream, or of columns."""
    try:
        if isinstance(table, pl.LazyFrame):
            frame = table.collect()
        elif isinstance(table, pl.DataFrame):
            frame = table
        elif hasattr(table, "__arrow_c_stream__") or isinstance(table, Mapping):
            frame = pl.DataFrame(table)
        else:
            raise UsageError(f"traffic.{name}: {type(table).__name__} is no table; give one of polars, pandas or Arrow")
    except ImportError as error:  # pandas speaks Arrow by pyarrow
        raise UsageError(f"traffic.{name}: the table cannot be read: {error}; {extras.install('pyarrow')}") from None
    except (pl.exceptions.PolarsError, TypeError, ValueError) as error:
        raise UsageError(f"traffic.{name}: the table cannot be read: {error}") from None
    missing = [column for column in COLUMNS if column not in frame.columns]
    if missing:
        raise UsageError(
            f"traffic.{name}: the table has no {', '.join(missing)} (it has {', '.join(frame.columns)}); a flow is "
            f"{', '.join(COLUMNS)}, and priority if it is not 3"
        )
    return frame


def flow_file(frame: pl.DataFrame, hosts: list[str], name: str) -> str:
    """The table as a flow list of the HPCC simulator, exact to the picosecond."""
    numbers = {host: number for number, host in enumerate(hosts)}
    rows = frame.select(*COLUMNS, *(["priority"] if "priority" in frame.columns else []))
    lines = [str(rows.height)]
    for index, row in enumerate(rows.iter_rows()):
        src, dst = (_host(end, numbers, f"traffic.{name}: row {index}") for end in row[:2])
        size, start = (
            _whole(value, f"traffic.{name}: row {index}: {key}")
            for key, value in zip(COLUMNS[2:], row[2:4], strict=True)
        )
        priority = _whole(row[4], f"traffic.{name}: row {index}: priority") if len(row) > 4 else 3
        lines.append(f"{src} {dst} {priority} 100 {size} {start // 10**12}.{start % 10**12:012d}")
    return "\n".join(lines) + "\n"


def _host(end: Any, numbers: Mapping[str, int], where: str) -> int:
    if isinstance(end, str):
        if end not in numbers:
            known = (
                f"of {', '.join(list(numbers)[:8])}…"
                if numbers
                else "known only of a graph that is given as the topology"
            )
            raise UsageError(
                f"{where}: host {end!r} is not there; names are {known}; or give the number of the host, from 0"
            )
        return numbers[end]
    return _whole(end, f"{where}: host")


def _whole(value: Any, where: str) -> int:
    if (
        isinstance(value, bool)
        or not isinstance(value, int | float)
        or value != value
        or value < 0
        or int(value) != value
    ):
        raise UsageError(f"{where} {value!r} is not a whole number of at least 0")
    return int(value)


def topology(graph: Any) -> dict[str, Any]:
    """A networkx graph, or another with its `nodes` and `edges`, as `[topology]` of kind edges.

    Nodes with `kind` (or `role`) "host" are hosts, with "switch" switches, and with "scale-up" switches within servers;
    without it those with one link are hosts. A multigraph may join two nodes by several links. Links have `rate` and
    `delay` ("100Gbps", "1us"), or `rate_bps` and `delay_ps`; what they do not say the graph's own attributes do.
    """
    names = {node: str(node) for node in graph.nodes}
    if len(set(names.values())) < len(names):
        raise UsageError("topology: two nodes of the graph have the same name as text")
    if not names:
        raise UsageError("topology: the graph has no nodes")
    common = dict(getattr(graph, "graph", {}))
    seen: Counter[tuple[str, str]] = Counter()
    links, degree = [], dict.fromkeys(names, 0)
    for a, b, data in graph.edges(data=True):
        there, back = (names[a], names[b]), (names[b], names[a])
        seen[there] += 1
        if graph.is_directed() and seen[there] <= seen[back]:
            continue
        degree[a] += 1
        degree[b] += 1
        links.append({"a": names[a], "b": names[b], **_link({**common, **data}, f"{names[a]} - {names[b]}")})
    hosts: list[str] = []
    switches: list[str] = []
    scale_up: list[str] = []
    for node, data in graph.nodes(data=True):
        kind = data.get("kind", data.get("role", "host" if degree[node] == 1 else "switch"))
        if kind not in {"host", "switch", "scale-up"}:
            raise UsageError(f"topology: node {names[node]} is a {kind!r}; kind is host, switch or scale-up")
        (hosts if kind == "host" else switches).append(names[node])
        if kind == "scale-up":
            scale_up.append(names[node])
    several = {"parallel-links": True} if getattr(graph, "is_multigraph", lambda: False)() else {}
    within = {"scale-up": scale_up} if scale_up else {}
    return {"kind": "edges", "hosts": hosts, "switches": switches, **within, **several, "links": links}


def _link(data: Mapping[str, Any], where: str) -> dict[str, str]:
    made = {}
    for key, unit, suffix, example in (("rate", "rate_bps", "bps", "100Gbps"), ("delay", "delay_ps", "ps", "1us")):
        if key in data:
            made[key] = str(data[key])
        elif unit in data:
            made[key] = f"{_whole(data[unit], f'topology: link {where}: {unit}')}{suffix}"
        else:
            raise UsageError(
                f"topology: link {where} has no {key}; give the edge, or the graph, {key}={example!r} or {unit}"
            )
    return made
