"""What can go wrong on the Python side, and the exit code that each kind of failure has."""

from __future__ import annotations

import os
import re
from enum import IntEnum
from pathlib import Path


class UsageError(Exception):
    """Something the user gave cannot be used; the message says what, and what would do."""

    def traceback(self) -> str:
        """Where it arose in code of the user's; empty if none of that ran."""
        return ""


class ResultsChangedError(UsageError):
    """A results folder does not hold the run any more that was opened; the message says what it holds."""


def reason(error: BaseException) -> str:
    """Why the system refused, in its words; those of a library where they come without a number."""
    told = getattr(error, "strerror", None) or str(error).strip()
    if number := re.search(r"\(os error (\d+)\)", told):  # so libraries in Rust end, behind words of their own
        return os.strerror(int(number[1]))
    return told.splitlines()[0] if told else type(error).__name__


def require_text(path: object) -> None:
    """Raise UsageError for a path whose name is not UTF-8: no table, page or JSON file could tell of it."""
    try:
        str(path).encode()
    except UnicodeEncodeError:
        shown = os.fsencode(str(path)).decode("utf-8", "backslashreplace")
        raise UsageError(f"{shown}: the name is not UTF-8; rename the file or the folder") from None


def require_folder(folder: Path, option: str) -> None:
    """Raise UsageError unless results can be written to `folder`, which is made where it is not there."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except FileExistsError:
        raise UsageError(f"{option} {folder}: it is a file; name a folder") from None
    except NotADirectoryError:
        raise UsageError(f"{option} {folder}: a part of the path is a file; name a folder") from None
    except OSError as error:
        raise UsageError(f"{option} {folder}: the folder cannot be made ({reason(error)}); name another") from None
    if not os.access(folder, os.W_OK | os.X_OK):
        raise UsageError(f"{option} {folder}: the folder cannot be written to; name another")


class Exit(IntEnum):
    """Exit codes of the command line; docs/reference/codes.md and `backwater explain exit-codes` list them."""

    #: All is well.
    OK = 0
    #: Two runs that were compared are not the same.
    DIFFERS = 1
    #: Something that was given cannot be used; the message says what would do. Nothing is half-written.
    BAD_INPUT = 2
    #: The model broke a promise such as losslessness, or the program has a bug.
    INVARIANT_BROKEN = 3
    #: Done, but not without reservations: caveats in the results, a check that failed, or interrupted (what is finished
    #: is kept).
    CAVEATS = 4


#: What each code says, in a line: the one place from which docs, `backwater explain` and --help take it.
MEANS = {
    Exit.OK: "all is well; a `note:` (flows that the end of the run cut off) changes nothing",
    Exit.DIFFERS: "two runs that `backwater diff` compared are not the same",
    Exit.BAD_INPUT: "bad input: the message has file, line, value, allowed range and a fix; no file is half-written",
    Exit.INVARIANT_BROKEN: "an invariant of the model broke, such as a loss in a lossless network",
    Exit.CAVEATS: "interrupted, or finished with something to know before the results are used (`caveat:`)",
}
