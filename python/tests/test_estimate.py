"""``backwater run --estimate``: what is told before a run, against the run.

The factors here are those of docs/promises.md.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from backwater import _core
from backwater.cli import main
from backwater.errors import Exit
from backwater.experiments import estimate_tables, estimates
from backwater.experiments.estimates import Estimate
from backwater.experiments.executor import Job
from backwater.scenario.scenario import Scenario

if TYPE_CHECKING:
    from collections.abc import Sequence

_SCENARIOS = Path(__file__).parents[2] / "scenarios"
#: What packet-hops and memory, and what time may be off by.
_WORK, _TIME = 2.0, 3.0
STAR = """\
profile = "hpcc-ns3"
[topology]
kind = "star"
hosts = 3
rate = "100Gbps"
delay = "1us"
[packet]
payload = "1000B"
[ack]
every = 4
[[traffic]]
name = "one"
kind = "flow"
from = "h0"
to = "h1"
size = "1MB"
start = "0us"
"""


def _looked(text: str, overrides: Sequence[str] = ()) -> dict[str, Any]:
    looked: dict[str, Any] = json.loads(_core.Scenario(text, "x.toml", ".", overrides).estimate())
    return looked


def test_packets_and_hops_are_counted_by_arithmetic() -> None:
    one = _looked(STAR)
    # 1 MB in 1000 B; two links there, and for every fourth packet an ACK over two links back.
    assert (one["packets"], one["packet_hops"]) == (1000, 1000 * 2 * 1.25)
    assert (one["hosts"], one["switches"], one["ports"], one["flows"], one["ranks"]) == (3, 1, 6, 1, 0)
    assert one["until_ps"] is None
    # What the end of the run cuts off is not counted: 20 us at 100 Gbps are 250 KB.
    assert _looked(STAR, ["run.until=20us"])["packets"] == pytest.approx(250, abs=1)
    # Two senders share the link of their destination.
    both = STAR + STAR[STAR.index("[[traffic]]") :].replace('"one"', '"two"').replace('"h0"', '"h2"')
    assert _looked(both, ["run.until=20us"])["packets"] == pytest.approx(250, abs=2)
    assert _looked(both)["packets"] == 2000


def test_sampled_rows_are_counted_by_arithmetic() -> None:
    text = STAR + '[probe]\nsample = "1us"\nports = ["s->h1", "h0->s"]\n'
    # At 0, 1, ... 20 us two ports, and the rate of each flow if rates are sampled.
    rows = _looked(text, ["run.until=20us", "probe.rates=[]"])["sampled"]
    assert rows == 21 * 2
    assert _looked(STAR, ["probe.sample=1us", "probe.ports=[]", "probe.rates=[]"])["sampled"] == 0


#: Runs of all kinds, with enough to do that their time means something.
_RUNS = [
    ("fat-tree", ()),
    ("fat-tree", ("topology.k=8", "traffic.web.until=300us")),
    ("clos", ()),
    ("allreduce", ()),
    ("compare-tcd", ()),
    ("compare-infiniband", ()),
    ("isolation", ()),
    ("isolation-and-tcd", ()),
    ("lossy-or-lossless", ()),
    ("bale", ()),
]


@pytest.mark.parametrize(("name", "overrides"), _RUNS)
def test_a_run_takes_what_was_told(name: str, overrides: tuple[str, ...]) -> None:
    _check(_SCENARIOS / f"{name}.toml", overrides)


def _check(file: Path, overrides: tuple[str, ...]) -> None:
    told = estimates.of(Scenario.load(file), overrides, estimates.pace())
    took = _took(file, overrides)
    assert 1 / _WORK < told.packet_hops / took["packet_hops"] < _WORK
    # How many marks there are is not known before.
    assert told.memory_bytes / _WORK < took["memory_bytes"] < (told.memory_bytes + told.marks_bytes) * _WORK
    # CPU time; what takes a few hundredths of a second is all start-up. Others on the machine make it more: the least
    # counts.
    least = took["cpu_s"]
    for _ in range(3):
        if told.cpu_s * _TIME <= least > 0.1:
            least = min(least, _took(file, overrides)["cpu_s"])
    if least > 0.1:
        assert 1 / _TIME < told.cpu_s / least < _TIME


#: A network whose ports are all busy, full of marks: with the authors' thresholds, and the ground truth kept.
_BUSY = """\
profile = "authors"
[topology]
kind = "fat-tree"
k = 8
rate = "100Gbps"
delay = "1us"
[[traffic]]
name = "perm"
kind = "permutation"
size = "2MB"
"""


@pytest.mark.parametrize(
    "overrides",
    [
        (),
        ("topology.k=16", "traffic.perm.size=300KB"),
        ("topology.k=16", "traffic.perm.size=300KB", "probe.blame=false"),
    ],
    ids=["128 hosts", "1024 hosts", "1024 hosts, no ground truth"],
)
def test_a_large_busy_run_takes_what_was_told(overrides: tuple[str, ...], tmp_path: Path) -> None:
    file = tmp_path / "busy.toml"
    file.write_text(_BUSY)
    _check(file, overrides)


@pytest.mark.parametrize("rate", ["100Gbps", "400Gbps"])
def test_a_large_quiet_network_takes_what_was_told(rate: str, tmp_path: Path) -> None:
    """What it takes is nodes and lists, not the tables of the run: both are told by their sizes."""
    file = tmp_path / "quiet.toml"
    file.write_text(_BUSY.replace('"authors"', '"roce"').replace("k = 8", "k = 32").replace("2MB", "64KB"))
    overrides = [f"topology.rate={rate}"]
    told = estimates.of(Scenario.load(file), overrides)
    assert 0.75 < told.memory_bytes / _took(file, overrides)["memory_bytes"] < 1.33


#: Runs of other kinds, which take next to no time.
_SMALL = (
    "dragonfly incast infiniband mixed-controllers multi-congestion-points my-topology pft-incast put-incast rail "
    "shmem single-congestion-point slow-endpoint torus trace virtual-lanes"
)


@pytest.mark.parametrize("name", _SMALL.split())
def test_packet_hops_of_every_kind_of_scenario_are_near(name: str) -> None:
    file = _SCENARIOS / f"{name}.toml"
    told = estimates.of(Scenario.load(file)).packet_hops
    took = json.loads(_core.Scenario(file.read_text("utf-8"), str(file), file.parent, []).run())
    assert 1 / _WORK < told / took["packet_hops"] < _WORK


_CHILD = """
import json, sys
from pathlib import Path
from backwater import _core
file, out, overrides = Path(sys.argv[1]), sys.argv[2], sys.argv[3:]
def status(name):
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(name))
before = status("VmRSS")
run = json.loads(_core.Scenario(file.read_text(), str(file), file.parent, overrides).run(out))
print(json.dumps({"packet_hops": run["packet_hops"], "cpu_s": run["cpu_s"], "memory_bytes": status("VmHWM") - before}))
"""


def _took(file: Path, overrides: Sequence[str]) -> dict[str, float]:
    """A run in a process of its own: what it took beyond what Python takes."""
    import tempfile

    with tempfile.TemporaryDirectory() as out:
        words = [sys.executable, "-c", _CHILD, str(file), f"{out}/run", *overrides]
        done = subprocess.run(words, capture_output=True, text=True, check=True)  # noqa: S603
    took: dict[str, float] = json.loads(done.stdout)
    return took


def _one(cpu_s: float, memory: float, ranks: int = 0) -> Estimate:
    return Estimate(1, 1, 2, 1, ranks, 1.0, 2.0, 0, cpu_s, memory, ())


def test_runs_together_take_the_cores_that_there_are() -> None:
    work = estimates.together([_one(10, 100), _one(20, 300), _one(30, 200)], 2)
    # 60 s on two cores; the two largest may be there at once.
    assert (work.runs, work.at_once, work.cpu_s, work.wall_s, work.memory_bytes) == (3, 2, 60, 30, 500)
    # One long run cannot be shared out.
    assert estimates.together([_one(100, 1), _one(1, 1)], 8).wall_s == 100
    assert estimates.together([_one(1, 1)], 8).at_once == 1
    assert not estimates.together([_one(1, 1), _one(1, 1, ranks=4)], 1).known


def test_a_function_is_compiled_once_for_a_command() -> None:
    plain = _one(1, 1)
    mine, other = (replace(plain, functions=(f"{name}.py:halve",)) for name in ("mine", "other"))
    alone = estimates.together([plain] * 4, 4).wall_s
    once = estimates.together([mine] * 4, 4).wall_s - alone
    assert once > 0
    assert estimates.together([mine, mine, other, plain], 4).wall_s - alone == pytest.approx(2 * once)


def test_it_runs_nothing_and_writes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    given = ["run", str(_SCENARIOS / "compare-tcd.toml"), "--estimate", "--seeds", "5"]
    assert main(given) == Exit.OK
    shown = capsys.readouterr().out
    assert "compare-tcd DCQCN+TCD" in shown
    assert "10 runs, " in shown
    assert estimate_tables.HONEST in shown
    assert list(tmp_path.iterdir()) == []
    assert main([*given, "--json"]) == Exit.OK
    data = json.loads(capsys.readouterr().out)
    assert [group["run"] for group in data["groups"]] == ["compare-tcd DCQCN", "compare-tcd DCQCN+TCD"]
    assert data["runs"] == 10
    assert data["known"]
    assert data["cpu_s"] == pytest.approx(5 * sum(group["cpu_s"] for group in data["groups"]))


def test_what_ranks_send_is_not_known_and_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", str(_SCENARIOS / "program.toml"), "--estimate"]) == Exit.OK
    shown = capsys.readouterr().out
    assert "not known" in shown
    assert "note: ranks send what their programs say" in shown
    assert "a time that is not known" in shown


@pytest.mark.parametrize("text", ["", "topology = 3", STAR.replace("h1", "h9")])
def test_a_scenario_that_cannot_run_is_refused_as_by_a_run(
    text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "bad.toml"
    file.write_text(text)
    told = []
    for more in (["--estimate"], ["--out", str(tmp_path / "out")]):
        assert main(["run", str(file), *more]) == Exit.BAD_INPUT
        told.append(capsys.readouterr().err)
    assert told[0] == told[1]
    assert not (tmp_path / "out").exists()


def test_more_processes_than_nodes_are_refused_as_by_a_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "small.toml"
    file.write_text(STAR)
    assert main(["run", str(file), "--estimate", "--processes", "900"]) == Exit.BAD_INPUT
    assert "900 processes share this run, whose network has" in capsys.readouterr().err


def test_results_that_do_not_fit_their_limit_are_refused_before_anything_runs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    # Empty tables take 32 KiB each.
    file = tmp_path / "s.toml"
    file.write_text(STAR)
    for words in (["--estimate"], [], ["--seeds", "2"], ["--sweep", "probe.budget=1GB,1KB"]):
        budget = [] if "--sweep" in words else ["--set", "probe.budget=1KB"]
        code = main(["run", str(file), *budget, "--out", str(tmp_path / "out"), *words])
        assert code == Exit.BAD_INPUT
        said = capsys.readouterr().err
        tables = len(re.search(r"record fewer of (.*)", said)[1].split(", "))  # type: ignore[index]
        least = f"{tables * 32 * 1024 / 1000:g}KB"
        assert f"error[probe.budget]: probe.budget = 1KB is less than the {least} that {tables} tables need" in said
        assert "--> --set probe.budget=1KB:1:" in said
        assert f"at least {least}" in said
        assert f"write {least} or more" in said
    assert not (tmp_path / "out").exists() or not list((tmp_path / "out").iterdir())


def test_a_table_that_may_not_fit_its_share_is_noted_before_the_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    # 1 ms in steps of 1 us: 1001 looks at the 8 lanes of one port.
    file = tmp_path / "s.toml"
    file.write_text(STAR + '[probe]\nsample = "1us"\nports = ["s->h0"]\n[run]\nuntil = "1ms"\n')
    for budget, noted in (("1GB", False), ("400KB", True)):
        assert main(["run", str(file), "--estimate", "--set", f"probe.budget={budget}"]) == Exit.OK
        said = "".join(capsys.readouterr())
        assert ("samples takes up to" in said) == noted
        assert ("and probe.budget leaves it" in said) == noted


def test_of_many_runs_a_few_stand_for_all(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    looked_at = []

    def of(scenario: Scenario, overrides: Sequence[str]) -> Estimate:
        looked_at.append((scenario.origin, tuple(overrides)))
        return _one(100.0, 1e6)

    monkeypatch.setattr(estimates, "of", of)
    scenario = Scenario(STAR, "star.toml", Path())
    jobs = [Job("x", scenario, (f"ack.every={number // 10 + 1}",), seed=number) for number in range(40)]
    estimate_tables.say_if_long(jobs, 4)
    # Four scenarios at ten seeds each: 4000 s on four cores.
    assert len(looked_at) == 4
    assert "this takes about 17 min and 4.00 MB" in capsys.readouterr().err
    estimate_tables.say_if_long([], 4)
    assert capsys.readouterr().err == ""


def test_a_long_run_is_announced_and_a_short_one_is_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "star.toml"
    file.write_text(STAR)
    given = ["run", str(file), "--out", str(tmp_path / "out")]
    assert main(given) == Exit.OK
    assert "--estimate" not in capsys.readouterr().err
    monkeypatch.setattr(estimates, "LONG_S", 0.0)
    assert main(given) == Exit.OK
    assert "this takes about < 1 s and 11" in capsys.readouterr().err
    assert main([*given, "--json"]) == Exit.OK
    assert "this takes" not in capsys.readouterr().err
