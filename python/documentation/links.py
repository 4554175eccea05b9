"""Links from docs/ to files elsewhere in the repository: those files become pages, or are copied, below files/."""

from __future__ import annotations

import os
import re
from functools import cache
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

#: A link or a picture in Markdown: what comes before the target, the target, and the place on the page.
LINK = re.compile(r"(\]\()(?!https?:|mailto:|#)([^)#\s]*)(#[^)\s]*)?(?=\))")
#: Blocks of code are not looked into.
_CODE = re.compile(r"^( *)```.*?^ *```|`[^`\n]+`", re.DOTALL | re.MULTILINE)
#: What is shown as a page with the text of the file, and what language it is in.
_TEXTS = {".toml": "toml", ".py": "python", ".rs": "rust", ".c": "c", ".h": "c", ".json": "json", ".txt": "text"}


def targets(text: str) -> list[str]:
    """Where the links of a text lead, without places on pages."""
    return [found[2] for found in LINK.finditer(_CODE.sub("", text)) if found[2]]


def place_of(source: str) -> str:
    """Where a file of the repository (by its path there) stands among the pages."""
    if source.startswith("docs/"):
        return source.removeprefix("docs/")
    if source.endswith("README.md"):
        return "files/" + source.removesuffix("README.md") + "index.md"
    return f"files/{source}.md" if PurePosixPath(source).suffix in {*_TEXTS, ""} else f"files/{source}"


@cache
def outside(root: Path) -> dict[str, str]:
    """The files outside docs/ that pages lead to, directly or by each other: place among the pages, path."""
    found: dict[str, str] = {}
    waiting = sorted(root.joinpath("docs").rglob("*.md"))
    while waiting:
        page = waiting.pop()
        for target in targets(page.read_text(encoding="utf-8")):
            file = resolved(root, page, target)
            source = file.relative_to(root).as_posix()
            if not file.is_file() or source.startswith("docs/") or place_of(source) in found:
                continue
            found[place_of(source)] = source
            if file.suffix == ".md":
                waiting.append(file)
    return found


def resolved(root: Path, page: Path, target: str) -> Path:
    """The file that a link leads to; of a folder its README, or whatever says most about it."""
    file = page.parent.joinpath(target).resolve() if target else page
    if file.is_relative_to(root / "docs") and not file.is_dir():
        # Of these mkdocs says what is not there; some are made by it.
        return file
    if not file.is_relative_to(root) or not file.exists():
        raise ValueError(f"{page.relative_to(root)} links to {target}, which is not there")
    if file.is_dir():
        first = [
            file / "README.md",
            *sorted(file.glob("*.toml")),
            *sorted(file.rglob("*.toml")),
            *sorted(file.iterdir()),
        ]
        return next(path for path in first if path.is_file())
    return file


def content(root: Path, source: str) -> str | bytes:
    """What stands at the place of a file."""
    file = root / source
    if file.suffix == ".md":
        return file.read_text(encoding="utf-8")
    if place_of(source).endswith(".md"):
        language = _TEXTS.get(file.suffix, "text")
        # A longer fence than any in the file.
        return f"# {source}\n\n````{language}\n{file.read_text(encoding='utf-8')}\n````\n"
    return file.read_bytes()


def led(root: Path, place: str, markdown: str) -> str:
    """The text of a page with its links to files outside docs/ led to their places."""
    source = outside(root).get(place, f"docs/{place}")
    page = root / source
    if not page.is_file() or page.suffix != ".md":
        return markdown

    def leads(found: re.Match[str]) -> str:
        if not found[2]:
            return found[0]
        to = place_of(resolved(root, page, found[2]).relative_to(root).as_posix())
        return f"{found[1]}{os.path.relpath(to, PurePosixPath(place).parent)}{found[3] or ''}"

    parts, last = [], 0
    for code in _CODE.finditer(markdown):
        parts += [LINK.sub(leads, markdown[last : code.start()]), code[0]]
        last = code.end()
    return "".join([*parts, LINK.sub(leads, markdown[last:])])
