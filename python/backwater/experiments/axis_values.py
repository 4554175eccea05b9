"""Values of an axis: lists, and ranges of numbers and quantities, in exact arithmetic."""

from __future__ import annotations

import math
import re
from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from backwater.experiments.toml_document import Document, Key, shown

#: More values than this are taken for a slip of the pen.
MOST = 10_000
#: What a range may say.
KEYS = (
    Key("from", "number or quantity", "", "Its first value.", '"50KB"'),
    Key("to", "number or quantity", "", "Its last value, in the same unit.", '"200KB"'),
    Key(
        "step", "number or quantity", "", "From one value to the next; `to` is a whole number of steps away.", '"50KB"'
    ),
    Key("count", "whole number", "", f"How many values, instead of `step`: 2 to {MOST}.", "4"),
    Key("scale", "text", '`"linear"`', '`"linear"`, or `"log"` for equal ratios; goes with `count`.', '"log"'),
)
_EXAMPLE = '{ from = "50KB", to = "200KB", step = "50KB" }'
_QUANTITY = re.compile(r"\s*([+-]?(?:\d{1,30}(?:\.\d{0,30})?|\.\d{1,30})(?:[eE][+-]?\d{1,2})?)\s*([A-Za-zµ%]{0,8})\s*")


@dataclass(frozen=True)
class Quantity:
    """A number, exactly, and its unit; `whole` if it is written without a point."""

    number: Fraction
    unit: str
    whole: bool

    def value(self, number: Fraction, *, whole: bool) -> Any:
        """Another number as this one is written: with its unit, or as a number."""
        if self.unit:
            return f"{decimal(number)}{self.unit}"
        return int(number) if whole and number.denominator == 1 else float(decimal(number))


def quantity(found: Any) -> Quantity | None:
    """A number, or a text of a number and a unit; None for all else."""
    if isinstance(found, bool) or not isinstance(found, int | float | str):
        return None
    if isinstance(found, str):
        match = _QUANTITY.fullmatch(found)
        return Quantity(Fraction(match[1]), match[2], match[1].lstrip("+-").isdecimal()) if match else None
    if (isinstance(found, float) and not math.isfinite(found)) or abs(found) > 1e30:
        return None
    # As it is written: 0.1 is one tenth.
    return Quantity(Fraction(repr(found)), "", isinstance(found, int))


def number(text: str) -> Hashable:
    """What a text of a number is, with its unit; any other text is itself.

    >>> number("0.50") == number("0.5"), number("1us") == number("1ms"), number("red")
    (True, False, 'red')
    """
    found = quantity(text)
    return text if found is None else (found.number, found.unit)


def decimal(number: Fraction) -> str:
    """Exactly where the decimals end, else with nine digits.

    >>> decimal(Fraction(1, 8)), decimal(Fraction(2000)), decimal(Fraction(2, 3))
    ('0.125', '2000', '0.666666667')
    """
    if number.denominator == 1:
        return str(number.numerator)
    digits, rest = 0, number.denominator
    while rest % 10 == 0 or rest % 5 == 0 or rest % 2 == 0:
        rest = rest // 10 if rest % 10 == 0 else rest // 5 if rest % 5 == 0 else rest // 2
        digits += 1
        if digits > 30:
            break
    if rest == 1:
        scaled = abs(number.numerator) * 10**digits // number.denominator
        text = f"{scaled:0{digits + 1}d}"
        return ("-" if number < 0 else "") + f"{text[:-digits]}.{text[-digits:]}".rstrip("0")
    return f"{float(number):.9g}"


def of_axis(document: Document, path: str, name: str, found: Any) -> tuple[Any, ...]:
    """The values of an axis: those of a list, or those of a range."""
    if isinstance(found, dict):
        return of_range(document, path, name, found)
    if not isinstance(found, list):
        document.fail(path, f"{name} = {shown(found)}: give a list of values, or a range such as {_EXAMPLE}")
    if not found:
        document.fail(path, f"{name} = []: there are no values; list at least one")
    if len(found) > MOST:
        document.fail(path, f"{name} has {len(found)} values; at most {MOST} are possible")
    seen: set[str] = set()
    for one in found:
        if shown(one, 10**6) in seen:
            document.fail(path, f"{name} lists {shown(one)} twice; list it once")
        seen.add(shown(one, 10**6))
    return tuple(found)


def bounds(
    document: Document, path: str, name: str, table: Mapping[str, Any], example: str = _EXAMPLE
) -> tuple[Quantity, Quantity]:
    """`from` and `to` of a range, in the same unit."""
    for key in ("from", "to"):
        if key not in table:
            document.fail(path, f"{name} = {shown(table)}: a range needs {key!r}; write for example {example}")
    low, high = (_number(document, path, f"{name}.{key}", table[key]) for key in ("from", "to"))
    _require_unit(document, path, f"{name}.to", table["to"], high, low)
    if low.number >= high.number:
        document.fail(
            path, f"{name}: from = {shown(table['from'])} is not below to = {shown(table['to'])}; exchange them"
        )
    return low, high


def of_range(document: Document, path: str, name: str, table: Mapping[str, Any]) -> tuple[Any, ...]:
    """The values of a range, both ends among them."""
    document.require_known(table, path, (key.name for key in KEYS), f"the range {name}")
    low, high = bounds(document, path, name, table)
    if ("step" in table) == ("count" in table):
        both = "has both step and count" if "step" in table else "has neither step nor count"
        document.fail(path, f"{name} {both}; give one of them, such as {_EXAMPLE}")
    scale = document.one_of(path, f"{name}.scale", table.get("scale", "linear"), ("linear", "log"))
    if "step" in table:
        if scale == "log":
            document.fail(path, f'{name}: scale = "log" has no steps; give count, how many values there are')
        return _stepped(document, path, name, low, high, table["step"])
    count = table["count"]
    if not isinstance(count, int) or isinstance(count, bool) or not 2 <= count <= MOST:
        document.fail(path, f"{name}.count = {shown(count)}: give a whole number from 2 to {MOST}")
    if scale == "log":
        return _geometric(document, path, name, low, high, count)
    step = (high.number - low.number) / (count - 1)
    return tuple(low.value(low.number + index * step, whole=low.whole and high.whole) for index in range(count))


def _stepped(document: Document, path: str, name: str, low: Quantity, high: Quantity, given: Any) -> tuple[Any, ...]:
    step = _number(document, path, f"{name}.step", given)
    _require_unit(document, path, f"{name}.step", given, step, low)
    if step.number <= 0:
        document.fail(path, f"{name}.step = {shown(given)}: a step is above 0")
    steps = (high.number - low.number) / step.number
    if steps > MOST - 1:
        document.fail(path, f"{name} would have {int(steps) + 1} values; at most {MOST} are possible: a larger step")
    whole = low.whole and high.whole and step.whole
    if steps.denominator != 1:
        last = low.value(low.number + int(steps) * step.number, whole=whole)
        document.fail(
            path,
            f"{name}: to is not a whole number of steps after from; the last value would be {shown(last)}: write that",
        )
    return tuple(low.value(low.number + index * step.number, whole=whole) for index in range(int(steps) + 1))


def _geometric(document: Document, path: str, name: str, low: Quantity, high: Quantity, count: int) -> tuple[Any, ...]:
    if low.number <= 0:
        document.fail(path, f'{name}: scale = "log" needs a range above 0')
    whole, found = low.whole and high.whole, []
    ratio = math.log(float(high.number / low.number))
    for index in range(count):
        exact = float(low.number) * math.exp(ratio * index / (count - 1))
        # Whole numbers stay whole: bytes, counts. Six digits, or the last bits of exp() would make other values.
        rounded = Fraction(round(exact)) if whole else Fraction(f"{exact:.6g}")
        number = {0: low.number, count - 1: high.number}.get(index, rounded)
        found.append(low.value(number, whole=whole))
    return tuple(dict.fromkeys(found))


def _number(document: Document, path: str, name: str, found: Any) -> Quantity:
    made = quantity(found)
    if made is None:
        document.fail(path, f'{name} = {shown(found)}: give a number, or a text of a number and a unit such as "50KB"')
    return made


def _require_unit(document: Document, path: str, name: str, given: Any, found: Quantity, first: Quantity) -> None:
    if found.unit != first.unit:
        units = [f"in {one.unit}" if one.unit else "without a unit" for one in (found, first)]
        document.fail(path, f"{name} = {shown(given)} is {units[0]}, from is {units[1]}; write both in the same unit")
