"""Definitions of a paper: nothing to measure in a run; tests of the simulator hold it to them.

Whether those tests pass is for `make test` to say. Here only is looked up whether the checkout has them, so that no
report names a test that is gone.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field, StringConstraints

from backwater.papers.claims import Verdict
from backwater.papers.files import Part

Test = Annotated[str, StringConstraints(pattern=r"^[a-z0-9_/]+\.(rs|py)::[a-z][a-z0-9_]*$")]
#: What only a checkout has in its root: an installed package comes without the tests of the simulator.
_CHECKOUT = "Cargo.toml"


class Definition(Part):
    """What a figure or table of a paper defines, and the tests that hold us to it."""

    id: str
    text: str = Field(description="What is defined, in our words.")
    paper: str = Field(description="Where in the paper, and what it says there.")
    tests: tuple[Test, ...] = Field(min_length=1, description="Path in the checkout, '::', name of the function.")


@dataclass(frozen=True)
class Held:
    """A definition with its verdict, and which of its tests the checkout lacks."""

    definition: Definition
    verdict: Verdict
    lacking: tuple[str, ...] = ()

    @property
    def reason(self) -> str:
        """What the verdict rests on."""
        if self.verdict is Verdict.NOT_CHECKED:
            return "the tests are looked up in a checkout of Backwater, and this is none"
        if self.lacking:
            return f"this checkout has no {', '.join(self.lacking)}"
        count = len(self.definition.tests)
        return f"decided by {count} test{'s' if count > 1 else ''}, which make test runs"

    def as_json(self) -> dict[str, Any]:
        """Plain values, for claims.json."""
        return {
            "id": self.definition.id,
            "figure": "definitions",
            "profile": "tests",
            "text": self.definition.text,
            "paper": self.definition.paper,
            "verdict": str(self.verdict),
            "reason": self.reason,
            "seeds": 0,
            "checks": [],
            "tests": list(self.definition.tests),
        }


def look_up(definitions: Sequence[Definition], root: Path) -> list[Held]:
    """The verdict on each definition from the tests that the checkout `root` has."""
    if not (root / _CHECKOUT).is_file():
        return [Held(definition, Verdict.NOT_CHECKED) for definition in definitions]
    found = []
    for definition in definitions:
        lacking = tuple(test for test in definition.tests if not exists(test, root))
        found.append(Held(definition, Verdict.NOT_RUN if lacking else Verdict.HOLDS, lacking))
    return found


def exists(test: str, root: Path) -> bool:
    """Whether the checkout has a test, given as its path, '::' and the name of the function."""
    path, name = test.split("::")
    try:
        text = (root / path).read_text(encoding="utf-8")
    except OSError:
        return False
    if path.endswith(".py"):
        return name.startswith("test_") and re.search(rf"^def {name}\(", text, re.MULTILINE) is not None
    # Between the attribute and the function there may be other attributes and comments.
    between = r"(?:\s*(?:#\[[^\]]*\]|//[^\n]*\n))*\s*"
    return re.search(rf"#\[test\]{between}fn {name}\(", text) is not None
