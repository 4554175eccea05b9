"""The C interface of functions of the user's own: the structs that they see, and the numbers in them.

The same fields, in the same order, are in ``backwater.h`` and in ``crates/control`` (``reaction/custom.rs``,
``detector/custom.rs``); a test compares the sizes.
"""

from __future__ import annotations

import ctypes
import keyword
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from backwater.extend.errors import UserCodeError

#: The version of the interface that libraries state.
VERSION = 1
#: What happened to a flow: a data packet left, an ACK or a CNP came, the deadline of the timer has come.
SEND, ACK, CNP, TIMER = 1, 2, 4, 8
#: What happened at a port: a packet left the queue, the gate opened.
DEPARTURE, RESUME = 1, 2
#: Code points of packets: UE, an undetermined port was crossed; CE, a congested one.
UE, CE = 2, 3
#: Verdicts on a port.
NON_CONGESTION, CONGESTION, UNDETERMINED, JUDGING = 0, 1, 2, 3
#: The deadline of a timer that does not run.
NEVER = 2**63 - 1

EVENT_NAMES = {"send": SEND, "ack": ACK, "cnp": CNP}

Fields = tuple[tuple[str, type[float] | type[int]], ...]


@dataclass(frozen=True)
class Interface:
    """One kind of function: what it is called, the fields of its two structs, and how much it may remember."""

    word: str
    decorator: str
    head: Fields
    event: Fields
    words: int
    kinds: Mapping[int, str]


CONTROLLER = Interface(
    "congestion control",
    "congestion_control",
    (("rate_bps", float), ("timer_ps", int), ("line_bps", float)),
    (("kind", int), ("now_ps", int), ("bytes", int), ("code", int), ("rtt_ps", int)),
    29,
    {SEND: "SEND", ACK: "ACK", CNP: "CNP", TIMER: "TIMER"},
)
DETECTOR = Interface(
    "detector",
    "detector",
    (("state", int), ("watch_ps", int), ("ce", float), ("ue", int)),
    (
        ("kind", int),
        ("now_ps", int),
        ("queue_bytes", int),
        ("size_bytes", int),
        ("code", int),
        ("last_hold_ps", int),
    ),
    12,
    {DEPARTURE: "DEPARTURE", RESUME: "RESUME"},
)


@dataclass(frozen=True)
class State:
    """What a function remembers: names with their values at the start; floats stay floats and integers integers."""

    interface: Interface
    values: Mapping[str, float | int]

    @classmethod
    def of(cls, interface: Interface, given: Mapping[str, Any], where: str) -> State:
        """Checks what the user gave; a type stands for its zero."""
        values = {name: _value(name, value, where) for name, value in given.items()}
        taken = [name for name, _ in interface.head]
        for name in values:
            if not name.isidentifier() or keyword.iskeyword(name) or name.startswith("_"):
                raise UserCodeError(f"{where}: state {name!r} is not a name; use letters, such as target_bps")
            if name in taken:
                raise UserCodeError(f"{where}: {name!r} is there already; the fields are {', '.join(taken)}")
        if len(values) > interface.words:
            raise UserCodeError(
                f"{where}: {len(values)} words of state; a {interface.word} has at most {interface.words}"
            )
        return cls(interface, values)

    def with_parameters(self, parameters: Mapping[str, float], where: str) -> State:
        """The same with other values at the start, as `parameters` of a scenario give them."""
        values = dict(self.values)
        for name, value in parameters.items():
            if name not in values:
                known = ", ".join(values) or "no state"
                raise UserCodeError(
                    f"{where}.parameters.{name}: the function has no state of this name; it has {known}"
                )
            if isinstance(values[name], int) and value != int(value):
                raise UserCodeError(
                    f"{where}.parameters.{name} = {value}: it is a whole number in the function's state"
                )
            values[name] = int(value) if isinstance(values[name], int) else float(value)
        return State(self.interface, values)

    def bits(self) -> list[int]:
        """The words as the core takes them."""
        return [_bits(value) for value in self.values.values()]

    def fields(self) -> Fields:
        """Names and types of the whole struct, in order."""
        own = tuple((name, int if isinstance(value, int) else float) for name, value in self.values.items())
        return (*self.interface.head, *own)


def _value(name: str, value: object, where: str) -> float | int:
    if value is float or value is int:
        return 0.0 if value is float else 0
    if isinstance(value, bool) or not isinstance(value, float | int):
        raise UserCodeError(f"{where}: state {name} = {value!r} is not a number; give one, or float or int for 0")
    if isinstance(value, int) and not -(2**63) <= value < 2**63:
        raise UserCodeError(f"{where}: state {name} = {value} does not fit 64 bits")
    return value


def _bits(value: float | int) -> int:
    packed = struct.pack("<q", value) if isinstance(value, int) else struct.pack("<d", value)
    return int(struct.unpack("<Q", packed)[0])


def structure(name: str, fields: Fields) -> type[ctypes.Structure]:
    """A ctypes struct of 8-byte fields that refuses names which it does not have, and integers that do not fit."""
    kinds = [(field, ctypes.c_double if kind is float else ctypes.c_int64) for field, kind in fields]
    whole = frozenset(field for field, kind in fields if kind is int)
    store = ctypes.Structure.__setattr__

    def checked(self: ctypes.Structure, field: str, value: object) -> None:
        # ctypes itself keeps the lower 64 bits, without a word.
        if field in whole and isinstance(value, int) and not -(2**63) <= value < 2**63:
            raise OverflowError(f"{field} = {value} does not fit 64 bits; the largest is 2**63 - 1 = {NEVER}")
        store(self, field, value)

    return type(name, (ctypes.Structure,), {"_fields_": kinds, "__slots__": (), "__setattr__": checked})


def filled(made: type[ctypes.Structure], words: list[int]) -> ctypes.Structure:
    """A struct from the words that the core reports."""
    count = ctypes.sizeof(made) // 8
    return made.from_buffer_copy(struct.pack(f"<{count}Q", *(word % 2**64 for word in words[:count])))
