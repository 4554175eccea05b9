"""``backwater tcd max-ton``, ``pfc headroom``, ``cbfc feasibility``: small calculations with their arithmetic."""

from __future__ import annotations

import json
from typing import Any, Literal

from backwater import _core
from backwater.cli.options import Json
from backwater.errors import UsageError


def max_ton(
    *,
    flow_control: Literal["pfc", "credits"] = "pfc",
    rate: str | None = None,
    delay: str | None = None,
    mtu: str | None = None,
    epsilon: float | None = None,
    gap: str | None = None,
    period: str | None = None,
    json_: Json = False,
) -> None:
    """Print max(Ton), the longest time that an ON-OFF port stays ON, with the arithmetic.

    A port that has been ON for longer is no longer held back, and TCD may judge its queue (TCD paper, §4.2).

    Parameters
    ----------
    flow_control
        What holds the port back: pfc, or credits that come back periodically.
    rate
        pfc: rate of the port, such as 40Gbps.
    delay
        pfc: one-way propagation delay of the link, such as 4us.
    mtu
        pfc: largest packet; 1000B if not given.
    epsilon
        pfc: how much faster than it drains the queue behind the port must fill, as a share of the rate; 0.05 if not
        given.
    gap
        pfc: Xoff - Xon; two MTUs if not given.
    period
        credits: Tc, the time between two updates, such as 50us.
    json_
        Print JSON.
    """
    link = {"rate": rate, "delay": delay, "mtu": mtu, "epsilon": epsilon, "gap": gap}
    if flow_control == "credits":
        given = [f"--{name}" for name, value in link.items() if value is not None]
        if given:
            message = f"max(Ton) under credits is their period, whatever the link: remove {', '.join(given)}"
            raise UsageError(message)
        if period is None:
            message = "--flow-control credits needs the time between two updates: add --period, such as --period 50us"
            raise UsageError(message)
        _show(_core.max_ton_credits(period), json_)
        return
    if period is not None:
        message = "--period is of credits: add --flow-control credits, or remove it for max(Ton) under PFC"
        raise UsageError(message)
    if rate is None or delay is None:
        missing = "--rate, such as --rate 40Gbps" if rate is None else "--delay, such as --delay 4us"
        message = f"max(Ton) under PFC depends on the link: add {missing}"
        raise UsageError(message)
    mtu, epsilon = "1000B" if mtu is None else mtu, 0.05 if epsilon is None else epsilon
    _show(_core.max_ton(rate, delay, mtu, epsilon, gap), json_)


def headroom(
    *,
    rate: str,
    delay: str,
    mtu: str = "1000B",
    frame: str = "64B",
    response: str = "0ns",
    json_: Json = False,
) -> None:
    """Print the headroom that an ingress port needs so that nothing is lost while a PAUSE takes effect.

    Parameters
    ----------
    rate
        Rate of the link.
    delay
        One-way propagation delay of the link, such as 1us.
    mtu
        Largest packet.
    frame
        A PFC frame on the wire.
    response
        How long the paused side takes to act. IEEE 802.3 allows at most 2.017us at 100 Gbps; 0 in the simulator.
    json_
        Print JSON.
    """
    _show(_core.headroom(rate, delay, mtu, frame, response), json_)


def feasibility(
    *,
    rate: str,
    delay: str,
    period: str | None = None,
    mtu: str = "2048B",
    frame: str = "8B",
    buffer: str | None = None,
    lanes: int = 1,
    json_: Json = False,
) -> None:
    """Print the buffer with which a virtual lane can hold line rate while its credits are on their way back.

    With less the link starves although nothing is congested.

    Parameters
    ----------
    rate
        Data rate of the link: 32Gbps for 40 Gbps of signalling with 8b/10b.
    delay
        One-way propagation delay of the link, such as 4us.
    period
        Tc, the time between two updates, such as 50us; without it credits come back with every packet.
    mtu
        Largest packet.
    frame
        An update on the wire.
    buffer
        A buffer of an ingress port to be judged, which the virtual lanes share; the longest period with which it
        suffices is printed, too.
    lanes
        Virtual lanes with traffic under flow control, 1 to 15; their updates may leave together.
    json_
        Print JSON.
    """
    _show(_core.feasibility(rate, delay, mtu, frame, period, buffer, str(lanes)), json_)


def _show(text: str, as_json: bool) -> None:
    answer: dict[str, Any] = json.loads(text)
    if as_json:
        print(json.dumps(answer, indent=2))
    else:
        print("\n".join(answer["steps"]))
