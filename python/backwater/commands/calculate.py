"""``backwater tcd max-ton`` and ``backwater pfc headroom``: small calculations with their arithmetic."""

from __future__ import annotations

import json
from typing import Annotated, Any

from cyclopts import Parameter


def max_ton(
    *,
    rate: str,
    delay: str,
    mtu: str = "1000B",
    epsilon: float = 0.05,
    gap: str | None = None,
    json_: Annotated[bool, Parameter(name="--json", negative="")] = False,
) -> None:
    """Print max(Ton), the longest time that an ON-OFF port stays ON, with the arithmetic.

    A port that has been ON for longer is no longer held back, and TCD may judge its queue (TCD paper, §4.2).

    Parameters
    ----------
    rate
        Rate of the port, such as 40Gbps.
    delay
        One-way propagation delay of the link, such as 4us.
    mtu
        Largest packet.
    epsilon
        How much faster than it drains the queue behind the port must fill, as a share of the rate.
    gap
        Xoff - Xon; two MTUs if not given.
    json_
        Print JSON.
    """
    from backwater import _core

    _show(_core.max_ton(rate, delay, mtu, epsilon, gap), json_)


def headroom(
    *,
    rate: str,
    delay: str,
    mtu: str = "1000B",
    frame: str = "64B",
    response: str = "0ns",
    json_: Annotated[bool, Parameter(name="--json", negative="")] = False,
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
        How long the paused side takes to act (IEEE 802.1Qbb allows some 100 ns; 0 in the simulator).
    json_
        Print JSON.
    """
    from backwater import _core

    _show(_core.headroom(rate, delay, mtu, frame, response), json_)


def _show(text: str, as_json: bool) -> None:
    answer: dict[str, Any] = json.loads(text)
    if as_json:
        print(json.dumps(answer, indent=2))
    else:
        print("\n".join(answer["steps"]))
