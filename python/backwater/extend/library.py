"""Functions of compiled libraries, by the tables that ``backwater.h`` describes."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from typing import TYPE_CHECKING

from backwater.extend import abi
from backwater.extend.abi import Interface, State
from backwater.extend.errors import UserCodeError

if TYPE_CHECKING:
    from pathlib import Path


class _Table(ctypes.Structure):
    """``backwater_controller`` and ``backwater_detector``."""

    _fields_ = (
        ("version", ctypes.c_uint32),
        ("events", ctypes.c_uint32),
        ("initial_rate_bps", ctypes.c_double),
        ("state", ctypes.c_char_p),
        ("function", ctypes.c_void_p),
    )


@dataclass(frozen=True)
class InLibrary:
    """A function of a library, which stays loaded."""

    address: int
    events: int
    initial_rate_bps: float
    state: State
    owner: object


def load(file: Path, symbol: str, interface: Interface, where: str) -> InLibrary:
    """Look a table up; raises UserCodeError if there is none, or if it is of another version."""
    if not file.is_file():
        raise UserCodeError(f"{where}: there is no library {file}")
    try:
        library = ctypes.CDLL(str(file))
    except OSError as error:
        raise UserCodeError(f"{where}: {file} cannot be loaded: {error}") from None
    try:
        table = _Table.in_dll(library, symbol)
    except ValueError:
        raise UserCodeError(f"{where}: {file} has no symbol {symbol!r}; define struct backwater_* {symbol}") from None
    if table.version != abi.VERSION:
        raise UserCodeError(f"{where}: {symbol} is of version {table.version}, expected {abi.VERSION}; see backwater.h")
    if not table.function:
        raise UserCodeError(f"{where}: {symbol} has no function")
    words = (table.state or b"").decode("utf-8", "replace").split()
    state = State.of(interface, dict(_word(word, where) for word in words), where)
    return InLibrary(int(table.function), int(table.events), float(table.initial_rate_bps), state, library)


def _word(text: str, where: str) -> tuple[str, float | int]:
    name, _, value = text.partition("=")
    try:
        return name, int(value) if value.lstrip("+-").isdigit() else float(value)
    except ValueError:
        raise UserCodeError(f"{where}: state {text!r} of the library is not name=number") from None
