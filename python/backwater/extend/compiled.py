"""Functions compiled with numba: as quick as those that are built in."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from backwater import extras
from backwater.common.late import np
from backwater.extend.abi import State
from backwater.extend.errors import UserCodeError

#: numba's compiler is not for several threads.
_LOCK = threading.Lock()
MISSING = (
    "numba is not installed, which compiles {name}: {install}, or write compiled=False, "
    "which runs it as plain Python, some 300 times slower a call"
)


@dataclass(frozen=True)
class Compiled:
    """Machine code of a function; it lives as long as this object."""

    address: int
    version: str
    #: What owns the code.
    owner: object


def compile_function(function: Callable[..., object], state: State, where: str) -> Compiled:
    """Compile a function for a state of these fields; raises UserCodeError with what numba says."""
    lacking = MISSING.format(name=function.__name__, install="{}")
    numba = extras.load("numba", f"{where}: {lacking}", UserCodeError)

    def record(fields: Any) -> Any:
        kinds = [(name, "f8" if kind is float else "i8") for name, kind in fields]
        return numba.from_dtype(np.dtype(kinds))

    seen, event = record(state.fields()), record(state.interface.event)
    carray: Any = vars(numba)["carray"]
    with _LOCK:
        inner = numba.njit(function)
        try:
            inner.compile((seen, event))
        except KeyError as error:
            # So numba tells of a field that is set and not there.
            raise UserCodeError(
                f"{where}: it cannot be compiled: there is no field {error}; {_fields(state)}"
            ) from None
        except numba.core.errors.NumbaError as error:
            raise UserCodeError(f"{where}: it cannot be compiled: {_short(error)}") from None
        returned = inner.overloads[(seen, event)].signature.return_type
        if returned != numba.types.none:
            raise UserCodeError(f"{where}: it returns {returned}, but must return nothing: set the fields instead")

        def entry(first: Any, second: Any) -> int:
            try:
                inner(carray(first, 1)[0], carray(second, 1)[0])
            except Exception:  # noqa: BLE001  numba knows no other; it is raised again by a replay
                return 1
            return 0

        pointer: Any = numba.types.CPointer
        made: Any = numba.cfunc(numba.types.uint32(pointer(seen), pointer(event)))(entry)
    return Compiled(int(made.address), str(numba.__version__), (made, inner))


def _fields(state: State) -> str:
    head, event = (", ".join(name for name, _ in fields) for fields in (state.fields(), state.interface.event))
    return f"the first argument has {head}, the event {event}"


def _short(error: Exception) -> str:
    """Numba's own words, without the advice that follows them."""
    lines = [line for line in str(error).splitlines() if line.strip() and not line.startswith("- ")]
    kept = [line for line in lines if not line.startswith(("During:", "Failed in nopython"))]
    return "\n  ".join(kept[:12])
