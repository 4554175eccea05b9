"""How far F_C depends on what the paper does not publish: one value after the other, the rest as in Figure 5."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from backwater.analysis import plot
from backwater.errors import UsageError
from backwater.papers import Measurements, Runs, Seeds, open_parameters
from backwater.papers.number_tables import NumberTable
from backwater.results import Results

from papers.pft.measured import NONE, Beside, beside
from papers.pft.panels import COLOURS, mean, spread

STRATEGIES = ("AT-RI", "FT-RI")
PLAIN = "as in Figure 5"
PAPER = 2.58
#: Readings with which runs were stopped before their tests were over: they are in no sensitivity run.
ENDLESS = {"start": ("its own",)}


def readings(runs: Runs) -> dict[str, tuple[str, ...]]:
    """By parameter, in the order of sensitivity.toml, the values that were run."""
    _, parameters = open_parameters.load("pft")
    found = {one.text: (*(variant.name for variant in one.variant), *ENDLESS.get(one.id, ())) for one in parameters}
    known = {text: tuple(name for name in names if f"AT-RI {name}" in runs) for text, names in found.items()}
    return {"our choice": (PLAIN,)} | {text: names for text, names in known.items() if names}


def ended(run: Results) -> bool:
    """Whether GPCNeT's tests came to their end in a run."""
    try:
        beside(run)
    except (KeyError, UsageError):
        return False
    return True


def factors(runs: Runs, of: Callable[[Beside, Beside], float] = Beside.factor) -> dict[str, dict[str, float]]:
    """F_C by strategy and reading, each against no throttling with the same reading, where both came to their end."""
    found: dict[str, dict[str, float]] = {strategy: {} for strategy in STRATEGIES}
    for strategy in STRATEGIES:
        for name in (name for names in readings(runs).values() for name in names):
            own, none = runs.get(f"{strategy} {name}"), runs.get(f"{NONE} {name}", runs[NONE])
            if own is not None and ended(own) and ended(none):
                found[strategy][name] = of(beside(own), beside(none))
    return found


def metrics(runs: Runs) -> Measurements:
    found = factors(runs)
    values: Measurements = {f"{strategy} {name}": value for strategy, of in found.items() for name, value in of.items()}
    # A reading that FT does not know changes nothing for it.
    plain = found["FT-RI"][PLAIN]
    return values | {
        "AT-RI": dict(found["AT-RI"]),
        "at_over_ft": {name: value / found["FT-RI"].get(name, plain) for name, value in found["AT-RI"].items()},
    }


def draw(seeds: Seeds, file: Path) -> None:
    groups = readings(seeds[0])
    found, found_99 = ([factors(runs, of) for runs in seeds] for of in (Beside.factor, Beside.factor_99))
    lines = sum(map(len, groups.values())) + len(groups)
    with plot.picture(file, "F_C with m = 18 by what the paper does not publish", 9, 1.2 + 0.19 * lines) as made:
        axes = made.subplots()
        labels: list[tuple[float, str]] = []
        place = 0.0
        for text, names in groups.items():
            at = axes.get_yaxis_transform()
            axes.text(0, place, text, transform=at, fontsize=7.5, fontweight="bold", va="center",
                      bbox={"facecolor": "white", "edgecolor": "none", "pad": 1})  # fmt: skip
            for name in names:
                place += 1
                labels.append((place, name))
                _dots(axes, place, name, found, found_99)
            place += 1.2
        axes.axvline(PAPER, color=plot.BLACK, ls="--", lw=1)
        axes.axvline(1, color=plot.GREY, lw=1)
        axes.annotate(f"paper: {PAPER}", (PAPER, 0), (3, 0), textcoords="offset points", fontsize=8, va="center")
        axes.set_yticks([at for at, _ in labels], [name for _, name in labels])
        axes.set(ylim=(place, -0.8), xlabel="F_C (above 1: throttling helps)")
        axes.grid(visible=True, axis="x")
        handles, names_of = axes.get_legend_handles_labels()
        once = dict(zip(names_of, handles, strict=True))
        made.legend(list(once.values()), list(once), loc="outside lower center", ncols=len(once))


def _dots(axes: Any, place: float, name: str, found: Any, found_99: Any) -> None:
    """The seeds of one reading, and their mean."""
    if all(name not in one[strategy] for one in found for strategy in STRATEGIES):
        axes.annotate(
            "no test came to its end", (1, place), (4, 0), textcoords="offset points", fontsize=7, va="center"
        )
    for number, strategy in enumerate(STRATEGIES):
        height = place + 0.2 * (number - 0.5)
        for every, look in ((found, {"marker": "o", "ms": 5}), (found_99, {"marker": "o", "ms": 4, "mfc": "none"})):
            values = [one[strategy][name] for one in every if name in one[strategy]]
            if values:
                label = strategy if every is found else f"{strategy}, 99 % values"
                axes.plot([min(values), max(values)], [height, height], color=COLOURS[strategy], lw=0.9)
                axes.plot([mean(values)], [height], color=COLOURS[strategy], ls="none", label=label, **look)


def tables(seeds: Seeds) -> Sequence[NumberTable]:
    found, found_99 = ([factors(runs, of) for runs in seeds] for of in (Beside.factor, Beside.factor_99))
    rows = []
    for text, names in readings(seeds[0]).items():
        for name in names:
            told = [_told(every, strategy, name) for strategy in STRATEGIES for every in (found, found_99)]
            rows.append((text, name, *told))
    headings = ("parameter", "value", "AT-RI", "AT-RI, 99 %", "FT-RI", "FT-RI, 99 %")
    return [NumberTable("F_C, mean over seeds (least to most)", headings, tuple(rows), words=2)]


def _told(every: Sequence[Mapping[str, Mapping[str, float]]], strategy: str, name: str) -> str:
    values = [one[strategy][name] for one in every if name in one[strategy]]
    return spread(values) if values else "no end" if any(name in names for names in ENDLESS.values()) else "–"
