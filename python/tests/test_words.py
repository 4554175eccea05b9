"""GLOSSARY.md and ARCHITECTURE.md name what is there, and words that are gone stay away.

The words of `GONE` were private names of types and modules. GLOSSARY.md has the words to write instead.
"""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
GLOSSARY = (ROOT / "GLOSSARY.md").read_text(encoding="utf-8")
ARCHITECTURE = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
#: Rows of the glossary: word, whose, meaning, where.
WORDS = [
    [cell.strip() for cell in row.strip("|").split("|")]
    for row in GLOSSARY.partition("\n## Words that are gone\n")[0].splitlines()
    if row.startswith("| ") and not row.startswith(("| word ", "| **"))
]
#: Names of types and modules in lower case, with what was renamed already.
GONE = (
    *("halves", "lateness", "findings", "running", "failing", "estimating", "helping"),
    *("spacing", "due", "dueheap", "ends", "told", "tally", "special", "isolating"),
)
_DECLARED = re.compile(r"^[^/#\n]*\b(?:struct|enum|trait|mod|class)\s+(\w+)", re.MULTILINE)


def place(name: str) -> Path:
    """A file as GLOSSARY.md and ARCHITECTURE.md name it: without `crates/` and `src/`."""
    crate, _, rest = name.partition("/")
    inside = ROOT / "crates" / crate / "src" / rest
    return inside if inside.exists() else ROOT / name


def declared() -> set[str]:
    """The types and modules that our sources declare."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--", "crates/*.rs", "python/backwater/*.py"],  # noqa: S607
        cwd=ROOT,
        capture_output=True,
        check=True,
        text=True,
    )
    files = [ROOT / name for name in listed.stdout.split("\0") if name]
    names = {name for file in files if file.exists() for name in _DECLARED.findall(file.read_text(encoding="utf-8"))}
    return names | {file.stem for file in files}


def test_every_word_has_a_meaning_and_a_place() -> None:
    assert len(WORDS) > 50
    assert all(len(row) == 4 and all(row) for row in WORDS)
    words = [word for row in WORDS for word in row[0].split(", ")]
    assert len(words) == len(set(words))


@pytest.mark.parametrize("row", WORDS, ids=[row[0] for row in WORDS])
def test_what_the_glossary_names_is_there(row: list[str]) -> None:
    assert place(row[3].strip("`")).exists(), row[3]


def test_what_the_architecture_names_is_there() -> None:
    named = re.findall(r"`([\w/<>.-]+/[\w/<>.-]*)`", ARCHITECTURE)
    assert len(named) > 40
    # The folders of the fabric have a table of their own; a file that is yet to be written has angle brackets.
    fabric = [ROOT / "crates" / "fabric" / "src" / name for name in named]
    missing = [
        name
        for name, inside in zip(named, fabric, strict=True)
        if "<" not in name and not place(name).exists() and not inside.exists() and not _below(name)
    ]
    assert missing == []


def _below(name: str) -> bool:
    """Whether it is a file or a folder somewhere below one that the page has named before."""
    return any((ROOT / "crates").glob(f"*/src/**/{name.rstrip('/')}"))


@pytest.mark.parametrize(("name", "most"), [("README.md", 120), ("ARCHITECTURE.md", 150)])
def test_the_first_pages_are_short(name: str, most: int) -> None:
    assert len((ROOT / name).read_text(encoding="utf-8").splitlines()) <= most


@pytest.mark.parametrize("word", GONE)
def test_words_that_are_gone_name_nothing(word: str) -> None:
    found = [name for name in declared() if name.lower().replace("_", "") == word]
    assert found == [], f"{found}: GLOSSARY.md has the word to write instead"


#: What a user reads: every guide, and the pages of papers above what `make report` writes into them.
READ = (
    "README.md",
    "ARCHITECTURE.md",
    "GLOSSARY.md",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "docs/reference/index.md",
    "docs/tutorial/index.md",
    "dataplane/README.md",
    "papers/ec/reference/README.md",
    "viewer/FORMAT.md",
    *(str(page.relative_to(ROOT)) for page in sorted((ROOT / "docs").glob("*.md"))),
    *(str(page.relative_to(ROOT)) for page in sorted((ROOT / "docs" / "showcases").glob("*.md"))),
    *(str(page.relative_to(ROOT)) for page in sorted((ROOT / "papers").glob("*/README.md"))),
)
GENERATED = "\n## Every claim\n"


def sentences(text: str) -> list[str]:
    """The sentences of a page, without blocks of code and tables; a colon, a semicolon or a picture ends one, too."""
    text = re.sub(r"^ *```.*?^ *```", "", text, flags=re.DOTALL | re.MULTILINE)
    text = re.sub(r"^\|.*$", "", text, flags=re.MULTILINE)
    parts = re.split(r"\n\s*\n|\n(?=[-#*!\d])", text)
    return [one for part in parts for one in re.split(r"(?<=[.!?:;])\s+", " ".join(part.split()))]


@pytest.mark.parametrize("name", READ)
def test_a_sentence_has_at_most_25_words(name: str) -> None:
    page = (ROOT / name).read_text(encoding="utf-8").partition(GENERATED)[0]
    assert [one for one in sentences(page) if len(one.split()) > 25] == []


def test_keys_and_columns_use_no_word_that_is_gone() -> None:
    from backwater import _core

    keys = re.findall(r'"([\w-]+)": \{', _core.schema())
    columns = re.findall(r'"(?:table|column)":"(\w+)"', _core.dictionary())
    assert len(keys) > 300
    assert len(columns) > 300
    parts = {part for name in (*keys, *columns) for part in re.split(r"[-_]", name.lower())}
    assert parts & set(GONE) == set()
