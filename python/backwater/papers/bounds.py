"""Bounds of claims, and where an interval lies in them."""

from __future__ import annotations

import math
import re

from backwater.papers.files import Part

_NUMBER = r"[-+]?\d+(?:\.\d+)?(?:e[-+]?\d+)?"
_COMPARISON = re.compile(rf"(>=|<=|>|<|==)\s*({_NUMBER})")
_RANGE = re.compile(rf"({_NUMBER})\s*\.\.\s*({_NUMBER})")


class Bound(Part):
    """An interval of values for which a claim holds, written ``>= 500``, ``1.2..2.5``, ``== 0`` or ``true``."""

    text: str
    low: float = -math.inf
    high: float = math.inf
    strict: bool = False

    @classmethod
    def parse(cls, text: str) -> Bound:
        """Read a bound; raises ValueError with the forms that exist."""
        if text == "true":
            return cls(text=text, low=1, high=1)
        if match := _RANGE.fullmatch(text):
            low, high = float(match[1]), float(match[2])
            if low > high:
                raise ValueError(f"the range {text} is empty; write the smaller number first")
            return cls(text=text, low=low, high=high)
        if not (match := _COMPARISON.fullmatch(text)):
            raise ValueError(f"{text!r} is not a bound; write one of: >= 5, > 5, <= 5, < 5, == 5, 1.2..2.5, true")
        sign, number = match[1], float(match[2])
        low = -math.inf if sign.startswith("<") else number
        high = math.inf if sign.startswith(">") else number
        return cls(text=text, low=low, high=high, strict=sign in ("<", ">"))

    @property
    def exact(self) -> bool:
        """Whether a single value is asked for, as by ``== 0`` and ``true``."""
        return self.low == self.high

    def admits(self, value: float) -> bool:
        """Whether a value lies within."""
        if self.strict:
            return self.low < value < self.high
        return self.low <= value <= self.high

    def covers(self, low: float, high: float) -> bool:
        """Whether a whole interval lies within."""
        return self.admits(low) and self.admits(high)

    def misses(self, low: float, high: float) -> bool:
        """Whether a whole interval lies outside."""
        if self.strict:
            return high <= self.low or low >= self.high
        return high < self.low or low > self.high
