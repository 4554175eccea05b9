"""``backwater doctor``: whether this installation works, or whether a scenario's settings are good practice."""

from __future__ import annotations

import json
from pathlib import Path

from backwater.cli import doctor_checks
from backwater.cli.options import Json, Set
from backwater.common import terminal
from backwater.errors import Exit, UsageError
from backwater.scenario import practice
from backwater.scenario.scenario import Scenario


def doctor(
    scenario: Path | None = None, /, *, set_: Set = None, out: Path = Path("results"), json_: Json = False
) -> int:
    """Check an installation, to copy into a bug report; or the settings of a scenario against good practice.

    Without a scenario: print versions, extras and folders, and run a small scenario whose digest is known. The exit
    code is 0 if all is well, and 3 if the small run gave another digest than it must. It is 4 if something else needs
    care; what is only absent does not count.

    With one: check headroom, ECN below Xoff, kmin and the round trip, DCQCN's timers, MTU, buffer, ACKs and
    oversubscription. Each rule has its source, and what to set. The exit code is 4 if a rule is not kept.

    Writes nothing and asks nobody.

    Parameters
    ----------
    scenario
        The scenario whose settings are checked.
    set_
        Change a key of the scenario: `--set switch.buffer=64MB`. May be given more than once.
    out
        The folder that runs would write to.
    json_
        Print JSON: every check with its finding.
    """
    if scenario is not None:
        return _settings(scenario, tuple(set_ or ()), json_)
    if set_:
        raise UsageError("--set changes a key of a scenario: name the scenario, or remove --set")
    found = list(doctor_checks.checks(out))
    code = doctor_checks.exit_code(found)
    if json_:
        print(json.dumps({"exit_code": code, "checks": [check.as_json() for check in found]}, indent=2))
        return code
    width = max(len(check.name) for check in found)
    # No table: this is for copying.
    for check in found:
        hint = f" ({check.hint})" if check.hint else ""
        print(f"{check.finding:<6}  {check.name:<{width}}  {check.told}{hint}")
    return code


def _settings(file: Path, overrides: tuple[str, ...], as_json: bool) -> int:
    found = practice.check(Scenario.load(file), overrides)
    code = Exit.OK if all(one.good for one in found) else Exit.CAVEATS
    if as_json:
        print(json.dumps({"exit_code": code, "rules": [one.as_json() for one in found]}, indent=2))
        return code
    console = terminal.stdout()
    for one in found:
        console.say(f"{'ok  ' if one.good else 'look'}  {one.rule}: {one.told}")
        console.say(f"      source: {one.source}")
        if one.set:
            console.say(f"      set: {' '.join(f'--set {text}' for text in one.set)}")
    kept = sum(one.good for one in found)
    console.say(f"{kept} of {len(found)} rules are kept; they are about settings: backwater run tells of PAUSEs")
    return code
