"""The core, with runs that fail as a test wants them to."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from backwater import _core

if TYPE_CHECKING:
    from collections.abc import Callable

    import pytest


class FailingCore:
    """A handle of a scenario: `fail` hears of the overrides before each run, and may raise."""

    def __init__(self, read: _core.Scenario, overrides: list[str], fail: Callable[[list[str]], None]) -> None:
        self._read, self._overrides, self._fail = read, overrides, fail

    @classmethod
    def install(cls, monkeypatch: pytest.MonkeyPatch, fail: Callable[[list[str]], None]) -> None:
        """In the place of the core's own, until the test is over."""
        real = _core.Scenario

        def read(text: str, origin: str, base: Any, overrides: list[str]) -> FailingCore:
            return cls(real(text, origin, base, overrides), overrides, fail)

        monkeypatch.setattr(_core, "Scenario", read)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._read, name)

    def run(self, *given: Any) -> str:
        """Run, unless it is to fail."""
        self._fail(self._overrides)
        return self._read.run(*given)
