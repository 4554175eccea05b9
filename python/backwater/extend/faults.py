"""What to tell when a function of the user's failed in a run."""

from __future__ import annotations

import json
from typing import Any

from backwater.extend.abi import Interface, filled, structure
from backwater.extend.errors import UserCodeError
from backwater.extend.loading import Functions, Loaded
from backwater.extend.plain import Plain

FIXES = {
    "rate": "the rate became {value} bit/s; set rate_bps from 1 to 1e18, such as max(flow.rate_bps, 1e8)",
    "timer": "the timer that was due was set to {value} ps, which is not later; set timer_ps = event.now_ps + a period",
    "probability": "ce became {value}; set the probability of a mark, from 0 to 1",
    "state": "state became {value}; set NON_CONGESTION, CONGESTION, UNDETERMINED or JUDGING (0 to 3)",
}


def explained(told: str, functions: Functions) -> UserCodeError:
    """An error for the user, from what the core reports."""
    fault: dict[str, Any] = json.loads(told)
    one = functions.detector if fault["what"] == "detector" else functions.controllers[fault["number"]]
    if one is None:
        return UserCodeError(told)
    interface = one.state.interface
    kind, value = fault["refusal"]
    event = interface.kinds.get(fault["event"][0], "?")
    place = f" ({one.function.place})" if one.function is not None else ""
    when = f"at {_time(fault['time_ps'])}, {event} of {fault['where']}"
    title = f"{interface.word} {one.name}{place}, {when}"
    if kind != "failed":
        return UserCodeError(f"{title}: {FIXES[kind].format(value=value)}")
    if one.function is None:
        return UserCodeError(f"{title}: it returned {value}, expected 0")
    raised = _raised(one, interface, fault)
    if raised is None:
        return UserCodeError(
            f"{title}: it raised an exception in its compiled form, but not as plain Python; try compiled=False"
        )
    error = UserCodeError(f"{title}: it raised {type(raised).__name__}{_message(raised)}")
    error.__cause__ = raised
    return error


def _raised(one: Loaded, interface: Interface, fault: dict[str, Any]) -> BaseException | None:
    if isinstance(one.code, Plain):
        return one.code.raised.get(fault["event"][1])
    return _replayed(one, interface, fault)


def _message(raised: BaseException) -> str:
    return f": {raised}" if str(raised) else ""


def _replayed(one: Loaded, interface: Interface, fault: dict[str, Any]) -> BaseException | None:
    """What the function raises for the same flow and event as plain Python: machine code tells no line."""
    state = filled(structure("State", one.state.fields()), fault["before"])
    event = filled(structure("Event", interface.event), fault["event"])
    try:
        if one.function is not None:
            one.function.function(state, event)
    except BaseException as error:  # noqa: BLE001  to be told, whatever it is
        return error
    return None


def _time(ps: int) -> str:
    return f"{ps / 1e6:.6g} us"
