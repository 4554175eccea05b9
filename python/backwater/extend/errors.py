"""What can go wrong with functions of the user's own."""

from __future__ import annotations

from traceback import StackSummary, TracebackException

from backwater.errors import UsageError


class UserCodeError(UsageError):
    """A function of the user's cannot be used, or failed; the message says which, where and when.

    If it raised something itself, that is the `__cause__`, with its traceback.
    """

    def traceback(self) -> str:
        """The traceback of what the function raised, without the frames that called it; empty if it raised nothing."""
        if self.__cause__ is None:
            return ""
        made = TracebackException.from_exception(self.__cause__)
        # Those that called it are ours, or import it.
        own = ("/backwater/extend/", "importlib")
        made.stack = StackSummary.from_list(
            [frame for frame in made.stack if not any(part in frame.filename for part in own)]
        )
        return "".join(made.format(chain=False))


class PlainPythonWarning(UserWarning):
    """A function runs as plain Python, which is slow."""
