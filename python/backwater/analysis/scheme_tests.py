"""Schemes against the first one, seed by seed: what is lower, what is higher, and what chance would do as well."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from backwater.common import paired, quantities
from backwater.common.late import pl
from backwater.common.paired import Paired
from backwater.results.catalogue import CATALOGUE

#: What is compared of a traffic entry if the user does not say: the fewer, the less chance can do.
_OF_FLOWS = ("mean_slowdown", "p99_slowdown")
_OF_APPLICATIONS = ("application_ps",)
_OF_OTHERS = ("goodput_bps",)


@dataclass(frozen=True)
class Row:
    """What was measured of a traffic entry in one run; `at` says at which values of what is varied."""

    scheme: str
    at: str
    traffic: str
    seed: int
    values: Mapping[str, Any]


@dataclass(frozen=True)
class Against:
    """A scheme against the first one; `traffic` is empty for what is of the run as a whole."""

    at: str
    traffic: str
    measure: str
    scheme: str
    first: str
    found: Paired

    def as_row(self) -> dict[str, Any]:
        """Plain values, for a table or JSON."""
        one = self.found
        names = ("kind", "effect", "low", "high", "pairs", "lower", "higher", "p", "p_holm", "shown")
        what = {"at": self.at} if self.at else {}
        what |= {"traffic": self.traffic, "measure": self.measure, "scheme": self.scheme, "against": self.first}
        return what | {name: getattr(one, name) for name in names}


def of(rows: Iterable[Row], measures: Sequence[str] = ()) -> list[Against]:
    """Each scheme against that of the first row, for every entry, measure and place, with one correction for all.

    `measures` are those that are compared; by default those that tell most of an entry. Seeds without a value under
    either scheme are left out.
    """
    known: dict[tuple[str, str, str], dict[str, dict[int, float]]] = {}
    every = list(rows)
    schemes = list(dict.fromkeys(row.scheme for row in every))
    chosen = {traffic: measures or _chosen(every, traffic) for traffic in dict.fromkeys(row.traffic for row in every)}
    for row in every:
        for name in chosen[row.traffic]:
            value = row.values.get(name)
            if value is not None:
                whose = "" if CATALOGUE[name].scope == "run" else row.traffic
                known.setdefault((whose, name, row.at), {}).setdefault(row.scheme, {})[row.seed] = float(value)
    first, *others = schemes
    found: list[tuple[tuple[str, str, str], str, Paired]] = []
    compared: list[Hashable] = []
    for what, by_scheme in known.items():
        base = by_scheme.get(first, {})
        for scheme in others:
            seeds = [seed for seed in base if seed in by_scheme.get(scheme, {})]
            if len(seeds) > 1:
                mine = [base[seed] for seed in seeds]
                values = [by_scheme[scheme][seed] for seed in seeds]
                found.append((what, scheme, paired.compared(mine, values)))
                # The same runs under another name, or where what is varied changes neither scheme.
                compared.append((what[:2], *mine, *values))
    corrected = paired.corrected([one for _, _, one in found], compared)
    return [
        Against(at, traffic, measure, scheme, first, one)
        for ((traffic, measure, at), scheme, _), one in zip(found, corrected, strict=True)
    ]


def _chosen(rows: Sequence[Row], traffic: str) -> tuple[str, ...]:
    mine = [row.values for row in rows if row.traffic == traffic]
    for names in (_OF_APPLICATIONS, _OF_FLOWS):
        if known := tuple(name for name in names if any(values.get(name) is not None for values in mine)):
            return known
    return _OF_OTHERS


def table(found: Sequence[Against]) -> pl.DataFrame:
    """One row for each comparison."""
    return pl.DataFrame([one.as_row() for one in found], infer_schema_length=None)


def sentences(found: Sequence[Against], over: str = "") -> list[str]:
    """What they say, a sentence for each scheme, entry and measure; `over` names what is varied."""
    if not found:
        return []
    groups: dict[tuple[str, str, str], list[Against]] = {}
    for one in found:
        groups.setdefault((one.traffic, one.measure, one.scheme), []).append(one)
    seeds = sorted({one.found.pairs for one in found})
    compared = found[0].found.among
    words = " to ".join(map(str, dict.fromkeys((seeds[0], seeds[-1]))))
    head = [
        f"Against {found[0].first}, seed by seed ({words} seeds): the ratio of the values with its 95 % interval.",
        f"p: Wilcoxon's signed-rank test, with Holm's correction for {_comparisons(compared)}.",
    ]
    needed = paired.pairs_needed(max(1, compared))
    told = [_over(group, over) if over else _sentence(group[0], needed) for group in groups.values()]
    few = compared > 0 and seeds[-1] < needed
    need = f"{_comparisons(compared)} need{'s' * (compared == 1)}"
    rest = [f"{seeds[-1]} seeds tell no difference from chance: {need} --seeds {needed} or more."]
    return [*head, *told, *(rest if few else [])]


def of_one_seed() -> str:
    """What is said in place of tests."""
    return f"One seed has no intervals over seeds, and nothing to test: --seeds {paired.pairs_needed(1)} or more."


def _comparisons(count: int) -> str:
    return f"{count} comparison{'' if count == 1 else 's'}"


def _sentence(one: Against, needed: int) -> str:
    return f"{_of(one)}: {_compared(one, needed)}."


def _of(one: Against) -> str:
    return ", ".join(filter(None, (one.traffic, CATALOGUE[one.measure].words)))


def _compared(one: Against, needed: int) -> str:
    """Such as "TCD's is lower, 0.71 times ECN's (0.66 to 0.77; 12 seeds, p = 0.012)"."""
    found = one.found
    if found.shown == "equal":
        return f"{one.scheme}'s is {one.first}'s in each of {found.pairs} seeds"
    if found.shown == "fixed":
        return f"{one.scheme}'s is {effect(one, ends=False)} in each of {found.pairs} seeds, which change nothing"
    if found.shown:
        return f"{one.scheme}'s is {found.shown}, {effect(one)}, {chance(found)}"
    doubt = "too few to tell from chance" if found.pairs < needed else "not told from chance"
    return f"{one.scheme}'s is {effect(one)}, {chance(found)}: {doubt}"


def effect(one: Against, *, ends: bool = True) -> str:
    """How large the difference is: "0.71 times ECN's (0.66 to 0.77)"."""
    found = one.found
    interval = f" ({_interval(one)})" if ends and _interval(one) else ""
    return f"{_show(one, found.effect)} {'times' if found.kind == 'ratio' else 'against'} {one.first}'s{interval}"


def _show(one: Against, value: float) -> str:
    return _number(value) if one.found.kind == "ratio" else _signed(value, CATALOGUE[one.measure].show)


def _interval(one: Against) -> str:
    """Its ends, where it has some: "0.66 to 0.77"."""
    low, high = one.found.low, one.found.high
    return "" if low is None or high is None else f"{_show(one, low)} to {_show(one, high)}"


def _number(value: float) -> str:
    return quantities.three_digits(value)


def _signed(value: float, show: Any) -> str:
    return f"{'−' if value < 0 else '+'}{show(abs(value))}"


def chance(found: Paired) -> str:
    """The p that counts: "12 seeds, p = 0.012"."""
    return f"{found.pairs} seeds, p = {p_text(found.p_holm)}"


def p_text(p: float) -> str:
    """A p with two digits.

    >>> p_text(0.0312), p_text(1.0), p_text(0.00002)
    ('0.031', '1', '< 0.001')
    """
    return "< 0.001" if p < 0.001 else f"{p:.2g}"


def _over(group: Sequence[Against], over: str) -> str:
    """One sentence of a scheme over all values of what is varied."""
    parts = []
    for shown, words in (
        ("lower", "lower"),
        ("higher", "higher"),
        ("", "not told from chance"),
        ("equal", "the same"),
        ("fixed", "in every seed alike"),
    ):
        mine = [one for one in group if one.found.shown == shown]
        if mine:
            parts.append(f"{words} at {', '.join(f'{one.at} ({_short(one)})' for one in mine)}")
    names = f"{group[0].scheme} against {group[0].first} over {over}"
    return f"{_of(group[0])}, {names}: {'; '.join(parts)}."


def _short(one: Against) -> str:
    found = one.found
    if found.shown == "equal":
        return "1"
    if found.shown == "fixed":
        return effect(one, ends=False)
    p = p_text(found.p_holm) if found.p_holm < 0.001 else f"= {p_text(found.p_holm)}"
    return ", ".join(filter(None, (_show(one, found.effect), _interval(one), f"p {p}")))
