"""``backwater doctor``: whether this installation works, and what it is, to copy into a report."""

from __future__ import annotations

import json
from pathlib import Path

from backwater.cli import doctor_checks
from backwater.cli.options import Json


def doctor(*, out: Path = Path("results"), json_: Json = False) -> int:
    """Print versions, extras and folders, and run a small scenario whose digest is known. To copy into a bug report.

    Writes nothing and asks nobody. The exit code is 0 if all is well, and 3 if the small run gave another digest
    than it must. It is 4 if something else needs care; what is only absent does not count.

    Parameters
    ----------
    out
        The folder that runs would write to.
    json_
        Print JSON: every check with its finding.
    """
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
