"""A results folder holds one run, whole, whoever writes to it, and whatever ends them."""

from __future__ import annotations

import json
import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

import backwater as bw
import polars as pl
import pytest
from backwater import Results
from backwater.cli import main
from backwater.common import atomic_files
from backwater.errors import Exit, ResultsChangedError, UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator

_STAR = {"kind": "star", "hosts": 9, "rate": "40Gbps", "delay": "1us"}


def experiment(kilobytes: int) -> bw.Experiment:
    """Eight flows of this size to one host."""
    entry = {"name": "i", "kind": "incast", "to": "h0", "size": f"{kilobytes}KB"}
    return bw.Experiment(profile="authors", topology=_STAR, traffic=[entry])


def file(place: Path, kilobytes: int) -> Path:
    """The same as a scenario file."""
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(experiment(kilobytes).to_toml(), encoding="utf-8")
    return place


def run(one: bw.Experiment | Path | str, out: Path | str | None = None) -> Results:
    """One run."""
    made = bw.run(one if isinstance(one, bw.Experiment) else bw.Experiment(one), out=out)
    assert isinstance(made, Results)
    return made


def is_of(results: Results, kilobytes: int) -> bool:
    """Whether run.json and every table are of the run with flows of this size: sizes and packets agree."""
    flows, ports = results.flows.collect(), results.ports.collect()
    to_host = ports.filter(pl.col("port") == "s->h0", pl.col("priority") == 3)
    packets = results.meta["totals"]["packets"]
    return (
        results.meta["scenario"]["traffic"][0]["size"] == f"{kilobytes}KB"
        and set(flows["size_bytes"]) == {kilobytes * 1000}
        and packets == flows["packets"].sum() == to_host["packets"].sum()
        and results.complete
    )


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def litter(room: Path) -> list[str]:
    """What is left of runs that are over."""
    return [path.name for path in room.rglob("*.part")]


def test_experiments_without_a_file_have_folders_of_their_own() -> None:
    one, other = run(experiment(100)), run(experiment(900))
    assert one.folder != other.folder
    assert is_of(one, 100)
    assert is_of(other, 900)
    assert run(experiment(100)).folder == one.folder
    assert is_of(one, 100)
    assert sorted(path.name for path in Path("results").iterdir()) == sorted([one.folder.name, other.folder.name])


def test_results_whose_folder_was_given_to_another_run_say_so() -> None:
    one = run(file(Path("a/x.toml"), 100))
    kept, table = one.flows, one["flows"]
    other = run(file(Path("a/x.toml"), 900))
    assert one.folder == other.folder
    said = f"{one.folder} holds another run by now: digest {one.digest} was opened, digest {other.digest} is there"
    for read in (
        lambda: one.flows,
        lambda: one.summary,
        lambda: one.check("flows"),
        lambda: kept.collect(),
        lambda: kept.select("size_bytes").head(1).collect(),
        lambda: pl.DataFrame(table),
    ):
        with pytest.raises(ResultsChangedError, match=said):
            read()
    assert is_of(other, 900)


def test_a_run_that_is_done_again_is_the_same_run() -> None:
    one = run(file(Path("x.toml"), 100))
    kept = one.flows
    run("x.toml")
    assert is_of(one, 100)
    assert kept.collect().height == 8


def test_results_that_were_removed_say_so(here: Path) -> None:
    one = run(file(Path("x.toml"), 100))
    one.folder.rename(here / "elsewhere")
    with pytest.raises(ResultsChangedError, match="is not there any more: there is no folder"):
        _ = one.flows
    assert is_of(Results("elsewhere"), 100)


def test_a_table_of_another_run_is_not_believed() -> None:
    one, other = run(experiment(100)), run(experiment(101))
    (one.folder / "flows.parquet").write_bytes((other.folder / "flows.parquet").read_bytes())
    for results in (one, Results(one.folder)):
        with pytest.raises(UsageError, match=r"flows\.parquet is damaged \(it is not what the run wrote\)"):
            _ = results.flows


@pytest.mark.parametrize("foreign", [False, True], ids=["folder of runs", "folder with a file of somebody else"])
def test_of_several_writers_of_a_folder_one_is_there_whole(here: Path, foreign: bool) -> None:
    out = here / "out"
    if foreign:
        out.mkdir()
        (out / "notes.txt").write_text("mine")

    def write(kilobytes: int) -> None:
        run(experiment(kilobytes), out=out)

    with ThreadPoolExecutor(3) as pool:
        for _ in range(12):
            runs = [pool.submit(write, size) for size in (200, 201, 202)]
            told = Counter(type(run.exception()).__name__ for run in runs)
            # Where files are replaced one by one, the reader of one's own results may come in between, and is told.
            allowed = {"NoneType", "ResultsChangedError", *(["UsageError"] if foreign else [])}
            assert set(told) <= allowed, [run.exception() for run in runs]
            found = Results(out)
            assert is_of(found, int(found.meta["scenario"]["traffic"][0]["size"].removesuffix("KB")))
    assert not litter(here)
    assert not foreign or (out / "notes.txt").read_text() == "mine"


def test_readers_beside_writers_never_see_a_mixture(here: Path) -> None:
    out, over = here / "out", threading.Event()
    run(experiment(200), out=out)

    def write() -> None:
        for size in range(201, 225):
            run(experiment(size), out=out)
        over.set()

    writer = threading.Thread(target=write)
    writer.start()
    seen = Counter[str]()
    while not over.is_set():
        try:
            found = Results(out)
            size = int(found.meta["scenario"]["traffic"][0]["size"].removesuffix("KB"))
            assert is_of(found, size)
            seen["whole"] += 1
        except (ResultsChangedError, pl.exceptions.PolarsError):
            # Polars opens a file more than once: between these it may be another one, which it cannot read then.
            seen["told"] += 1
    writer.join()
    assert seen["whole"]


def _asked(kilobytes: int) -> tuple[int, bool]:
    return kilobytes, is_of(run(experiment(kilobytes)), kilobytes)


def test_processes_that_share_a_working_folder_get_what_they_asked_for(here: Path) -> None:
    with multiprocessing.get_context("spawn").Pool(2) as pool:
        assert all(right for _, right in pool.imap_unordered(_asked, range(200, 212)))
    assert len(list((here / "results").iterdir())) == 12


def test_a_link_stays_a_link_and_a_folder_that_is_worked_in_stays(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (here / "far").mkdir()
    (here / "near").symlink_to(here / "far")
    for size in (100, 101):
        assert is_of(run(experiment(size), out="near"), size)
    assert (here / "near").is_symlink()
    monkeypatch.chdir(here / "far")
    assert is_of(run(experiment(102), out="."), 102)
    assert is_of(Results(here / "near"), 102)
    assert Path.cwd() == here / "far"
    assert not litter(here)


def test_tables_and_pages_of_an_earlier_run_do_not_stand_beside_a_later_one(here: Path) -> None:
    one = run(experiment(100).set("probe.blame", True), out="out")
    (one.folder / "view.html").write_text("of the first")
    assert one.has("holds")
    other = run(experiment(100).set("probe.blame", False), out="out")
    files = {"run.json", *(table["file"] for table in other.tables.values())}
    assert {path.name for path in (here / "out").iterdir()} == files
    assert "holds.parquet" not in files


@pytest.fixture
def living(here: Path) -> Iterator[subprocess.Popen[str]]:
    """A process whose run is under way, and does not end."""
    text = experiment(100).set("run.until", "1s").to_toml().replace('size = "100KB"', 'size = "40GB"')
    (here / "long.toml").write_text(text)
    words = [sys.executable, "-m", "backwater", "run", "long.toml"]
    begun = subprocess.Popen(words, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True)  # noqa: S603
    end = time.monotonic() + 60
    while not list(here.glob("results/.long-s1.*.part/*")):
        assert begun.poll() is None, begun.communicate()
        assert time.monotonic() < end
        time.sleep(0.01)
    yield begun
    begun.kill()
    begun.communicate()


def test_the_next_run_removes_what_a_killed_one_left_and_nothing_of_a_living_one(
    here: Path, living: subprocess.Popen[str]
) -> None:
    with pytest.raises(UsageError, match="is still under way, or was killed"):
        Results("results/long-s1")
    run(file(Path("short.toml"), 100))
    assert len(litter(here / "results")) > 0
    living.kill()
    living.wait()
    run("short.toml")
    assert not litter(here / "results")


def test_what_another_machine_left_is_removed_when_it_is_old(here: Path) -> None:
    old, new = (here / f".run-s1.{machine}.{'0' * 12}.part" for machine in ("1" * 8, "2" * 8))
    for folder in (old, new):
        folder.mkdir()
    os.utime(old, (0, 0))
    (here / ".mine.part").mkdir()
    atomic_files.remove_left(here)
    assert sorted(path.name for path in here.iterdir()) == [new.name, ".mine.part"] or not old.exists()
    assert new.exists()


def test_an_interrupted_run_is_kept_as_partial_and_leaves_nothing_else(
    here: Path, living: subprocess.Popen[str]
) -> None:
    time.sleep(0.3)
    living.send_signal(signal.SIGINT)
    living.communicate(timeout=60)
    assert not Results("results/long-s1").complete
    assert not litter(here)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_may_not_be_written_is_told_before_the_run(here: Path) -> None:
    here.chmod(0o500)
    try:
        with pytest.raises(UsageError, match="cannot be made"):
            run(experiment(100))
    finally:
        here.chmod(0o700)


def test_without_exchange_a_folder_is_replaced_too(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def cannot(*_: object) -> None:
        raise OSError(22, "Invalid argument")

    monkeypatch.setattr(atomic_files, "_exchange", cannot)
    for size in (100, 101):
        assert is_of(run(experiment(size), out="out"), size)
    assert not litter(here)


def _places(value: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    """Every field, those of lists by their first entry."""
    if path:
        yield path
    if isinstance(value, dict):
        for key, one in value.items():
            yield from _places(one, (*path, key))
    elif isinstance(value, list) and value:
        yield from _places(value[0], (*path, 0))


def test_a_field_of_another_type_is_damage_and_no_bug_whatever_the_field(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("BACKWATER_TRACEBACK", raising=False)
    folder = run(experiment(100)).folder
    right = (folder / "run.json").read_text(encoding="utf-8")
    places = [*_places(json.loads(right))]
    assert len(places) > 150
    choices: tuple[Any, ...] = (None, "x", -1, 1.5, [], {}, True)
    for number, place in enumerate(places):
        for wrong in choices:
            meta = json.loads(right)
            inner = meta
            for key in place[:-1]:
                inner = inner[key]
            if inner[place[-1]] == wrong and type(inner[place[-1]]) is type(wrong):
                continue
            inner[place[-1]] = wrong
            # As it was written, but for the field: a check that is none does not help it.
            (folder / "run.json").write_text(json.dumps(meta, indent=2, sort_keys=True) + "\n", encoding="utf-8")
            with pytest.raises(UsageError, match=r"damaged|is of format|is not of a run"):
                Results(folder)
        if number % 25 == 0:
            for command in (["describe", str(folder)], ["blame", str(folder)], ["export", "csv", str(folder), "flows"]):
                assert main(command) == Exit.BAD_INPUT
    assert "bug of Backwater" not in capsys.readouterr().err
    (folder / "run.json").write_text(right, encoding="utf-8")
    assert is_of(Results(folder), 100)


def _forked(folder: str, told: Any) -> None:
    try:
        told.put(str(Results(folder).flows.collect().height))
    except UsageError as error:
        told.put(str(error))


def test_a_process_that_was_forked_from_one_that_read_tables_says_so_and_does_not_hang() -> None:
    code = (
        "import multiprocessing, sys; sys.path.insert(0, sys.argv[2]); import test_staging as t; from backwater.results"
        " import Results\n"
        "context = multiprocessing.get_context('fork'); told = context.Queue()\n"
        "for _ in range(2):\n"
        "    child = context.Process(target=t._forked, args=(sys.argv[1], told)); child.start()\n"
        "    print(told.get(timeout=60)); child.join()\n"
        "    Results(sys.argv[1]).flows.group_by('src').len().collect()\n"
    )
    made = run(experiment(100))
    words = [sys.executable, "-c", code, str(made.folder), str(Path(__file__).parent)]
    told = subprocess.run(words, capture_output=True, text=True, timeout=120, check=False)  # noqa: S603
    lines = told.stdout.splitlines()
    assert len(lines) == 2, told
    assert lines[0] == "8" or "forked" in lines[0]  # importing polars alone starts no threads
    assert "it was forked from one that had read tables with polars" in lines[1]
