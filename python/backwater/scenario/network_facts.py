"""What a network is like: sizes, distances, bisection, oversubscription, deadlock; of a file's [topology] alone."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from backwater.common import quantities
from backwater.errors import UsageError
from backwater.scenario import topologies
from backwater.scenario.scenario import Scenario

#: A scenario needs traffic, and nothing of it, nor of switches, may say whether the network can be looked at.
_REST = '\n[[traffic]]\nname = "none"\nkind = "poisson"\nsize = "1B"\nload = 0.000001\nflows = 1\n'
_SETTINGS = ('switch.flow-control="none"', "topology.allow-cycles=true")


def of(file: Path, overrides: Sequence[str]) -> dict[str, Any]:
    """The facts of the network in `file`, as ``backwater topology --json`` prints them.

    Raises UsageError for a file without a network and for overrides of anything else, ScenarioError for a wrong one.
    """
    for text in overrides:
        if not text.lstrip().startswith("topology."):
            message = f"--set {text}: only the topology counts here; write --set topology.KEY=VALUE"
            raise UsageError(message)
    scenario = Scenario.load(file)
    alone = replace(scenario, text=topologies.alone(file) + _REST)
    facts: dict[str, Any] = json.loads(alone.read([*_SETTINGS, *overrides]).topology())
    return facts


def lines(facts: dict[str, Any]) -> list[tuple[str, str, str]]:
    """Names, values and meanings, for people."""
    least, most = facts["switch_ports_least"], facts["switch_ports_most"]
    slow, fast = facts["slowest_link_bps"], facts["fastest_link_bps"]
    rates = quantities.rate(slow) if slow == fast else f"{quantities.rate(slow)} to {quantities.rate(fast)}"
    near, far = quantities.time(facts["least_delay_ps"]), quantities.time(facts["greatest_delay_ps"])
    of_hosts = facts["bisection_hosts_bps"]
    share = f"{100 * facts['bisection_bps'] / of_hosts:.3g} % of what they send at most" if of_hosts else "one host"
    rows = [
        ("hosts", quantities.count(facts["hosts"]), "ports that send and receive"),
        ("switches", quantities.count(facts["switches"]), "" if least is None else f"{_range(least, most)} ports each"),
        ("ports", quantities.count(facts["ports"]), "of hosts and switches"),
        ("links", quantities.count(facts["links"]), f"full duplex, {rates}"),
        ("diameter", str(facts["diameter_links"]), "links between the two hosts that are furthest apart"),
        ("longest route", str(facts["longest_route_links"]), f"links, by routing {facts['routing']}"),
        ("delay", f"{near} to {far}", "propagation between hosts, one way, by this routing"),
        (
            "bisection",
            quantities.rate(facts["bisection_bps"]),
            f"maximum flow from one half of the hosts to the other ({facts['bisection_halves']}): {share}",
        ),
    ]
    for row in facts["oversubscription"]:
        meaning = f"capacity down over capacity up of switches of tier {row['tier']}, the greatest"
        rows.append((f"oversubscription {row['tier']}", f"{row['ratio']:.4g} : 1", meaning))
    return rows


def circles(deadlock: list[dict[str, Any]]) -> Iterator[str]:
    """A circle of waits for each routing that has one, in words."""
    for row in deadlock:
        if row["why"] is not None:
            lanes = "" if row["lanes"] == 1 else f", {row['lanes']} lanes"
            yield f"{row['routing']}{lanes}: {row['why']}"


def _range(least: int, most: int) -> str:
    return str(least) if least == most else f"{least} to {most}"
