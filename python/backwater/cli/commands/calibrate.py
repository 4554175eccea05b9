"""``backwater calibrate``: the profile of a NIC from a table of message sizes."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

from backwater.analysis import nic_fit, nic_table, pictures
from backwater.analysis.nic_fit import Fit, Link
from backwater.cli.options import Flag, Format, Json, Width
from backwater.common import quantities, terminal
from backwater.common.atomic_files import write_asked
from backwater.errors import Exit, UsageError
from backwater.experiments import nic_runs
from backwater.scenario import nic_profile

#: What each parameter is called, with its unit and the key of a scenario that it becomes.
_SHOWN = {
    "round_trip": ("round trip of a message without bytes", "time", "host.nic.post-delay"),
    "gap": ("between two messages of a queue pair", "time", "host.nic.message-gap"),
    "drain": ("ceiling of what the host takes in", "rate", "host.drain"),
    "cached": ("largest messages under way that it takes as they come", "size", "host.cached"),
    "start": ("rate at which an idle queue pair begins", "rate", "host.nic.start-rate"),
    "start_packets": ("packets at that rate", "count", "host.nic.start-bytes"),
}
#: Keys that a table may leave open, with the reason in words.
_LEFT_OUT = {
    "gap": ("host.nic.message-gap", "The table does not show it: without it the fit is as good."),
    "drain": ("host.drain", "The table shows no ceiling below the rate of the link."),
    "start": ("host.nic.start-rate", "The table does not show it: without it the fit is as good."),
}


def calibrate(
    table: Path,
    /,
    *,
    rate: str = "100Gbps",
    payload: str = "4096B",
    header: str = "82B",
    ack: str = "64B",
    delay: str = "100ns",
    simulate: Flag = False,
    out: Path | None = None,
    plot: Path | None = None,
    format_: Format = None,
    width: Width = None,
    json_: Json = False,
) -> int:
    """Fit the profile of a NIC to a table of message sizes, and print how well it fits.

    The table has the goodput of one queue pair by message size and depth, as ib_write_bw of perftest measures it. It is
    CSV with the columns size_bytes, goodput_gbps, and depth (or arm, a name that ends in depth1). Of what ib_write_bw
    --report_gbits prints, #bytes is size_bytes, BW average goodput_gbps, and TX depth depth. The two hosts are joined
    by one switch. What is fitted: the time of a message without bytes, the gap between messages, the ceiling of what
    the host takes in and from which size on it counts, and the rate at which an idle queue pair begins.

    Parameters
    ----------
    table
        The table, a CSV file.
    rate
        The rate of the links.
    payload
        The payload of a full packet: the MTU of the queue pair.
    header
        What is added to each packet on the wire: 62 B of RoCEv2, and 20 B of preamble and gap.
    ack
        The size of an ACK on the wire.
    delay
        The delay of each of the two links, one way. What else a message without bytes takes becomes
        host.nic.post-delay.
    simulate
        Run every row in the simulator with the fitted profile, too, and print what comes out beside the table.
    out
        Write the profile to a file (.toml), which a scenario takes as host.nic.profile.
    plot
        Draw the table and the fit to a file (.png, .pdf, .svg).
    format_
        Of the picture: png, pdf or svg; what --plot ends in if not given.
    width
        Print it: `3.33in` (or cm, mm, pt) wide, with letters of 7 to 9 points and no title.
    json_
        Print JSON.
    """
    plot, paper = pictures.to_plot(plot, format_, width)
    if out is not None and out.suffix.lower() != ".toml":
        raise UsageError(f"--out {out}: the name must end in .toml")
    link = _link(rate, payload, header, ack, delay)
    try:
        fit = nic_fit.fit(nic_table.read(table), link)
    except UsageError as error:
        told = str(error)
        raise UsageError(told if told.startswith(str(table)) else f"{table}, {told}") from None
    simulated = nic_runs.simulated(fit) if simulate else None
    if out is not None:
        text = _file(fit, table)
        write_asked(out, lambda place: place.write_text(text, encoding="utf-8"))
    if plot is not None:
        paper.draw("nic_fit_picture", fit, plot, f"{table.name}: goodput of a queue pair, measured and fitted")
    if json_:
        print(json.dumps(_as_json(fit, simulated, table, out, plot), indent=2))
    else:
        _print(fit, simulated)
        for written in (out, plot):
            if written is not None:
                print(f"written: {written}")
    return Exit.OK


def _link(rate: str, payload: str, header: str, ack: str, delay: str) -> Link:
    def parsed(option: str, text: str, parse: Any, least: int, most: int, example: str) -> int:
        try:
            value: int = parse(text)
        except (UsageError, ValueError):
            value = -1
        if not least <= value <= most:
            raise UsageError(f"--{option} {text} is not allowed; give one such as --{option} {example}")
        return value

    return Link(
        parsed("rate", rate, quantities.parse_rate, 10**6, 10**14, "100Gbps") / 1e9,
        parsed("payload", payload, quantities.parse_size, 1, 60_000, "4096B"),
        parsed("header", header, quantities.parse_size, 0, 4_000, "82B"),
        parsed("ack", ack, quantities.parse_size, 1, 9_000, "64B"),
        parsed("delay", delay, quantities.parse_time, 1, 10**12, "100ns") / 1e3,
    )


def _file(fit: Fit, table: Path) -> str:
    missing = {key: why for name, (key, why) in _LEFT_OUT.items() if name not in fit.intervals}
    return nic_profile.file(
        fit.values,
        name=f"fitted to {table.name}",
        port=quantities.rate(fit.link.rate * 1e9).replace(" ", ""),
        source=f"backwater calibrate {table.name}",
        about=(
            f"{_quality(fit)}\n"
            f'A scenario takes this file with profile = "PATH" in [host.nic]; what it gives itself stands.'
        ),
        missing=missing,
    )


def _quality(fit: Fit) -> str:
    worst = max(zip(fit.errors, fit.rows, strict=True), key=lambda one: abs(one[0]))
    return (
        f"{len(fit.rows)} rows, {len(fit.intervals)} parameters: errors of {100 * fit.rms:.1f} % (root mean square), "
        f"at most {100 * abs(worst[0]):.1f} % ({worst[1].arm}, {quantities.round_size(worst[1].size)})"
    )


def _value(name: str, value: float) -> str:
    kind = _SHOWN[name][1]
    if math.isinf(value):
        return "any"
    if kind == "time":
        return quantities.time(value * 1e3)
    if kind == "rate":
        return quantities.rate(value * 1e9)
    return quantities.round_size(max(round(value / 1024), 1) * 1024) if kind == "size" else f"{value:.0f}"


def _print(fit: Fit, simulated: list[float] | None) -> None:
    console = terminal.stdout()
    names = ["goodput", "fitted", "error", *(["simulated", "error"] if simulated else [])]
    rows = terminal.table("Goodput in Gbps", ["arm", "size"], names)
    for number, (row, fitted, error) in enumerate(zip(fit.rows, fit.fitted, fit.errors, strict=True)):
        cells = [f"{row.gbps:g}", f"{fitted:.4g}", f"{100 * error:+.1f} %"]
        if simulated:
            cells += [f"{simulated[number]:.4g}", f"{100 * (simulated[number] / row.gbps - 1):+.1f} %"]
        rows.add_row(row.arm, quantities.round_size(row.size), *cells)
    console.print(rows)
    found = terminal.table("Profile", ["what", "key"], ["value", "95 %"])
    for name, (low, high) in fit.intervals.items():
        about, _, key = _SHOWN[name]
        between = f"{_value(name, low)} to {_value(name, high)}"
        found.add_row(about, key, _value(name, getattr(fit.nic, name)), between)
    found.caption = f"of the round trip the network takes {quantities.time(fit.link.round_trip * 1e3)} (--delay, --ack)"
    console.print(found)
    for name, (key, why) in _LEFT_OUT.items():
        if name not in fit.intervals:
            console.say(f"{key} is not set. {why}")
    console.say(_quality(fit))
    if simulated:
        off = max(abs(one / fitted - 1) for one, fitted in zip(simulated, fit.fitted, strict=True))
        console.say(f"simulator and closed form differ by at most {100 * off:.2g} %")
    console.say("\n".join(nic_profile.tables(fit.values)))


def _as_json(
    fit: Fit,
    simulated: list[float] | None,
    table: Path,
    out: Path | None,
    plot: Path | None,
) -> dict[str, Any]:
    rows = [
        {
            "line": row.line,
            "arm": row.arm,
            "size_bytes": row.size,
            "depth": row.depth,
            "goodput_gbps": row.gbps,
            "fitted_gbps": fitted,
            "error": error,
            **({"simulated_gbps": simulated[number]} if simulated else {}),
        }
        for number, (row, fitted, error) in enumerate(zip(fit.rows, fit.fitted, fit.errors, strict=True))
    ]
    parameters = {
        name: {"value": getattr(fit.nic, name), "low": low, "high": high, "key": _SHOWN[name][2]}
        for name, (low, high) in fit.intervals.items()
    }
    return {
        "table": str(table),
        "parameters": parameters,
        "units": {"round_trip": "ns", "gap": "ns", "drain": "Gbps", "cached": "B", "start": "Gbps"},
        "values": fit.values,
        "rms_error": fit.rms,
        "worst_error": fit.worst,
        "rows": rows,
        **({"written": str(out)} if out else {}),
        **({"plot": str(plot)} if plot else {}),
    }
