"""What this installation is and whether it works: versions, extras, folders, and a small run whose digest is known."""

from __future__ import annotations

import json
import os
import platform
import shutil
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from enum import StrEnum
from importlib import metadata
from pathlib import Path
from typing import Any

from backwater import _core, extras
from backwater._core import __version__
from backwater.errors import Exit
from backwater.experiments import content_key, self_check
from backwater.experiments.executor import cores
from backwater.experiments.store import default_folder


class Finding(StrEnum):
    """How something was found."""

    OK = "ok"
    #: Not there, and only needed for what is said beside it.
    ABSENT = "absent"
    #: Works, but not as it should.
    POOR = "poor"
    #: Does not work.
    BROKEN = "broken"


@dataclass(frozen=True)
class Check:
    """One thing that was looked at."""

    name: str
    finding: Finding
    #: What was found.
    told: str
    #: What to do about it, or what it is for.
    hint: str = ""

    def as_json(self) -> dict[str, Any]:
        """Plain values."""
        return asdict(self) | {"finding": str(self.finding)}


#: What has to be there, with which packages of the same name.
_NEEDED = ("numpy", "polars", "pydantic", "cyclopts", "rich", "matplotlib")
#: Programs that may be there: name, what for, how to get it.
_PROGRAMS = (
    ("tshark", "looking at captures of backwater export pcapng", "apt install tshark, or Wireshark"),
    ("chromium", "the tests of the page; any browser shows it", "apt install chromium"),
)

#: On how many threads it is run: everything must give the same.
_THREADS = (1, 2)


def checks(results: Path) -> Iterator[Check]:
    """Everything, one by one; `results` is the folder that runs would write to."""
    yield from _core_checks()
    yield from _python_checks()
    yield _machine()
    yield _folder("results folder", results, "--out")
    yield _cache()
    yield from _optional()
    yield from self_checks()


def exit_code(found: list[Check]) -> Exit:
    """3 if the self-check failed, 4 if something else is not as it should be."""
    broken = [check.name for check in found if check.finding is Finding.BROKEN]
    if any(name.startswith("self-check") for name in broken):
        return Exit.INVARIANT_BROKEN
    poor = any(check.finding is Finding.POOR for check in found)
    return Exit.CAVEATS if broken or poor else Exit.OK


def _core_checks() -> Iterator[Check]:
    yield Check("backwater", Finding.OK, f"{__version__}, in {Path(__file__).parents[1]}")
    facts: dict[str, Any] = json.loads(_core.build_facts())
    told = f"{facts['profile']}, opt-level {facts['opt_level']}, {facts['target']}, build {content_key.build()[:12]}"
    told += ", with MPI" if facts["mpi"] else ""
    if facts["debug_assertions"] or facts["profile"] != "release":
        yield Check("core", Finding.POOR, told, "a debug build is ten times slower: build it with --release")
    else:
        yield Check("core", Finding.OK, told)


def _python_checks() -> Iterator[Check]:
    yield Check(
        "python", Finding.OK, f"{platform.python_implementation()} {platform.python_version()}, {sys.executable}"
    )
    for name in _NEEDED:
        version = _version(name)
        if version is None:
            yield Check(name, Finding.BROKEN, "not installed", extras.install(name))
        else:
            yield Check(name, Finding.OK, version)


def _version(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def _machine() -> Check:
    told = [f"{platform.system()} {platform.release()}, {platform.machine()}"]
    told.append(f"{cores()} of {os.cpu_count()} cores usable")
    told += [f"{memory / 2**30:.1f} GiB of memory" for memory in _memory()]
    return Check("machine", Finding.OK, ", ".join(told))


def _memory() -> list[int]:
    """Bytes of memory, where the system says."""
    try:
        return [os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")]
    except (AttributeError, ValueError, OSError):
        return []


#: Less room than that on the disk is worth a word.
_LITTLE = 2**30


def _cache() -> Check:
    """The folder in which sweeps keep their runs."""
    return _folder("cache of sweeps", default_folder(), "--cache or BACKWATER_CACHE")


def _folder(name: str, folder: Path, option: str) -> Check:
    """Whether a folder can be written to, without doing it: the nearest above it that there is."""
    there = next(path for path in (folder.absolute(), *folder.absolute().parents) if path.exists())
    if not there.is_dir():
        return Check(name, Finding.BROKEN, f"{there} is a file", f"name another folder with {option}")
    if not os.access(there, os.W_OK | os.X_OK):
        return Check(name, Finding.BROKEN, f"{there} cannot be written to", f"name another folder with {option}")
    free = shutil.disk_usage(there).free
    told = f"{folder.absolute()}, {free / 2**30:.1f} GiB free"
    if free < _LITTLE:
        return Check(name, Finding.POOR, told, "a run's probe.budget may be more than that")
    return Check(name, Finding.OK, told)


def _optional() -> Iterator[Check]:
    for name, purpose, group in extras.EXTRAS:
        version = _version(name)
        found = Finding.ABSENT if version is None else Finding.OK
        how = f"for {purpose}: {extras.install_group(group)}"
        yield Check(name, found, version or "not installed", how if version is None else "")
    for name, purpose, how in _PROGRAMS:
        place = shutil.which(name)
        found = Finding.ABSENT if place is None else Finding.OK
        yield Check(name, found, place or "not found", f"for {purpose}: {how}" if place is None else "")
    switch = Path("target/dataplane/release/backwater-switch")
    if switch.is_file():
        yield Check("backwater-switch", Finding.OK, str(switch.absolute()))
    else:
        told = "not built here"
        yield Check(
            "backwater-switch", Finding.ABSENT, told, "for backwater testbed (DPDK): make testbed in a checkout"
        )


def self_checks() -> Iterator[Check]:
    """A small run on one thread and on two: the digest must be the known one; its time is a score of the machine."""
    digests = {}
    speed = 0.0
    for threads in _THREADS:
        name = f"self-check, {threads} thread{'s' if threads > 1 else ''}"
        try:
            ended = json.loads(self_check.run(threads))
        except (_core.ScenarioError, _core.InvariantError) as error:
            yield Check(name, Finding.BROKEN, str(error).splitlines()[0], _REPORT)
            continue
        digests[name] = str(ended["digest"])
        if threads == 1:
            speed = ended["packet_hops"] / max(ended["cpu_s"], 1e-9)
        if digests[name] == self_check.DIGEST:
            yield Check(name, Finding.OK, f"digest {self_check.DIGEST}")
        else:
            yield Check(name, Finding.BROKEN, f"digest {digests[name]}, not {self_check.DIGEST}", _REPORT)
    yield Check("speed", Finding.OK, f"{speed / 1e6:.1f} million packet-hops per second of CPU in the self-check")


_REPORT = "please report this: the same build gives the same digest everywhere"
