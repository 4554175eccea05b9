"""Kinds of claims. Only what could have failed is counted."""

from __future__ import annotations

from enum import StrEnum


class Kind(StrEnum):
    """What a claim is about, in the order in which tables show them."""

    #: Of the paper's evaluation.
    RESULT = "result"
    #: What the paper says that its mechanism does, outside its evaluation.
    MECHANISM = "mechanism"
    #: This project's own check.
    OWN = "own"
    #: A constant was chosen so that this row comes out. No file says it: `chosen` of a claim does, per profile.
    BY_CONSTRUCTION = "by construction"
    #: A setting of the runs, read back.
    SETTING = "setting"
    #: True by what the words mean or by the code's own rule, or a run in which it is false gives no numbers.
    DEFINITION = "definition"
    #: Arithmetic.
    FORMULA = "formula"
    #: A statement on the paper's text.
    TEXT = "text"

    @property
    def counts(self) -> bool:
        """Whether a claim of this kind could have failed."""
        return self in (Kind.RESULT, Kind.MECHANISM, Kind.OWN)

    @property
    def certain(self) -> bool:
        """Whether nothing is drawn in it, so that one seed is enough."""
        return self in (Kind.SETTING, Kind.DEFINITION, Kind.FORMULA, Kind.TEXT)

    def some(self, count: int) -> str:
        """So many of them, in words."""
        word = "own check" if self is Kind.OWN else str(self)
        return word if count == 1 or self is Kind.BY_CONSTRUCTION else f"{word}s"
