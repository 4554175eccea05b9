"""Doing runs: Ctrl-C stops them wherever it comes, without a run begun after it and without a lock left held."""

from __future__ import annotations

import signal
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from backwater.experiments import executor
from backwater.scenario.scenario import Scenario

if TYPE_CHECKING:
    from types import FrameType

#: Whose lines of the main thread are interrupted: the executor's own, and those below it that hold locks.
_WHERE = ("experiments/executor.py", "concurrent/futures/_base.py", "concurrent/futures/thread.py", "threading.py")


class Strike:
    """Sends this process a signal at a line of _WHERE, counted from the first submission to the executor's end."""

    def __init__(self, at: int, how: signal.Signals) -> None:
        self._left = at
        self._how = how
        self._works = False

    def __call__(self, frame: FrameType, event: str, _: Any) -> Strike | None:
        if not frame.f_code.co_filename.endswith(_WHERE):
            return None
        name = frame.f_code.co_name
        if (name, event) in {("submit", "call"), ("shutdown", "return")}:
            self._works = event == "call"
        if self._works:
            self._left -= 1
            if self._left == 0:
                signal.raise_signal(self._how)
        return self


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
def test_ctrl_c_stops_the_runs_wherever_it_comes(how: signal.Signals, monkeypatch: pytest.MonkeyPatch) -> None:
    begun: list[float] = []

    class Read:
        """A handle of a scenario whose run takes ten milliseconds."""

        def run(self, _: Any, report: Any, *__: Any) -> str:
            begun.append(time.monotonic())
            for _ in range(10):
                time.sleep(0.001)
                report({"expected_end_ps": None, "sim_time_ps": 0, "plan": None})
            return "{}"

    monkeypatch.setattr(Scenario, "read", lambda *_: Read())
    monkeypatch.setattr(executor, "functions_of", lambda *_: None)
    jobs = [executor.Job(f"run {at}", Scenario("", "a.toml", Path())) for at in range(8)]
    before = signal.signal(how, signal.default_int_handler)
    try:
        struck = 0
        for at in range(1, 2000, 5):
            begun.clear()
            sys.settrace(Strike(at, how))
            try:
                outcomes = executor.run_jobs(jobs, 2)
            finally:
                sys.settrace(None)
            if len(begun) == len(jobs):
                break
            struck += 1
            assert outcomes[-1].interrupted
            assert signal.getsignal(how) is signal.default_int_handler
        assert struck > 20
    finally:
        signal.signal(how, before)
