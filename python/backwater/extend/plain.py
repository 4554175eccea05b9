"""Functions as plain Python: nothing to install, and slow. What they raise is kept, to be told at the end."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from backwater.extend.abi import State, structure

#: Microseconds that a call takes, about; docs/extend.md says how that was measured.
COST_US = 5


def _require_nothing(returned: object) -> None:
    if returned is not None:
        raise TypeError(f"it returned {returned!r}, but must return nothing: set the fields instead")


@dataclass
class Plain:
    """A callback into the interpreter; it lives as long as this object."""

    function: Callable[..., object]
    state: State
    address: int = 0
    owner: object = None
    #: What calls that failed raised, by the time of their event; the first one at each.
    raised: dict[int, BaseException] = field(default_factory=dict)
    #: The user does not want to wait for it any longer.
    _given_up: bool = field(default=False, repr=False)
    _thread: int | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        seen = structure("State", self.state.fields())
        event = structure("Event", self.state.interface.event)
        made = ctypes.CFUNCTYPE(ctypes.c_uint32, ctypes.POINTER(seen), ctypes.POINTER(event))(self._call)
        self.owner = made
        self.address = ctypes.cast(made, ctypes.c_void_p).value or 0

    def _call(self, first: Any, second: Any) -> int:
        if self._given_up:
            return 1
        try:
            self._thread = threading.get_ident()
            _require_nothing(self.function(first.contents, second.contents))
        except BaseException as error:  # noqa: BLE001  nothing may leave a callback; the run ends and tells it
            self.raised.setdefault(int(second.contents.now_ps), error)
            return 1
        finally:
            self._thread = None
        return 0

    def interrupt(self) -> None:
        """End a call that does not return, as Ctrl-C would, and let no other begin."""
        self._given_up = True
        thread = self._thread
        if thread is not None:
            ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), ctypes.py_object(KeyboardInterrupt))
