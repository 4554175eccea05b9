"""The packages of `backwater` import each other in one direction."""

from __future__ import annotations

import ast
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import TYPE_CHECKING

import backwater
import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(backwater.__file__).parent
#: Every module by its name below `backwater`.
MODULES = {
    ".".join(file.relative_to(ROOT).with_suffix("").parts).removesuffix("__init__").rstrip("."): file
    for file in ROOT.rglob("*.py")
}


def _imported(file: Path) -> Iterator[str]:
    """Modules of ours that a file imports, anywhere in it, for types only, too."""
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (name.name.partition(".")[2] for name in node.names if name.name.startswith("backwater."))
        elif isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] == "backwater":
            base = str(node.module).partition(".")[2]
            for name in node.names:
                within = f"{base}.{name.name}".strip(".")
                if name.name != "_core":
                    yield within if within in MODULES else base


def _graph() -> dict[str, set[str]]:
    return {name: {one for one in _imported(file) if one in MODULES} - {name} for name, file in MODULES.items()}


def test_no_package_imports_one_that_imports_it() -> None:
    packages: dict[str, set[str]] = {}
    for name, others in _graph().items():
        package = name.partition(".")[0]
        packages.setdefault(package, set()).update({one.partition(".")[0] for one in others} - {package})
    TopologicalSorter(packages).prepare()


def test_no_module_imports_one_that_imports_it() -> None:
    TopologicalSorter(_graph()).prepare()


def test_a_circle_would_be_found() -> None:
    with pytest.raises(CycleError):
        TopologicalSorter({"a": {"b"}, "b": {"a"}}).prepare()
