"""One figure or table of a paper: which scenarios it runs, what it measures, what it draws.

A figure is a folder with ``experiment.toml`` (the runs), ``claims.toml`` (what the paper claims) and ``figure.py`` with
two functions::

    def metrics(runs: Runs) -> Metrics   # one seed's runs by name
    def draw(seeds: Seeds, file: Path) -> None         # every seed's runs

A setting that only a run can tell (F0 starts "when F1's rate falls below 15 Gbps") is measured first: the runs under
``[[first]]`` are done before the others, and a third function turns them into values, which replace ``{name}`` in the
``set`` texts of the others::

    def settle(first: Runs) -> dict[str, str]                   # one seed's first runs by name

Numbers that a reader wants beside the picture are tables of the report; a figure that has some offers::

    def tables(seeds: Seeds) -> Sequence[NumberTable]  # every seed's runs

Where `experiment.toml` names published rows, each is a run and a claim besides. ``figure.py`` finds them as ``ROWS``.
"""

from __future__ import annotations

import fnmatch
import importlib.util
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol, cast

from pydantic import Field

from backwater.errors import UsageError
from backwater.experiments.plan import Axis, combinations
from backwater.papers import Measurement, Runs, Seeds, claims, paper, uec_rows
from backwater.papers.files import Part, read_toml
from backwater.scenario.scenario import Scenario


class RunSpec(Part):
    """One run of a figure, or several: `sweep` lists values for keys and stands for one run of each combination."""

    name: str
    scenario: str = Field(description="Path of the scenario file, relative to the figure's folder.")
    set: tuple[str, ...] = ()
    sweep: dict[str, list[str | int | float]] = Field(default_factory=dict)
    quick: tuple[str, ...] = Field((), description="Overrides that make it smaller for a quick look.")
    sensitivity: tuple[str, ...] = Field((), description="Those for `backwater sensitivity`.")
    cost: float = Field(1.0, gt=0, description="CPU seconds of one run, about: the longest start first.")

    def expand(self) -> Iterator[tuple[str, tuple[str, ...]]]:
        """Name and overrides of every single run: ``tcd`` or, swept, ``tcd 97us``."""
        axes = [Axis((key,), tuple((value,) for value in values)) for key, values in self.sweep.items()]
        for values, texts in combinations(axes):
            yield " ".join([self.name, *map(str, values)]), (*self.set, *texts)


class Changes(Part):
    """Overrides that apply to every run of a figure."""

    set: tuple[str, ...] = ()


class Variant(Changes):
    """Overrides that come after all others, in the runs whose names fit a pattern."""

    name: str
    runs: tuple[str, ...] = Field(("*",), description="Names of runs, or patterns with *, that it applies to.")

    def of(self, run: str) -> tuple[str, ...]:
        """The overrides for a run."""
        return self.set if any(fnmatch.fnmatchcase(run, pattern) for pattern in self.runs) else ()


class Reduced(Changes):
    """A smaller form of a figure's runs."""

    skip: tuple[str, ...] = Field(
        (), description="Names of runs, or patterns with *, that are left out; figure.py must do without them."
    )


class Quick(Reduced):
    """What a quick look (``--quick``) changes."""

    seeds: int = Field(1, ge=1)


class Assumption(Part):
    """A parameter that the paper does not give."""

    parameter: str
    value: str
    why: str
    sensitivity: str = Field("not varied", description="How far the result moves when it is varied.")


class Shared(Part):
    """What the figures of one setting share: a file that `shared` names. Its runs come before a figure's own."""

    run: tuple[RunSpec, ...] = ()
    profile: dict[str, Changes] = Field(default_factory=dict, description="Applied before a figure's own.")
    assumption: tuple[Assumption, ...] = ()


class FigureFile(Part):
    """The whole of an experiment.toml."""

    title: str
    paper: str = Field(description="Where in the paper, such as `Figure 3 (a, c)`.")
    about: str = Field("", description="What is set up and what is looked at, in a sentence or two.")
    seeds: int = Field(5, ge=1)
    shared: str | tuple[str, ...] = Field(
        (), description="Files of runs, profiles and assumptions, relative to the figure's folder."
    )
    rows: uec_rows.Selected | None = Field(None, description="Published rows whose commands are its runs.")
    first: tuple[RunSpec, ...] = Field((), description="Runs done first, which settle values for the others.")
    run: tuple[RunSpec, ...] = ()
    profile: dict[str, Changes] = Field(
        default_factory=dict, description="Further overrides under a profile, and under those that build on it."
    )
    profiles: tuple[str, ...] = Field(
        (),
        description="Under which profiles of its paper its runs are done; those that are the paper's default if none.",
    )
    quick: Quick = Field(Quick(set=(), seeds=1, skip=()), description="What a quick look changes.")
    sensitivity: Reduced = Field(
        Reduced(set=(), skip=()), description="What `backwater sensitivity` changes, under every reading alike."
    )
    assumption: tuple[Assumption, ...] = ()


class Module(Protocol):
    """What a figure.py offers."""

    def metrics(self, runs: Runs) -> Mapping[str, Measurement]:
        """What one seed's runs measured."""

    def draw(self, seeds: Seeds, file: Path) -> None:
        """Draw the figure to a file."""

    def settle(self, first: Runs) -> dict[str, str]:
        """Values for the other runs, from the runs done first; only asked of figures that have such runs."""

    # A figure may also offer `tables`, which is asked for by name: most have none.


@dataclass(frozen=True)
class Figure:
    """A figure's folder, read and checked."""

    folder: Path
    experiment: FigureFile
    claims: tuple[claims.Claim, ...]
    #: The profiles of its paper.
    known: tuple[paper.Profile, ...] = ()
    variants: tuple[Variant, ...] = ()
    #: What makes its runs smaller, besides a quick look.
    reduced: Reduced | None = None
    #: The published rows among its runs, and a checkout of the program that they are of.
    rows: tuple[uec_rows.Row, ...] = ()
    checkout: Path | None = None

    @property
    def name(self) -> str:
        """The folder's name, such as fig03."""
        return self.folder.name

    def module(self) -> Module:
        """Its figure.py, imported; it may import what figures of its paper share, as ``papers.<system>.<module>``."""
        file = self.folder / "figure.py"
        checkout = str(self.folder.parents[2])
        if checkout not in sys.path:
            sys.path.append(checkout)
        spec = importlib.util.spec_from_file_location(f"papers.{self.folder.parent.name}.{self.name}", file)
        if spec is None or spec.loader is None or not file.is_file():
            raise UsageError(f"{file} is missing")
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        if self.rows:
            vars(module)["ROWS"] = self.rows
        return cast("Module", module)

    def scenario(self, spec: RunSpec, root: Path) -> Scenario:
        """The scenario of a run; that of a published row is made below `root`."""
        row = next((row for row in self.rows if row.name == spec.name), None)
        if row is None:
            return Scenario.load(self.folder / spec.scenario)
        return uec_rows.scenario(row, root, self.checkout)

    def unmeasured(self) -> dict[str, Measurement]:
        """What its claims on rows ask for, of which a quick look has only some."""
        names = {row.name for row in self.rows}
        return {
            check.metric: None
            for claim in self.claims
            for check in claim.checks
            if claim.id.removeprefix("UEC-") in names
        }

    def is_literal(self, profile: str) -> bool:
        """Whether a profile takes the paper at its word."""
        return any(one.literal for one in self.known if one.name == profile)

    def profiles(self, asked: Sequence[str]) -> tuple[str, ...]:
        """Those of the profiles asked for under which its runs are done."""
        return tuple(profile for profile in asked if profile in self.experiment.profiles)

    def seeds(self, *, quick: bool) -> int:
        """How many seeds it asks for."""
        return self.experiment.quick.seeds if quick else self.experiment.seeds

    def skips(self, run: str, *, quick: bool) -> bool:
        """Whether a run is left out."""
        return any(fnmatch.fnmatchcase(run, pattern) for one in self._reduced(quick=quick) for pattern in one.skip)

    def _reduced(self, *, quick: bool) -> tuple[Reduced, ...]:
        own = (self.reduced,) if self.reduced is not None else ()
        return (*own, self.experiment.quick) if quick else own

    def smaller(self, spec: RunSpec, *, quick: bool) -> tuple[str, ...]:
        """What makes a run smaller, of its own."""
        return (*(spec.sensitivity if self.reduced is not None else ()), *(spec.quick if quick else ()))

    def shrunk(self, *, quick: bool) -> tuple[str, ...]:
        """Everything that makes its runs smaller, each text once."""
        common = (text for one in self._reduced(quick=quick) for text in one.set)
        own = (text for spec in self.experiment.run for text in self.smaller(spec, quick=quick))
        return tuple(dict.fromkeys((*common, *own)))

    def last(self, run: str) -> tuple[str, ...]:
        """What comes after all other overrides of a run."""
        return tuple(text for variant in self.variants for text in variant.of(run))

    def overrides(self, profile: str, run: str, *, quick: bool) -> tuple[str, ...]:
        """What comes before the overrides of a run under a profile."""
        known = next(one for one in self.known if one.name == profile)
        smaller = (text for one in self._reduced(quick=quick) for text in one.set)
        changes = [self.experiment.profile.get(name, Changes()).set for name in dict.fromkeys((known.base, profile))]
        return (*known.of(run), *(text for one in changes for text in one), *smaller)


@dataclass(frozen=True)
class Given:
    """A user's own rows, and a checkout of the program that rows are of."""

    rows: Path | None = None
    checkout: Path | None = None


def load(folder: Path, given: Given = Given()) -> Figure:
    """Read one figure's folder."""
    file = folder / "experiment.toml"
    try:
        experiment = read_toml(file, FigureFile)
    except FileNotFoundError:
        raise UsageError(f"{folder} is not a figure: it has no experiment.toml") from None
    # The last file first, so that the first one's runs come first.
    names = (experiment.shared,) if isinstance(experiment.shared, str) else experiment.shared
    for name in reversed(names):
        experiment = _with_shared(experiment, folder / name)
    known = paper.load(folder.parent).profile
    _require_known(experiment, known, file)
    if not experiment.profiles:
        default = tuple(profile.name for profile in known if profile.default)
        experiment = experiment.model_copy(update={"profiles": default})
    own = claims.load(folder / "claims.toml") if experiment.rows is None or (folder / "claims.toml").is_file() else ()
    _require_profiles(own, known, folder / "claims.toml")
    if experiment.rows is None:
        return Figure(folder, experiment, own, known)
    return _with_rows(Figure(folder, experiment, own, known, checkout=given.checkout), experiment.rows, given.rows)


def _with_rows(figure: Figure, asked: uec_rows.Selected, file: Path | None) -> Figure:
    """The figure with published rows among its runs and claims."""
    home = figure.folder.parent
    place = str(figure.folder / "experiment.toml")
    rows = uec_rows.select(uec_rows.read(file or home / uec_rows.PUBLISHED), asked.names, place)
    quick = uec_rows.select(rows, asked.quick, place) if asked.quick else rows
    skipped = [row.name for row in rows if row not in quick]
    experiment = figure.experiment
    runs = [RunSpec.model_validate({"name": row.name, "scenario": row.matrix, "cost": row.cost}) for row in rows]
    found = uec_rows.claims(rows, {} if file is not None else uec_rows.spreads(home / uec_rows.SPREAD))
    update = {
        "run": (*experiment.run, *runs),
        "quick": experiment.quick.model_copy(update={"skip": (*experiment.quick.skip, *skipped)}),
    }
    changed = experiment.model_copy(update=update)
    own = figure.claims if asked.repeated else (*figure.claims, *found)
    return replace(figure, experiment=changed, claims=own, rows=tuple(rows))


def _require_profiles(own: Sequence[claims.Claim], known: Sequence[paper.Profile], file: Path) -> None:
    """Raise UsageError for a claim that says what was chosen under a profile that the paper does not have."""
    names = [claims.EVERYWHERE, *(profile.name for profile in known)]
    for claim in own:
        for name in claim.chosen.keys() - set(names):
            raise UsageError(f"{file}: {claim.id}: chosen.{name}: there are {', '.join(names)}")


def _require_known(experiment: FigureFile, known: Sequence[paper.Profile], file: Path) -> None:
    """Raise UsageError for a profile that the paper does not have, and for a run that the figure does not."""
    names = [profile.name for profile in known]
    for name in (*experiment.profiles, *experiment.profile):
        if name not in names:
            raise UsageError(f"{file}: there is no profile {name!r}; the profiles are {', '.join(names)}")
    runs = [name for spec in (*experiment.first, *experiment.run) for name, _ in spec.expand()]
    for table, patterns in (("quick", experiment.quick.skip), ("sensitivity", experiment.sensitivity.skip)):
        for pattern in patterns:
            if not fnmatch.filter(runs, pattern):
                raise UsageError(f"{file}:\n{table}.skip names no run with {pattern!r}; the runs are {', '.join(runs)}")


def _with_shared(experiment: FigureFile, file: Path) -> FigureFile:
    """The experiment with what it shares put before its own."""
    try:
        shared = read_toml(file, Shared)
    except FileNotFoundError:
        raise UsageError(f"there is no file {file}, which experiment.toml calls shared") from None
    profile = {
        name: Changes(
            set=(*shared.profile.get(name, Changes()).set, *experiment.profile.get(name, Changes()).set),
        )
        for name in (shared.profile | experiment.profile)
    }
    assumption = (*shared.assumption, *experiment.assumption)
    runs = (*shared.run, *experiment.run)
    return experiment.model_copy(update={"run": runs, "profile": profile, "assumption": assumption})


def discover(system: str, only: Sequence[str] = (), root: Path | None = None, given: Given = Given()) -> list[Figure]:
    """The figures of a system, by name; `only` picks some of them. A user's own rows are a figure by themselves."""
    place = home(system, root)
    if given.rows is not None:
        if not (place / uec_rows.OWN / "experiment.toml").is_file():
            raise UsageError(f"--rows {given.rows}: {system} has no published rows; uec has")
        return [load(place / uec_rows.OWN, given)]
    # Figures and tables by number, then what is neither.
    folders = (path.parent.name for path in place.glob("*/experiment.toml"))
    names = sorted((name for name in folders if name != uec_rows.OWN), key=_rank)
    for name in only:
        if name not in names:
            raise UsageError(f"there is no figure {name!r} of {system}; there are: {', '.join(names)}")
    return [load(place / name, given) for name in names if not only or name in only]


def _rank(name: str) -> tuple[int, str]:
    kinds = ("fig", "table")
    return (next((rank for rank, kind in enumerate(kinds) if name.startswith(kind)), len(kinds)), name)


def home(system: str, root: Path | None = None) -> Path:
    """The folder of a paper; raises UsageError with those that there are."""
    found = root or papers()
    place = found / system
    if not place.is_dir():
        known = ", ".join(sorted(path.name for path in found.iterdir() if path.is_dir()))
        raise UsageError(f"there is no paper {system!r}; there are: {known}")
    return place


def papers() -> Path:
    """The folder ``papers`` of the checkout that this package was built from, or of the working folder."""
    for root in (Path(__file__).parents[3], Path.cwd()):
        if (root / "papers").is_dir():
            return root / "papers"
    raise UsageError("no folder `papers` was found; run this in a checkout of Backwater")
