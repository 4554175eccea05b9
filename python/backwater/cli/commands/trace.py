"""``backwater trace import``: traces of other tools as trace files of ours."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from backwater import _core
from backwater.cli.options import Json
from backwater.errors import UsageError, reason


def import_(
    file: Path,
    *,
    out: Annotated[Path, Parameter(name="--out")],
    json_: Json = False,
) -> None:
    """Make a trace file (see docs/trace-format.md) of a VEF trace.

    Parameters
    ----------
    file
        The VEF trace.
    out
        Where to write the trace file; one that exists is replaced.
    json_
        Print JSON.
    """
    try:
        text = file.read_text(encoding="utf-8")
    except OSError as error:
        raise UsageError(f"{file} cannot be read ({reason(error)}); name a VEF trace") from None
    except UnicodeDecodeError:
        raise UsageError(f"{file} is not text, as VEF traces are; unpack it if it is compressed") from None
    trace, holds, notes = _core.import_vef(text, str(file))
    try:
        out.write_text(trace, encoding="utf-8")
    except OSError as error:
        raise UsageError(f"--out {out} cannot be written ({reason(error)}); name another place") from None
    if json_:
        print(json.dumps({"file": str(out), "holds": holds, "notes": list(notes)}, indent=2))
        return
    print(f"{out}: {holds}")
    for note in notes:
        print(f"note: {note}", file=sys.stderr)
