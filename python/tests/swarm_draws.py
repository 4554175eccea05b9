"""Scenarios that mix everything with everything, each drawn from one number, and valid by construction.

A fabric says what keeps its buffers from overflowing, and what may be mixed with that. Each feature has a random
stream of its own: a draw without one of them is otherwise the same, so that a failure can be made smaller.
"""

# ruff: noqa: S311 - draws, not secrets
from __future__ import annotations

from dataclasses import dataclass
from random import Random
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

#: A program in which every rank sends to its neighbour and all add something up.
PROGRAM = """backwater-program 1
ranks {ranks}
rank * loop 2
rank * irecv from -1 bytes {size} tag 1
rank * isend to +1 bytes {size} tag 1
rank * compute 2us
rank * wait
rank * allreduce bytes 8
rank * end
"""
TRACE = """backwater-trace 1
ranks {ranks}
collective 1 allreduce bytes {size} algorithm ring
"""
#: A controller of the user's: it halves at a CNP and rises with each packet and every 20 us. Some draws have no CNPs.
CONTROLLER = """import backwater as bw


@bw.congestion_control(state={"seen": int}, on=["send", "cnp"])
def halve(flow, event):
    if event.kind == bw.CNP:
        flow.rate_bps = max(1e9, flow.rate_bps / 2)
        flow.seen += 1
    else:
        flow.rate_bps = min(flow.line_bps, flow.rate_bps + 1e9)
    flow.timer_ps = event.now_ps + 20_000_000
"""


@dataclass
class Draw:
    """A scenario, the files that it reads, and what was mixed into it."""

    seed: int
    features: list[str]
    scenario: dict[str, Any]
    files: dict[str, str]
    hosts: int
    fabric: str

    def pick(self, rng: Random, most: int) -> list[str]:
        """Some hosts, one at least."""
        return [f"h{number}" for number in sorted(rng.sample(range(self.hosts), rng.randint(1, most)))]

    def add(self, entry: dict[str, Any]) -> None:
        """Add a traffic entry."""
        self.scenario["traffic"].append(entry)


def draw(seed: int, without: frozenset[str] = frozenset()) -> Draw:
    """The scenario of this number; `without` leaves features out."""
    rng = Random(seed)
    fabric = rng.choice(["pfc", "pfc", "pfc", "credits", "hpc", "lossy", "lossless-put", "isolation"])
    made = Draw(seed, [], {"run": {"seed": 1 + seed % 1000}, "traffic": [], "probe": {}}, {}, 0, fabric)
    _FABRICS[fabric](made, rng)
    made.scenario["run"]["until"] = rng.choice(["60us", "150us", "400us"])
    chosen = [
        name
        for name, (share, fits, _) in _FEATURES.items()
        if Random(f"{seed} {name}?").random() < share and fabric in fits.split()
    ]
    # Settings change traffic entries, so there has to be one before.
    if not any(name in _TRAFFIC and name not in without for name in chosen):
        chosen.insert(0, "incast")
        without -= {"incast"}
    for name in chosen:
        if name not in without and _FEATURES[name][2](made, Random(f"{seed} {name}")) is not False:
            made.features.append(name)
    return made


def _switch(made: Draw) -> dict[str, Any]:
    found: dict[str, Any] = made.scenario.setdefault("switch", {})
    return found


def _pfc(made: Draw, rng: Random) -> None:
    made.scenario["profile"] = rng.choice(["ideal", "hpcc-ns3", "authors"])
    rate = "40Gbps" if made.scenario["profile"] == "authors" else rng.choice(["40Gbps", "100Gbps"])
    _tree(made, rng, rate, rng.choice(["500ns", "1us"]))
    kind = rng.choice(["none", "red", "np-ecn", "tcd"])
    _switch(made)["detector"] = {"kind": kind}
    made.scenario["cc"] = {"kind": "none" if kind == "none" else "dcqcn"}


def _credits(made: Draw, rng: Random) -> None:
    made.scenario["profile"] = "infiniband"
    if rng.random() < 0.3:
        _deadlock_free(made, rng)
    else:
        _tree(made, rng, "32Gbps", "1us")
    _switch(made)["credits"] = {"buffer": "1200KB"}
    kind = rng.choice(["none", "fecn", "tcd"])
    _switch(made)["detector"] = {"kind": kind}
    made.scenario["cc"] = {"kind": "none" if kind == "none" else "ib-cc"}


def _deadlock_free(made: Draw, rng: Random) -> None:
    """Routes that go round need another virtual lane."""
    links = {"rate": "32Gbps", "delay": "1us"}
    if rng.random() < 0.5:
        made.hosts, shape = 6, {"kind": "dragonfly", "a": 2, "p": 1, "h": 1}
    else:
        made.hosts, shape = 9, {"kind": "torus", "sizes": [3, 3]}
    made.scenario["topology"] = {**shape, **links}


def _hpc(made: Draw, rng: Random) -> None:
    made.scenario["profile"] = "hpc"
    _tree(made, rng, "100Gbps", "100ns")


def _lossy(made: Draw, rng: Random) -> None:
    made.scenario["profile"] = "endpoint"
    _tree(made, rng, "102.4Gbps", "500ns")
    made.scenario["put"] = {"policy": rng.choice(["opt", "aimd", "dack"])}


def _lossless_put(made: Draw, rng: Random) -> None:
    _lossy(made, rng)
    _switch(made)["flow-control"] = "pfc"


def _isolation(made: Draw, rng: Random) -> None:
    made.scenario["profile"] = "isolation"
    made.hosts = 8
    made.scenario["topology"] = {
        "kind": "k-ary-n-tree",
        "k": 2,
        "n": 3,
        "rate": "100Gbps",
        "delay": "25ns",
        "routing": "d-mod-k",
    }
    kind = rng.choice(["none", "ci", "ici", "ici-plus"])
    _switch(made)["isolation"] = {"kind": kind}
    if kind == "ici-plus":
        _switch(made)["detector"] = {"kind": "none"}
    else:
        marks = rng.choice(["none", "red"])
        _switch(made)["detector"] = {"kind": marks}
        made.scenario["cc"] = {"kind": "none" if marks == "none" else "dcqcn"}


_FABRICS: dict[str, Callable[[Draw, Random], None]] = {
    "pfc": _pfc,
    "credits": _credits,
    "hpc": _hpc,
    "lossy": _lossy,
    "lossless-put": _lossless_put,
    "isolation": _isolation,
}


def _tree(made: Draw, rng: Random, rate: str, delay: str) -> None:
    links = {"rate": rate, "delay": delay}
    kind = rng.choice(["star", "leaf-spine", "xgft"])
    if kind == "star":
        made.hosts = rng.randint(3, 9)
        shape: dict[str, Any] = {"hosts": made.hosts}
    elif kind == "leaf-spine":
        leaves, spines, each = rng.randint(2, 3), rng.randint(1, 2), rng.randint(1, 3)
        made.hosts = leaves * each
        shape = {"leaves": leaves, "spines": spines, "hosts-per-leaf": each}
    else:
        below, beside = rng.randint(2, 3), rng.randint(2, 3)
        made.hosts = below * beside
        shape = {"m": [below, beside], "w": [1, rng.randint(1, 2)]}
    made.scenario["topology"] = {"kind": kind, **shape, **links}


# Traffic.


def _size(rng: Random) -> str:
    return rng.choice(["1B", "1KB", "7KB", "20KB", "64KB", "200KB"])


def _incast(made: Draw, rng: Random) -> None:
    others = f"h[1-{made.hosts - 1}]" if made.hosts > 2 else "h1"
    made.add({"name": "incast", "kind": "incast", "from": others, "to": "h0", "size": _size(rng)})


def _crowd(made: Draw, rng: Random) -> None:
    """More than buffers take without holding anybody back, and short flows that have to pass it."""
    size = "400KB" if made.fabric == "isolation" else rng.choice(["100KB", "200KB"])
    made.add({"name": "crowd", "kind": "incast", "from": "*", "to": f"h{made.hosts - 1}", "size": size})
    made.add({"name": "beside", "kind": "permutation", "size": rng.choice(["3KB", "20KB"]), "start": "5us"})
    if made.fabric in ("pfc", "lossless-put"):
        _switch(made)["pfc"] = {"threshold": "static", "xoff": "20KB", "xon": "10KB"}
    elif made.fabric == "credits":
        _switch(made)["credits"] = {"buffer": "300KB", "period": "10us"}


def _poisson(made: Draw, rng: Random) -> None:
    load, flows = rng.choice([0.1, 0.4, 0.8]), rng.randint(5, 60)
    made.add({"name": "web", "kind": "poisson", "size": _size(rng), "load": load, "flows": flows})


def _permutation(made: Draw, rng: Random) -> None:
    made.add({"name": "permutation", "kind": "permutation", "size": _size(rng)})


def _endless(made: Draw, rng: Random) -> None:
    source, target = rng.sample(range(made.hosts), 2)
    entry = {"name": "endless", "kind": "long-lived", "from": f"h{source}", "to": f"h{target}"}
    made.add({**entry, **_apart(made, 1)})


def _constant(made: Draw, rng: Random) -> None:
    source, target = rng.sample(range(made.hosts), 2)
    entry = {"name": "constant", "kind": "constant", "from": f"h{source}", "to": f"h{target}", "start": "5us"}
    made.add({**entry, "rate": f"{rng.randint(1, 30)}Gbps", **_queue_pair(made)})


def _apart(made: Draw, priority: int) -> dict[str, Any]:
    """What has no end stands in no stream of PUTs with anything else."""
    return {"priority": priority} if made.fabric in ("lossy", "lossless-put") else {}


def _queue_pair(made: Draw) -> dict[str, Any]:
    """What PUTs cannot be."""
    return {"transport": "roce"} if made.fabric == "lossless-put" else {}


def _supply(made: Draw, rng: Random) -> None:
    source, target = rng.sample(range(made.hosts), 2)
    entry = {"name": "supply", "kind": "supply", "from": f"h{source}", "to": f"h{target}"}
    made.add({**entry, "rate": f"{rng.randint(1, 30)}Gbps", **_apart(made, 2)})


def _collective(made: Draw, rng: Random) -> None:
    made.add({"name": "collective", "kind": "collective", "op": "all-reduce", "size": _size(rng).replace("1B", "2KB")})


def _trace(made: Draw, rng: Random) -> None:
    made.files["ring.trace"] = TRACE.format(ranks=made.hosts, size=rng.choice(["8KB", "64KB"]))
    made.add({"name": "trace", "kind": "trace", "file": "ring.trace"})


def _program(made: Draw, rng: Random) -> None:
    made.files["ring.program"] = PROGRAM.format(ranks=made.hosts, size=rng.choice(["1KiB", "40KiB"]))
    made.add({"name": "program", "kind": "program", "file": "ring.program", **_queue_pair(made)})


def _job(made: Draw, rng: Random) -> None:
    """Ranks that do a collective together, then in groups."""
    ranks = rng.randint(2, made.hosts)
    pairs = [
        (size, stride) for size in range(2, ranks + 1) for stride in range(1, ranks) if ranks % (size * stride) == 0
    ]
    size, stride = rng.choice(pairs)
    ops = ["all-reduce", "reduce-scatter", "all-gather", "all-to-all", "moe-all-to-all", "broadcast"]
    steps: list[dict[str, Any]] = [
        {"collective": rng.choice(ops), "size": rng.choice(["2KB", "7KB", "64KB"])} for _ in range(2)
    ]
    steps[1] |= {"group": size, "stride": stride}
    placement = rng.choice(["packed", "spread", "random"])
    straggler = {"random": 1, "later": "3us"}
    made.scenario["job"] = [
        {"name": "job", "ranks": ranks, "placement": placement, "iterations": 2, "straggler": straggler, "step": steps}
    ]


# Settings.


def _ranks(made: Draw) -> bool:
    return any(entry["kind"] == "program" for entry in made.scenario["traffic"])


def _has_windows(made: Draw) -> bool:
    return made.scenario.get("cc", {}).get("kind") in ("dctcp", "swift", "hpcc")


def _slow_host(made: Draw, rng: Random) -> None:
    made.scenario["host"] = {**made.scenario.get("host", {}), "of": "h0", "drain": rng.choice(["3Gbps", "20Gbps"])}
    if rng.random() < 0.3:
        made.scenario["host"]["pattern"] = {"kind": "on-off", "low": "1Gbps", "high-for": "20us", "low-for": "10us"}


def _isolates(made: Draw) -> bool:
    return bool(made.scenario.get("switch", {}).get("isolation", {}).get("kind", "none") != "none")


def _lanes(made: Draw, rng: Random) -> bool | None:
    if _isolates(made):
        return False  # The other lane is that of the congested flows.
    # Each has the next lane, too, where routes go round.
    lanes = [1, 3] if made.scenario["topology"]["kind"] in ("dragonfly", "torus") else [0, 1]
    for entry in made.scenario["traffic"]:
        entry["priority"] = rng.choice(lanes)
    if made.fabric != "isolation":
        _switch(made)["arbiter"] = rng.choice(["round-robin", "strict"])
    return None


def _throttle(made: Draw, rng: Random) -> None:
    throttle = {"kind": "pft", "pft": {"m": rng.choice([17, 20, 22])}}
    made.scenario["host"] = {**made.scenario.get("host", {}), "throttle": throttle}


def _spread(made: Draw, rng: Random) -> bool | None:
    if made.scenario["topology"]["kind"] in ("dragonfly", "torus"):
        return False  # There is one way through them.
    _switch(made)["load-balancing"] = rng.choice(["spray", "flowlet", "adaptive"])
    return None


def _router(made: Draw, rng: Random) -> None:
    """Who goes first in a switch, and whose memory it is."""
    kinds = ["voq", "oldest-first", "input", "output"]
    _switch(made)["queueing"] = rng.choice(kinds if made.fabric == "pfc" else [*kinds, "shared"])


def _five_tuple(made: Draw, _: Random) -> None:
    _switch(made)["ecmp-hash"] = "five-tuple"


def _window(made: Draw, rng: Random) -> bool | None:
    # HPCC compares two packets link by link; ranks have queue pairs for many messages, not a window for each.
    kinds = ["dctcp", "swift"] if "load-balancing" in _switch(made) else ["dctcp", "swift", "hpcc"]
    kind = rng.choice(kinds)
    if _ranks(made) or _isolates(made):
        return False  # Isolation moves flows between classes under way.
    made.scenario["cc"] = {"kind": kind}
    _switch(made)["detector"] = {"kind": "red" if kind == "dctcp" else "none"}
    made.scenario["ack"] = {"every": 1}
    return None


def _delays(made: Draw, _: Random) -> bool | None:
    if _has_windows(made):
        return False
    made.scenario["cc"] = {"kind": "timely"}
    return None


def _own_function(made: Draw, rng: Random) -> bool | None:
    own = {"kind": "custom", "custom": {"function": "own.py:halve"}}
    made.files["own.py"] = CONTROLLER
    if _has_windows(made):
        # One entry has it, the others their windows.
        fit = [entry for entry in made.scenario["traffic"] if entry["kind"] in ("incast", "poisson", "permutation")]
        if len(made.scenario["traffic"]) < 2 or not fit:
            return False
        rng.choice(fit)["cc"] = own
    else:
        made.scenario["cc"] = own
        _switch(made)["detector"] = {"kind": "red"}
    return None


def _cut_through(made: Draw, _: Random) -> None:
    _switch(made)["switching"] = "cut-through"


def _put(made: Draw, rng: Random) -> bool | None:
    policy = rng.choice(["opt", "aimd", "dack"])
    if "load-balancing" in _switch(made):
        return False  # A target of PUTs asks again for all that follows a packet out of order.
    entries = made.scenario["traffic"]
    fit = [one for one in entries if one["kind"] in ("incast", "poisson", "permutation") and "cc" not in one]
    if _has_windows(made) and len(fit) == len(entries):
        fit.pop()  # One entry keeps its window.
    for entry in fit:
        entry["transport"] = "put"
        entry["put"] = {"policy": policy}
        if _has_windows(made):
            entry["cc"] = {"kind": "none"}
    return bool(fit)


def _mixed_controllers(made: Draw, rng: Random) -> bool:
    """One traffic entry has another controller than the rest."""
    entry = rng.choice(made.scenario["traffic"])
    if entry["kind"] in ("poisson", "incast", "permutation") and "transport" not in entry:
        entry["cc"] = {"kind": rng.choice(["none", "dcqcn"])}
        return True
    return False


def _connection(made: Draw, _: Random) -> bool:
    """Messages that share queue pairs, where nothing has a window for each."""
    if _has_windows(made):
        return False
    fit = [one for one in made.scenario["traffic"] if one["kind"] == "poisson" and "transport" not in one]
    for entry in fit:
        entry["connection"] = "pair"
    return bool(fit)


def _tight(made: Draw, rng: Random) -> None:
    _switch(made)["pfc"] = {"threshold": "static", "xoff": rng.choice(["30KB", "60KB"]), "xon": "20KB"}


def _samples(made: Draw, _: Random) -> None:
    made.scenario["probe"] = {"sample": "5us", "delivered": True}


def _several_ports(made: Draw, rng: Random) -> bool | None:
    """Hosts with up to 16 links of unlike rates at two switches, some of them parallel; also servers of two hosts."""
    host, topology = made.scenario.get("host", {}), made.scenario["topology"]
    if topology["kind"] in ("dragonfly", "torus"):
        return False  # These have a shape of their own.
    names = [f"h{number}" for number in range(made.hosts)]
    # None is slower than the link that rates of sources were drawn for.
    # Virtual lanes were given room for links of that rate.
    rates = [topology["rate"], topology["rate"] if made.fabric in ("credits", "hpc") else "200Gbps"]
    most = rng.choice([2, 4, 16])
    ends = [(name, rng.choice("st"), rng.choice(rates)) for name in names for _ in range(rng.randint(1, most - 1))]
    servers = [f"v{number // 2}" for number in range(made.hosts)] if rng.random() < 0.3 else []
    ends += [(name, server, rates[1]) for name, server in zip(names, servers, strict=False)]
    made.scenario["topology"] = {
        "kind": "edges",
        "hosts": names,
        "switches": ["s", "t", *sorted(set(servers))],
        "parallel-links": True,
        "links": [
            {"a": a, "b": b, "rate": rate, "delay": topology["delay"]} for a, b, rate in [*ends, ("s", "t", rates[0])]
        ],
    }
    if servers:
        made.scenario["topology"]["scale-up"] = sorted(set(servers))
    if "routing" in topology:
        made.scenario["topology"]["routing"] = topology["routing"]
    # Sprayed flows are not drawn: their waits are booked to the port that they used last, and so not explained in full.
    made.scenario["host"] = {**host, "nic": {"port": rng.choice(["hash", "plane", "rail"])}}
    return None


_ANY = "pfc credits hpc lossy lossless-put isolation"
_FEATURES: dict[str, tuple[float, str, Callable[[Draw, Random], bool | None]]] = {
    "incast": (0.5, _ANY, _incast),
    "crowd": (0.35, _ANY, _crowd),
    "poisson": (0.5, _ANY, _poisson),
    "permutation": (0.3, _ANY, _permutation),
    "endless": (0.2, _ANY, _endless),
    "constant": (0.2, "pfc credits hpc lossless-put isolation", _constant),
    "supply": (0.25, _ANY, _supply),
    "collective": (0.2, _ANY, _collective),
    "trace": (0.2, _ANY, _trace),
    "program": (0.2, "pfc credits hpc lossless-put isolation", _program),
    "slow-host": (0.35, _ANY, _slow_host),
    "lanes": (0.3, "pfc credits hpc lossy isolation", _lanes),
    "throttle": (0.5, "credits hpc", _throttle),
    "router": (0.4, "pfc credits hpc", _router),
    "spread": (0.2, "pfc credits hpc", _spread),
    "window": (0.2, "pfc credits hpc isolation", _window),
    "five-tuple": (0.2, _ANY, _five_tuple),
    "delays": (0.15, "pfc credits hpc lossless-put isolation", _delays),
    "own-function": (0.15, "pfc credits hpc lossless-put isolation", _own_function),
    "cut-through": (0.15, "pfc credits", _cut_through),
    "put": (0.3, "pfc credits hpc isolation", _put),
    "mixed-controllers": (0.2, "pfc credits hpc isolation", _mixed_controllers),
    "connection": (0.25, "pfc credits hpc isolation", _connection),
    "tight": (0.4, "pfc lossless-put", _tight),
    "samples": (0.4, _ANY, _samples),
    "job": (0.25, "pfc credits hpc isolation", _job),
    "several-ports": (0.25, _ANY, _several_ports),
}
_TRAFFIC = list(_FEATURES)[: list(_FEATURES).index("slow-host")]
