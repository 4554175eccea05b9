"""Networks and workloads of other tools as scenarios of ours.

Every importer makes a folder with a scenario that runs as it is and the files that it names; nothing is written if
anything in the input is wrong. What means something else here is a note.
"""

from __future__ import annotations

import json
import re
import shutil
import tempfile
import tomllib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from backwater import _core
from backwater.errors import UsageError, reason
from backwater.scenario.scenario import Scenario

#: What a file of forwarding tables is called beside the scenario.
TABLE = "routes.txt"
#: So many switches are named.
_NAMED = 4


@dataclass
class Imported:
    """A scenario in the making: its files by name (`scenario.toml` among them), and what the user should know.

    `sources` are the user's own names of files that are taken as they are.
    """

    files: dict[str, str]
    holds: str
    notes: list[str] = field(default_factory=list)
    sources: dict[str, str] = field(default_factory=dict)


def read_bytes(file: Path, what: str, most: int = _core.MOST_DATA) -> bytes:
    """A file's bytes, of which there may be `most`."""
    try:
        content = _core.read_input(file, most)
    except OSError as error:
        raise UsageError(f"{file} cannot be read ({reason(error)}); name {what}") from None
    if not content:
        raise UsageError(f"{file} is empty; {what} is expected")
    return content


def read_text(file: Path, what: str, most: int = _core.MOST_DATA) -> str:
    """A file's text, of which there may be `most` bytes."""
    try:
        return read_bytes(file, what, most).decode("utf-8")
    except UnicodeDecodeError:
        raise UsageError(f"{file} is not text, as {what} is; unpack it if it is compressed") from None


def caveats(text: str, base: Path) -> list[str]:
    """What a scenario's run will have to be read with, such as routes that can deadlock."""
    told = json.loads(_core.Scenario(text, "scenario.toml", base, []).estimate())["caveats"]
    return [caveat["message"] for caveat in told]


def resolve(text: str, base: Path, sources: dict[str, str]) -> dict[str, Any]:
    """A scenario with all defaults; raises UsageError without the place in a file that nobody has written yet."""
    try:
        return Scenario(text, "scenario.toml", base).resolve()
    except _core.ScenarioError as error:
        # A problem, where it is, and what helps, of which every line counts.
        told = re.findall(r"^error(?:\[[^\]]*\])?: (.*)$|^ *(= help: .*(?:\n +.*)*)$", str(error), re.MULTILINE)
        message = "\n".join(problem or _indented(helps) for problem, helps in told) or str(error)
        if f'"{TABLE}"' in message:
            message += _lacking(text, (base / TABLE).read_text(encoding="utf-8"))
        for name, own in sources.items():
            message = message.replace(f'"{name}"', own)
        raise UsageError(message) from None


def _lacking(text: str, table: str) -> str:
    """Which switches have no port for some hosts in forwarding tables, as those of a file that was cut off."""
    topology = tomllib.loads(text)["topology"]
    hosts, ports = len(topology.get("hosts", ())), dict.fromkeys(topology.get("switches", ()), 0)
    for words in (line.split() for line in table.splitlines() if not line.startswith("#")):
        if len(words) > 2 and words[0] in ports:
            ports[words[0]] += len(words) - 2
    lacking = [f"{switch} for {count}" for switch, count in ports.items() if count < hosts]
    if not lacking:
        return ""
    more = [f"{len(lacking) - _NAMED} more"] if len(lacking) > _NAMED else []
    told = ", ".join([*lacking[:_NAMED], *more])
    return f"\n  = help: of {hosts} hosts the file has ports of {told}; if it was cut off, dump the tables again"


def _indented(text: str) -> str:
    first, *rest = text.splitlines()
    return "\n".join([f"  {first}", *(f"    {line.strip()}" for line in rest)])


def write(imported: Imported, out: Path, named: str = "--out") -> Path:
    """Make the folder, all of it or nothing; returns the scenario. A folder that exists must be empty.

    `named` is what messages call it. Raises UsageError for what would not run; what a run will have to be read with
    becomes a note.
    """
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise UsageError(f"{named} {out} exists and is not an empty folder; name another one")
    try:
        # A folder that exists stays, as somebody may work in it.
        there = out.exists()
        room = out if there else out.parent
        room.mkdir(parents=True, exist_ok=True)
        made = Path(tempfile.mkdtemp(prefix=f".{out.name}-", dir=room))
    except OSError as error:
        raise UsageError(f"{named} {out} cannot be written ({reason(error)}); name another place") from None
    try:
        for name, text in imported.files.items():
            (made / name).write_text(text, encoding="utf-8")
        resolve(imported.files["scenario.toml"], made, imported.sources)
        imported.notes += caveats(imported.files["scenario.toml"], made)
        made.chmod(0o755)
        if there:
            # What needs the other files comes last.
            for path in sorted(made.iterdir(), key=lambda path: path.name == "scenario.toml"):
                path.rename(out / path.name)
        else:
            made.rename(out)
    except OSError as error:
        raise UsageError(f"{named} {out} cannot be written ({reason(error)}); name another place") from None
    finally:
        shutil.rmtree(made, ignore_errors=True)
    return out / "scenario.toml"
