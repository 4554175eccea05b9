"""BFC, PCN, Floodgate and Pyrrha: what their figures measure of made-up flows, and that each claim has a number."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from backwater.papers import paper, paper_figure
from backwater.papers.paper_figure import Figure

from papers import hop_by_hop

ROOT = Path(__file__).parents[2]
DATA = ROOT / "tests" / "differential" / "data" / "pyrrha"
SYSTEMS = ("bfc", "floodgate", "pcn", "pyrrha")
FIGURES = [figure for system in SYSTEMS for figure in paper_figure.discover(system)]


def flows(entries: dict[str, int], count: int = 200) -> pl.DataFrame:
    """Flows of 1 KB and 1 MB in turn, the n-th of an entry with n times its slowdown."""
    rows = [
        (number, (1_000, 1_000_000)[number % 2], float(slowdown * (number + 1)), name)
        for name, slowdown in entries.items()
        for number in range(count)
    ]
    table = pl.DataFrame(rows, ("flow", "size_bytes", "slowdown", "traffic"), orient="row")
    return table.with_columns(
        fct_us=pl.col("slowdown"), acked_us=pl.col("slowdown") + 1, done_us=pl.col("slowdown") + 10
    )


#: What figures read from other tables than that of flows, by the names of their functions.
MEASURED = {
    "queues": 1.0,
    "cores": 1e6,
    "sources": 1e5,
    "voqs": 0.0,
    "to_hosts": 1e6,
    "told": 5.0,
    "calm": 6.0,
    "share": 1.0,
    "paused": 10.0,
    "pauses": 100.0,
}


def stub(monkeypatch: pytest.MonkeyPatch, figure: Figure, count: int) -> None:
    """Each run has the same flows; its longest queue is 1 MB."""
    names = sorted({entry for spec in figure.experiment.run for entry in entries_of(figure, spec.scenario)})
    made = flows(dict.fromkeys(names, 1), count)
    monkeypatch.setattr(
        hop_by_hop, "flows", lambda _run, entry="": made.filter(pl.col("traffic").str.starts_with(entry))
    )
    monkeypatch.setattr(hop_by_hop, "peak_bytes", lambda _run, _port="": 1e6)


def entries_of(figure: Figure, scenario: str) -> list[str]:
    """The traffic entries of a scenario."""
    text = (figure.folder / scenario).read_text(encoding="utf-8").partition("[[traffic]]")[2]
    return [line.split('"')[1] for line in text.splitlines() if line.startswith("name = ")]


@pytest.mark.parametrize("quick", [False, True])
@pytest.mark.parametrize("figure", FIGURES, ids=lambda figure: f"{figure.folder.parent.name}-{figure.name}")
def test_every_claim_has_a_number_and_every_run_a_scenario(
    figure: Figure, quick: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    module: Any = figure.module()
    stub(monkeypatch, figure, 39 if figure.name == "leafspine" else 200)
    for name, value in (MEASURED | {"roots": [getattr(module, "ROOT", "")]}).items():
        if hasattr(module, name):
            monkeypatch.setattr(module, name, lambda *_, value=value: value)
    names = [name for spec in figure.experiment.run for name, _ in spec.expand()]
    runs = {name: name for name in names if not figure.skips(name, quick=quick)}
    found = module.metrics(runs)
    asked = {check.metric: claim for claim in figure.claims for check in claim.checks}
    assert asked.keys() <= found.keys()
    for metric, claim in asked.items():
        assert found[metric] is not None or (quick and claim.quick is not None), metric
    for spec in figure.experiment.run:
        assert (figure.folder / spec.scenario).is_file()
        overrides = (*figure.overrides(figure.experiment.profiles[0], spec.name, quick=quick), *spec.set)
        assert figure.scenario(spec, ROOT).resolve(overrides)["switch"]["buffer"]


@pytest.mark.parametrize("system", SYSTEMS)
def test_numbers_of_scenes_that_are_not_described_are_listed_and_not_judged(system: str) -> None:
    headlines = [claim for figure in paper_figure.discover(system) for claim in figure.claims if claim.headline]
    assert headlines
    for claim in headlines:
        assert "Abstract" in claim.paper
        assert claim.undecidable is None or "not described" in claim.undecidable
    known = paper.load(ROOT / "papers" / system)
    assert "abstract" in known.about
    assert known.left


def test_the_published_times_are_those_that_the_tests_of_the_simulator_have() -> None:
    table = hop_by_hop.published(ROOT / "papers" / "pyrrha" / "leafspine" / "published.csv")
    places = {
        "bfc-32q": "leafspine/bfc-32q",
        "dst-pfc": "leafspine/dst-pfc",
        "pyrrha": "leafspine/pyrrha",
        "floodgate": "floodgate/leafspine",
    }
    for column, place in places.items():
        lines = (DATA / place / "fct.txt").read_text(encoding="utf-8").splitlines()
        rows = [line.split() for line in lines if not line.startswith("#")]
        assert table["kind"] == [row[1] for row in rows]
        assert [float(value) for value in table[column]] == [float(row[6]) for row in rows]


def test_the_mean_of_a_kind_is_that_of_its_flows() -> None:
    module: Any = paper_figure.discover("pyrrha", ["leafspine"])[0].module()
    # results.md of that data has the incast of 16 flows under pfc, and 23 flows beside it.
    assert module.PUBLISHED["kind"].count("incast") == 16
    times = [1.0 if kind == "incast" else 3.0 for kind in module.PUBLISHED["kind"]]
    assert module.mean_of(times, ["incast"]) == 1
    assert module.mean_of(times, tuple(module.KINDS)) == pytest.approx((16 + 23 * 3) / 39)


@pytest.mark.parametrize("power", [0.5, 1.0, 2.0])
def test_a_buffer_that_grows_by_a_power_of_the_flows_has_that_exponent(
    power: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    module: Any = paper_figure.discover("bfc", ["incast"])[0].module()
    monkeypatch.setattr(hop_by_hop, "peak_bytes", lambda run, _port="": 1000 * int(run) ** power)
    monkeypatch.setattr(hop_by_hop, "flows", lambda _run, _entry="": flows({"incast": 1}))
    found = module.metrics({str(count): str(count) for count in (2, 4, 8, 16, 32, 64)})
    assert found["buffer_exponent"] == pytest.approx(power)
    # 64 flows have fewer queues than flows.
    assert set(found["link_share"]) == {f"{count} flows" for count in (2, 4, 8, 16, 32)}


def test_flows_on_a_link_without_a_gap_have_all_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    module: Any = paper_figure.discover("bfc", ["incast"])[0].module()
    # Two flows of 1000 packets of 1076 B at 100 Gbps: 2 x 86.08 us.
    done = pl.DataFrame({"done_us": [86.08, 2 * 86.08]})
    monkeypatch.setattr(hop_by_hop, "flows", lambda _run, _entry="": done)
    assert module.share(None, 2) == pytest.approx(1)


def test_a_flow_without_an_end_leaves_nothing_to_measure() -> None:
    assert hop_by_hop.mean(pl.Series([1.0, None])) is None
    assert hop_by_hop.p99(pl.Series([], dtype=pl.Float64)) is None
    assert hop_by_hop.ratio(1.0, None) is None
    assert hop_by_hop.ratio(1.0, 0.0) is None
    assert hop_by_hop.over_seeds([1.0, None]) == "–"


def test_a_99th_percentile_is_a_value_by_nearest_rank() -> None:
    values = pl.Series([float(value) for value in range(1, 201)])
    assert hop_by_hop.p99(values) == 198 == math.ceil(0.99 * 200)
    assert hop_by_hop.p99(pl.Series([5.0])) == 5


def test_the_equations_of_the_appendix_are_those_of_its_symbols() -> None:
    module: Any = paper_figure.discover("floodgate", ["bounds"])[0].module()
    # 1.5 round trips of a link of 600 ns and 10 us at 400 Gbps: 90 KB and 500 KB, as config-dcqcn-floodgate.ini has it.
    assert module.WINDOW == 90_000 + 500_000
    # Equation (2) with K1 = 9, n = 16, K2 = 4: a core of two BDPs for each of 16 hosts.
    assert module.BDP * (9 - 1) * module.N / module.K2 == 32 * module.BDP


def test_an_rtt_of_the_public_scene_is_four_links_and_what_crosses_them() -> None:
    module: Any = paper_figure.discover("pcn", ["burst"])[0].module()
    # 1030 B are 0.206 us at 40 Gbps, a CNP of 64 B 0.0128 us; each crosses two links of 1 us.
    assert pytest.approx(4 + 2 * (0.206 + 0.0128)) == module.RTT


def test_rates_are_calm_from_the_first_sample_within_the_link_after_the_first_cnp(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    module: Any = paper_figure.discover("pcn", ["burst"])[0].module()
    # Before the first CNP, at 2 us, nobody sends; then two flows have all of the link each, and half from 5 us on.
    rates = pl.DataFrame({"time_us": [1.0, 2.0, 4.0, 5.0], "rate": [0.0, 80e9, 80e9, 39e9]})
    monkeypatch.setattr(module, "told", lambda _run: 2.0)
    monkeypatch.setattr(module, "sums", lambda _run: rates)
    assert module.calm(None) == 5
    assert module.rtts(None) == pytest.approx(3 / module.RTT)
    assert module.share(None) == pytest.approx(39 / 40 / (127 / 128))
