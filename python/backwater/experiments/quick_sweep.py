"""``run --sweep`` and ``compare --over``: several values of a key, every combination of several keys."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

from backwater.errors import UsageError
from backwater.experiments import axis_values
from backwater.experiments.plan import Axis
from backwater.experiments.sweep_measures import TAKEN


def axes(texts: Sequence[str], option: str = "--sweep") -> tuple[Axis, ...]:
    """The axes of ``KEY=VALUE,VALUE,...`` texts.

    >>> [axis.steps for axis in axes(["traffic.load=0.2,0.4", "run.seed=1"])]
    [(('0.2',), ('0.4',)), (('1',),)]

    What is the same number is one value: 0.5 and 0.50.
    """
    made: dict[str, Axis] = {}
    for text in texts:
        key, sign, values = text.partition("=")
        found = [value.strip() for value in _split(values)]
        if not sign or not key.strip() or not all(found):
            raise UsageError(f"{option} {text}: write KEY=VALUE,VALUE, such as traffic.load=0.2,0.4,0.6")
        if (name := key.strip()) in made:
            raise UsageError(f"{option} {name} is given twice; list all of its values once")
        if name in TAKEN:
            raise UsageError(f"{option} {name}: {name} as a whole cannot be swept; vary its keys, such as {name}.kind")
        different: dict[Hashable, str] = {}
        for value in found:
            different.setdefault(axis_values.number(value), value)
        made[name] = Axis((name,), tuple((value,) for value in different.values()), raw=True)
    return tuple(made.values())


def _split(values: str) -> list[str]:
    """At the commas that are not within brackets, braces or quotes."""
    parts, depth, quote = [""], 0, ""
    for character in values:
        if quote:
            quote = "" if character == quote else quote
        elif character in "\"'":
            quote = character
        else:
            depth += (character in "[{") - (character in "]}")
        if character == "," and depth == 0 and not quote:
            parts.append("")
        else:
            parts[-1] += character
    return parts
