"""Runs the corpus and random mixtures in two checkouts, and tells where their digests or tables differ.

``make two-builds OTHER=/path/to/checkout DRAWS=200``: the other checkout needs its core built. Each draws with its own
`swarm_draws.py`, so that it writes the keys that it knows; the same number is the same scenario in both.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import tomllib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

HERE = Path(__file__).resolve().parents[2]


def hashes(checkout: Path, first: int, count: int) -> Iterator[tuple[str, str]]:
    """The name of each case with its digest and the hash of its tables; in a process that imports this checkout."""
    import backwater as bw
    from swarm_draws import draw

    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        for name, file, overrides in _corpus(checkout):
            yield name, _run(bw, file, overrides, folder / "results")
        for seed in range(first, first + count):
            made = draw(seed)
            for file, text in made.files.items():
                (folder / file).write_text(text)
            os.chdir(folder)  # Paths in a scenario that is no file count from here.
            yield f"draw {seed}", _run(bw, made.scenario, [], folder / "results")


def _corpus(checkout: Path) -> Iterator[tuple[str, Path, list[str]]]:
    listed = checkout / "tests/corpus/corpus.toml"
    if not listed.exists():
        listed = HERE / "tests/corpus/corpus.toml"
    for case in tomllib.loads(listed.read_text())["case"]:
        file = checkout / "scenarios" / case["file"]
        name = case["file"] + (f": {case['name']}" if "name" in case else "")
        schemes = tomllib.loads(file.read_text()).get("scheme", [])
        for scheme in schemes:
            yield f"{name} [{scheme['name']}]", file, [*scheme.get("set", []), *case.get("set", [])]
        if not schemes:
            yield name, file, case.get("set", [])


def _run(bw: Any, scenario: Path | dict[str, Any], overrides: list[str], out: Path) -> str:
    shutil.rmtree(out, ignore_errors=True)
    try:
        run = bw.run(scenario, out=out, overrides=overrides)
    except Exception as error:  # noqa: BLE001 - the same failure is the same result
        return f"{type(error).__name__}: {(str(error).splitlines() or [''])[0]}"
    tables = hashlib.sha256()
    for table in sorted(out.glob("*.parquet")):
        tables.update(table.name.encode() + table.read_bytes())
    return f"{run.digest} {tables.hexdigest()[:16]}"


def _of(checkout: Path, first: int, count: int) -> dict[str, str]:
    """The hashes, from a process of its own."""
    paths = [str(checkout / "python"), str(checkout / "python/tests")]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
    command = [sys.executable, __file__, "--work", str(checkout), "--first", str(first), "--draws", str(count)]
    done = subprocess.run(command, env=environment, check=True, stdout=subprocess.PIPE, text=True)  # noqa: S603
    return dict(json.loads(line) for line in done.stdout.splitlines())


def main() -> int:
    """Compare, or work for the process that compares."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("other", nargs="?", type=Path, help="a checkout whose core is built")
    parser.add_argument("--draws", type=int, default=200)
    parser.add_argument("--first", type=int, default=1)
    parser.add_argument("--work", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.work:
        for one in hashes(given.work, given.first, given.draws):
            print(json.dumps(one))
        return 0
    with ThreadPoolExecutor(2) as pool:
        theirs, ours = pool.map(lambda place: _of(place, given.first, given.draws), [given.other.resolve(), HERE])
    differ = [name for name in theirs | ours if theirs.get(name) != ours.get(name)]
    for name in differ:
        print(f"{name}: {theirs.get(name)} there, {ours.get(name)} here")
    refused = sum("Error" in found for found in ours.values())
    print(f"{len(theirs | ours)} scenarios, {len(differ)} differ; {refused} did not run here")
    return bool(differ)


if __name__ == "__main__":
    sys.exit(main())
