"""From what a scenario names to functions that the core can call."""

from __future__ import annotations

import difflib
import hashlib
import importlib
import importlib.util
import itertools
import json
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any

from backwater import _core
from backwater.extend import events, library
from backwater.extend.abi import CONTROLLER, DETECTOR, Interface, State
from backwater.extend.compiled import Compiled
from backwater.extend.errors import UserCodeError
from backwater.extend.functions import UserFunction
from backwater.extend.plain import Plain

#: Where code lies that was installed, and not written for the scenario.
INSTALLED = {"site-packages", "dist-packages"}
#: A file and what it is known by: another time or size is another text.
_Version = tuple[str, int, int]

#: How a scenario names a function that was passed as an object.
LIVE = "python:"
_live: dict[str, UserFunction] = {}
_modules: dict[_Version, ModuleType] = {}
#: The user's modules that were imported for functions, by their names, from what.
_imported: dict[str, _Version] = {}
_lock = threading.RLock()


def register(function: UserFunction) -> str:
    """The text by which a scenario of this process names a function that is at hand."""
    base = f"{LIVE}{function.name}-{function.source_sha256()[:8]}"
    with _lock:
        # Of one text there may be several functions, with other values for what they enclose.
        known = (name for name, other in _live.items() if other is function)
        name = next(known, None) or next(name for name in _numbered(base) if name not in _live)
        _live[name] = function
    return name


def _numbered(base: str) -> Iterator[str]:
    yield base
    yield from (f"{base}-{number}" for number in itertools.count(2))


@dataclass(frozen=True)
class Loaded:
    """One function of a run."""

    place: str
    name: str
    state: State
    code: Compiled | Plain | library.InLibrary
    function: UserFunction | None
    file: Path | None = None

    @property
    def events(self) -> int:
        """What it is told of."""
        return (
            self.code.events
            if isinstance(self.code, library.InLibrary)
            else self.function.events
            if self.function
            else 0
        )

    @property
    def initial_rate_bps(self) -> float:
        """Rate of a new flow; 0: line rate."""
        if isinstance(self.code, library.InLibrary):
            return self.code.initial_rate_bps
        return self.function.initial_rate_bps if self.function else 0.0

    def facts(self) -> dict[str, Any]:
        """What run.json says about it."""
        how = {Compiled: "compiled", Plain: "plain Python"}.get(type(self.code), "library")
        facts: dict[str, Any] = {
            "place": self.place,
            "function": self.name,
            "runs": how,
            "state": dict(self.state.values),
        }
        if isinstance(self.code, Compiled):
            facts["numba"] = self.code.version
        if self.function is not None:
            facts |= {"sha256": self.function.source_sha256(), "source": self.function.source()}
        elif self.file is not None:
            facts["sha256"] = hashlib.sha256(self.file.read_bytes()).hexdigest()
        return facts


@dataclass
class Functions:
    """Those of one run; they keep their code alive."""

    controllers: list[Loaded] = field(default_factory=list)
    detector: Loaded | None = None

    def all(self) -> list[Loaded]:
        """Every one."""
        return [*self.controllers, *([self.detector] if self.detector else [])]

    def for_core(self) -> tuple[list[tuple[int, int, float, list[int]]], tuple[int, list[int]] | None, str]:
        """As the core takes them."""
        controllers = [
            (own.code.address, own.events, own.initial_rate_bps, own.state.bits()) for own in self.controllers
        ]
        one = self.detector
        detector = (one.code.address, one.state.bits()) if one else None
        return controllers, detector, json.dumps([one.facts() for one in self.all()])

    def interrupt(self) -> None:
        """End a call of plain Python that does not return."""
        for one in self.all():
            if isinstance(one.code, Plain):
                one.code.interrupt()


def functions_of(scenario: _core.Scenario, base: Path) -> Functions | None:
    """What a scenario names, loaded; files count from `base`. None if it names nothing."""
    told = scenario.functions()
    if told is None:
        return None
    named = json.loads(told)
    if not named["controllers"] and not named["detector"]:
        return None
    made = Functions([_load(one, CONTROLLER, base) for one in named["controllers"]])
    if named["detector"]:
        made.detector = _load(named["detector"], DETECTOR, base)
    resolved = json.loads(scenario.resolved())
    _require_one_thread(made, int(resolved["run"]["threads"]))
    for one in made.controllers:
        events.require_some(one.place, one.name, one.events, resolved)
    return made


def _require_one_thread(functions: Functions, threads: int) -> None:
    plain = [one for one in functions.all() if isinstance(one.code, Plain)]
    if not plain:
        return
    if threads > 1:
        raise UserCodeError(
            f"{plain[0].place}.custom.function = {plain[0].name!r} runs as plain Python, of which only one thread runs "
            f"at a time, and what it shares between flows would depend on the turn of {threads} threads; "
            "set run.threads = 1, or compile it"
        )


def _load(named: dict[str, Any], interface: Interface, base: Path) -> Loaded:
    place, name = str(named["place"]), str(named["function"])
    table = f"{place}.custom"
    where = f"{table}.function = {name!r}"
    parameters: dict[str, float] = named["parameters"]
    first, _, symbol = name.rpartition(":")
    file = base / first
    if file.suffix in {".so", ".dylib", ".dll"}:
        code = library.load(file, symbol, interface, where)
        return Loaded(place, name, code.state.with_parameters(parameters, table), code, None, file)
    function = _live_function(name, where) if name.startswith(LIVE) else _function(first, symbol, base, where)
    if function.interface is not interface:
        raise UserCodeError(f"{where} is a {function.interface.word}, expected a {interface.word}")
    return Loaded(place, name, function.state.with_parameters(parameters, table), function.loaded(), function)


def _live_function(name: str, where: str) -> UserFunction:
    if name not in _live:
        raise UserCodeError(
            f"{where} was a function of a Python session that has ended; its text is in run.json: "
            "save it to a file and name that"
        )
    return _live[name]


def _function(first: str, symbol: str, base: Path, where: str) -> UserFunction:
    with _lock, _reported(where):
        module = _from_file(base / first, where) if first.endswith(".py") else _from_name(first, base)
    found = getattr(module, symbol, None)
    if isinstance(found, UserFunction):
        return found
    known = [name for name, value in vars(module).items() if isinstance(value, UserFunction)]
    if callable(found):
        raise UserCodeError(
            f"{where}: {symbol} is not decorated; put @bw.congestion_control(...) or @bw.detector(...) before it"
        )
    near = difflib.get_close_matches(symbol, known, 1)
    hint = f"did you mean {near[0]!r}?" if near else f"it has {', '.join(known) or 'no decorated function'}"
    raise UserCodeError(f"{where}: {first} has no {symbol!r}; {hint}")


@contextmanager
def _reported(where: str) -> Iterator[None]:
    """Whatever a user's module does when it is imported is told, also if it tries to leave."""
    try:
        yield
    except UserCodeError:
        raise
    except BaseException as error:
        raise UserCodeError(f"{where}: importing it raised {type(error).__name__}: {error}") from error


class _Source(SourceFileLoader):
    """Compiles the text: what Python keeps compiled is taken for that of a text as long, edited in the same second."""

    def get_code(self, fullname: str) -> CodeType:  # noqa: ARG002
        return self.source_to_code(self.get_data(self.path), self.path)


def _from_file(file: Path, where: str) -> ModuleType:
    if not file.is_file():
        raise UserCodeError(f"{where}: there is no file {file.absolute()}")
    with _path(file.parent):
        key = _version(file)
        if key not in _modules:
            name = f"backwater_user_{hashlib.sha256(key[0].encode()).hexdigest()[:12]}"
            spec = importlib.util.spec_from_file_location(name, file, loader=_Source(name, str(file)))
            if spec is None or spec.loader is None:
                raise UserCodeError(f"{where}: {file} is no Python file")
            module = importlib.util.module_from_spec(spec)
            spec.loader.exec_module(module)
            _modules[key] = module
        return _modules[key]


def _from_name(name: str, base: Path) -> ModuleType:
    with _path(base):
        return importlib.import_module(name)


@contextmanager
def _path(folder: Path) -> Iterator[None]:
    """A user's file may import those beside it; they are imported anew when one of them was edited.

    What is run must be what the hashes of the files tell: results are kept by them.
    """
    _forget_edited()
    sys.path.insert(0, str(folder))
    try:
        yield
    finally:
        sys.path.remove(str(folder))
        _remember(folder.absolute())


def _forget_edited() -> None:
    if all(_version(Path(version[0])) == version for version in _imported.values()):
        return
    for name, version in _imported.items():
        sys.modules.pop(name, None)
        with suppress(OSError):
            Path(importlib.util.cache_from_source(version[0])).unlink()
    _imported.clear()
    _modules.clear()
    importlib.invalidate_caches()


def _remember(folder: Path) -> None:
    for name, module in list(sys.modules.items()):
        file = Path(getattr(module, "__file__", None) or "").absolute()
        own = folder in file.parents and file.suffix == ".py" and not INSTALLED & set(file.parts)
        if own and name not in _imported and name.partition(".")[0] not in ("__main__", "backwater"):
            _imported[name] = _version(file)


def _version(file: Path) -> _Version:
    try:
        status = file.stat()
    except OSError:
        return str(file), 0, 0
    return str(file), status.st_mtime_ns, status.st_size
