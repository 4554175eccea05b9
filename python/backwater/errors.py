"""What can go wrong on the Python side, and the exit code that each kind of failure has."""

from __future__ import annotations

from enum import IntEnum


class UsageError(Exception):
    """Something the user gave cannot be used; the message says what, and what would do."""


class Exit(IntEnum):
    """Exit codes of the command line."""

    OK = 0
    BAD_INPUT = 2
    INVARIANT_BROKEN = 3
    CAVEATS = 4
