"""`config.txt` of the HPCC simulator (ns-3), with the topology and the flows that it names."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from backwater.errors import UsageError
from backwater.io.importing import Imported, hpcc_files, hpcc_losses, hpcc_windows, read_text
from backwater.io.importing.hpcc_config import ORIGIN_S, Config

#: Bytes of a packet if `PACKET_PAYLOAD_SIZE` is not given.
_PAYLOAD = 1000.0

#: CC_MODE and our word for it.
_MODES = {1: "dcqcn", 3: "hpcc", 7: "timely", 8: "dctcp"}


def _time(value: float) -> str:
    return f'"{value:.12g}us"'


def _rate(value: float) -> str:
    return f'"{value:.12g}Mbps"'


def _plain(value: float) -> str:
    return f"{value:.12g}"


#: Keys of DCQCN: ours, and how its value is written. Units are those of the simulator: us and Mbps.
_DCQCN: dict[str, tuple[str, Callable[[float], str]]] = {
    "ALPHA_RESUME_INTERVAL": ("alpha-timer", _time),
    "RATE_DECREASE_INTERVAL": ("decrease-interval", _time),
    "RP_TIMER": ("rate-timer", _time),
    "EWMA_GAIN": ("g", _plain),
    "FAST_RECOVERY_TIMES": ("fast-recovery", lambda value: str(int(value))),
}
#: Keys whose value is a word of `Mb/s`.
_RATES = {"RATE_AI": "rate-ai", "RATE_HAI": "rate-hai"}
#: Why keys of that simulator have no key of ours; of others a note says only that they are not carried over.
_RECORDS = "say what that simulator records: here [probe] does, and `backwater export`"
_REASONS = {
    "TRACE_FILE": _RECORDS,
    "TRACE_OUTPUT_FILE": _RECORDS,
    "FCT_OUTPUT_FILE": _RECORDS,
    "PFC_OUTPUT_FILE": _RECORDS,
    "QLEN_MON_FILE": _RECORDS,
    "QLEN_MON_START": _RECORDS,
    "QLEN_MON_END": _RECORDS,
    "ENABLE_TRACE": _RECORDS,
    "L2_CHUNK_SIZE": "are for packets that are lost, and none is here",
    "L2_BACK_TO_ZERO": "are for packets that are lost, and none is here",
}
#: Keys that only some controllers there read, and why they say nothing to the others.
_OF_OTHERS = {
    **dict.fromkeys(
        ("FAST_REACT", "U_TARGET", "MI_THRESH", "INT_MULTI", "MULTI_RATE", "SAMPLE_FEEDBACK"),
        "are for HPCC (CC_MODE 3)",
    ),
    **dict.fromkeys(("PINT_LOG_BASE", "PINT_PROB"), "are for HPCC-PINT (CC_MODE 10)"),
    "DCTCP_RATE_AI": "is for DCTCP (CC_MODE 8)",
}
#: Keys that say how large a window is, of which there is none without `HAS_WIN`.
_OF_WINDOWS = ("VAR_WIN", "GLOBAL_T")
_NO_WINDOW = "say how large a window is, and HAS_WIN 0 is none"
#: Keys with a value that is how it is here anyway, and what that is.
_SAME = {
    "ENABLE_QCN": (1.0, "receivers and senders of cc.kind act on marks"),
    "USE_DYNAMIC_PFC_THRESHOLD": (1.0, "PFC's thresholds are dynamic (switch.pfc.threshold, profile hpcc-ns3)"),
    "ERROR_RATE_PER_LINK": (0.0, "links do not lose packets"),
    "RATE_BOUND": (1.0, "senders keep the pace of their rate"),
    "HAS_WIN": (0.0, "no window bounds what is under way"),
}
#: What another value of a key does there, which makes results incomparable.
_MISSED = {
    "RATE_BOUND": "senders have no pace there; here they keep that of their rate",
    "HAS_WIN": "a window bounds what is under way there; under DCQCN and TIMELY there is none here",
}


def load(config: Path) -> Imported:
    """The scenario of a `config.txt`; the files that it names are looked for beside it and in the working folder."""
    keys = Config.read(read_text(config, "a config.txt of the HPCC simulator"), str(config))
    files, sources = {}, {}
    for key, name in (("TOPOLOGY_FILE", "topology.txt"), ("FLOW_FILE", "flow.txt")):
        place = keys.file(key, name.split(".")[0])
        files[name], sources[name] = read_text(place, f"the file that {key} names"), str(place)
    files["topology.txt"], cut = hpcc_files.links(files["topology.txt"])
    losses = hpcc_losses.read(keys, files["topology.txt"])
    files["topology.txt"] = losses.topology
    files["flow.txt"], more = hpcc_files.flows(files["flow.txt"])
    parts = [f"# Made of {config}.", 'profile = "hpcc-ns3"', ""]
    control, notes = _cc(keys, files["flow.txt"])
    nic, told = _nic(keys)
    parts += (
        _run(keys) + _topology() + _packet(keys, control) + nic + control + _switch(keys) + _traffic() + losses.lines
    )
    files["scenario.toml"] = "\n".join(parts)
    notes += told + _pfc(keys.file("TOPOLOGY_FILE", "topology")) + cut + more + losses.notes + _left(keys)
    return Imported(files, f"{config.name}: its network and its flows", notes, sources)


def _left(config: Config) -> list[str]:
    """A note on every key that became nothing of the scenario: those with the same reason together."""
    notes, together = [], dict[str, list[str]]()
    windows = config.values.get("HAS_WIN")
    without_windows = windows is not None and windows.words in (["0"], ["0.0"])
    for key, value in config.values.items():
        if key in config.used:
            continue
        told = f"{key} {' '.join(value.words)} (line {value.line})"
        reasons = _REASONS | _OF_OTHERS | (dict.fromkeys(_OF_WINDOWS, _NO_WINDOW) if without_windows else {})
        if key == "L2_ACK_INTERVAL":
            notes.append(f"{told} {_acks(config)}")
        elif key in reasons:
            together.setdefault(reasons[key], []).append(told)
        elif key == "LINK_DOWN" and value.words[0].strip("0.") == "":
            notes.append(f"{told}: so it is here: no link goes down")
        elif key in _SAME and config.number(key) == _SAME[key][0]:
            notes.append(f"{told}: so it is here: {_SAME[key][1]}")
        else:
            missed = f": {_MISSED[key]}" if key in _MISSED else ""
            notes.append(f"{told} is not carried over{missed}")
    return [*notes, *(f"{', '.join(keys)} {why}" for why, keys in together.items())]


def _acks(config: Config) -> str:
    """What `L2_ACK_INTERVAL` does there: packets that begin below so many bytes of a flow have no ACK."""
    interval = config.number("L2_ACK_INTERVAL") or 0.0
    if not interval:
        return "is not carried over: each packet has an ACK, as there; but there no flow ever counts as finished"
    payload = config.number("PACKET_PAYLOAD_SIZE") or _PAYLOAD
    if interval <= payload:
        return "says nothing there: each packet has an ACK, as here (ack.every = 1)"
    return (
        f"is not carried over: there the packets before byte {interval:g} of a flow have no ACK but at whole chunks"
        " (L2_CHUNK_SIZE), and a flow that ends before it may never finish; here each packet has one"
    )


def _run(config: Config) -> list[str]:
    stop = config.number("SIMULATOR_STOP_TIME")
    if stop is None:
        return []
    if stop <= ORIGIN_S:
        config.refuse(
            "SIMULATOR_STOP_TIME", f"SIMULATOR_STOP_TIME {stop:g} is not after {ORIGIN_S:g} s, when flows start"
        )
    return ["[run]", f'until = "{(stop - ORIGIN_S) * 1e6:.12g}us"', ""]


def _topology() -> list[str]:
    return ["[topology]", 'kind = "hpcc"', 'file = "topology.txt"', ""]


def _packet(config: Config, control: list[str]) -> list[str]:
    """`[packet]`, unless the congestion control has a word in it: then that table, with the payload."""
    payload = config.number("PACKET_PAYLOAD_SIZE")
    if payload is None:
        return []
    line = f'payload = "{int(payload)}B"'
    if "[packet]" in control:
        control.insert(control.index("[packet]") + 1, line)
        return []
    return ["[packet]", line, ""]


def _nic(config: Config) -> tuple[list[str], list[str]]:
    """`[host.nic]`: what holds ACKs at hosts, and a note on what their priority is in switches."""
    if not config.number("ACK_HIGH_PRIO"):
        return ["[host.nic]", 'acks = "priority"', ""], []
    note = (
        f"ACK_HIGH_PRIO 1 (line {config.values['ACK_HIGH_PRIO'].line}): no PAUSE holds ACKs at hosts (host.nic.acks);"
        " in switches they wait with the data, as there: its switches never learn of the key, whatever it is for"
    )
    return ["[host.nic]", 'acks = "unpaused"', ""], [note]


def _pfc(topology: Path) -> list[str]:
    """Notes on what PFC's thresholds follow from there and here, where that makes a difference."""
    try:
        neighbours, hosts = hpcc_windows.network(topology)
    except UsageError:
        # What is wrong there is told by who reads it for the scenario.
        return []
    notes = []
    nics = {neighbours[host][0][1] for host in hosts if host in neighbours}
    first = min((host for host in hosts if host in neighbours), key=int, default=None)
    if first is not None and (there := neighbours[first][0][1]) != min(nics):
        notes.append(
            f"PFC's alpha is scaled by the rate of the slowest host here, {min(nics) / 1e9:g} Gbps; there by that of"
            f" the first, {there / 1e9:g} Gbps (host {first})"
        )
    links = [(rate, delay) for ends in neighbours.values() for _, rate, delay in ends]
    more = max(
        (3 * rate * delay // hpcc_files.BYTE_NS - 3 * (rate * delay // hpcc_files.BYTE_NS) for rate, delay in links),
        default=0,
    )
    if more:
        notes.append(
            f"PFC's headroom is up to {more} B a port larger here: 3 C tp is cut to whole bytes, there C tp is before"
            " it is taken three times"
        )
    return notes


def _cc(config: Config, flows: str) -> tuple[list[str], list[str]]:
    """The lines of `[cc]` and what belongs to it, and notes."""
    mode = config.number("CC_MODE")
    if mode is None:
        return [], []
    if mode not in _MODES:
        known = ", ".join(f"{number} ({name})" for number, name in _MODES.items())
        config.refuse("CC_MODE", f"CC_MODE {mode:g} is not one of {known}")
    kind = _MODES[int(mode)]
    if kind in ("hpcc", "dctcp"):
        return hpcc_windows.lines(kind, config, config.file("TOPOLOGY_FILE", "topology"), flows)
    lines = ["[cc]", f'kind = "{kind}"']
    if kind == "dcqcn":
        floor = config.mbps("MIN_RATE")
        lines += [*([f"min-rate = {_rate(floor)}"] if floor is not None else []), "", "[cc.dcqcn]"]
        for key, (ours, write) in _DCQCN.items():
            value = config.number(key)
            if value is not None:
                lines.append(f"{ours} = {write(value)}")
        for key, ours in _RATES.items():
            rate = config.mbps(key)
            if rate is not None:
                lines.append(f"{ours} = {_rate(rate)}")
        clamp = config.number("CLAMP_TARGET_RATE")
        if clamp is not None:
            lines.append(f"clamp-target = {'true' if clamp else 'false'}")
    if kind == "timely":
        return _timely(config, lines, flows)
    return [*lines, ""], []


#: Bytes of a packet's headers and of its time stamp, which TIMELY's packets carry.
_TIMELY_HEADER = 48 + 8


def _timely(config: Config, lines: list[str], flows: str) -> tuple[list[str], list[str]]:
    """`CC_MODE` 7: what that simulator's keys say; the rest is in profile hpcc-ns3 (attributes of its `rdma-hw.cc`)."""
    made, notes = hpcc_windows.acks("timely", flows)
    made += ["[packet]", f'header = "{_TIMELY_HEADER}B"', "", *lines]
    floor, add, hyper = config.mbps("MIN_RATE"), config.mbps("RATE_AI"), config.mbps("RATE_HAI")
    made.append(f"min-rate = {_rate(100.0 if floor is None else floor)}")
    if add:
        made += ["", "[cc.timely]", f"add = {_rate(add)}"]
        factor = max(1, round((hyper or 5 * add) / add))
        made.append(f"hai-factor = {factor}")
        if hyper is not None and factor * add != hyper:
            notes.append(f"RATE_HAI {hyper:g} Mbps is no whole multiple of RATE_AI: here it is {factor * add:g} Mbps")
    return [*made, ""], notes


def _switch(config: Config) -> list[str]:
    lines = []
    buffer = config.number("BUFFER_SIZE")
    if buffer is not None:
        lines += ["[switch]", f'buffer = "{buffer:.12g}MiB"', ""]
    maps = {name: config.by_rate(f"{name}_MAP") for name in ("KMIN", "KMAX", "PMAX")}
    if not any(maps.values()):
        return lines
    rates = list(maps["KMAX"])
    for name, table in maps.items():
        if list(table) != rates:
            first = next(key for key in ("KMIN_MAP", "KMAX_MAP", "PMAX_MAP") if key in config.values)
            config.refuse(first, f"{name}_MAP does not name the link rates that KMAX_MAP names")
    lines += ["[switch.detector]", 'kind = "red"', "by-rate = ["]
    for rate in rates:
        kmin, kmax, pmax = maps["KMIN"][rate], maps["KMAX"][rate], maps["PMAX"][rate]
        lines.append(
            f'  {{ rate = "{rate:.12g}bps", kmin = "{kmin:.12g}KB", kmax = "{kmax:.12g}KB", pmax = {pmax:.12g} }},'
        )
    return [*lines, "]", ""]


def _traffic() -> list[str]:
    return [
        "[[traffic]]",
        'name = "flows"',
        'kind = "hpcc-flows"',
        'file = "flow.txt"',
        f'time-origin = "{ORIGIN_S:g}s"',
        "",
    ]
