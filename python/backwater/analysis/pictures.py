"""Pictures, by the names of their modules, what their files may be called, and how wide they are printed.

A picture is imported when it is drawn, here and nowhere else: matplotlib takes 0.6 s of CPU to import, three times what
a command takes without it (:mod:`backwater.common.late`).
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from backwater.errors import UsageError, require_folder

#: The formats of pictures.
FORMATS = ("png", "pdf", "svg")
#: Inches of each unit of a width.
_UNITS = {"in": 1.0, "cm": 1 / 2.54, "mm": 1 / 25.4, "pt": 1 / 72.27}
#: A picture is at least and at most that many inches wide: between a stamp and a poster.
_NARROWEST, _WIDEST = 1.5, 40.0
#: A picture that is narrower than that, a column of a journal, has its panels below each other.
_COLUMN = 5.0


def load(name: str, package: str = "analysis") -> Any:
    """A module that draws."""
    return importlib.import_module(f"backwater.{package}.{name}")


@dataclass(frozen=True)
class Paper:
    """What a picture is made for: a file of a format, printed that many inches wide; None is the house's own size.

    With a width the title is left to the caption, and letters are as large as print needs them.
    """

    format: str | None = None
    width: float | None = None

    @property
    def narrow(self) -> bool:
        """Whether panels do not fit beside each other."""
        return self.width is not None and self.width < _COLUMN

    def named(self, stem: Path) -> Path:
        """A file of this format; PNG if none was asked for."""
        return stem.with_name(f"{stem.name}.{self.format or FORMATS[0]}")

    def checked(self, file: Path, option: str = "--plot", formats: Iterable[str] = FORMATS) -> Path:
        """The file that is written for `option`; raises UsageError for one that cannot be, before anything is run."""
        if self.format is not None:
            if file.suffix and file.suffix.lower() != f".{self.format}":
                raise UsageError(f"{option} {file} and --format {self.format} differ: leave out one of them")
            file = file.with_suffix(f".{self.format}")
        *some, last = [f".{one}" for one in formats]
        if file.suffix.lower() not in (*some, last):
            raise UsageError(f"{option} {file}: the name must end in {', '.join(some)} or {last}")
        if not file.absolute().parent.is_dir():
            raise UsageError(f"{option} {file}: there is no folder {file.absolute().parent}")
        return file

    def draw(self, module: str, *arguments: Any, **options: Any) -> Any:
        """What the `draw` of a module makes, for this paper."""
        with self.printed():
            return load(module).draw(*arguments, **options)

    @contextmanager
    def printed(self) -> Iterator[Paper]:
        """A context in which all pictures are made for it."""
        before = _PAPER.set(self)
        try:
            yield self
        finally:
            _PAPER.reset(before)


_HOUSE = Paper()
_PAPER: ContextVar[Paper] = ContextVar("paper", default=_HOUSE)


def paper() -> Paper:
    """What pictures are made for at the moment."""
    return _PAPER.get()


def to_plot(
    plot: Path | None, format_: str | None, width: str | None, out: Path | None = None
) -> tuple[Path | None, Paper]:
    """The file of ``--plot`` and what it is made for; raises UsageError for what cannot be drawn or makes no sense.

    A name without a folder is one in `out`.
    """
    paper = asked(format_, width)
    if plot is None and paper != Paper():
        option = "--format" if format_ else "--width"
        raise UsageError(f"{option} is of a picture: name its file, such as --plot figure.{format_ or 'pdf'}")
    file = None if plot is None else paper.checked(plot)
    if file is not None and out is not None and file.name == str(file):
        require_folder(out, "--out")
        file = out / file
    return file, paper


def asked(format_: str | None, width: str | float | None) -> Paper:
    """What ``--format`` and ``--width`` ask for; raises UsageError for a width that no page has.

    >>> asked("pdf", "85mm"), asked(None, 3.33).narrow
    (Paper(format='pdf', width=3.346456692913386), True)
    """
    if width is None:
        return Paper(format_)
    text = f"{width}in" if _is_number(width) else str(width)
    match = re.fullmatch(r"\s*(\d{1,6}(?:\.\d{0,30})?)\s*(in|cm|mm|pt)\s*", text)
    if match is None:
        raise UsageError(f"--width {width}: write a number with in, cm, mm or pt, such as 3.33in, a column of two")
    inches = float(match[1]) * _UNITS[match[2]]
    if not _NARROWEST <= inches <= _WIDEST:
        raise UsageError(f"--width {width} is {inches:.3g}in: give {_NARROWEST}in to {_WIDEST:.0f}in, such as 3.33in")
    return Paper(format_, inches)


def _is_number(width: object) -> bool:
    return isinstance(width, int | float) and not isinstance(width, bool)


def check(file: Path, option: str = "--plot", formats: Iterable[str] = FORMATS) -> None:
    """Raise UsageError for a file that no picture can be written to, before anything is run."""
    Paper().checked(file, option, formats)
