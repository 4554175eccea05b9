"""One HTML file with the data of runs in it."""

from __future__ import annotations

import html
import json
from collections.abc import Mapping, Sequence
from functools import cached_property
from importlib import resources
from pathlib import Path
from typing import Any

from backwater.common import atomic_files
from backwater.errors import UsageError
from backwater.experiments import run_differences
from backwater.results import Results
from backwater.results.folder import below as results_below
from backwater.view import network
from backwater.view.collect import packed
from backwater.view.encode import element

#: What `run --html` writes into a results folder.
NAME = "view.html"
#: Where the data goes in the page.
PLACE = "<!--backwater-runs-->"
_TITLE = "<title>Backwater</title>"
#: A page shows one run, or two side by side.
MOST_RUNS = 2
#: So many settings in which two runs differ fit into their titles.
_MOST_DIFFERENCES = 2


class View:
    """A page of one run, or of two side by side on the same clock. Shows itself in a notebook."""

    def __init__(self, runs: Sequence[Results], alone: Mapping[str, Results] | None = None) -> None:
        """`alone` are runs in which one application of the one run sent alone."""
        if not 1 <= len(runs) <= MOST_RUNS:
            raise UsageError(f"the page shows one run, or two side by side, not {len(runs)}")
        self.runs = tuple(runs)
        self._alone = alone or {}

    def __repr__(self) -> str:
        return f"View({', '.join(str(run.folder) for run in self.runs)})"

    @cached_property
    def html(self) -> str:
        """The page, complete: it needs no other file and no network."""
        template = resources.files("backwater").joinpath("view", "page.html").read_text(encoding="utf-8")
        if template.count(PLACE) != 1 or _TITLE not in template:
            raise UsageError("the page of the viewer is damaged; install Backwater again, or run make viewer")
        title = " | ".join(run.folder.absolute().name for run in self.runs)
        data = "\n".join(
            element(packed(run, words, differing(self.runs), self._alone))
            for run, words in zip(self.runs, differences(self.runs), strict=True)
        )
        return template.replace(_TITLE, f"<title>{html.escape(title)} · Backwater</title>", 1).replace(PLACE, data, 1)

    def write(self, file: str | Path) -> Path:
        """Write the page to a file, whole or not at all; returns its path."""
        path = Path(file)
        if not path.absolute().parent.is_dir():
            raise UsageError(f"there is no folder {path.absolute().parent} for {path.name}")
        if path.is_dir():
            raise UsageError(f"{path} is a folder; name a file such as {path / NAME}")
        return atomic_files.write_asked(path, lambda part: part.write_text(self.html, encoding="utf-8"))

    def _repr_html_(self) -> str:
        page, title = html.escape(self.html, quote=True), html.escape(repr(self), quote=True)
        return (
            f'<iframe srcdoc="{page}" sandbox="allow-scripts allow-downloads" title="{title}" '
            'style="width:100%;height:720px;border:0"></iframe>'
        )


def differing(runs: Sequence[Results]) -> list[tuple[str, str, str]]:
    """The settings in which two runs differ, with the value in each: what happens first, then what is recorded."""
    if len(runs) < MOST_RUNS:
        return []
    first, second = (
        run.meta["scenario"] | {"run": run.meta["scenario"].get("run", {}) | {"seed": run.meta["seed"]}} for run in runs
    )
    found = [(key, _shown(one), _shown(other)) for key, one, other in run_differences.settings(first, second)]
    return sorted(found, key=lambda row: row[0].partition(".")[0] in _RECORDED)


#: Settings of these tables do not change what happens.
_RECORDED = ("probe", "scheme")


def _shown(value: Any) -> str:
    return "unset" if value is None else value if isinstance(value, str) else json.dumps(value)


def differences(runs: Sequence[Results]) -> list[str]:
    """What tells each of two runs from the other, where the words of the page's head are the same for both."""
    if len(runs) < MOST_RUNS:
        return [""] * len(runs)
    kinds = [{name: value for name, value in network.facts(run).items() if name != "seed"} for run in runs]
    if kinds[0] != kinds[1]:
        return ["", ""]
    told = [(key, pair) for key, *pair in differing(runs) if key.partition(".")[0] not in _RECORDED and _tells(key)]
    found = [(key.removeprefix("run."), pair) for key, pair in told]
    more = f" and {len(found) - _MOST_DIFFERENCES} more settings" if len(found) > _MOST_DIFFERENCES else ""
    return [
        ", ".join(f"{key} {pair[side]}" for key, pair in found[:_MOST_DIFFERENCES]) + more for side in range(MOST_RUNS)
    ]


def _tells(key: str) -> bool:
    """Of the table `run` the seed alone tells runs apart."""
    return not key.startswith("run.") or key == "run.seed"


def find(folders: Sequence[Path]) -> list[Results]:
    """The runs in these folders: a results folder each, or one folder with one or two of them below it.

    Raises UsageError for anything else, naming what there is.
    """
    if len(folders) > MOST_RUNS:
        raise UsageError(f"the page shows one run, or two side by side; {len(folders)} folders were given")
    if len(folders) == 1 and folders[0].is_dir() and not (folders[0] / "run.json").exists():
        below = results_below(folders[0])
        if 1 <= len(below) <= MOST_RUNS:
            return [Results(folder) for folder in below]
        if below:
            latest = sorted(below, key=lambda folder: (folder / "run.json").stat().st_mtime, reverse=True)
            shown = ", ".join(str(folder) for folder in latest[:6]) + (", ..." if len(latest) > 6 else "")
            raise UsageError(f"{folders[0]} has {len(below)} runs; name one of them, or two: {shown}")
    return [Results(folder) for folder in folders]
