"""A run that several processes share, which mpirun has started: who this one is, and how it ends.

All of them run the same command. The first one (rank 0) prints and writes; the others work for it. What fails in one of
them ends all.
"""

from __future__ import annotations

import signal
import time
from dataclasses import dataclass

from backwater import _core
from backwater.errors import Exit

#: What fails in one process mostly fails in all: the first one tells, the others wait so many seconds for it.
GRACE_S = 2.0
#: So long a process waits for the one that tells why the run fails.
OTHERS_S = 60.0


@dataclass(frozen=True)
class Own:
    """One process among those that share a run."""

    rank: int = 0
    count: int = 1


_own = Own()


def join() -> Own:
    """Join the other processes, if there are any; raises ScenarioError if this build cannot."""
    global _own
    _own = Own(*_core.join_processes())
    return _own


def wait_for_others() -> None:
    """Give the process that knows why the run fails time to tell it."""
    _wait(OTHERS_S)


def _wait(seconds: float) -> None:
    """Wait for the others, which end this process when they have told all: in silence."""
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    time.sleep(seconds)


def failing(message: str) -> str:
    """What a process prints that fails: the message, with its rank where there are several."""
    if _own.count == 1:
        return message
    if _own.rank:
        _wait(GRACE_S)
    return f"rank {_own.rank} of {_own.count}: {message}"


def failed(code: Exit) -> None:
    """End all processes, if there are others: without this one they would wait for ever."""
    if _own.count > 1:
        _core.abort_processes(code.value)


def leave() -> None:
    """Leave the others, when all are done."""
    if _own.count > 1:
        _core.leave_processes()
