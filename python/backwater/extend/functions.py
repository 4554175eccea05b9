"""What the decorators make of a function: its state, its events, and machine code of it when a run needs it."""

from __future__ import annotations

import hashlib
import inspect
import threading
import warnings
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from backwater import extras
from backwater.extend import abi
from backwater.extend.abi import CONTROLLER, DETECTOR, Interface, State
from backwater.extend.compiled import Compiled, compile_function
from backwater.extend.errors import PlainPythonWarning, UserCodeError
from backwater.extend.plain import COST_US, Plain


@dataclass(eq=False)
class UserFunction:
    """A controller or a detector: the function itself, and what it remembers. Calling it calls the function."""

    function: Callable[..., object]
    state: State
    events: int = 0
    initial_rate_bps: float = 0.0
    is_compiled: bool = True
    _compiled: Compiled | None = field(default=None, repr=False)
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    def __call__(self, state: Any, event: Any) -> object:
        """As an ordinary function, for tests: `state` and `event` are anything with the fields."""
        return self.function(state, event)

    @property
    def interface(self) -> Interface:
        """Which of the two kinds it is."""
        return self.state.interface

    @property
    def name(self) -> str:
        """The function's name."""
        return self.function.__name__

    @property
    def place(self) -> str:
        """File and line of the function."""
        code = self.function.__code__
        return f"{_short(code.co_filename)}:{code.co_firstlineno}"

    def __repr__(self) -> str:
        how = "compiled" if self.is_compiled else "plain Python"
        return f"<{self.interface.word} {self.name} ({self.place}), {how}>"

    def source(self) -> str:
        """The text of the function; empty where it is not known, as of code typed at a prompt."""
        try:
            return inspect.getsource(self.function)
        except (OSError, TypeError):
            return ""

    def source_sha256(self) -> str:
        """Hash of the file that it stands in, as it may use what else is there; of itself where there is none."""
        file = Path(self.function.__code__.co_filename)
        text = file.read_bytes() if file.is_file() else (self.source().encode() or self.function.__code__.co_code)
        return hashlib.sha256(text).hexdigest()

    def loaded(self) -> Compiled | Plain:
        """Code that the core can call: machine code, made once, or a callback of its own for each run."""
        if not self.is_compiled:
            warnings.warn(
                f"{self.interface.word} {self.name} ({self.place}) runs as plain Python: a call takes {COST_US} us, "
                f"compiled some 20 ns; for long runs: {extras.install_group('jit')} and no compiled=False",
                PlainPythonWarning,
                stacklevel=8,
            )
            return Plain(self.function, self.state)
        with self._lock:
            if self._compiled is None:
                where = f"{self.interface.word} {self.name} ({self.place})"
                self._compiled = compile_function(self.function, self.state, where)
            return self._compiled


def congestion_control(
    *,
    state: Mapping[str, float | int | type[float] | type[int]] | None = None,
    on: Iterable[str] = ("cnp", "ack"),
    initial_rate_bps: float = 0.0,
    compiled: bool = True,
) -> Callable[[Callable[..., object]], UserFunction]:
    """Make a reaction point of ``function(flow, event)``, which sets ``flow.rate_bps``.

    `state` names what it remembers per flow, with the values at the start (at most 29 floats and integers); they are
    fields of ``flow``. `on` lists what it is notified of besides its timer: ``"cnp"``, ``"ack"`` (those that echo a
    mark, or complete a segment), ``"send"`` (every data packet). `initial_rate_bps` is the rate of a new flow in bit/s,
    0 for line rate. `compiled` False runs it as plain Python, with a warning that says what that costs.

    >>> @congestion_control(state={"alpha": 1.0}, on=["cnp"])
    ... def halve(flow, event):
    ...     flow.rate_bps = max(flow.rate_bps / 2, 1e8)
    """

    def decorate(function: Callable[..., object]) -> UserFunction:
        where = _checked(function, CONTROLLER)
        known = [on] if isinstance(on, str) else list(on)
        for name in known:
            if name not in abi.EVENT_NAMES:
                raise UserCodeError(f"{where}: on = {name!r} is not known; choose of {', '.join(abi.EVENT_NAMES)}")
        if not 0 <= initial_rate_bps < 1e18:
            raise UserCodeError(f"{where}: initial_rate_bps = {initial_rate_bps} is not a rate; 0 is line rate")
        events = sum({abi.EVENT_NAMES[name] for name in known})
        made = State.of(CONTROLLER, state or {}, where)
        return UserFunction(function, made, events, float(initial_rate_bps), compiled)

    return _bare(decorate, state)


def detector(
    *,
    state: Mapping[str, float | int | type[float] | type[int]] | None = None,
    compiled: bool = True,
) -> Callable[[Callable[..., object]], UserFunction]:
    """Make a detector of ``function(queue, event)``, which sets ``queue.ce``, ``queue.ue`` and ``queue.state``.

    `state` names what it remembers per egress port and priority (at most 12 floats and integers). It is notified of
    packets that leave the queue (``event.kind == DEPARTURE``) and of openings of the gate (``RESUME``). `compiled` as
    in `congestion_control`.

    >>> @detector()
    ... def step(queue, event):
    ...     queue.ce = 1.0 if event.queue_bytes > 100_000 else 0.0
    """

    def decorate(function: Callable[..., object]) -> UserFunction:
        where = _checked(function, DETECTOR)
        return UserFunction(function, State.of(DETECTOR, state or {}, where), is_compiled=compiled)

    return _bare(decorate, state)


def _bare(
    decorate: Callable[[Callable[..., object]], UserFunction], state: object
) -> Callable[[Callable[..., object]], UserFunction]:
    if state is not None and not hasattr(state, "items"):
        raise UserCodeError(f"state = {state!r} is not a mapping; write state={{'alpha': 1.0}}")
    return decorate


def _checked(function: Callable[..., object], interface: Interface) -> str:
    """Raise UserCodeError unless it is a function of two arguments; how messages call it."""
    if not inspect.isfunction(function):
        raise UserCodeError(f"@bw.{interface.decorator}(...) is for a function, not for {function!r}")
    code = function.__code__
    where = f"{interface.word} {function.__name__} ({_short(code.co_filename)}:{code.co_firstlineno})"
    kinds = [parameter.kind for parameter in inspect.signature(function).parameters.values()]
    if len(kinds) != 2 or any(kind is not inspect.Parameter.POSITIONAL_OR_KEYWORD for kind in kinds):
        first = "flow" if interface is CONTROLLER else "queue"
        raise UserCodeError(
            f"{where}: takes {inspect.signature(function)}, expected ({first}, event); "
            "constants can be globals, or words of state that nobody changes"
        )
    if inspect.isgeneratorfunction(function) or inspect.iscoroutinefunction(function):
        raise UserCodeError(f"{where}: is a generator or a coroutine, expected an ordinary function")
    return where


def _short(file: str) -> str:
    """A path as the user would write it."""
    try:
        return str(Path(file).relative_to(Path.cwd()))
    except ValueError:
        return file
