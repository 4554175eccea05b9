"""Runs that several processes share: the digest and the tables of one process, and what happens when a process fails.

Needs `mpicc` and `mpirun` (tests/mpi/install.sh); without them it is skipped, unless MPI=required. The core is built
once more, with MPI.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import backwater as bw
import polars as pl
import pytest
from backwater import _core
from backwater.errors import Exit

CHECKOUT = Path(__file__).parents[2]
SCENARIOS = CHECKOUT / "scenarios"

#: Every flow control and transport, for a moment: a scenario file, its scheme, and its end.
CASES = {
    "pfc": ("incast.toml", "", "300us"),
    "credits": ("infiniband.toml", "", "600us"),
    "isolation": ("isolation.toml", "ici+", "100us"),
    "put": ("put-incast.toml", "dack", "150us"),
    "slow hosts": ("slow-endpoint.toml", "DCQCN+TCD", "300us"),
    "throttle": ("pft-incast.toml", "PFT", "60us"),
    "lossy": ("irn.toml", "IRN none", "200us"),
    "faults": ("faults.toml", "", "7100us"),
    "ranks": ("program.toml", "", "200us"),
    "steps": ("allreduce.toml", "", "150us"),
    "jobs": ("jobs.toml", "", "150us"),
}


@pytest.fixture(scope="session")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a copy of the package whose core has MPI."""
    if not (shutil.which("mpicc") and shutil.which("mpirun")):
        reason = "mpicc and mpirun are not there: python/tests/mpi/install.sh"
        if os.environ.get("MPI") == "required":
            pytest.fail(reason)
        pytest.skip(reason)
    build = ["cargo", "build", "--release", "--locked", "-p", "backwater-py", "--features", "mpi"]
    done = subprocess.run(build, cwd=CHECKOUT, capture_output=True, text=True, check=False)  # noqa: S603
    assert done.returncode == 0, done.stderr
    folder = tmp_path_factory.mktemp("with-mpi")
    left_out = shutil.ignore_patterns("_core*.so", "__pycache__")
    shutil.copytree(CHECKOUT / "python/backwater", folder / "backwater", ignore=left_out)
    shutil.copy(CHECKOUT / "target/release/lib_core.so", folder / "backwater/_core.abi3.so")
    return folder


def _environment(package: Path) -> dict[str, str]:
    """Containers run tests as root, which Open MPI refuses if it is not told twice."""
    root = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    return {**os.environ, **root, "PYTHONPATH": str(package)}


def _backwater(*words: object) -> list[str]:
    return [sys.executable, "-m", "backwater", *map(str, words)]


def _together(package: Path, *parts: tuple[int, list[str]]) -> subprocess.CompletedProcess[str]:
    """Each part is so many processes and their command."""
    command = ["mpirun", "--oversubscribe", "--bind-to", "none"]
    for number, (count, words) in enumerate(parts):
        command += [*([":"] if number else []), "-n", str(count), *words]
    return subprocess.run(  # noqa: S603
        command, env=_environment(package), capture_output=True, text=True, timeout=300, check=False
    )


def _run(package: Path, case: str, out: Path, count: int = 1, threads: int = 1) -> tuple[dict[str, Any], Path]:
    """The run.json and the folder of a run."""
    file, scheme, until = CASES[case]
    chosen = ["--scheme", scheme] if scheme else []
    words = _backwater("run", SCENARIOS / file, *chosen, "--set", f"run.until={until}")
    words += ["--threads", str(threads), "--out", str(out)]
    if count == 1:
        done = subprocess.run(words, env=_environment(package), capture_output=True, text=True, check=False)  # noqa: S603
    else:
        done = _together(package, (count, words))
    assert done.returncode in {Exit.OK, Exit.CAVEATS}, done.stderr
    (told,) = out.rglob("run.json")
    return json.loads(told.read_text(encoding="utf-8")), told.parent


@pytest.mark.parametrize("case", CASES)
def test_any_number_of_processes_and_threads_has_the_digest_and_the_tables_of_one(
    package: Path, tmp_path: Path, case: str
) -> None:
    alone, folder = _run(package, case, tmp_path / "alone")
    assert "processes" not in alone
    number = list(CASES).index(case)
    for count, threads in {(2 + number % 3, 1 + number % 2), (2, 2 - number % 2)}:
        shared, other = _run(package, case, tmp_path / f"{count}x{threads}", count, threads)
        assert shared["digest"] == alone["digest"]
        assert shared["totals"] == alone["totals"]
        assert [one["rank"] for one in shared["processes"]] == list(range(count))
        nodes = pl.read_parquet(folder / "ports.parquet")["node"].n_unique()
        assert sum(one["nodes"] for one in shared["processes"]) == nodes, "each node is in one process"
        tables = sorted(table.name for table in folder.glob("*.parquet"))
        assert tables == sorted(table.name for table in other.glob("*.parquet"))
        for table in tables:
            assert pl.read_parquet(folder / table).equals(pl.read_parquet(other / table)), table


def _scenario(folder: Path, name: str = "small.toml", *, hosts: int = 8, size: str = "100KB") -> Path:
    file = folder / name
    file.write_text(
        f'''
profile = "ideal"
[topology]
kind = "star"
hosts = {hosts}
rate = "100Gbps"
delay = "1us"
[[traffic]]
name = "all"
kind = "incast"
from = "*"
to = "h0"
size = "{size}"
''',
        encoding="utf-8",
    )
    return file


def test_a_process_that_is_killed_ends_the_run_with_its_rank(package: Path, tmp_path: Path) -> None:
    words = _backwater("run", _scenario(tmp_path, size="100GB"), "--out", tmp_path / "out")
    killed = 'if [ "$OMPI_COMM_WORLD_RANK" = 1 ]; then (sleep 4; kill -9 $$) & fi; exec "$@"'
    begun = time.monotonic()
    done = _together(package, (3, ["sh", "-c", killed, "sh", *words]))
    assert done.returncode != 0
    assert "rank 1" in done.stderr
    assert time.monotonic() - begun < 120
    assert not list((tmp_path / "out").rglob("*.parquet")), "nothing half"


def test_a_run_that_is_killed_goes_on_with_other_processes_from_what_they_saved(package: Path, tmp_path: Path) -> None:
    file = _scenario(tmp_path, size="40MB")
    alone = _backwater("run", file, "--out", tmp_path / "known", "--json")
    told = subprocess.run(alone, env=_environment(package), capture_output=True, text=True, check=True)  # noqa: S603
    known = json.loads(told.stdout)
    words = _backwater("run", file, "--checkpoint-every", "0.02s", "--out", tmp_path / "out")
    checkpoint = tmp_path / "out" / "small-s1.ckpt"
    command = ["mpirun", "--oversubscribe", "--bind-to", "none", "-n", "3", *words]
    # The last process is killed when the run has been saved three times: the first time at its beginning.
    rank = 'if [ "$OMPI_COMM_WORLD_RANK" = 2 ]; then echo $$ > "$PID"; fi; exec "$@"'
    command[6:] = ["sh", "-c", rank, "sh", *command[6:]]
    pid = tmp_path / "pid"
    environment = {**_environment(package), "PID": str(pid)}
    with subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as run:  # noqa: S603
        saved: set[int] = set()
        while len(saved) < 3 and run.poll() is None:
            if checkpoint.exists():
                saved.add(checkpoint.stat().st_mtime_ns)
            time.sleep(0.02)
        assert run.poll() is None, "it was too quick to be killed"
        os.kill(int(pid.read_text(encoding="utf-8")), signal.SIGKILL)
        assert run.wait(timeout=120) != 0
    assert not (tmp_path / "out" / "small-s1").exists()
    for count, threads in [(1, 1), (1, 2), (2, 1), (4, 1)]:
        out = tmp_path / f"{count}x{threads}"
        again = _backwater("resume", checkpoint, "--threads", threads, "--out", out, "--json")
        if count == 1:
            done = subprocess.run(again, env=_environment(package), capture_output=True, text=True, check=False)  # noqa: S603
        else:
            done = _together(package, (count, again))
        assert done.returncode in {Exit.OK, Exit.CAVEATS}, done.stderr
        assert json.loads(done.stdout)["digest"] == known["digest"]
        flows = pl.read_parquet(tmp_path / "known" / "small-s1" / "flows.parquet")
        assert flows.equals(pl.read_parquet(out / "flows.parquet"))


def test_where_one_cannot_save_all_end_with_the_reason(package: Path, tmp_path: Path) -> None:
    (tmp_path / "out" / "small-s1.ckpt").mkdir(parents=True)
    words = _backwater(
        "run", _scenario(tmp_path, size="40MB"), "--checkpoint-every", "0.02s", "--out", tmp_path / "out"
    )
    done = _together(package, (3, words))
    assert done.returncode == Exit.BAD_INPUT, done.stderr
    assert "small-s1.ckpt is a folder, and a run is saved in a file" in done.stderr
    assert not list((tmp_path / "out").rglob("*.parquet")), "nothing half"


def test_processes_that_go_on_from_different_files_do_not_run(package: Path, tmp_path: Path) -> None:
    with bw.begin(_scenario(tmp_path), out=tmp_path / "first") as run:
        early = run.step(until="10us").save(tmp_path / "early.ckpt")
        late = run.step(until="20us").save(tmp_path / "late.ckpt")
    done = _together(package, (1, _backwater("resume", early)), (1, _backwater("resume", late)))
    assert done.returncode == Exit.BAD_INPUT
    assert "different checkpoints: rank 0 has another one than rank 1" in done.stderr


def test_a_process_that_fails_names_itself_and_ends_the_others(package: Path, tmp_path: Path) -> None:
    there, missing = _scenario(tmp_path), tmp_path / "missing.toml"
    done = _together(package, (2, _backwater("run", there)), (1, _backwater("run", missing)))
    assert done.returncode == Exit.BAD_INPUT
    assert "rank 2 of 3: " in done.stderr
    assert "missing.toml" in done.stderr


def test_processes_that_were_given_different_files_do_not_run(package: Path, tmp_path: Path) -> None:
    own, other = _scenario(tmp_path), _scenario(tmp_path, "other.toml", size="101KB")
    done = _together(package, (1, _backwater("run", own)), (2, _backwater("run", other)))
    assert done.returncode == Exit.BAD_INPUT
    assert "different scenarios: rank 0 has another one than ranks 1, 2" in done.stderr
    # What all find out, one tells.
    assert done.stderr.count("different scenarios") == 1


def test_more_processes_than_nodes_are_refused(package: Path, tmp_path: Path) -> None:
    done = _together(package, (4, _backwater("run", _scenario(tmp_path, hosts=2))))
    assert done.returncode == Exit.BAD_INPUT
    assert "4 processes share this run, whose network has 3 nodes" in done.stderr
    assert "1 to 3 processes" in done.stderr


def test_several_runs_at_once_are_refused(package: Path, tmp_path: Path) -> None:
    done = _together(package, (2, _backwater("run", _scenario(tmp_path), "--seeds", 2)))
    assert done.returncode == Exit.BAD_INPUT
    assert "2 runs (seeds, schemes or values of a sweep), and 2 processes that share one" in done.stderr


def test_what_breaks_in_one_process_is_told_once(package: Path, tmp_path: Path) -> None:
    file = _scenario(tmp_path)
    small = ["--set", "switch.flow-control=none", "--set", "switch.buffer=20KB"]
    alone = subprocess.run(  # noqa: S603
        _backwater("run", file, *small, "--out", tmp_path / "alone"),
        env=_environment(package),
        capture_output=True,
        text=True,
        check=False,
    )
    assert alone.returncode == Exit.INVARIANT_BROKEN, alone.stderr
    shared = _together(package, (3, _backwater("run", file, *small, "--out", tmp_path / "shared")))
    assert shared.returncode == Exit.INVARIANT_BROKEN
    (told,) = (line for line in alone.stderr.splitlines() if line.startswith("error[buffer-overflow]"))
    assert shared.stderr.count(told) == 1, shared.stderr
    assert "Traceback" not in shared.stderr


def test_a_build_without_mpi_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if json.loads(_core.build_facts())["mpi"]:
        pytest.skip("this build has MPI")
    monkeypatch.setenv("OMPI_COMM_WORLD_SIZE", "2")
    words = _backwater("run", _scenario(tmp_path))
    done = subprocess.run(words, capture_output=True, text=True, check=False)  # noqa: S603
    assert done.returncode == Exit.BAD_INPUT
    assert "2 processes were started to share this run, and this build of Backwater has no MPI" in done.stderr
    assert "make mpi" in done.stderr
