"""Axes of a plan that change nothing under some scheme, as the core knows before anything runs."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field

from backwater.common.codes import Remark
from backwater.errors import UsageError
from backwater.experiments.plan import Plan
from backwater.scenario.scenario import Scenario


@dataclass
class Idle:
    """By key the schemes that do not read it; by scheme the caveats that say so."""

    keys: dict[str, list[str]] = field(default_factory=dict)
    caveats: dict[str, set[str]] = field(default_factory=dict)

    def notes(self) -> list[str]:
        """A sentence for each key."""
        return [
            f"note: {key} has no effect under {', '.join(names)}: their runs are the same at each of its values"
            for key, names in self.keys.items()
            if names
        ]


def of(plan: Plan, option: str) -> Idle:
    """Raises UsageError for a key that no scheme reads: all runs would be the same."""
    found = Idle()
    groups = list(plan.groups())
    names = list(dict.fromkeys(scheme.name for scheme, _, _ in groups))
    for axis in (axis for axis in plan.axes if len(axis.keys) == 1 and len(axis.steps) > 1):
        (key,) = axis.keys
        own = {text for step in axis.steps for text in axis.texts(step)}
        why: dict[str, set[str]] = {name: set() for name in names}
        for scheme, _, _ in groups:
            if scheme.name in why:
                without = [text for text in scheme.overrides if text not in own]
                new = _idle(scheme.scenario, scheme.overrides) - _idle(scheme.scenario, without)
                if new:
                    why[scheme.name] |= new
                else:
                    del why[scheme.name]
        if len(why) == len(names):
            told = "; ".join(sorted({message for messages in why.values() for message in messages}))
            raise UsageError(f"{option} {key} changes nothing under any scheme; all runs would be the same: {told}")
        found.keys[key] = list(why)
        for name, messages in why.items():
            found.caveats.setdefault(name, set()).update(str(Remark("caveat", "no-effect", one)) for one in messages)
    return found


def _idle(scenario: Scenario, overrides: Sequence[str]) -> set[str]:
    caveats = json.loads(scenario.read(overrides).estimate())["caveats"]
    return {caveat["message"] for caveat in caveats if caveat["code"] == "no-effect"}
