"""What a command that failed says: to a person on standard error, and with ``--json`` as one object on standard output.

The object has ``errors``, each with what is known of its ``code`` (`backwater explain CODE`), ``place`` (file, line,
column; lines and columns from 1), ``value`` (what stands there), ``allowed`` and ``fix``, and the ``exit_code``.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, TextIO, cast

from backwater.errors import Exit

#: The first line of a problem, and the four kinds of lines that may follow it.
_HEAD = re.compile(r"^(?P<kind>\w+)(?:\[(?P<code>[\w.-]+)\])?: (?P<message>.*)$")
_PLACE = re.compile(r"^ *--> (?P<file>.*):(?P<line>\d+):(?P<column>\d+)$")
_SOURCE = re.compile(r"^ *\d+ \| (?P<text>.*)$")
_UNDER = re.compile(r"^ *\| (?P<blank> *)(?P<marks>\^+) ?(?P<label>.*)$")
_HELP = re.compile(r"^ *= help: (?P<fix>.*)$")
#: What counts problems, below the last one.
_COUNT = re.compile(r"^\d+ problems?; nothing was run$")
#: Classes of the library that parses commands, and their codes.
_OF_ARGUMENTS = {
    "UnknownOptionError": "unknown-option",
    "UnknownCommandError": "unknown-command",
    "MissingArgumentError": "missing-argument",
    "UnusedCliTokensError": "too-many-arguments",
}


class Watched:
    """A stream that knows whether something was written to it: a command that printed its answer prints no other."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self.used = False

    def write(self, text: str) -> int:
        """Write as the stream does."""
        self.used = self.used or bool(text)
        return self._stream.write(text)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def watched(stream: TextIO) -> tuple[Watched, TextIO]:
    """A stream that is watched: as what watches it, and as what is written to."""
    made = Watched(stream)
    return made, cast("TextIO", made)


def as_json(message: str, code: Exit, word: str = "usage") -> str:
    """What failed, from the message that a person reads; `word` is the code of a message that does not carry one."""
    return json.dumps({"errors": list(problems(message, word)), "exit_code": code.value}, indent=2)


def problems(message: str, word: str = "usage") -> Iterator[dict[str, Any]]:
    """Each problem of a message.

    >>> import os
    >>> lines = ("error[x]: b = 1 is wrong", " --> f.toml:2:5", "2 | b = 1", "  |     ^ not 2", "  = help: say 2")
    >>> (problem,) = problems(os.linesep.join(lines))
    >>> problem["place"], problem["value"], problem["fix"]
    ({'file': 'f.toml', 'line': 2, 'column': 5}, '1', 'say 2')
    """
    blocks: list[list[str]] = []
    for line in message.splitlines():
        if _COUNT.match(line):
            continue
        head = _HEAD.match(line)
        if not blocks or (head is not None and head["kind"] in {"error", "caveat"}):
            blocks.append([line])
        else:
            blocks[-1].append(line)
    return (_problem(block, word) for block in blocks)


def _problem(lines: list[str], word: str) -> dict[str, Any]:
    head = _HEAD.match(lines[0])
    marked = head is not None and head["kind"] == "error"
    message = head["message"] if head is not None and marked else lines[0]
    code = head["code"] if head is not None and marked else None
    known: dict[str, Any] = {"code": code or word, "message": message}
    source, more = "", []
    for line in lines[1:]:
        if place := _PLACE.match(line):
            known["place"] = {"file": place["file"], "line": int(place["line"]), "column": int(place["column"])}
        elif found := _SOURCE.match(line):
            source = found["text"]
        elif under := _UNDER.match(line):
            known["value"] = source[len(under["blank"]) :][: len(under["marks"])]
            known["allowed"] = under["label"]
        elif found := _HELP.match(line):
            known["fix"] = found["fix"]
        elif line.strip(" |"):
            more.append(line)
    return {**known, "message": "\n".join([message, *more])}


#: By command and option: what has the option that the command has not.
_ELSEWHERE = {("sweep", "--sweep"): "values without a sweep file: backwater run FILE --sweep KEY=VALUE,VALUE; "}


def of_arguments(error: Any) -> str:
    """What is wrong with the words after `backwater`, as the library that parses them found it."""
    code = _OF_ARGUMENTS.get(type(error).__name__, "bad-argument")
    words = [*(error.command_chain or ())]
    default = getattr(getattr(error.argument, "field_info", None), "default", None)
    given = getattr(getattr(error, "token", None), "keyword", None)
    example = _ELSEWHERE.get((" ".join(words), str(given)), "")
    if isinstance(default, int | float | str) and not isinstance(default, bool) and error.argument.names:
        example = f"such as {error.argument.names[0]} {default}; "
    whole = " ".join(["backwater", *words])
    return f"error[{code}]: {' '.join(str(error).split())}\n  = help: {example}{whole} --help says what it takes"
