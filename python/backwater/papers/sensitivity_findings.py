"""What sensitivity runs found, kept in sensitivity.json: one finding per parameter, reading, profile and figure.

Each says which build it is of and over how many seeds, so that findings of several calls can stand beside each other.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

from pydantic import ConfigDict, Field

from backwater._core import __version__
from backwater.common import atomic_files
from backwater.common.late import pl
from backwater.experiments import content_key
from backwater.papers.files import Part, read_json
from backwater.papers.open_parameters import Parameter, Reading


class Flip(Part):
    """A claim whose verdict turned, with the numbers that turned it."""

    claim: str
    figure: str
    profile: str
    before: str
    after: str
    numbers: str


class Check(Part):
    """One number that was judged, with our reading (before) and with the other (after)."""

    figure: str
    claim: str
    profile: str
    metric: str
    unit: str
    bound: str
    before: str
    after: str
    before_mean: float | None
    before_half_width_95: float | None
    after_mean: float | None
    after_half_width_95: float | None


class Finding(Part):
    """One figure under one profile with another reading of one parameter."""

    parameter: str
    reading: str
    set: tuple[str, ...]
    profile: str
    figure: str
    version: str = Field(description="Of Backwater.")
    build: str = Field(description="Of the core: the beginning of a hash.")
    seeds: int = Field(ge=0)
    smaller: tuple[str, ...] = Field(description="What makes the runs smaller than those of the figure.")
    claims: int = Field(ge=0, description="Verdicts that could be compared.")
    missing: tuple[str, ...]
    flips: tuple[Flip, ...]
    verdicts: tuple[Check, ...]

    @property
    def key(self) -> tuple[str, str, str, str]:
        """What a later call replaces."""
        return (self.parameter, self.reading, self.profile, self.figure)

    @property
    def origin(self) -> str:
        """Version and build."""
        return f"version {self.version}, build {self.build}"


class _File(Part):
    """sensitivity.json; what else is in it is the same, grouped for readers."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    format: Literal[2]
    findings: tuple[Finding, ...]


def build() -> str:
    """The build of the core, short."""
    return content_key.build()[:12]


def place(root: Path, *, quick: bool) -> Path:
    """The folder of what sensitivity runs found, below that of the reproduction."""
    return root / ("sensitivity-quick" if quick else "sensitivity")


def read(folder: Path) -> list[Finding]:
    """What earlier calls found; nothing if there is no file. Raises UsageError for one that is damaged."""
    found = read_json(folder / "sensitivity.json", _File, "run backwater sensitivity again")
    return [] if found is None else list(found.findings)


def merged(found: Sequence[Finding], earlier: Sequence[Finding]) -> list[Finding]:
    """What was found now before what an earlier call found of the same; but nothing at all does not replace that."""
    kept = {finding.key: finding for finding in earlier}
    for finding in found:
        if finding.claims or finding.key not in kept or kept[finding.key].origin != finding.origin:
            kept[finding.key] = finding
    return list(kept.values())


def told(findings: Sequence[Finding], parameters: Sequence[Parameter], *, quick: bool) -> dict[str, Any]:
    """The findings, grouped by the parameters and readings of the paper's file; others are no longer asked for."""
    varied = []
    kept: list[Finding] = []
    for parameter in parameters:
        readings = []
        for reading in parameter.variant:
            own = _of(findings, parameter, reading)
            if own:
                kept += own
                readings.append(_reading(reading, own))
        if readings:
            varied.append(
                {"id": parameter.id, "text": parameter.text, "default": parameter.default, "variants": readings}
            )
    fixed = [
        {"id": p.id, "text": p.text, "default": p.default, "fixed": p.fixed} for p in parameters if p.fixed is not None
    ]
    return {
        "format": 2,
        "quick": quick,
        "parameters": varied,
        "fixed": fixed,
        "smaller": {finding.figure: list(finding.smaller) for finding in kept if finding.smaller},
        "findings": [finding.model_dump(mode="json") for finding in kept],
    }


def _of(findings: Sequence[Finding], parameter: Parameter, reading: Reading) -> list[Finding]:
    figures = reading.figures or parameter.figures
    own = [
        finding
        for finding in findings
        if (finding.parameter, finding.reading, finding.set) == (parameter.id, reading.name, reading.set)
        and finding.figure in figures
        and finding.profile in reading.profiles
    ]
    return sorted(own, key=lambda finding: (figures.index(finding.figure), reading.profiles.index(finding.profile)))


def _reading(reading: Reading, own: Sequence[Finding]) -> dict[str, Any]:
    """One other reading: which verdicts it leaves, and which it turns."""
    now = f"version {__version__}, build {build()}"
    seeds = sorted({finding.seeds for finding in own if finding.claims})
    return {
        "name": reading.name,
        "set": list(reading.set),
        "figures": list(dict.fromkeys(finding.figure for finding in own)),
        "profiles": [profile for profile in reading.profiles if any(finding.profile == profile for finding in own)],
        "claims": sum(finding.claims for finding in own),
        "seeds": f"{' or '.join(map(str, seeds))} seed{'' if seeds == [1] else 's'}" if seeds else "no seeds",
        "missing": [text for finding in own for text in finding.missing],
        "flips": [flip.model_dump() for finding in own for flip in finding.flips],
        "other_builds": sorted({finding.origin for finding in own} - {now}),
    }


def rows(findings: Sequence[Finding]) -> list[dict[str, Any]]:
    """One row per number that was judged, for Parquet."""
    return [
        {
            "parameter": finding.parameter,
            "reading": finding.reading,
            **check.model_dump(),
            "seeds": finding.seeds,
            "version": finding.version,
            "build": finding.build,
        }
        for finding in findings
        for check in finding.verdicts
    ]


def write(told_now: dict[str, Any], folder: Path) -> list[Path]:
    """Write sensitivity.json and sensitivity.parquet."""
    folder.mkdir(parents=True, exist_ok=True)
    files = [folder / "sensitivity.json", folder / "sensitivity.parquet"]
    atomic_files.write_text(files[0], json.dumps(told_now, indent=1) + "\n")
    found = [Finding.model_validate(finding) for finding in told_now["findings"]]
    pl.DataFrame(rows(found), infer_schema_length=None).write_parquet(files[1])
    return files
