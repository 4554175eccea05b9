"""Functions of compiled libraries, by the tables that ``backwater.h`` describes."""

from __future__ import annotations

import ctypes
import hashlib
import tempfile
import threading
from dataclasses import dataclass
from pathlib import Path

from backwater.extend import abi
from backwater.extend.abi import Interface, State
from backwater.extend.errors import UserCodeError


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


#: Libraries by the hash of what they were when they were opened, and the files that have been opened.
_opened_as: dict[str, ctypes.CDLL] = {}
_names: set[Path] = set()
_lock = threading.Lock()


def _opened(file: Path) -> ctypes.CDLL:
    """The library in a file as it is now: the system takes a name that it has opened before for what it was then.

    So one that was made again is opened by another name.
    """
    content = file.read_bytes()
    digest = hashlib.sha256(content).hexdigest()
    with _lock:
        if digest not in _opened_as:
            place = file.resolve()
            if place in _names:
                with tempfile.TemporaryDirectory() as folder:
                    copy = Path(folder) / f"{file.stem}-{digest[:12]}{file.suffix}"
                    copy.write_bytes(content)
                    _opened_as[digest] = ctypes.CDLL(str(copy))
            else:
                _opened_as[digest] = ctypes.CDLL(str(file))
                _names.add(place)
        return _opened_as[digest]


def load(file: Path, symbol: str, interface: Interface, where: str) -> InLibrary:
    """Look a table up; raises UserCodeError if there is none, or if it is of another version."""
    if not file.is_file():
        raise UserCodeError(f"{where}: there is no library {file}")
    try:
        library = _opened(file)
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
