"""Codes of messages and exit codes: what happened, and what would do."""

from __future__ import annotations

from backwater.cli.explaining.entry import Entry
from backwater.common.codes import codes
from backwater.errors import MEANS, Exit

#: What each kind of code leads to.
_LEADS = {
    "error": Exit.BAD_INPUT,
    "invariant": Exit.INVARIANT_BROKEN,
    "caveat": Exit.CAVEATS,
    "note": Exit.OK,
}


def entries() -> list[Entry]:
    """The codes of messages, then the exit codes."""
    messages = [
        Entry(
            code.id,
            code.kind,
            code.short,
            f"{code.means}\nWhat to do: {code.todo}",
            {"exit code": f"{_LEADS[code.kind].value} ({_LEADS[code.kind].name})"},
        )
        for code in codes()
    ]
    table = "\n".join(f"{code.value}  {code.name:<17} {MEANS[code]}" for code in Exit)
    every = Entry("exit-codes", "exit code", "What the exit code of a command says.", table, {}, ("exit", "exit-code"))
    single = [
        Entry(f"exit-{code.value}", "exit code", MEANS[code], "", {"name": code.name}, (str(code.value), code.name))
        for code in Exit
    ]
    return [*messages, every, *single]
