"""Codes of errors, caveats and notes: what stands in brackets in a message.

Those of scenarios and runs come from the core; here are those of what only commands know.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, TypeVar

from backwater import _core

_Error = TypeVar("_Error", bound=BaseException)


@dataclass(frozen=True)
class Code:
    """What a code means."""

    id: str
    kind: str
    short: str
    means: str
    todo: str


#: Of commands, and of what they find in results.
_OF_COMMANDS = (
    Code(
        "usage",
        "error",
        "What a command was given cannot be used: a path, a value of an option, options that exclude each other.",
        "The message says which, and what would do.",
        "Give what the message says; backwater COMMAND --help lists what a command takes.",
    ),
    Code(
        "unknown-option",
        "error",
        "A command was given an option that it does not have.",
        "The message names the nearest one that there is.",
        "See backwater COMMAND --help.",
    ),
    Code(
        "unknown-command",
        "error",
        "There is no such command.",
        "The message names the nearest one that there is.",
        "See backwater --help.",
    ),
    Code(
        "missing-argument",
        "error",
        "A command was not given what it cannot do without, or an option has no value after it.",
        "The message names it.",
        "See backwater COMMAND --help.",
    ),
    Code(
        "too-many-arguments",
        "error",
        "A command was given more words than it takes.",
        "The message names them; a value with blanks in it needs quotes.",
        "See backwater COMMAND --help.",
    ),
    Code(
        "bad-argument",
        "error",
        "The value of an option is not one that it can have.",
        "The message says what is allowed.",
        "See backwater COMMAND --help.",
    ),
    Code(
        "never-called",
        "error",
        "A controller of your own is notified of nothing that this scenario has.",
        'Its flows would keep their first rate. CNPs need a detector; ACKs need feedback = "rtt" or ack.every.',
        "Set what the message says, or change on= of its decorator.",
    ),
    Code(
        "interrupted",
        "caveat",
        "Ctrl-C, or a signal of a batch system, ended a command before it was done.",
        "What was finished until then is kept.",
        "Give the command again; sweeps go on where they were.",
    ),
    Code(
        "unfinished",
        "note",
        "The end of the run cut flows off; they have no completion time.",
        "A percentile over those that finished is a lower bound.",
        "Raise run.until, or leave it out: then the run ends with its last flow.",
    ),
    Code(
        "failed-pairs",
        "note",
        "Queue pairs are in error after their last retry: they send no more.",
        "Flows of which all bytes had arrived count as finished. The others never end: percentiles are without them, "
        "and so too good.",
        "Look at how many failed beside every percentile; raise retries or timeouts of [transport].",
    ),
    Code(
        "drawn-load",
        "note",
        "Poisson arrivals offered another load than the one asked for, by more than 3 %.",
        "A short run draws few flows, and of a distribution with a long tail a few large ones decide the load.",
        "Give the drawn load beside results, or let arrivals last longer; the mean over many seeds comes near to it.",
    ),
    Code(
        "slow-controller",
        "note",
        "A controller of your own held a flow below a ten thousandth of the line rate for most of a run.",
        "The rate may be in another unit, such as Gbps, or nothing raises it again after a cut.",
        "flow.rate_bps is in bit/s, all times are in ps; set flow.timer_ps to be asked again.",
    ),
    Code(
        "nothing-arrived",
        "note",
        "The run ended before any packet arrived.",
        "run.until comes before the first start, or before a packet can cross the network.",
        "Raise run.until, or look at when the traffic starts.",
    ),
    Code(
        "unreceived",
        "note",
        "Messages had come in for which no rank had posted a receive.",
        "Congestors that are stopped always leave some; elsewhere it may be a receive that is missing.",
        "Compare the sends and receives of the program.",
    ),
    Code(
        "not-over",
        "note",
        "A test of GPCNeT was not over when the run ended.",
        "Its numbers are of what was done until then.",
        "Raise run.until.",
    ),
    Code(
        "idle-threads",
        "note",
        "Threads that a run was given had nothing to do.",
        "They wait for each other where there are fewer cores, or where windows hold little; the results are the same.",
        "Lower run.threads; several runs at a time use the cores better.",
    ),
    Code(
        "ring-leaves-rail",
        "note",
        "Every hop of a job's ring goes from rail to rail, and so by a spine.",
        "NVLink joins GPUs of a server and is not simulated: a ring that uses it leaves a server on its rail.",
        'Set placement = "rails" or hosts on one rail; with groups write what stays in a server as compute.',
    ),
    Code(
        "hosts-taken",
        "note",
        "A job names hosts that another job has.",
        "A host has ranks of one job: the job that is first in the file gets it, and this one has fewer ranks.",
        "Name other hosts, give ranks, or set share = true.",
    ),
    Code(
        "no-tests",
        "note",
        "GPCNeT's impact factors cannot be computed of a run.",
        "None of its tests came to its end, or what they are computed from is missing; the message says which.",
        "Raise run.until.",
    ),
)


@cache
def codes() -> tuple[Code, ...]:
    """All codes: those of the core, then those of commands."""
    return (*(Code(**known) for known in json.loads(_core.codes())), *_OF_COMMANDS)


def in_front(text: str) -> str | None:
    """The code that a printed message has in its brackets.

    >>> in_front("error[unknown-key]: there is no such key in switch.detector")
    'unknown-key'
    """
    found = re.match(r"\s*\w+\[([\w.-]+)\]", text)
    return None if found is None else found[1]


def of_error(error: BaseException) -> str | None:
    """The code that the core gave an exception, if it did."""
    found: str | None = getattr(error, "code", None)
    return found


def as_coded(error: _Error, code: str | None) -> _Error:
    """An exception of ours with the code of one of the core."""
    if code is not None:
        error.code = code  # type: ignore[attr-defined]
    return error


@dataclass(frozen=True)
class Remark:
    """A caveat or a note; what an older version wrote has no code.

    >>> str(Remark("caveat", "no-effect", "without effect with cc.kind = none: cc.{alpha}"))
    'caveat[no-effect]: without effect with cc.kind = none: cc.{alpha}'
    """

    kind: str
    code: str | None
    message: str

    def __str__(self) -> str:
        return f"{self.kind}: {self.message}" if self.code is None else f"{self.kind}[{self.code}]: {self.message}"


def told(meta: Mapping[str, Any], kind: str = "caveat") -> list[Remark]:
    """What a run.json has under `caveats` or, for the kind `note`, under `notes`."""
    return [Remark(kind, one["code"], one["message"]) for one in meta.get(f"{kind}s", ())]


def once(remarks: Iterable[Remark]) -> list[str]:
    """Remarks of several runs as they are printed, each once."""
    return list(dict.fromkeys(map(str, remarks)))
