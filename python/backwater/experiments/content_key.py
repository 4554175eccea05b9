"""What the results of a scenario depend on, and its hash: by it runs are known that were done before.

There is one such key, for the cache of sweeps and for the runs of a comparison or a reproduction alike. Equal keys mean
equal results; whatever may change a result changes the key.
"""

from __future__ import annotations

import hashlib
import inspect
import json
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

from backwater import _core
from backwater.errors import UsageError, reason
from backwater.extend.loading import INSTALLED, functions_of

#: Settings on which no result depends, in `[run]`, and the seed, which is counted apart.
_IRRELEVANT = ("threads", "seed", "profiled")


@cache
def build() -> str:
    """A hash of the core itself."""
    with Path(str(_core.__file__)).open("rb") as core:
        return hashlib.file_digest(core, "sha256").hexdigest()


def core_build() -> str:
    """The core's version and a hash of the core itself: another build may give other results."""
    return f"{_core.__version__}+{build()[:16]}"


def facts(read: _core.Scenario, base: Path, known: Mapping[str, Any]) -> dict[str, Any]:
    """All that the results of a scenario depend on besides the seed; `known` is its estimate."""
    resolved, files = known["scenario"], known["files"]
    run = {key: value for key, value in resolved["run"].items() if key not in _IRRELEVANT}
    # Which schemes the file has besides changes nothing.
    settings = {key: value for key, value in resolved.items() if key not in ("scheme", "run")} | {"run": run}
    return {
        "settings": settings,
        "files": [_hash(Path(name)) for name in files],
        "functions": _own_code(read, base),
        "core": core_build(),
    }


def key(known: Mapping[str, Any], seed: int) -> str:
    """A hash of it: 32 hexadecimal digits."""
    text = json.dumps({**known, "seed": seed}, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def _own_code(read: _core.Scenario, base: Path) -> list[Any]:
    """Functions of the user's that a scenario names, with what they use of the user's."""
    functions = functions_of(read, base)
    if functions is None:
        return []
    found: list[Any] = []
    for one in functions.all():
        if one.function is None:
            found.append([one.facts(), None if one.file is None else _hash(one.file)])
        else:
            found.append([one.facts(), *_used(one.function.function)])
    return found


def _used(function: Any) -> list[Any]:
    """What a function uses: its file, with constants and helpers in it; those beside it; values that it encloses."""
    home = Path(function.__code__.co_filename)
    room = home.parent if home.is_file() else Path.cwd()
    files, values = dict[str, str](), dict[str, str]()
    waiting: list[Any] = [function]
    seen = set[int]()
    while waiting:
        one = waiting.pop()
        if id(one) in seen:
            continue
        seen.add(id(one))
        is_module = isinstance(one, ModuleType)
        file = Path((one.__dict__.get("__file__") or "") if is_module else one.__code__.co_filename)
        if file.is_file():
            if file != home and (room not in file.parents or INSTALLED & set(file.parts)):
                continue
            files[str(file)] = _hash(file)
        elif is_module:
            continue
        else:  # typed at a prompt, or in a notebook
            values[one.__qualname__] = one.__code__.co_code.hex()
        names = list(vars(one).items()) if is_module else list(_names(one))
        if not is_module:
            values |= {f"{one.__qualname__}.{name}": repr(value) for name, value in names if _is_plain(value)}
        # Modules that are imported, and functions: a compiled one has its own in `py_func`.
        members = [getattr(value, "py_func", value) for _, value in names if not _is_plain(value)]
        waiting += [member for member in members if isinstance(member, ModuleType) or inspect.isfunction(member)]
    return [sorted(files.values()), values]


def _names(function: Any) -> Iterator[tuple[str, Any]]:
    """What a function takes from around it, by name, and its defaults."""
    code = function.__code__
    yield from ((name, function.__globals__[name]) for name in code.co_names if name in function.__globals__)
    for name, cell in zip(code.co_freevars, function.__closure__ or (), strict=True):
        try:
            yield name, cell.cell_contents
        except ValueError:  # not yet filled
            continue
    yield from ((f"default {number}", value) for number, value in enumerate(function.__defaults__ or ()))


def _is_plain(value: object) -> bool:
    if isinstance(value, tuple | list):
        return all(_is_plain(one) for one in value)
    return value is None or isinstance(value, int | float | str | bool)


def _hash(file: Path) -> str:
    try:
        return hashlib.sha256(file.read_bytes()).hexdigest()
    except OSError as error:
        raise UsageError(f"{file} cannot be read ({reason(error)})") from None
