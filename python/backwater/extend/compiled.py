"""Functions compiled with numba: as quick as those that are built in."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from backwater.extend.abi import State
from backwater.extend.errors import UserCodeError

if TYPE_CHECKING:
    from collections.abc import Callable

#: numba's compiler is not for several threads.
_LOCK = threading.Lock()
MISSING = (
    "numba is not installed, which compiles {name}: pip install 'backwater[jit]', or write compiled=False, "
    "which runs it as plain Python, a hundred times slower"
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
    try:
        import numba
    except ImportError:
        raise UserCodeError(f"{where}: {MISSING.format(name=function.__name__)}") from None
    import numpy as np

    def record(fields: Any) -> Any:
        kinds = [(name, "f8" if kind is float else "i8") for name, kind in fields]
        return numba.from_dtype(np.dtype(kinds))

    seen, event = record(state.fields()), record(state.interface.event)
    with _LOCK:
        inner = numba.njit(function)
        try:
            inner.compile((seen, event))
        except numba.core.errors.NumbaError as error:
            raise UserCodeError(f"{where}: it cannot be compiled: {_short(error)}") from error
        returned = inner.overloads[(seen, event)].signature.return_type
        if returned != numba.types.none:
            raise UserCodeError(f"{where}: it returns {returned}, but must return nothing: set the fields instead")

        def entry(first: Any, second: Any) -> int:
            try:
                inner(numba.carray(first, 1)[0], numba.carray(second, 1)[0])
            except Exception:  # noqa: BLE001  numba knows no other; it is raised again by a replay
                return 1
            return 0

        signature = numba.types.uint32(numba.types.CPointer(seen), numba.types.CPointer(event))
        made = numba.cfunc(signature)(entry)
    return Compiled(int(made.address), str(numba.__version__), (made, inner))


def _short(error: Exception) -> str:
    """numba's own words, without the advice that follows them."""
    lines = [line for line in str(error).splitlines() if line.strip() and not line.startswith("- ")]
    kept = [line for line in lines if not line.startswith(("During:", "Failed in nopython"))]
    return "\n  ".join(kept[:12])
