"""Standard output and standard error for a command whose reader may leave before it ends, as `head` does.

What a command returns does not depend on who reads along: what nobody reads is thrown away, and the command goes on to
its end, keeps its results and has the exit code that it would have had.
"""

from __future__ import annotations

import io
import os
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TextIO, cast

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer


#: What a terminal does not show but obeys: control characters of ASCII and ISO 6429 (C1) but tab and line end, those
#: that turn the direction of writing (Unicode Annex 9), and bytes of file names that are no text.
_ACTS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


def printable(text: str) -> str:
    r"""A text that does nothing to a terminal but appear on it; a sign stands for what would act.

    >>> printable("a\x1b[31mb")
    'a␛[31mb'
    """
    return _ACTS.sub(_sign, text)


def _sign(found: re.Match[str]) -> str:
    code = ord(found[0])
    return chr(0x2400 + code) if code < 0x20 else "␡" if code == 0x7F else "\ufffd"


class _Printable(io.TextIOWrapper):
    """A stream to which names of users may be written; what was made for a terminal on purpose goes to `styled`."""

    def write(self, text: str, /) -> int:
        """Write what is printable of it."""
        super().write(printable(text))
        return len(text)

    @property
    def styled(self) -> _Styled:
        """The same stream, for colours and moving bars."""
        return _Styled(self)


class _Styled:
    """Writes as it is told."""

    def __init__(self, stream: io.TextIOWrapper) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        """Write all of it."""
        return io.TextIOWrapper.write(self._stream, text)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


class _Unbroken(io.FileIO):
    """A file descriptor that takes whatever is written when there is no reader."""

    def write(self, data: ReadableBuffer, /) -> int:
        """Write; into nothing, from the first time on that the reader is found to have left."""
        try:
            return super().write(data)
        except BrokenPipeError:
            _lead_nowhere(self.fileno())
            return memoryview(data).nbytes


def _lead_nowhere(descriptor: int) -> None:
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, descriptor)
    os.close(nowhere)


@contextmanager
def unbroken() -> Iterator[None]:
    """Let standard output and standard error of this process be such that a reader who leaves is no failure."""
    before = sys.stdout, sys.stderr
    sys.stdout = _unbroken(sys.stdout, sys.__stdout__)
    sys.stderr = _unbroken(sys.stderr, sys.__stderr__)
    try:
        yield
    finally:
        for stream, old in zip((sys.stdout, sys.stderr), before, strict=True):
            if stream is not old:
                _finish(stream)
        sys.stdout, sys.stderr = before


def _finish(stream: TextIO) -> None:
    """Write what is left, here rather than at the interpreter's end, whose complaint would have an exit code."""
    try:
        stream.flush()
    except OSError:
        # A full disk, which the command has told of by now.
        _lead_nowhere(stream.fileno())
        stream.flush()


def _unbroken(stream: TextIO, own: TextIO | None) -> TextIO:
    """A stream in the place of one that is the process's own; one that was put in its place stays."""
    if stream is None or stream is not own or not isinstance(stream, io.TextIOWrapper):
        return stream
    stream.flush()
    return cast(
        "TextIO",
        _Printable(
            io.BufferedWriter(_Unbroken(stream.fileno(), "w", closefd=False)),
            encoding=stream.encoding,
            errors=stream.errors,
            newline=None,
            line_buffering=stream.line_buffering,
            write_through=stream.write_through,
        ),
    )
