"""`make bench-peers`: the same flows through other simulators and through Backwater, in turns, and what each took.

Each path is that of a build which the user has: `HPCC=PATH` of the HPCC simulator (ns-3), `HTSIM=PATH` of csg-htsim,
`UET=PATH` of uet-htsim. Backwater draws the flows of a case once, and writes network and flows in the format of each
simulator. Others are started as they are, by their own command lines. Whole processes count, from start to end.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

HERE = Path(__file__).resolve().parents[1]
#: Bytes of a packet that are the flow's. Links have 100 Gbps and 1 us.
PAYLOAD = 1000
#: Every run ends so long after the first flow may start, if it has not ended before.
UNTIL_US = 100_000
#: When flows begin in files of the HPCC simulator (its own generators do so).
ORIGIN_S = 2
#: A run that takes so long is stopped.
LIMIT_S = 3600.0


class Flow(NamedTuple):
    """Two hosts by their numbers, and what one sends to the other from when on."""

    source: int
    destination: int
    size: int
    start_ps: int


@dataclass(frozen=True)
class Case:
    """A fat tree of switches with k ports, and the `[[traffic]]` on it; of a trial two flows instead."""

    k: int
    says: str
    traffic: dict[str, Any] | None

    @property
    def hosts(self) -> int:
        """How many the tree has."""
        return self.k**3 // 4


_WEB_SEARCH = {"name": "web", "kind": "poisson", "cdf": "web-search", "load": 0.6}
CASES = {
    "k8": Case(8, "WebSearch at 60 % for 2 ms", _WEB_SEARCH | {"until": "2ms"}),
    "k16": Case(16, "a permutation of 2 MB", {"name": "permutation", "kind": "permutation", "size": "2MB"}),
    "quick": Case(4, "WebSearch at 60 % for 1 ms", _WEB_SEARCH | {"until": "1ms"}),
}
USUAL = ("k8", "k16")
#: What a build has to do before anything is timed. The second flow tells whether it keeps start times.
_TRIAL = "trial"
_TRIAL_FLOWS = [Flow(0, 15, PAYLOAD, 0), Flow(1, 14, PAYLOAD, 50_000_000)]


def packet_hops(flows: Sequence[Flow], k: int) -> tuple[int, int]:
    """Packets of data, and packet-hops: each of them and one ACK for it over each link of a shortest path."""
    packets = hops = 0
    for flow in flows:
        sent = -(-flow.size // PAYLOAD)
        if flow.source // (k // 2) == flow.destination // (k // 2):
            links = 2
        elif flow.source // (k * k // 4) == flow.destination // (k * k // 4):
            links = 4
        else:
            links = 6
        packets += sent
        hops += 2 * sent * links
    return packets, hops


# What is written, in a process of its own: memory that this process ever had counts as that of those it starts.


def prepare(name: str, folder: Path) -> None:
    """Draw the flows of a case, and write them and the network in every format."""
    from backwater.io.importing import hpcc, htsim

    case = Case(4, "", None) if name == _TRIAL else CASES[name]
    shutil.rmtree(folder, ignore_errors=True)
    (folder / "ours").mkdir(parents=True)
    tree = _fat_tree(case.k)
    topology, _, _ = htsim.network(tree, "fat.topo")
    (folder / "fat.topo").write_text(tree)
    (folder / "topology.txt").write_text(topology)
    flows = _TRIAL_FLOWS if case.traffic is None else _drawn(case.traffic, folder)
    (folder / "flows.cm").write_text(_connections(flows, case.hosts, 1))
    (folder / "flows-us.cm").write_text(_connections(flows, case.hosts, 10**6))
    (folder / "flow.txt").write_text(_flow_lines(flows))
    (folder / "trace.txt").write_text("0\n")
    (folder / "config.txt").write_text("".join(f"{key} {value}\n" for key, value in _HPCC_CONFIG.items()))
    for file, text in hpcc.load(folder / "config.txt").files.items():
        (folder / "ours" / file).write_text(text)
    (folder / "flows.json").write_text(json.dumps(flows))


def _drawn(traffic: dict[str, Any], folder: Path) -> list[Flow]:
    import backwater as bw

    topology = {"kind": "hpcc", "file": str(folder / "topology.txt")}
    scenario = {"profile": "hpcc-ns3", "run": {"seed": 1}, "topology": topology, "traffic": [traffic]}
    run = bw.run(scenario, out=folder / "drawn")
    columns = ("src_index", "dst_index", "size_bytes", "start_ps")
    rows = run.flows.sort("start_ps", "flow").select(*columns).collect().iter_rows()
    return [Flow(*row) for row in rows]


def _fat_tree(k: int) -> str:
    """A fat tree as htsim reads it; what Backwater and the HPCC simulator read is made from it."""
    half = k // 2
    link = "Downlink_speed_Gbps 100\nDownlink_Latency_ns 1000\n"
    return (
        f"Nodes {k**3 // 4}\nTiers 3\nPodsize {half * half}\n"
        f"Tier 0\n{link}Radix_Down {half}\nRadix_Up {half}\n"
        f"Tier 1\n{link}Radix_Down {half}\nRadix_Up {half}\n"
        f"Tier 2\n{link}Radix_Down {k}\n"
    )


def _connections(flows: Sequence[Flow], hosts: int, unit_ps: int) -> str:
    rows = (f"{one.source}->{one.destination} start {one.start_ps // unit_ps} size {one.size}\n" for one in flows)
    return f"Nodes {hosts}\nConnections {len(flows)}\n{''.join(rows)}"


def _flow_lines(flows: Sequence[Flow]) -> str:
    rows = (f"{one.source} {one.destination} 3 100 {one.size} {_seconds(one.start_ps)}\n" for one in flows)
    return f"{len(flows)}\n{''.join(rows)}"


def _seconds(start_ps: int) -> str:
    return f"{ORIGIN_S + start_ps // 10**12}.{start_ps % 10**12:012d}"


#: DCQCN as the HPCC simulator's `run.py --cc dcqcn --bw 100` sets it; without its trace and its monitor of queues.
_HPCC_CONFIG = {
    "ENABLE_QCN": "1",
    "USE_DYNAMIC_PFC_THRESHOLD": "1",
    "PACKET_PAYLOAD_SIZE": f"{PAYLOAD}",
    "TOPOLOGY_FILE": "topology.txt",
    "FLOW_FILE": "flow.txt",
    "TRACE_FILE": "trace.txt",
    "TRACE_OUTPUT_FILE": "mix.tr",
    "FCT_OUTPUT_FILE": "fct.txt",
    "PFC_OUTPUT_FILE": "pfc.txt",
    "QLEN_MON_FILE": "qlen.txt",
    "QLEN_MON_START": "0",
    "QLEN_MON_END": "0",
    "ENABLE_TRACE": "0",
    "SIMULATOR_STOP_TIME": f"{ORIGIN_S + UNTIL_US / 1e6}",
    "CC_MODE": "1",
    "ALPHA_RESUME_INTERVAL": "1",
    "RATE_DECREASE_INTERVAL": "4",
    "CLAMP_TARGET_RATE": "0",
    "RP_TIMER": "300",
    "EWMA_GAIN": "0.00390625",
    "FAST_RECOVERY_TIMES": "1",
    "RATE_AI": "20Mb/s",
    "RATE_HAI": "200Mb/s",
    "MIN_RATE": "1000Mb/s",
    "DCTCP_RATE_AI": "1000Mb/s",
    "ERROR_RATE_PER_LINK": "0",
    "L2_CHUNK_SIZE": "4000",
    "L2_ACK_INTERVAL": "1",
    "L2_BACK_TO_ZERO": "0",
    "HAS_WIN": "0",
    "GLOBAL_T": "1",
    "VAR_WIN": "0",
    "FAST_REACT": "0",
    "U_TARGET": "0.95",
    "MI_THRESH": "0",
    "INT_MULTI": "1",
    "MULTI_RATE": "0",
    "SAMPLE_FEEDBACK": "0",
    "PINT_LOG_BASE": "1.01",
    "PINT_PROB": "1",
    "RATE_BOUND": "1",
    "ACK_HIGH_PRIO": "1",
    "LINK_DOWN": "0 0 0",
    "KMAX_MAP": "1 100000000000 1600",
    "KMIN_MAP": "1 100000000000 400",
    "PMAX_MAP": "1 100000000000 0.2",
    "BUFFER_SIZE": "32",
}


# Who is started, and what he says.


@dataclass(frozen=True)
class Peer:
    """Another simulator: where its program may stand in a folder, how it is started, and what is unlike ours."""

    variable: str
    name: str
    programs: tuple[str, ...]
    arguments: Callable[[int], list[str]]
    #: When each flow that finished did so, in us after the first one may start, from a folder and what was printed.
    finished: Callable[[Path, str], list[float]]
    differs: tuple[str, ...]

    @property
    def log(self) -> str:
        """The file that has what it printed."""
        return f"{self.variable.lower()}.log"


def _of_fct(folder: Path, _printed: str) -> list[float]:
    file = folder / "fct.txt"
    rows = [line.split() for line in file.read_text().splitlines()] if file.exists() else []
    return [(int(row[5]) + int(row[6])) / 1000 - ORIGIN_S * 1e6 for row in rows if len(row) == 8]


def _of_lines(_folder: Path, printed: str) -> list[float]:
    found = re.finditer(r"^Flow (\S+ (?:flowId )?\d+) .*?\bfinished at ([0-9.e+]+)", printed, re.MULTILINE)
    return list({one[1]: float(one[2]) for one in found}.values())


def _roce(hosts: int) -> list[str]:
    # PAUSE at 60 packets of 1000 B in an ingress queue, its default of 15 in packets of 4 KB; queues are not cut off.
    lossless = "-strat ecmp_host -paths 128 -queue_type lossless_input -q 10000 -pfc_thresholds 48 60"
    return [*f"-nodes {hosts} {lossless} -mtu {PAYLOAD}".split(), *_of_htsim("flows.cm", "roce.dat")]


def _uec(hosts: int) -> list[str]:
    # Its packets have 64 B of headers, which count there, and start times are whole us.
    return [
        *f"-nodes {hosts} -sender_cc_algo nscc -linkspeed 100000 -mtu {PAYLOAD + 64}".split(),
        *_of_htsim("flows-us.cm", "uec.dat"),
    ]


def _of_htsim(connections: str, output: str) -> list[str]:
    return f"-topo fat.topo -tm {connections} -end {UNTIL_US} -o {output}".split()


PEERS = (
    Peer(
        "HPCC",
        "HPCC (ns-3)",
        ("build/scratch/third", "simulation/build/scratch/third"),
        lambda _hosts: ["config.txt"],
        _of_fct,
        (
            "Model: the same DCQCN, RED, PFC and ACKs as here; Backwater's scenario is imported from its config.txt.",
            "Times on the wire are cut to whole ns: links run 1.0 % fast for data and 20 % for ACKs.",
        ),
    ),
    Peer(
        "HTSIM",
        "csg-htsim (RoCE)",
        ("htsim_roce", "datacenter/htsim_roce", "sim/datacenter/htsim_roce"),
        _roce,
        _of_lines,
        (
            "Model: RoCE at line rate without congestion control, so that PFC alone holds senders back.",
            "PFC has fixed thresholds of 60 and 48 packets for each port. Headers and ACKs have 64 B.",
        ),
    ),
    Peer(
        "UET",
        "uet-htsim (NSCC)",
        tuple(f"{place}htsim_uec" for place in ("", "datacenter/", "build/datacenter/", "htsim/sim/build/datacenter/")),
        _uec,
        _of_lines,
        (
            "Model: NSCC; packets of a flow take several paths. Switches have no PFC: they trim packets.",
            "One ACK answers several packets there, so that it makes fewer packet-hops than are counted.",
            "Start times are cut to whole us.",
        ),
    ),
)


class RefusedError(Exception):
    """What was given cannot be used; the text says where, what, and what would do."""


class Run(NamedTuple):
    """What a process took, and what is to be known of it."""

    wall_s: float
    cpu_s: float
    memory_mb: float
    code: int
    printed: str


def timed(command: Sequence[str], folder: Path, log: str, limit_s: float, more: Mapping[str, str] | None = None) -> Run:
    """Run a command in a folder, with what it prints in a file there."""
    with (folder / log).open("wb") as output:
        begun = time.monotonic()
        process = subprocess.Popen(
            command,
            cwd=folder,
            env={**os.environ, **(more or {})},
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
        )
        timer = threading.Timer(limit_s, process.kill)
        timer.start()
        try:
            _, status, used = os.wait4(process.pid, 0)
        except BaseException:
            process.kill()
            process.wait()
            raise
        finally:
            timer.cancel()
        wall_s = time.monotonic() - begun
    process.returncode = os.waitstatus_to_exitcode(status)
    printed = (folder / log).read_text(errors="replace")
    return Run(wall_s, used.ru_utime + used.ru_stime, used.ru_maxrss * 1024 / 1e6, process.returncode, printed)


@dataclass
class Build:
    """A peer's program, which has passed its trial."""

    peer: Peer
    program: Path
    keeps_start_times: bool = True

    def run(self, case: Case, folder: Path, limit_s: float) -> Run:
        """Run a case in the folder that has its files."""
        (folder / "fct.txt").unlink(missing_ok=True)
        command = [str(self.program), *self.peer.arguments(case.hosts)]
        # The libraries of ns-3 stand in the folder above its programs.
        libraries = [str(self.program.parent.parent), *filter(None, [os.environ.get("LD_LIBRARY_PATH")])]
        return timed(command, folder, self.peer.log, limit_s, {"LD_LIBRARY_PATH": os.pathsep.join(libraries)})

    def commit(self) -> str:
        """What git says of the checkout that it is in, if that is not this one."""
        top = _git(self.program.resolve().parent, "rev-parse", "--show-toplevel")
        if not top or Path(top) == HERE:
            return "no commit known"
        return f"commit {_git(Path(top), *_DESCRIBE)}"


#: The commit, and whether files that it has were changed.
_DESCRIBE = ("describe", "--always", "--dirty", "--exclude=*")


def _git(folder: Path, *words: str) -> str:
    said = subprocess.run(["git", "-C", str(folder), *words], capture_output=True, text=True, check=False)
    return said.stdout.strip()


def find(peer: Peer, given: str) -> Path:
    """The program of a build at a path."""
    place, where = Path(given).expanduser().absolute(), f"{peer.variable}={given}"
    names = " or ".join(peer.programs)
    if not place.exists():
        raise RefusedError(f"{where}: there is no such file or folder; name the folder of a build that has {names}")
    if place.is_dir():
        found = [place / name for name in peer.programs if (place / name).is_file()]
        if not found:
            raise RefusedError(f"{where}: the folder has no {names}; build it there, or name the program itself")
        place = found[0]
    if not os.access(place, os.X_OK):
        raise RefusedError(f"{where}: {place} is not a program that can be run; name one, or the folder of a build")
    return place


def tried(peer: Peer, given: str, folder: Path) -> Build:
    """The build at a path, if it runs two flows to their ends."""
    build = Build(peer, find(peer, given))
    where = f"{peer.variable}={given}"
    try:
        run = build.run(Case(4, "", None), folder, 60)
    except OSError as error:
        raise RefusedError(
            f"{where}: {build.program} does not start ({error.strerror}); name a build for this machine"
        ) from None
    ends = peer.finished(folder, run.printed)
    if run.code or len(ends) != len(_TRIAL_FLOWS):
        last = (run.printed.strip().splitlines() or ["nothing"])[-1][:200]
        raise RefusedError(
            f"{where}: {build.program} is no build of {peer.name} that can be timed: of {len(_TRIAL_FLOWS)} flows it"
            f" finished {len(ends)}, ended with code {run.code}, and printed at last: {last}; all is in"
            f" {folder / peer.log}"
        )
    build.keeps_start_times = max(ends) >= max(flow.start_ps for flow in _TRIAL_FLOWS) / 1e6
    return build


class Ours(NamedTuple):
    """A run of Backwater: the process, and of it the run alone, as it says itself."""

    whole: Run
    alone: Run
    packet_hops: int
    finished: int


@dataclass
class Taken:
    """The runs of one simulator, and of Backwater just before each."""

    name: str
    runs: list[Run]
    finished: list[int]
    ours: list[Ours]
    failed: str = ""


def ours(folder: Path) -> Ours:
    """Run Backwater."""
    shutil.rmtree(folder / "results", ignore_errors=True)
    command = [sys.executable, "-m", "backwater", "run", "ours/scenario.toml", "--out", "results"]
    whole = timed(command, folder, "ours.log", LIMIT_S)
    files = list((folder / "results").glob("*/run.json"))
    # 4 says that there is something to know of the results, which says nothing of time.
    if len(files) != 1 or whole.code not in (0, 4):
        raise RefusedError(f"Backwater ended with code {whole.code}; see {folder / 'ours.log'}")
    facts = json.loads(files[0].read_text())
    alone = whole._replace(wall_s=facts["wall_s"], cpu_s=facts["cpu_s"])
    return Ours(whole, alone, facts["packet_hops"], facts["totals"]["finished"])


def measured(name: str, builds: Sequence[Build], runs: int, folder: Path, limit_s: float) -> str:
    """The table of one case."""
    case = CASES[name]
    flows = [Flow(*flow) for flow in json.loads((folder / "flows.json").read_text())]
    packets, hops = packet_hops(flows, case.k)
    begun = os.getloadavg()[0]
    own: list[Ours] = []
    taken = {build.peer: Taken(build.peer.name, [], [], []) for build in builds}
    for turn in range(runs):
        for build in builds:
            if taken[build.peer].failed:
                continue
            own.append(ours(folder))
            run = build.run(case, folder, limit_s)
            print(f"{name}, {turn + 1} of {runs}: {build.peer.name} {run.cpu_s:.1f} CPU-s,", end=" ", file=sys.stderr)
            print(f"Backwater {own[-1].whole.cpu_s:.2f}", file=sys.stderr, flush=True)
            _note(taken[build.peer], build, folder, own[-1], run, limit_s)
    all_finished = f"{min(one.finished for one in own)} of {len(flows)}"
    rows = [
        _row("Backwater", [one.whole for one in own], hops, ["1", ""], all_finished),
        _row("Backwater, the run alone", [one.alone for one in own], hops, ["", "1"], all_finished),
        *(_peer_row(one, hops, len(flows)) for one in taken.values()),
    ]
    unlike = sorted({one.packet_hops for one in own} - {hops})
    counted = f" Backwater counted {', '.join(f'{one:,}' for one in unlike)}." if unlike else ""
    head = (
        f"{name}: fat tree of {case.hosts} hosts, {case.says}: {len(flows):,} flows, {packets:,} packets of up to"
        f" {PAYLOAD} B, {hops:,} packet-hops.{counted}"
    )
    load = f"Turns: {runs}; load average {begun:.1f} at the beginning, {os.getloadavg()[0]:.1f} at the end."
    return "\n".join(
        [head, load, "", _line(_COLUMNS), "|" + "---|" * len(_COLUMNS), *rows, "", *_remarks(builds, taken, flows)]
    )


def _note(taken: Taken, build: Build, folder: Path, before: Ours, run: Run, limit_s: float) -> None:
    if run.code:
        stopped = f"stopped after {limit_s:g} s" if run.wall_s >= limit_s else f"ended with code {run.code}"
        taken.failed = f"{stopped}; see {folder / build.peer.log}"
        return
    taken.runs.append(run)
    taken.ours.append(before)
    taken.finished.append(len(build.peer.finished(folder, run.printed)))


_COLUMNS = (
    "simulator",
    "wall, s",
    "CPU, s",
    "peak memory, MB",
    "packet-hops per CPU-second, millions",
    "CPU over Backwater's",
    "over its run alone",
    "finished",
)


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _row(name: str, runs: Sequence[Run], hops: int, ratios: Sequence[str], finished: str) -> str:
    cells = (
        name,
        _range([run.wall_s for run in runs]),
        _range([run.cpu_s for run in runs]),
        f"{max(run.memory_mb for run in runs):.0f}",
        _range([hops / run.cpu_s / 1e6 for run in runs]),
        *ratios,
        finished,
    )
    return _line(cells)


def _peer_row(taken: Taken, hops: int, flows: int) -> str:
    if not taken.runs:
        return _line([taken.name, *["–"] * (len(_COLUMNS) - 1)])
    pairs = list(zip(taken.runs, taken.ours, strict=True))
    ratios = [_range([run.cpu_s / one.whole.cpu_s for run, one in pairs])]
    ratios.append(_range([run.cpu_s / one.alone.cpu_s for run, one in pairs]))
    return _row(taken.name, taken.runs, hops, ratios, f"{min(taken.finished)} of {flows}")


def _range(values: Sequence[float]) -> str:
    """The median, and the least and the greatest value."""
    middle = _plain(statistics.median(values))
    return middle if len(values) == 1 else f"{middle} ({_plain(min(values))}–{_plain(max(values))})"


def _plain(value: float) -> str:
    """Three digits."""
    return f"{value:.{sum(value < bound for bound in (100, 10, 1))}f}"


def _remarks(builds: Sequence[Build], taken: Mapping[Peer, Taken], flows: Sequence[Flow]) -> list[str]:
    """What is unlike ours, and what was not done."""
    lines = []
    late = any(flow.start_ps for flow in flows)
    for build in builds:
        one = taken[build.peer]
        said = [f"{build.commit()}.", *build.peer.differs]
        if not build.keeps_start_times and late:
            said.append("This build does not keep start times: all flows begin at once.")
        elif build.peer.variable == "HTSIM" and late:
            said.append("This build keeps start times, as those that its authors publish do not.")
        if one.failed:
            said.append(f"It failed: {one.failed}.")
        if one.finished and min(one.finished) < len(flows):
            left = len(flows) - min(one.finished)
            said.append(f"{left} of {len(flows)} flows did not finish within {UNTIL_US // 1000} ms.")
        last = one.runs[-1].printed if one.runs else ""
        if again := re.findall(r"^New: \d+ Rtx: ([1-9]\d*)", last, re.MULTILINE):
            said.append(f"It sent {int(again[-1]):,} packets again.")
        if over := last.count("LOSSLESS not working"):
            said.append(f"{over:,} packets were kept though their queue was full.")
        lines.append(f"- {build.peer.name}: {' '.join(said)}")
    return lines


def _machine() -> str:
    file = Path("/proc/cpuinfo")
    names = re.findall(r"^model name\s*: (.*)$", file.read_text(), re.MULTILINE) if file.exists() else []
    now, processor = datetime.now(UTC), names[0] if names else "an unknown processor"
    commit = _git(HERE, *_DESCRIBE) or "of no commit known"
    return f"{now:%Y-%m-%d %H:%M} UTC, {os.cpu_count()} cores of {processor}, Backwater {commit}"


_RULE = (
    "Packet-hops are computed, and are the same number for all: each packet and one ACK for it, over each link of a"
    " shortest path. Times are of whole processes: reading, building, running and writing; of Backwater the run alone"
    " has a row, too. Cells have the median, and the least and the greatest value, and peak memory the greatest. CPU"
    " time is divided by that of Backwater just before."
)


def main() -> int:
    """Try the builds, then time them."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    for peer in PEERS:
        parser.add_argument(f"--{peer.variable.lower()}", help=f"a folder or program of a build of {peer.name}")
    parser.add_argument("--runs", type=int, default=3, help="turns of each case (3)")
    parser.add_argument("--case", choices=[*CASES], help=f"only this case; {' and '.join(USUAL)} if none is given")
    parser.add_argument(
        "--limit", type=float, default=LIMIT_S, help=f"seconds after which a run is stopped ({LIMIT_S:g})"
    )
    parser.add_argument(
        "--folder", type=Path, default=HERE / "target/peers", help="where files are made (target/peers)"
    )
    parser.add_argument("--prepare", choices=[*CASES, _TRIAL], help=argparse.SUPPRESS)
    given = parser.parse_args()
    folder: Path = given.folder.absolute()
    if given.prepare:
        prepare(given.prepare, folder)
        return 0
    try:
        return _compare(given, folder)
    except RefusedError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2


def _compare(given: argparse.Namespace, folder: Path) -> int:
    named = [(peer, path) for peer in PEERS if (path := getattr(given, peer.variable.lower()))]
    if not named:
        names = " or ".join(f"{peer.variable}=PATH ({peer.name})" for peer in PEERS)
        raise RefusedError(f"no build is given; name at least one: make bench-peers {names}")
    if given.runs < 1:
        raise RefusedError(f"RUNS={given.runs}: from 1; three turns are usual, RUNS=3")
    for peer, path in named:
        find(peer, path)
    _prepare(_TRIAL, folder / _TRIAL)
    builds = [tried(peer, path, folder / _TRIAL) for peer, path in named]
    print(_machine())
    print(_RULE, flush=True)
    for name in [given.case] if given.case else USUAL:
        _prepare(name, folder / name)
        print("", measured(name, builds, given.runs, folder / name, given.limit), sep="\n", flush=True)
    return 0


def _prepare(name: str, folder: Path) -> None:
    made = subprocess.run(
        [sys.executable, __file__, "--prepare", name, "--folder", str(folder)], check=False, stdout=sys.stderr
    )
    if made.returncode:
        raise RefusedError(f"the flows of {name} could not be made (code {made.returncode}); make build, and try again")


if __name__ == "__main__":
    sys.exit(main())
