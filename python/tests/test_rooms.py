"""Where things stand.

The packages of `backwater`, and the folders of the fabric, import each other in one direction. What a folder of the
fabric keeps, others reach by methods only. Programs of tests in Rust have every file beside them. Every test is in one.
"""

from __future__ import annotations

import ast
import re
import tomllib
from fnmatch import fnmatch
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import TYPE_CHECKING

import backwater
import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(backwater.__file__).parent
CHECKOUT = Path(__file__).parents[2]
FABRIC = CHECKOUT / "crates" / "fabric" / "src"
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


#: Where an import within a function saves time: of the library that parses commands, which the list of them needs not,
#: and of what every word means, which only a completion needs.
_LATE = {"cli", "cli.options"}


def test_imports_stand_at_the_top() -> None:
    late = {
        name
        for name, file in MODULES.items()
        for function in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        if isinstance(function, ast.FunctionDef)
        and any(isinstance(node, ast.Import | ast.ImportFrom) for node in ast.walk(function))
    }
    assert late == _LATE


def _folders(root: Path) -> dict[str, set[str]]:
    """What each folder of a Rust crate names of the others, wherever it does so."""
    folders = {folder.name: set[str]() for folder in root.iterdir() if folder.is_dir() and (folder / "mod.rs").exists()}
    for folder, others in folders.items():
        for file in (root / folder).rglob("*.rs"):
            text = file.read_text(encoding="utf-8")
            named = set(re.findall(r"\bcrate::(\w+)", text))
            for group in re.findall(r"\bcrate::\{(.*?)\};", text, flags=re.DOTALL):
                named |= set(re.findall(r"(?:^|[{,])\s*(\w+)::", group))
            others |= named & folders.keys() - {folder}
    return folders


def test_no_folder_of_the_fabric_uses_one_that_uses_it() -> None:
    folders = _folders(FABRIC)
    assert {"link", "nic", "switch", "transport"} <= folders.keys()
    assert "link" in folders["nic"], "the folders are read"
    TopologicalSorter(folders).prepare()


#: Structs of the fabric with fields that every folder reads: plain values, with nothing in them that must be kept true.
_RECORDS = {
    "settings, which no event changes": (
        "spec*::*",
        "world*::*",
        "user::UserSpec",
        "switch/cioq/isolation::Lanes",
        "switch/cioq/isolation::Rules",
        "transport/put/streams::Stream",
        "reuse/laps::*",
    ),
    "what is recorded and reported": (
        "record*::*",
        "check/books::Book",
        "log::Records",
        "simulation::Control",
        "simulation::Totals",
        "simulation/completions::Completion",
        "simulation/look::Look",
        "simulation/look::PortLook",
        "simulation/retrace::*",
        "simulation/reuse::Reused",
        "simulation/sizes::Sizes",
        "violation::Breach",
        "violation::Stuck",
    ),
    "what travels between nodes": ("packet::Packet", "app/ranks/frame::Message"),
    "arguments and answers of methods": (
        "app/jobs::Done",
        "transport/roce/reliable::Begun",
        "transport/roce/reliable::Heard",
        "transport/roce/reliable::Losses",
        "ctx::Ctx",
        "link/credits::Earned",
        "link/credits::UpdateSent",
        "link/drops::LostLast",
        "link/gates::Scope",
        "link/gates::Wait",
        "link/timers::Timer",
        "nic/reorder::Counts",
        "observe/ground_truth::Left",
        "observe/isolation_stats::Noted",
        "observe/recovery::Leaves",
        "observe/roots::Sake",
        "observe/roots::Shown",
        "transport::Frame",
        "transport/put/effect::Effect",
        "transport/put/outgoing::Kept",
        "transport/put/sending::Effected",
        "transport/uec/incoming::Answer",
        "transport/uec/outgoing::Counts",
        "transport/uec/outgoing::Departure",
    ),
}


def _open_structs(root: Path) -> set[str]:
    """The structs of a Rust crate with a field that its other folders can reach, as `module::Struct`."""
    found = set()
    for file in root.rglob("*.rs"):
        module = file.relative_to(root).with_suffix("").as_posix().removesuffix("/mod")
        text = file.read_text(encoding="utf-8")
        for name, fields in re.findall(r"\bstruct (\w+)[^;{(]*\{\n(.*?)^\s*\}", text, flags=re.DOTALL | re.MULTILINE):
            if re.search(r"^\s+pub(?:\(crate\))? \w+:", fields, flags=re.MULTILINE):
                found.add(f"{module}::{name}")
        for name, fields in re.findall(r"\bstruct (\w+)[^;{(]*\((.*?)\);", text, flags=re.DOTALL):
            if re.search(r"\bpub(?:\(crate\))? ", fields):
                found.add(f"{module}::{name}")
    return found


def test_fields_are_private_to_their_folder_of_the_fabric() -> None:
    patterns = [pattern for named in _RECORDS.values() for pattern in named]
    found = _open_structs(FABRIC)
    assert {name for name in found if not any(fnmatch(name, pattern) for pattern in patterns)} == set()
    assert [pattern for pattern in patterns if not any(fnmatch(name, pattern) for name in found)] == []


def test_a_field_that_others_reach_would_be_found(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "mod.rs").write_text(
        "struct Own<T> {\n    one: T,\n    pub(super) two: u8,\n}\nstruct Open {\n    pub(crate) one: u8,\n}\n"
    )
    (tmp_path / "b.rs").write_text("pub struct Pair(u8, pub u8);\npub struct Two(pub(in crate::b) u8);\n")
    assert _open_structs(tmp_path) == {"a::Open", "b::Pair"}


def test_a_circle_of_folders_would_be_found(tmp_path: Path) -> None:
    for folder, text in (("a", "use crate::b::B;\n"), ("b", "use crate::{\n    a::A,\n    c,\n};\n"), ("c", "")):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "mod.rs").write_text(text)
    assert _folders(tmp_path)["b"] == {"a"}
    with pytest.raises(CycleError):
        TopologicalSorter(_folders(tmp_path)).prepare()


def test_a_circle_would_be_found() -> None:
    with pytest.raises(CycleError):
        TopologicalSorter({"a": {"b"}, "b": {"a"}}).prepare()


def _left_out(folder: Path) -> set[str]:
    """Modules of a folder that the file at its head does not name: cargo is silent, and their tests never run."""
    head = next((file for name in ("main.rs", "mod.rs", "lib.rs") if (file := folder / name).exists()), None)
    if head is None:  # Each file is a program, as cargo has it without being told.
        return set()
    named = set(
        re.findall(r"^(?:pub(?:\([a-z]+\))? )?mod (\w+);", head.read_text(encoding="utf-8"), flags=re.MULTILINE)
    )
    there = {file.stem for file in folder.glob("*.rs")} | {file.parent.name for file in folder.glob("*/mod.rs")}
    return there - named - {head.stem}


def test_every_file_of_tests_is_in_a_program() -> None:
    found = [*CHECKOUT.glob("crates/*/tests/**/*.rs"), *CHECKOUT.glob("tests/**/*.rs")]
    folders = {file.parent for file in found}
    assert {"determinism", "golden", "streams"} <= {folder.name for folder in folders}, "the folders are read"
    assert {str(folder): left for folder in folders if (left := _left_out(folder))} == {}


def test_a_file_that_no_program_has_would_be_found(tmp_path: Path) -> None:
    (tmp_path / "main.rs").write_text("mod a;\npub(crate) mod b;\n")
    for module in ("a.rs", "b/mod.rs", "c.rs", "d/mod.rs"):
        (tmp_path / module).parent.mkdir(exist_ok=True)
        (tmp_path / module).touch()
    assert _left_out(tmp_path) == {"c", "d"}


def _untested(manifest: Path) -> list[Path]:
    """Files with tests in a library or program that is not compiled for its own tests: cargo would not run these."""
    told = tomllib.loads(manifest.read_text(encoding="utf-8"))
    lib = told.get("lib", {})
    folder = (manifest.parent / lib.get("path", "src/lib.rs")).parent
    programs = {path: path.stem for path in (folder / "bin").glob("*")}
    without = {program["name"] for program in told.get("bin", []) if not program.get("test", True)}

    def is_left_out(file: Path) -> bool:
        program = next((name for path, name in programs.items() if file.is_relative_to(path)), None)
        return not lib.get("test", True) if program is None else program in without

    return [
        file
        for file in folder.rglob("*.rs")
        if is_left_out(file) and re.search(r"#\[test\]|proptest!", file.read_text(encoding="utf-8"))
    ]


def test_no_crate_has_tests_that_cargo_does_not_compile() -> None:
    manifests = [*CHECKOUT.glob("crates/*/Cargo.toml"), CHECKOUT / "benches/Cargo.toml", CHECKOUT / "tests/Cargo.toml"]
    assert len(manifests) > 15
    assert [file for manifest in manifests for file in _untested(manifest)] == []


def test_a_test_that_cargo_does_not_compile_would_be_found(tmp_path: Path) -> None:
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "lib.rs").write_text("#[test]\nfn one() {}\n")
    manifest = tmp_path / "Cargo.toml"
    manifest.write_text("[lib]\ntest = false\n")
    assert _untested(manifest) == [tmp_path / "src" / "lib.rs"]
    manifest.write_text("[lib]\n")
    assert _untested(manifest) == []
    (tmp_path / "src" / "bin").mkdir()
    (tmp_path / "src" / "bin" / "program.rs").write_text("#[test]\nfn one() {}\n")
    assert _untested(manifest) == []
    manifest.write_text('[[bin]]\nname = "program"\ntest = false\n')
    assert _untested(manifest) == [tmp_path / "src" / "bin" / "program.rs"]
