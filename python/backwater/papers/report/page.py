"""The HTML page of a reproduction, from a template; every text is escaped by it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from backwater.papers.claims import Judged, Measured, Verdict
from backwater.papers.definitions import Held
from backwater.papers.kinds import Kind
from backwater.papers.paper import Paper
from backwater.papers.paper_figure import Figure
from backwater.papers.report import order
from backwater.papers.report.order import every
from backwater.papers.report.pictures import embedded
from backwater.papers.report.text import bound, ours
from backwater.papers.reproduce import FigureRun, Reproduced

#: A sign and a word for each verdict, so that colours are not needed to tell them apart.
SIGNS = {
    Verdict.HOLDS: "✓",
    Verdict.DIFFERS: "✗",
    Verdict.OPEN: "◇",
    Verdict.NOT_DECIDABLE: "◐",
    Verdict.NOT_RUN: "○",
    Verdict.NOT_CHECKED: "○",
}


def html(
    figures: Sequence[Reproduced],
    paper: Paper,
    facts: Sequence[tuple[str, str]],
    held: Sequence[Held] = (),
    *,
    quick: bool = False,
    sensitivity: Mapping[str, Any] | None = None,
    marks: Sequence[str] = (),
) -> str:
    """One self-contained page: tally, every claim, and per figure setting, pictures, verdicts, open parameters."""
    environment = Environment(
        loader=PackageLoader("backwater.papers.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    names = list(dict.fromkeys(item.figure.name for item in figures))
    literal = {item.profile for item in figures if item.figure.is_literal(item.profile)}
    profiles = sorted(dict.fromkeys(item.profile for item in figures), key=lambda one: one not in literal)
    shown: dict[tuple[str, str], str] = {}
    anchors = _anchors(figures)
    return environment.get_template("report.html").render(
        paper=paper,
        facts=facts,
        quick=quick,
        profiles=profiles,
        literal=literal,
        signs=[(str(verdict), SIGNS[verdict], _slug(verdict)) for verdict in Verdict],
        tally=[_tally(figures, profile) for profile in profiles],
        overview=_overview(figures, profiles, anchors),
        figures=[_figure([item for item in figures if item.figure.name == name], shown, anchors) for name in names],
        definitions=[_defined(item) for item in held],
        missing=[(_named(item), item.missing, item.failure) for item in figures if item.missing or item.failure],
        sensitivity=sensitivity,
        marks=marks,
    )


def _slug(verdict: Verdict) -> str:
    return str(verdict).replace(" ", "-")


def _named(item: Reproduced) -> str:
    return f"{item.figure.name}, {item.profile}"


def _tally(figures: Sequence[Reproduced], profile: str) -> dict[str, Any]:
    """How many claims hold under a profile, by kind; how many of the kinds that are not counted there are."""
    judged = [one for one in every(figures) if one.profile == profile]
    found = order.counts(judged)
    counted = [
        (kind.some(2), [_verdict(Verdict(word)) | {"count": count} for word, count in found[kind].items()])
        for kind in Kind
        if kind.counts and kind in found
    ]
    return {"profile": profile, "counted": counted, "beside": order.uncounted(found)}


def _verdict(verdict: Verdict, word: str = "") -> dict[str, Any]:
    return {"word": word or str(verdict), "sign": SIGNS[verdict], "slug": _slug(verdict)}


def _defined(item: Held) -> dict[str, Any]:
    shown = item.definition.model_dump(include={"id", "text", "paper", "tests"})
    return shown | {"verdict": _verdict(item.verdict), "reason": item.reason}


def _anchors(figures: Sequence[Reproduced]) -> dict[tuple[str, str], str]:
    """Per figure and claim its place on the page: the claim's id, with the figure where an earlier one has that id."""
    found: dict[tuple[str, str], str] = {}
    for item in figures:
        for claim in item.figure.claims:
            key = (item.figure.name, claim.id)
            found.setdefault(key, f"{claim.id}-{item.figure.name}" if claim.id in found.values() else claim.id)
    return found


def _overview(
    figures: Sequence[Reproduced], profiles: Sequence[str], anchors: Mapping[tuple[str, str], str]
) -> list[dict[str, Any]]:
    """One row per claim, with its verdict in each profile, by parts: headlines first, what is not counted last.

    A claim that figures of different profiles have is one row, with a text and a place on the page for each figure.
    """
    return [{"title": title, "rows": _rows(judged, profiles, anchors)} for title, judged in order.parts(every(figures))]


def _rows(
    part: Sequence[Judged], profiles: Sequence[str], anchors: Mapping[tuple[str, str], str]
) -> list[dict[str, Any]]:
    by_claim: dict[tuple[str, str], dict[str, Judged]] = {}
    for judged in part:
        together = by_claim.setdefault((judged.claim.id, ""), {})
        if judged.profile in together:
            together = by_claim.setdefault((judged.claim.id, judged.figure), {})
        together[judged.profile] = judged
    rows = []
    for (claim, _), by_profile in by_claim.items():
        texts = {judged.figure: judged.claim.text for judged in by_profile.values()}
        places = [{"figure": name, "anchor": anchors[name, claim], "text": text} for name, text in texts.items()]
        verdicts = [
            _verdict(by_profile[profile].verdict, by_profile[profile].word) if profile in by_profile else None
            for profile in profiles
        ]
        rows.append({"id": claim, "places": places, "verdicts": verdicts})
    return rows


def _figure(
    profiles: Sequence[Reproduced], shown: dict[tuple[str, str], str], anchors: Mapping[tuple[str, str], str]
) -> dict[str, Any]:
    """Everything that the page says of one figure; `shown` remembers what stands in an earlier one."""
    figure = profiles[0].figure
    experiment = figure.experiment
    own, repeated = [], []
    for assumption in experiment.assumption:
        key = (assumption.parameter, assumption.value)
        if key in shown:
            repeated.append((assumption.parameter, shown[key]))
        else:
            shown[key] = figure.name
            own.append(assumption)
    return {
        "name": figure.name,
        "paper": experiment.paper,
        "title": experiment.title,
        "about": experiment.about,
        "pictures": _pictures(profiles),
        "tables": [(item.profile, table) for item in profiles for table in item.tables],
        "quick": _shrunk(figure),
        "states": [_state(item) for item in profiles],
        "claims": [_claim(claim.id, profiles) | {"anchor": anchors[figure.name, claim.id]} for claim in figure.claims],
        "runs": [(item.profile, _runs(item)) for item in profiles if item.cells],
        "assumptions": own,
        "repeated": repeated,
    }


def _shrunk(figure: Figure) -> dict[str, Any]:
    """What a quick look changes of a figure."""
    quick = figure.experiment.quick
    return {"seeds": quick.seeds, "set": figure.shrunk(quick=True), "skip": quick.skip}


def _pictures(profiles: Sequence[Reproduced]) -> list[dict[str, str]]:
    """The pictures of a figure; one for several profiles where it is the same, as that of a formula."""
    found: dict[str, list[str]] = {}
    for item in profiles:
        if item.picture is not None:
            found.setdefault(embedded(item.picture), []).append(item.profile)
    return [{"data": data, "profile": " and ".join(names)} for data, names in found.items()]


def _state(item: Reproduced) -> dict[str, Any]:
    """How complete a figure is under a profile."""
    analytic = not item.figure.experiment.run
    return {
        "profile": item.profile,
        "seeds": "arithmetic, no runs" if analytic else f"{len(item.runs)} of {item.asked} seeds",
        "missing": item.missing,
        "failure": item.failure,
    }


def _claim(name: str, profiles: Sequence[Reproduced]) -> dict[str, Any]:
    judged = [one for item in profiles for one in item.judged if one.claim.id == name]
    judged.sort(key=lambda one: not one.literal)
    claim = judged[0].claim
    return {
        "id": name,
        "text": claim.text,
        "paper": claim.paper,
        "rows": [
            {
                "profile": one.profile,
                "verdict": _verdict(one.verdict, one.word),
                "checks": [_check(one, item) for item in one.measured],
                "seeds": one.seeds,
                "reason": one.reason,
            }
            for one in judged
        ],
    }


def _check(judged: Judged, item: Measured) -> dict[str, str]:
    return {
        "name": item.check.metric.replace("_", " ") if len(judged.measured) > 1 else "",
        "ours": ours(item),
        "bound": bound(item.check.bound.text),
        "sign": SIGNS[item.verdict],
        "slug": _slug(item.verdict),
    }


def _runs(item: Reproduced) -> dict[str, Any]:
    """The runs of a figure under a profile: what they set, and the digest of each seed."""
    by_run: dict[str, list[FigureRun]] = {}
    for cell in item.cells:
        by_run.setdefault(cell.run, []).append(cell)
    common = _common([cells[0].overrides for cells in by_run.values()])
    seeds = sorted({cell.seed for cell in item.cells})
    cpu = sum(float(run.meta.get("cpu_s", 0)) for runs in item.runs.values() for run in runs.values())
    rows = [
        {
            "name": name,
            "scenario": cells[0].scenario,
            "set": [text for text in cells[0].overrides if text not in common],
            "digests": [(seed, item.runs[seed][name].digest if seed in item.runs else None) for seed in seeds],
        }
        for name, cells in by_run.items()
    ]
    return {"common": common, "rows": rows, "seeds": len(seeds), "cpu": f"{cpu:.0f} s" if cpu >= 1 else "below 1 s"}


def _common(overrides: Sequence[Sequence[str]]) -> list[str]:
    return [text for text in overrides[0] if all(text in others for others in overrides)] if overrides else []
