"""What can go wrong with functions of the user's own."""

from __future__ import annotations

from backwater.errors import UsageError


class UserCodeError(UsageError):
    """A function of the user's cannot be used, or failed; the message says which, where and when.

    If it raised something itself, that is the `__cause__`, with its traceback.
    """


class PlainPythonWarning(UserWarning):
    """A function runs as plain Python, which is slow."""
