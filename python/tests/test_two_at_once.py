"""Every command, called by two processes at the same time: in one folder, with one place for results and one cache."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest
from backwater import Results
from backwater.cli import COMMANDS

_SCENE = """profile = "authors"
[topology]
kind = "star"
hosts = 5
rate = "40Gbps"
delay = "1us"

[probe]
blame = true
delivered = true
sample = "10us"
{probe}
[[traffic]]
name = "web"
{traffic}

[[scheme]]
name = "none"
set = ["cc.kind=none"]

[[scheme]]
name = "DCQCN"
set = ["cc.kind=dcqcn", "switch.detector.kind=red"]
"""
_INCAST = 'kind = "incast"\nto = "h0"\nfrom = "*"\nsize = "64KB"\n'
_SWEEP = (
    'scenario = "star.toml"\nseeds = 2\nmeasures = ["mean_fct_ps"]\n[axes]\n"traffic.web.size" = ["32KB", "64KB"]\n'
)
_TUNE = """
scenario = "star.toml"
scheme = "DCQCN"
objective = "mean_fct_ps"
goal = "minimize"
seeds = 1
report-seeds = 1
trials = 3

[parameters]
"switch.detector.kmax" = ["20KB", "50KB", "100KB"]
"""
#: What is run twice at once; the results that it works on are there.
_CALLS: dict[str, list[str]] = {
    "demo": ["--out", "demo"],
    "run": ["star.toml", "--out", "out"],
    "sweep": ["loads.toml", "--out", "swept", "--keep-runs"],
    "tune": ["kmax.toml", "--out", "tuned"],
    "compare": ["star.toml", "--seeds", "2", "--out", "compared"],
    "blame": ["done", "--out", "blamed"],
    "view": ["done", "--out", "page.html"],
    "topology": ["star.toml"],
    "describe": ["done"],
    "diff": ["done", "done"],
    "schema": [],
    "cite": ["star.toml"],
    "completion": ["bash"],
    "advise": ["star.toml", "--steps", "2", "--seeds", "1", "--plot", "map.png"],
    "calibrate": ["sizes.csv", "--out", "nic.toml", "--plot", "fit.png"],
    "explain": ["caveats"],
    "export csv": ["done", "flows", "--out", "csv"],
    "export fct": ["done", "--out", "fct"],
    "export pfc": ["done", "--out", "pfc"],
    "export perfetto": ["done", "--out", "perfetto.json"],
    "export pcapng": ["done", "--out", "frames.pcapng"],
    "cache info": [],
    "cache clear": [],
    "doctor": ["--out", "looked"],
    "puts": ["done", "--plot", "packets.png"],
    "throttle": ["done", "--plot", "states.png"],
    "tcd max-ton": ["--rate", "40Gbps", "--delay", "4us", "--mtu", "1000B", "--epsilon", "0.05"],
    "pfc headroom": ["--rate", "100Gbps", "--delay", "1us", "--mtu", "1000B"],
    "cbfc feasibility": ["--rate", "32Gbps", "--delay", "4us", "--period", "50us", "--buffer", "280KB"],
    "import hpcc": ["config.txt", "--out", "imported"],
    "import goal": ["a.goal", "--out", "imported"],
    "import htsim": ["a.cm", "--out", "imported"],
    "gpcnet": ["--quick", "--topology", "more.toml", "--schemes", "none", "--out", "rings"],
    "reproduce": ["pft", "--figure", "fig1", "--quick", "--out", "paper"],
    "init": ["begun"],
}
#: What their results have besides.
_MADE: dict[str, list[str]] = {
    "export pcapng": ['probe.frames=["s->h0"]'],
    "puts": ["profile=endpoint", "topology.rate=102.4Gbps", 'probe.puts=["web"]', "probe.streams=true"],
    "throttle": ["profile=hpc", "host.throttle.kind=pft", "probe.throttle=true", "probe.throttle-states=true"],
}
_CONFIG = """TOPOLOGY_FILE topology.txt
FLOW_FILE flow.txt
CC_MODE 1
SIMULATOR_STOP_TIME 2.01
PACKET_PAYLOAD_SIZE 1000
"""
#: Those that need what is not here: a paper's runs, hardware, a collective, MPI, a saved run, minutes.
_ELSEWHERE = {"critical", "report", "resume", "sensitivity", "testbed", "trace mpi"}
#: They need a folder that is not there.
_MAKE_A_FOLDER = {"init", "import hpcc", "import goal", "import htsim"}


def _names() -> set[str]:
    return set(COMMANDS)


def test_no_command_is_left_out() -> None:
    assert {name for name in _names() if not name.startswith("import")} == {*_CALLS, *_ELSEWHERE} - _MAKE_A_FOLDER | {
        "init"
    }
    assert _names() >= _MAKE_A_FOLDER


@pytest.fixture
def room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("star.toml").write_text(_SCENE.format(traffic=_INCAST, probe=""), encoding="utf-8")
    Path("loads.toml").write_text(_SWEEP, encoding="utf-8")
    Path("kmax.toml").write_text(_TUNE, encoding="utf-8")
    Path("more.toml").write_text(_SCENE.partition("[probe]")[0].replace("hosts = 5", "hosts = 16"), encoding="utf-8")
    Path("config.txt").write_text(_CONFIG, encoding="utf-8")
    Path("topology.txt").write_text("3 1 2\n2\n0 2 100Gbps 0.001ms 0\n1 2 100Gbps 0.001ms 0\n", encoding="utf-8")
    Path("flow.txt").write_text("1\n0 1 3 100 20000 2.0\n", encoding="utf-8")
    Path("a.goal").write_text("num_ranks 2\nrank 0 { send 9b to 1 }\nrank 1 { recv 9b from 0 }\n", encoding="utf-8")
    rows = "".join(f"{4**power},1,{4**power * 8 / (2000 + 4**power / 12)}\n" for power in range(1, 10))
    Path("sizes.csv").write_text("size_bytes,depth,goodput_gbps\n" + rows, encoding="utf-8")
    Path("a.cm").write_text("Nodes 4\nConnections 1\n0->1 start 0 size 9000\n", encoding="utf-8")
    return tmp_path


def _begun(words: list[str], room: Path) -> subprocess.Popen[str]:
    environment = {**os.environ, "BACKWATER_CACHE": str(room / "cache")}
    return subprocess.Popen(  # noqa: S603
        [sys.executable, "-m", "backwater", *words],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )  # fmt: skip


def _tree(room: Path) -> dict[str, object]:
    """What commands left: digests and contents of tables, and texts that do not tell of the moment."""
    found: dict[str, object] = {}
    for file in sorted(path for path in room.rglob("*") if path.is_file()):
        name = str(file.relative_to(room))
        if file.name == "run.json":
            results = Results(file.parent)
            assert results.complete
            for table in results.tables:
                results.check(table)
            found[name] = [results.digest, sorted(results.tables.items())]
        elif file.suffix == ".parquet":
            found[name] = pl.read_parquet(file, glob=False).to_dicts()
        elif file.suffix in {".csv", ".txt", ".toml"}:
            found[name] = file.read_text(encoding="utf-8")
        else:
            found[name] = None
            if file.suffix == ".json":
                json.loads(file.read_text(encoding="utf-8"))
    return found


@pytest.mark.parametrize("command", _CALLS)
def test_two_at_once_leave_what_one_leaves(command: str, room: Path) -> None:
    words = [*command.split(), *_CALLS[command]]
    if "done" in words:
        given = [word for one in _MADE.get(command, ["cc.kind=dcqcn"]) for word in ("--set", one)]
        first = _begun(["run", "star.toml", "--scheme", "DCQCN", "--out", "made", *given], room)
        _, told = first.communicate(timeout=120)
        assert first.returncode in {0, 4}, told
        next(Path("made").iterdir()).rename("done")
        Path("made").rmdir()
    both = [_begun(words, room) for _ in range(2)]
    said = [process.communicate(timeout=240) for process in both]
    codes = [process.returncode for process in both]
    # A folder that must not be there is made by one of two; the other one says so.
    allowed = {0, 4} if command not in _MAKE_A_FOLDER else {0, 2}
    assert set(codes) <= allowed, said
    assert {0, 4} & set(codes)
    assert not any("bug of Backwater" in errors or "Traceback" in errors for _, errors in said), said
    assert not list(room.rglob("*.part*")), said
    twice = _tree(room)
    # The same once more, alone: nothing that is read of it may differ.
    if command not in _MAKE_A_FOLDER | {"blame", "view"}:
        alone = _begun(words, room)
        out, _ = alone.communicate(timeout=240)
        assert alone.returncode in allowed
        assert _tree(room) == twice
        if command in {"topology", "describe", "diff", "schema", "explain"}:
            assert {text for text, _ in said} == {out}
