"""`config.txt` of the HPCC simulator (ns-3), with the topology and the flows that it names."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from backwater.errors import UsageError
from backwater.importing import Imported, read_text

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

#: Flows of that simulator's generators start at 2 s.
_ORIGIN_S = 2.0

#: CC_MODE and our word for it.
_MODES = {1: "dcqcn", 7: "timely"}

_NUMBERS = "a number"


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
_RATES = {"RATE_AI": "rate-ai", "RATE_HAI": "rate-hai", "MIN_RATE": "min-rate"}
#: Keys that say nothing about the network, or whose value is the only one that works here.
_SILENT = {
    "TRACE_FILE",
    "TRACE_OUTPUT_FILE",
    "FCT_OUTPUT_FILE",
    "PFC_OUTPUT_FILE",
    "QLEN_MON_FILE",
    "QLEN_MON_START",
    "QLEN_MON_END",
    "ENABLE_TRACE",
    "ENABLE_QCN",
    "L2_CHUNK_SIZE",
    "L2_BACK_TO_ZERO",
}


@dataclass
class _Value:
    line: int
    words: list[str]


def load(config: Path) -> Imported:
    """The scenario of a `config.txt`; the files that it names are looked for beside it and in the working folder."""
    origin = str(config)
    values = _read(read_text(config, "a config.txt of the HPCC simulator"), origin)
    used: set[str] = set()
    files = {}
    for key, name in (("TOPOLOGY_FILE", "topology.txt"), ("FLOW_FILE", "flow.txt")):
        used.add(key)
        if key not in values:
            raise UsageError(f"{origin}: {key} is missing; it names the {name.split('.')[0]} file")
        files[name] = read_text(_found(config, values[key], key), f"the file that {key} names")
    parts = [f"# Made of {origin}.", 'profile = "hpcc-ns3"', ""]
    parts += _run(values, used, origin) + _topology() + _packet(values, used, origin)
    parts += _cc(values, used, origin) + _switch(values, used, origin) + _traffic()
    files["scenario.toml"] = "\n".join(parts)
    left = {key: value for key, value in values.items() if key not in used and key not in _SILENT}
    notes = [f"{key} {' '.join(value.words)} (line {value.line}) is not carried over" for key, value in left.items()]
    return Imported(files, f"{config.name}: its network and its flows", notes)


def _read(text: str, origin: str) -> dict[str, _Value]:
    values: dict[str, _Value] = {}
    for number, raw in enumerate(text.splitlines(), 1):
        words = raw.split()
        if not words:
            continue
        if not words[0].replace("_", "").isalnum() or not words[0].isupper() or len(words[0]) > 60:
            raise UsageError(f"{origin}: line {number}: {words[0][:40]!r} is no key such as CC_MODE")
        if len(words) == 1:
            raise UsageError(f"{origin}: line {number}: {words[0]} has no value")
        values[words[0]] = _Value(number, words[1:])
    if not values:
        raise UsageError(f"{origin} has no keys such as CC_MODE")
    return values


def _found(config: Path, value: _Value, key: str) -> Path:
    from pathlib import Path

    name = Path(value.words[0])
    # The simulator is started one folder above its mix/ folder, and names files from there.
    for place in (config.parent / name, Path.cwd() / name, config.parent.parent / name, config.parent / name.name):
        if place.is_file():
            return place
    raise UsageError(
        f"{config}: line {value.line}: {key} {name} was not found beside the file or in the working folder"
    )


def _number(values: dict[str, _Value], key: str, used: set[str], origin: str) -> float | None:
    if key not in values:
        return None
    used.add(key)
    value = values[key]
    try:
        number = float(value.words[0])
    except ValueError:
        number = float("nan")
    if not 0 <= number < 1e15 or len(value.words) > 1:
        told = " ".join(value.words)[:40]
        raise UsageError(f"{origin}: line {value.line}: {key} {told!r} is not one number from 0")
    return number


def _run(values: dict[str, _Value], used: set[str], origin: str) -> list[str]:
    stop = _number(values, "SIMULATOR_STOP_TIME", used, origin)
    if stop is None:
        return []
    if stop <= _ORIGIN_S:
        line = values["SIMULATOR_STOP_TIME"].line
        raise UsageError(
            f"{origin}: line {line}: SIMULATOR_STOP_TIME {stop:g} is not after {_ORIGIN_S:g} s, when flows start"
        )
    return ["[run]", f'until = "{(stop - _ORIGIN_S) * 1e6:.12g}us"', ""]


def _topology() -> list[str]:
    return ["[topology]", 'kind = "hpcc"', 'file = "topology.txt"', ""]


def _packet(values: dict[str, _Value], used: set[str], origin: str) -> list[str]:
    payload = _number(values, "PACKET_PAYLOAD_SIZE", used, origin)
    return [] if payload is None else ["[packet]", f'payload = "{int(payload)}B"', ""]


def _cc(values: dict[str, _Value], used: set[str], origin: str) -> list[str]:
    mode = _number(values, "CC_MODE", used, origin)
    if mode is None:
        return []
    line = values["CC_MODE"].line
    if mode not in _MODES:
        known = ", ".join(f"{number} ({name})" for number, name in _MODES.items())
        raise UsageError(f"{origin}: line {line}: CC_MODE {mode:g} is not one of {known}")
    kind = _MODES[int(mode)]
    lines = ["[cc]", f'kind = "{kind}"']
    if kind == "dcqcn":
        for key, (ours, write) in _DCQCN.items():
            value = _number(values, key, used, origin)
            if value is not None:
                lines.append(f"{ours} = {write(value)}")
        for key, ours in _RATES.items():
            if key in values:
                lines.append(f"{ours} = {_rate_word(values, key, used, origin)}")
        clamp = _number(values, "CLAMP_TARGET_RATE", used, origin)
        if clamp is not None:
            lines.append(f"clamp-target = {'true' if clamp else 'false'}")
    return [*lines, ""]


def _rate_word(values: dict[str, _Value], key: str, used: set[str], origin: str) -> str:
    """`50Mb/s` as the simulator writes it, or Mbps as a number."""
    value = values[key]
    word = value.words[0]
    for ending, factor in (("Mb/s", 1.0), ("Gb/s", 1000.0), ("Mbps", 1.0), ("Gbps", 1000.0)):
        if word.endswith(ending):
            used.add(key)
            try:
                number = float(word.removesuffix(ending)) * factor
            except ValueError:
                break
            if 0 <= number < 1e9 and len(value.words) == 1:
                return _rate(number)
            break
    else:
        return _rate(_number(values, key, used, origin) or 0.0)
    raise UsageError(f"{origin}: line {value.line}: {key} {word[:40]!r} is not a rate such as 50Mb/s")


def _switch(values: dict[str, _Value], used: set[str], origin: str) -> list[str]:
    lines = []
    buffer = _number(values, "BUFFER_SIZE", used, origin)
    if buffer is not None:
        lines += ["[switch]", f'buffer = "{buffer:.12g}MiB"', ""]
    maps = {name: _map(values, f"{name}_MAP", used, origin) for name in ("KMIN", "KMAX", "PMAX")}
    if not any(maps.values()):
        return lines
    rates = list(maps["KMAX"])
    for name, table in maps.items():
        if list(table) != rates:
            line = next((values[key].line for key in ("KMIN_MAP", "KMAX_MAP", "PMAX_MAP") if key in values), 1)
            raise UsageError(f"{origin}: line {line}: {name}_MAP does not name the link rates that KMAX_MAP names")
    lines += ["[switch.detector]", 'kind = "red"', "by-rate = ["]
    for rate in rates:
        kmin, kmax, pmax = maps["KMIN"][rate], maps["KMAX"][rate], maps["PMAX"][rate]
        lines.append(
            f'  {{ rate = "{rate:.12g}bps", kmin = "{kmin:.12g}KB", kmax = "{kmax:.12g}KB", pmax = {pmax:.12g} }},'
        )
    return [*lines, "]", ""]


def _map(values: dict[str, _Value], key: str, used: set[str], origin: str) -> dict[float, float]:
    """A map by link rate: `n rate value rate value ...`."""
    if key not in values:
        return {}
    used.add(key)
    value = values[key]
    try:
        numbers = [float(word) for word in value.words]
    except ValueError:
        numbers = [-1.0]
    if not all(0 <= number < 1e15 for number in numbers) or len(numbers) != 1 + 2 * numbers[0]:
        raise UsageError(f"{origin}: line {value.line}: {key} is not `n rate value rate value ...` with n pairs")
    return dict(zip(numbers[1::2], numbers[2::2], strict=True))


def _traffic() -> list[str]:
    return [
        "[[traffic]]",
        'name = "flows"',
        'kind = "hpcc-flows"',
        'file = "flow.txt"',
        f'time-origin = "{_ORIGIN_S:g}s"',
        "",
    ]
