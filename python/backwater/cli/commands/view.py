"""``backwater view``: the page that shows a run, or two side by side."""

from __future__ import annotations

import json
import sys
import webbrowser
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter, validators

from backwater.cli.options import Json
from backwater.errors import UsageError
from backwater.view import View, find
from backwater.view.serve import serve


def view(
    *results: Path,
    out: Path | None = None,
    port: Annotated[int, Parameter(validator=validators.Number(gte=0, lte=65535))] = 0,
    browser: bool | None = None,
    json_: Json = False,
) -> None:
    """Show a run as a page, or two side by side on the same clock: fabric, queues, PAUSEs, congestion trees, flows.

    The page is one file without any need of a network. It is served on this machine alone until Ctrl-C.

    Parameters
    ----------
    results
        A results folder, or two; or a folder with one or two of them in it.
    out
        Write the page to this file (.html) instead.
    port
        The port to serve it at; any that is free if not given.
    browser
        Open a browser; if not given, only from a terminal.
    json_
        Print JSON: the file that was written and its bytes, or the address that the page is served at.
    """
    if not results:
        raise UsageError("which run? name a results folder, such as results/incast-s1; backwater run writes them")
    if out is not None and out.suffix not in (".html", ".htm"):
        raise UsageError(f"--out: {out} must end in .html")
    page = View(find(results))
    if out is not None:
        written = page.write(out)
        told = f"written: {written} ({written.stat().st_size / 1e6:.2g} MB)"
        print(json.dumps({"file": str(written), "bytes": written.stat().st_size}) if json_ else told)
        return
    _serve(page.html, port, sys.stdout.isatty() if browser is None else browser, json_)


def _serve(page: str, port: int, open_browser: bool, as_json: bool) -> None:
    def ready(address: str) -> None:
        print(json.dumps({"address": address}) if as_json else f"{address}    Ctrl-C ends it", flush=True)
        if open_browser:
            webbrowser.open(address)

    serve(page, port, ready)
