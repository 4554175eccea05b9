"""Standard output and standard error for a command whose reader may leave before it ends, as `head` does.

What a command returns does not depend on who reads along: what nobody reads is thrown away, and the command goes on to
its end, keeps its results and has the exit code that it would have had.
"""

from __future__ import annotations

import io
import os
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, TextIO, cast

if TYPE_CHECKING:
    from collections.abc import Iterator

    from _typeshed import ReadableBuffer


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
        io.TextIOWrapper(
            io.BufferedWriter(_Unbroken(stream.fileno(), "w", closefd=False)),
            encoding=stream.encoding,
            errors=stream.errors,
            newline=None,
            line_buffering=stream.line_buffering,
            write_through=stream.write_through,
        ),
    )
