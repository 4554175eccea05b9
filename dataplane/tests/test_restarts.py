"""A process that is killed and started again, while its peer goes on: both agree again on PAUSEs and credits."""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING, Any

import pytest
import switches
from switches import port, wait_until

if TYPE_CHECKING:
    from collections.abc import Callable

HEAD = '[run]\nwindow = "1ms"\nframes = 4096\n[flow-control]\nkind = "{}"\n'
LINK = 'rate = "{}"\ndelay = "2us"\n'
STATION = '[[node]]\nname = "{}"\nkind = "{}"\nmac = "02:00:00:00:00:0{}"\nip = "10.0.0.{}"\n'
FLOW = '[[flow]]\nname = "F0"\nfrom = "S0"\nto = "R0"\nrate = "line"\n'


def half(flow_control: str, device: str, left: bool) -> str:
    """S0 and T0, or T2 and a slow way to R0: so that T2 holds T0 back."""
    near, far = ("S0", "R0") if left else ("R0", "S0")
    switch, kind = ("T0", "sender") if left else ("T2", "receiver")
    stations = STATION.format(near, kind, *(2 * [1 if left else 2])) + STATION.format(
        far, "remote", *(2 * [2 if left else 1])
    )
    # Little enough for the ring of a device (512 frames) while this process is not running.
    keys = 'buffer = "100KB"\nperiod = "5ms"\n' if flow_control == "credits" else 'xoff = "50KB"\nxon = "40KB"\n'
    return (
        f'{HEAD.format(flow_control)}{keys}{stations}[[node]]\nname = "{switch}"\nkind = "switch"\n'
        f'[[link]]\na = "{near}"\nb = "{switch}"\n{LINK.format("200Mbps" if left else "100Mbps")}'
        f'[[port]]\nnode = "{switch}"\ndevice = "{device}"\n{LINK.format("200Mbps")}{FLOW}'
    )


def arrived(right: switches.Switch) -> float:
    return right.metrics()['backwater_received_packets_total{node="R0",flow="F0"}']


def restart(
    start: Callable[..., switches.Switch], halves: tuple[str, str], killed: int
) -> tuple[switches.Switch, switches.Switch]:
    """Runs both, kills one in the middle of traffic, starts it again, and sees packets arrive as before."""
    # The server first, so that nothing waits.
    right = start(halves[1], "--prometheus", "0")
    left = start(halves[0], "--prometheus", "0")
    right.wait_until_running()
    left.wait_until_running()
    held = 'backwater_port_off_periods_total{node="T0",port="p1",priority="3"}'
    wait_until(lambda: arrived(right) > 300 and left.metrics()[held] > 0, "traffic, and T0 is held back")
    old = (left, right)[killed]
    old.process.kill()
    old.process.wait()
    new = start(halves[killed], "--prometheus", "0").wait_until_running()
    both = (left, new) if killed else (new, right)
    before = arrived(both[1])
    # More than all buffers can hold at once: 100 packets each.
    wait_until(lambda: arrived(both[1]) > before + 1000, "packets arrive again")
    return both


def end(both: tuple[switches.Switch, switches.Switch], killed: int) -> list[dict[str, Any]]:
    """The survivor first: it sees its link go down once."""
    survivor = both[1 - killed].end()
    other = both[killed].end()
    return [survivor, other] if killed else [other, survivor]


@pytest.mark.parametrize("flow_control", ["pfc", "credits"])
@pytest.mark.parametrize("killed", [0, 1], ids=["sender", "receiver"])
def test_over_memif_the_link_tells_that_a_peer_has_gone(
    start: Callable[..., switches.Switch], flow_control: str, killed: int
) -> None:
    name = f"backwater-{uuid.uuid4().hex}"
    halves = tuple(
        half(flow_control, f"net_memif{i},role={'server' if i else 'client'},id=0,socket={name}", not i) for i in (0, 1)
    )
    both = restart(start, (halves[0], halves[1]), killed)
    results = end(both, killed)
    survivor = port(results[1 - killed], ("T2", "T0")[killed], 1)
    assert survivor["link_downs"] == 1
    for result, switch in zip(results, ("T0", "T2"), strict=True):
        said = port(result, switch, 1)
        assert {why for why, count in said["drops"].items() if count} <= {"shutdown", "link_down"}, switch
        assert said["credit_restarts"] == 0
    assert results[1]["nodes"][0]["received"][0]["damaged"] == 0


@pytest.mark.parametrize("killed", [0, 1], ids=["sender", "receiver"])
def test_over_a_cable_that_tells_nothing_credits_begin_anew(
    start: Callable[..., switches.Switch], cables: list[switches.Cable], killed: int
) -> None:
    ends = (cables[0].inside, cables[0].outside)
    halves = tuple(half("credits", f"net_af_packet{i},iface={end}", not i) for i, end in enumerate(ends))
    both = restart(start, (halves[0], halves[1]), killed)

    def restarts() -> float:
        name = 'backwater_port_credit_restarts_total{{node="{}",port="p1"}}'
        return sum(one.metrics()[name.format(switch)] for one, switch in zip(both, ("T0", "T2"), strict=True))

    def agreed() -> bool:
        seen, before = restarts(), arrived(both[1])
        wait_until(lambda: arrived(both[1]) > before + 300, "packets arrive")
        return restarts() == seen

    # Where processes take turns on a core, messages that wait in a device's ring may begin it anew some more times.
    wait_until(agreed, "both ends agree")
    results = end(both, killed)
    said = [port(result, switch, 1) for result, switch in zip(results, ("T0", "T2"), strict=True)]
    assert [one["link_downs"] for one in said] == [0, 0]
    assert said[0]["credit_restarts"] + said[1]["credit_restarts"] >= 1
