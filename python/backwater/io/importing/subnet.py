"""InfiniBand subnets: what ibnetdiscover prints, ibdiagnet2.db_csv and .lst, and forwarding tables."""

from __future__ import annotations

import re
import tomllib
from collections import Counter
from pathlib import Path

from backwater import _core
from backwater.common import quantities
from backwater.errors import UsageError
from backwater.io.importing import TABLE, Imported, read_text
from backwater.io.importing.profiles import unlike
from backwater.scenario.toml_writer import value_text

#: What tells these files from other topologies.
_SUBNET = re.compile(r"^(Switch\s+\d+\s|Ca\s+\d+\s|vendid=|START_NODES|\{ (CA|SW|RT) Ports:)", re.MULTILINE)
#: How long a cable takes: none of the files has lengths. 10 m at 5 ns each.
DELAY = "50ns"
#: The profiles by the data rate of their links in Gbps. Slower links take the next one.
PROFILES = {32: "infiniband", 100: "edr", 200: "hdr", 400: "ndr", 800: "xdr"}
#: What is counted of a network.
_HOLDS = {"hosts": "hosts", "switches": "switches", "links": "cables"}
#: What these files are, in words.
WHAT = "what ibnetdiscover prints, ibdiagnet2.db_csv, or ibdiagnet2.lst"


def is_subnet(text: str) -> bool:
    """Whether a text is of a subnet, as far as its lines tell."""
    return _SUBNET.search(text) is not None


def topology(
    file: Path, text: str, lfts: Path | None = None, delay: str = DELAY
) -> tuple[str, dict[str, str], str, list[str]]:
    """`[topology]` of a subnet, further files by name, the profile of its links, and what the user should know."""
    _check_delay(delay)
    tables = None if lfts is None else (str(lfts), read_text(lfts, "what dump_lfts prints, or ibdiagnet2.fdbs"))
    hosts, switches, cables, table, notes = _core.import_subnet((str(file), text), tables)
    ends = {name: rate for a, b, rate in cables for name in (a, b)}
    usual = Counter(ends[host] for host in hosts).most_common(1)[0][0]
    pairs = Counter(frozenset((a, b)) for a, b, _ in cables)
    lines = ["[topology]", 'kind = "edges"']
    if max(pairs.values()) > 1:
        lines.append("parallel-links = true")
    made = {}
    if table is not None:
        made[TABLE] = f"# switch, the node behind its port, the hosts that this port leads to\n{table}"
        lines.append(f'table = "{TABLE}"')
    lines += [f"hosts = {value_text(hosts)}", f"switches = {value_text(switches)}", "links = ["]
    lines += [f"    {value_text({'a': a, 'b': b, 'rate': _rate(rate), 'delay': delay})}," for a, b, rate in cables]
    lines.append("]")
    notes.append(f"the files have no lengths of cables: {delay} for each; --delay takes another time")
    profile = next((name for gbps, name in PROFILES.items() if usual <= gbps * 10**9), "xdr")
    return "\n".join(lines) + "\n", made, profile, notes


def load(file: Path, lfts: Path | None = None, profile: str | None = None, delay: str = DELAY) -> Imported:
    """A scenario of a subnet, with traffic to begin with: each host sends to another one."""
    text = read_text(file, WHAT)
    place, made, fitting, notes = topology(file, text, lfts, delay)
    if profile is None:
        notes.append(f"no profile is named: {fitting}, by the links of most hosts; --profile takes another one")
    if lfts is None:
        notes.append(
            "no forwarding tables are named: shortest ways; --lfts takes what dump_lfts or ibdiagnet2.fdbs has"
        )
    network = tomllib.loads(place)["topology"]
    notes += unlike(profile or fitting, [quantities.parse_rate(link["rate"]) for link in network["links"]])
    made["scenario.toml"] = _SCENARIO.format(origin=file, profile=profile or fitting, place=place)
    holds = ", ".join(f"{len(network[key])} {what}" for key, what in _HOLDS.items())
    return Imported(made, holds, notes, dict.fromkeys(made.keys() & {TABLE}, str(lfts)))


def _check_delay(delay: str) -> None:
    try:
        ps = quantities.parse_time(delay)
    except ValueError as error:
        raise UsageError(f"--delay: {error}") from None
    if ps <= 0:
        raise UsageError(f"--delay: {delay} is not longer than 0; a metre of cable takes 5ns")


def _rate(bps: int) -> str:
    return f"{bps // 10**9}Gbps" if bps % 10**9 == 0 else f"{bps // 10**3}Kbps" if bps % 10**3 == 0 else f"{bps}bps"


_SCENARIO = """# Made of {origin}.
profile = "{profile}"

{place}
# Each host sends 1 MB to another one. Programs, collectives and traces take its place: docs/scenarios.md
[[traffic]]
name = "all"
kind = "permutation"
size = "1MB"
"""
