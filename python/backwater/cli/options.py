"""Options that several commands have."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import Parameter, validators

if TYPE_CHECKING:
    from collections.abc import Iterator

    from cyclopts.completion import CompletionContext


def _assignments(context: CompletionContext) -> Iterator[tuple[str, str]]:
    """What a shell completes after `--set`: keys, and once a key is there, the words that it can have."""
    # Imported here: what every word means is read for a completion, and not whenever a command starts.
    from backwater.cli.explaining import keys

    typed = context.incomplete
    for entry in keys.entries():
        if entry.kind == ("value" if "=" in typed else "key") and entry.word.startswith(typed):
            yield entry.word, entry.summary


Json = Annotated[bool, Parameter(name="--json", negative="")]
Set = Annotated[list[str] | None, Parameter(name="--set", negative="", completer=_assignments)]
Flag = Annotated[bool, Parameter(negative="")]
Words = Annotated[list[str] | None, Parameter(negative="")]
AtLeastOne = Annotated[int | None, Parameter(validator=validators.Number(gte=1))]
AtLeastTwo = Annotated[int | None, Parameter(validator=validators.Number(gte=2))]
Count = Annotated[int, Parameter(validator=validators.Number(gte=1))]
Seed = Annotated[int | None, Parameter(validator=validators.Number(gte=0, lte=2**64 - 1))]
#: Time of the wall clock (:func:`backwater.experiments.resumed.seconds`).
Every = Annotated[str | None, Parameter(name="--checkpoint-every")]
#: Of a picture: the format of its file, and how wide it is printed (:mod:`backwater.analysis.pictures`).
Format = Annotated[Literal["png", "pdf", "svg"] | None, Parameter(name="--format")]
Width = str | None
