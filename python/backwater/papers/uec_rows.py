"""Rows that the Ultra Ethernet Consortium published of its simulator: each is a run by its command, and a claim.

A file of rows is a CSV with the columns of `papers/uec/published.csv`. Rows are named by the file that published them
and their place in it, such as `400g_nscc-1`.
"""

from __future__ import annotations

import csv
import fnmatch
import hashlib
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from pydantic import Field

from backwater.errors import UsageError
from backwater.io.importing import htsim_flags, read_text
from backwater.papers import uec_matrices
from backwater.papers.bounds import Bound
from backwater.papers.claims import Check, Claim
from backwater.papers.files import Part
from backwater.papers.kinds import Kind
from backwater.scenario.scenario import Scenario

#: Beside a paper.toml: the rows, and how far they spread over the seeds of that program.
PUBLISHED, SPREAD = "published.csv", "spread.csv"
#: The figure of a user's own rows.
OWN = "rows"
#: How far tails of the same commands lie apart, one version of that program over another: 5 to 95 % of its published
#: rows (README of the published results).
BAND = (0.83, 1.05)
#: Judged are the flows of a run alone. To record what else happens takes longer, and changes nothing.
_PROBE = """
[probe]
blame = false
drops = false
marks = false
states = false
"""
#: Bytes and rows that a file may have.
_MOST_BYTES, _MOST_ROWS = 16_000_000, 20_000
_COLUMNS = (
    "file",
    "experiment",
    "command",
    "verdict",
    "target_us",
    "tail_fct_us",
    "first_fct_us",
    "connections",
    "new_packets",
    "rtx",
    "rts",
    "acks",
    "nacks",
)


class Selected(Part):
    """Which rows are the runs of a figure."""

    names: tuple[str, ...] = Field(min_length=1, description="Names of rows, or patterns with *.")
    quick: tuple[str, ...] = Field((), description="Those of a quick look; all if none.")
    repeated: bool = Field(False, description="Whether other figures have the claims of these rows.")


@dataclass(frozen=True)
class Row:
    """One row as it was published; times in us, with the digits that were printed."""

    name: str
    file: str
    experiment: str
    command: str
    verdict: str
    target_us: str
    tail_us: str
    first_us: str
    connections: int
    new_packets: int
    resent: int
    acks: int

    @property
    def version(self) -> str:
        """By which version of that program it was made, as far as its files tell; see docs/uec.md."""
        place = Path(self.file)
        if "results" not in place.parts:
            return "2025-08"
        return "2024-08" if place.stem.endswith("_2") or "fail" in place.stem else "2024-07"

    @property
    def matrix(self) -> str:
        """The name of its connection matrix."""
        return _named(self.command, "-tm")

    @property
    def topology(self) -> str:
        """The name of its topology, or nothing."""
        return _named(self.command, "-topo")

    @property
    def cost(self) -> float:
        """CPU seconds, about: frames over links at 8 million a second."""
        return max(0.05, (self.new_packets + self.resent + self.acks) * (4 if self.topology else 6) / 8e6)


@dataclass(frozen=True)
class Spread:
    """The least and the most that a row's command gave with other seeds."""

    seeds: int
    tail_us: tuple[str, str]
    first_us: tuple[str, str]
    acks: tuple[str, str]

    @property
    def exact(self) -> bool:
        """Whether no seed changes anything."""
        return all(least == most for least, most in (self.tail_us, self.first_us, self.acks))


def read(file: Path) -> list[Row]:
    """The rows of a file; UsageError names the line that is wrong."""
    reader = csv.DictReader(read_text(file, "a CSV file of published rows", _MOST_BYTES).splitlines())
    missing = [name for name in _COLUMNS if name not in (reader.fieldnames or ())]
    if missing:
        raise UsageError(
            f"{file}: line 1: the columns {', '.join(missing)} are missing; they are {', '.join(_COLUMNS)}"
        )
    rows: list[Row] = []
    places: Counter[str] = Counter()
    for line in reader:
        stem = Path(line["file"] or "").stem
        places[stem] += 1
        rows.append(_row(line, f"{stem}-{places[stem]}", f"{file}: line {reader.line_num}"))
        if len(rows) > _MOST_ROWS:
            raise UsageError(f"{file} has more than {_MOST_ROWS} rows; give a part of them")
    if not rows:
        raise UsageError(f"{file} has no rows")
    return rows


def _row(line: dict[str, str], name: str, place: str) -> Row:
    def number(column: str) -> int:
        text = line[column] or ""
        if not (text.isascii() and text.isdecimal() and len(text) <= 15):
            raise UsageError(f"{place}: {column} is {text[:40]!r}, not a whole number from 0")
        return int(text)

    def time(column: str) -> str:
        text = line[column] or ""
        if not re.fullmatch(r"\d{1,9}(\.\d{1,9})?(e\+0\d)?", text):
            raise UsageError(f"{place}: {column} is {text[:40]!r}, not a time in us such as 176.2")
        return text

    if None in line or None in line.values() or not re.fullmatch(r"[\w.+-]{1,80}", name):
        raise UsageError(f"{place}: it has not {len(_COLUMNS)} values, or the name of its file is odd")
    htsim_flags.parse(line["command"])
    return Row(
        name,
        line["file"],
        line["experiment"],
        line["command"],
        line["verdict"],
        time("target_us"),
        time("tail_fct_us"),
        time("first_fct_us"),
        number("connections"),
        number("new_packets"),
        number("rtx"),
        number("acks"),
    )


def spreads(file: Path) -> dict[str, Spread]:
    """What is known of the spread of rows, by their names; nothing without a file."""
    if not file.is_file():
        return {}
    reader = csv.DictReader(read_text(file, "a CSV file").splitlines())
    return {
        line["row"]: Spread(
            int(line["seeds"]),
            (line["tail_us_least"], line["tail_us_most"]),
            (line["first_us_least"], line["first_us_most"]),
            (line["acks_least"], line["acks_most"]),
        )
        for line in reader
    }


def select(rows: Iterable[Row], names: Sequence[str], place: str) -> list[Row]:
    """The rows of these names or patterns; UsageError for one that fits none."""
    found = list(rows)
    for pattern in names:
        if not any(fnmatch.fnmatchcase(row.name, pattern) for row in found):
            raise UsageError(f"{place}: rows: there is no row {pattern!r}; names are such as {found[0].name}")
    return [row for row in found if any(fnmatch.fnmatchcase(row.name, pattern) for pattern in names)]


def bounds(row: Row, spread: Spread | None) -> tuple[str, str]:
    """When the tail of our run holds, and why: never wider than what was published, or that program itself shows."""
    if spread is not None and spread.exact:
        return f"== {row.tail_us}", f"the same with each of {spread.seeds} seeds of that program"
    if spread is not None:
        return "..".join(spread.tail_us), f"least and most of {spread.seeds} seeds of that program"
    tail = float(row.tail_us)
    low, high = BAND if not Path(row.file).stem.endswith("_2") else (1 / BAND[1], 1 / BAND[0])
    return f"{tail * low:.6g}..{tail * high:.6g}", "the published band, 0.83 to 1.05 of the first of a pair"


def claims(rows: Iterable[Row], known: dict[str, Spread]) -> tuple[Claim, ...]:
    """What each row says: when the last flow is done, and what any run of its command has."""
    made = []
    for row in rows:
        spread = known.get(row.name)
        bound, why = bounds(row, spread)
        checks = [
            _check(f"{row.name} tail", bound, "us"),
            _check(f"{row.name} new packets", f"== {row.new_packets}", ""),
        ]
        if "-conn_reuse" not in row.command:
            # Else it counts messages, which are one flow here.
            checks.append(_check(f"{row.name} connections", f"== {row.connections}", ""))
        if spread is not None and spread.exact:
            checks += [
                _check(f"{row.name} first", f"== {row.first_us}", "us"),
                _check(f"{row.name} ACKs", f"== {row.acks}", ""),
                _check(f"{row.name} sent again", f"== {row.resent}", ""),
            ]
        what = row.experiment.strip().rstrip(".")
        told = f"{row.file}, by the version of {row.version}; {row.verdict} against its own target, {row.target_us} us"
        made.append(
            Claim.model_validate(
                {
                    "id": f"UEC-{row.name}",
                    "kind": Kind.RESULT,
                    "each": True,
                    "text": f"{what}: the last flow is done in the published time, {row.tail_us} us.",
                    "paper": f"{told}. The bound: {why}.",
                    "checks": checks,
                }
            )
        )
    return tuple(made)


def _check(metric: str, bound: str, unit: str) -> Check:
    return Check.model_validate({"metric": metric, "bound": Bound.parse(bound), "unit": unit})


def scenario(row: Row, root: Path, checkout: Path | None) -> Scenario:
    """The scenario of a row, made below `root` by `backwater import htsim --flags`.

    Its matrix and topology are those of a checkout of that simulator, or made anew.
    """
    made = root / "made"
    matrix = _file(row.matrix, "-tm", row, made, checkout)
    topology = _file(row.topology, "-topo", row, made, checkout) if row.topology else None
    command = htsim_flags.load(
        matrix, row.command, as_of=row.version, topology=None if topology is None else str(topology)
    )
    text = command.imported.files.pop("scenario.toml")
    for name, content in command.imported.files.items():
        # Rows share what is large.
        named = f"{hashlib.sha256(content.encode()).hexdigest()[:16]}-{name}"
        _keep(made / named, content)
        text = text.replace(f'"{name}"', f'"{named}"')
    text += _PROBE
    _keep(made / f"{row.name}.toml", text)
    return Scenario(text, str(made / f"{row.name}.toml"), made.absolute())


def _file(name: str, flag: str, row: Row, made: Path, checkout: Path | None) -> Path:
    if checkout is not None:
        words = row.command.split()
        for folder in (checkout / "htsim/sim/datacenter", checkout):
            if (place := folder / words[words.index(flag) + 1]).is_file():
                return place
    text = uec_matrices.matrix(name) if flag == "-tm" else uec_matrices.topology(name)
    if text is None:
        raise UsageError(
            f"row {row.name}: {name} is none of the files that can be made anew; name a checkout of that simulator with"
            " --uet"
        )
    _keep(made / name, text)
    return made / name


def _keep(file: Path, content: str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    if not file.is_file() or file.read_text(encoding="utf-8") != content:
        file.write_text(content, encoding="utf-8")


def _named(command: str, flag: str) -> str:
    words = command.split()
    return Path(words[words.index(flag) + 1]).name if flag in words[:-1] else ""
