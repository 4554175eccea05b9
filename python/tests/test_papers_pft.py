"""What the figures of the PFT paper measure, on tables that a reader can check in the head; every claim has a place."""

from pathlib import Path

import pft_scenes as scenes
import pytest
from backwater import Results
from backwater.papers import claims, open_parameters, paper_figure, reproduce, sensitivity
from backwater.papers.number_tables import NumberTable

from papers.pft import laws, measured

#: What the paper claims, and what it contradicts itself in, by number, and where it is judged.
PLACES = {
    "fig1": ["P6", "P7", "P8"],
    "fig2": ["P1", "P2", "P3", "P4", "P14"],
    "fig3": ["P9"],
    "fig4": ["P10"],
    "fig5": ["P11", "P12", "P13"],
    "micro": ["P5", "P15"],
    "queueing": ["P11", "P12"],
    "readings": [f"I{number}" for number in range(1, 17)],
    "spread": ["P12", "P13"],
}
FIGURES = [figure.name for figure in paper_figure.discover("pft")]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the made-up runs are that figures share."""
    return tmp_path_factory.mktemp("runs")


def made_up(folder: Path, figure: str, name: str) -> Results:
    """A run, made at the first time that it is wanted."""
    kind = figure if figure in ("fig1", "fig2", "levels", "micro") else "gpcnet"
    place = folder / f"{kind} {name}".replace(" ", "-")
    if place.exists():
        return Results(place)
    if kind == "fig2":
        return scenes.results(place, ports=scenes.links())
    if kind == "levels":
        return scenes.levels(place, name)
    if kind == "micro":
        return scenes.incast(place, name)
    if kind == "gpcnet":
        return scenes.gpcnet(place, name)
    law, shift, delay = name.split()
    used = {"500ns": 100, "1us": 300, "2us": 700, "4us": 1500, "8us": 3000, "32us": 6000}[delay]
    return scenes.one_nic(place, used, laws.law(law, used, int(shift)))


def runs_of(name: str, folder: Path, *, quick: bool) -> dict[str, Results]:
    """A made-up run for each that a figure has."""
    figure = paper_figure.discover("pft", [name])[0]
    names = [run for spec in figure.experiment.run for run, _ in spec.expand()]
    return {run: made_up(folder, name, run) for run in names if not figure.skips(run, quick=quick)}


def test_every_claim_of_the_paper_has_its_place() -> None:
    found = {figure.name: [claim.id for claim in figure.claims] for figure in paper_figure.discover("pft")}
    for place, numbers in PLACES.items():
        told = {claim.removeprefix("PFT-").split("-")[0] for claim in found[place]}
        assert {one for one in told if one[0] not in "MQ"} == set(numbers)
    every = {one for numbers in PLACES.values() for one in numbers}
    assert every == {f"P{number}" for number in range(1, 16)} | {f"I{number}" for number in range(1, 17)}


def test_the_paper_s_factor_is_a_target_of_an_order_of_magnitude_in_both_readings() -> None:
    found = {claim.id: claim for claim in paper_figure.discover("pft", ["fig5"])[0].claims}
    for name in ("PFT-P12", "PFT-P12-available"):
        assert [check.bound.text for check in found[name].checks] == ["1.5..4"]


@pytest.mark.parametrize("quick", [False, True])
@pytest.mark.parametrize("name", FIGURES)
def test_every_figure_measures_what_its_claims_ask_and_is_drawn(
    name: str, quick: bool, folder: Path, tmp_path: Path
) -> None:
    figure = paper_figure.discover("pft", [name])[0]
    runs = runs_of(name, folder, quick=quick)
    module = figure.module()
    found = module.metrics(runs)
    for claim in figure.claims:
        left_out = quick and claim.quick is not None
        if claim.undecidable is None and not left_out:
            assert claims.judge(claim, name, "hpc", [found]).verdict is not claims.Verdict.NOT_DECIDABLE
    seeds = [runs, runs] if runs else []
    module.draw(seeds, tmp_path / "picture.png")
    assert (tmp_path / "picture.png").stat().st_size > 10_000
    tables: list[NumberTable] = list(getattr(module, "tables", lambda _: ())(seeds))
    assert all(isinstance(table, NumberTable) and table.rows for table in tables)


def test_with_half_the_latency_and_twice_the_bandwidth_the_control_factor_is_four(tmp_path: Path) -> None:
    # A turn of the bandwidth test is 4 messages of 128 KiB: 0.5 MiB. An exchange has two messages, one after the other.
    none = scenes.results(tmp_path / "none", timings=scenes.timings([200, 400], [5000, 5000]), ranks=scenes.ranks())
    half = scenes.results(tmp_path / "half", timings=scenes.timings([100, 200], [2500, 2500]), ranks=scenes.ranks())
    found = measured.beside(none)
    assert found.latency == pytest.approx(150)
    assert found.bandwidth == pytest.approx(100)
    assert measured.factors({"none": none, "AT-RI 18": half}) == {"AT-RI 18": pytest.approx(4)}
    assert measured.processes(half, "lat") == pytest.approx([50, 100])


def test_fi_is_the_rate_of_one_flit_and_f_cycles() -> None:
    # A flit of 16 B takes 1.28 ns at 100 Gbps, a cycle of 700 MHz 10/7 ns.
    rates = [1.28 / (1.28 + f * 10 / 7) for f in (0, 0, 1, 4, 16)]
    assert [laws.fixed(c, 8) for c in (0, 255, 256, 1024, 4096)] == pytest.approx(rates)
    assert laws.fixed(4095, 12) == 1


def test_ri_with_the_setting_of_the_paper_spans_all_rates_over_4096_credits() -> None:
    # In a cycle a flit goes with probability 1 - c / 4096: 0.8555, 0.8359 and 0.75 here.
    rates = [1.28 / (1.28 + (4096 / (4096 - c) - 1) * 10 / 7) for c in (0, 592, 672, 1024)]
    assert [laws.random(c, 18) for c in (0, 592, 672, 1024, 4096)] == pytest.approx([*rates, 0])
    assert laws.random(257, 22) == 0


def test_a_negative_f_counts_as_none() -> None:
    assert laws.interval(100, 0, 4, -10) == 0
    assert laws.interval(160, 0, 4, -3) == 7


def test_algorithm_2_as_read_here_alternates_between_its_thresholds_and_rests_outside_of_them() -> None:
    assert laws.Printed().share(laws.ENTER, 5000) == 0
    assert laws.Printed().share(632, 1536) == pytest.approx(0.5, abs=0.001)
    above = laws.Printed()
    assert above.share(laws.ESCAPE, 768) == pytest.approx(1 / 768)
    assert above.share(laws.ESCAPE, 5000) == 1


def test_a_mark_is_off_by_what_lies_outside_of_one_packet(tmp_path: Path) -> None:
    fig1 = paper_figure.discover("pft", ["fig1"])[0].module()
    fine = scenes.one_nic(tmp_path / "fine", 1010, laws.fixed(1024, 8))
    assert fig1.mark("FI 8 1us", fine).off == pytest.approx(0, abs=1e-4)  # type: ignore[attr-defined]
    wrong = scenes.one_nic(tmp_path / "wrong", 1100, 0.3)
    assert fig1.mark("FI 8 1us", wrong).off == pytest.approx(0.3 - laws.fixed(1100, 8), abs=1e-4)  # type: ignore[attr-defined]
    starved = scenes.one_nic(tmp_path / "starved", 8170, 1.0)
    assert fig1.marks({"RI 15 32us": starved}) == []  # type: ignore[attr-defined]


def test_the_incast_tells_when_senders_were_cut_and_what_bystanders_got(tmp_path: Path) -> None:
    micro = paper_figure.discover("pft", ["micro"])[0].module()
    runs = {name: scenes.incast(tmp_path / name.replace(" ", "-"), name) for name in micro.RUNS}  # type: ignore[attr-defined]
    found = micro.metrics(runs)
    assert found["AT-RI_first_cut_over_dcqcn"] == pytest.approx(3 / 9)
    assert found["AT-RI_half_cut_over_dcqcn"] == pytest.approx(4.1 / 9)
    assert found["uncongested_used_share"] == pytest.approx(140 / 4096)
    assert found["AT-RI_tree_over_none"] == pytest.approx(60 / 8)
    assert found["AT-RI_used_over_none"] == pytest.approx(0.5)


def test_what_nics_count_is_told_from_what_waits_further_in(tmp_path: Path) -> None:
    levels = paper_figure.discover("pft", ["levels"])[0].module()
    run = scenes.levels(tmp_path / "one", "incast none")
    # The second half alone counts.
    assert levels.waiting(run) == {"first": 100, "spine": 40, "last": 10}  # type: ignore[attr-defined]


def test_every_reading_of_what_the_paper_leaves_open_has_figures_and_stands_on_the_page_of_the_spread() -> None:
    _, parameters = open_parameters.load("pft")
    assert all(case.figures for case in sensitivity.cases("pft", parameters, ["hpc"]))
    spread = paper_figure.discover("pft", ["spread"])[0]
    runs = {run for spec in spread.experiment.run for run, _ in spec.expand()}
    assert {f"AT-RI {variant.name}" for one in parameters for variant in one.variant} <= runs


def test_a_reading_with_which_no_test_ends_has_no_factor(tmp_path: Path) -> None:
    spread = paper_figure.discover("pft", ["spread"])[0].module()
    names = ("none", "AT-RI as in Figure 5", "FT-RI as in Figure 5", "none its own", "FT-RI its own")
    runs = {name: scenes.gpcnet(tmp_path / name.replace(" ", "-"), name) for name in names}
    nothing = scenes.timings([1], [1]).clear()
    runs["AT-RI its own"] = scenes.results(tmp_path / "cut", timings=nothing, ranks=scenes.ranks())
    found = spread.factors(runs)  # type: ignore[attr-defined]
    assert set(found["AT-RI"]) == {"as in Figure 5"}
    assert set(found["FT-RI"]) == {"as in Figure 5", "its own"}


@pytest.mark.parametrize("quick", [False, True])
def test_every_run_of_every_figure_is_a_valid_scenario(quick: bool, tmp_path: Path) -> None:
    figures = paper_figure.discover("pft")
    made = reproduce.plan(figures, ["hpc"], 1, tmp_path, quick=quick)
    assert {cell.figure for cell in made.cells} == {figure.name for figure in figures} - {"readings"}


def test_every_run_of_every_reading_is_a_valid_scenario(tmp_path: Path) -> None:
    _, parameters = open_parameters.load("pft")
    found = sensitivity.plan(sensitivity.cases("pft", parameters, ["hpc"]), 1, tmp_path, quick=False)
    assert found.jobs


def test_the_page_of_the_spread_shares_the_runs_of_the_sensitivity() -> None:
    _, parameters = open_parameters.load("pft", ["delay"])
    case = sensitivity.cases("pft", parameters, ["hpc"])[1]
    figure = case.figures[0]
    (spec,) = (spec for spec in figure.experiment.run if spec.name == "AT-RI")
    own = next(overrides for name, overrides in spec.expand() if name == "AT-RI 18")
    texts = (*figure.overrides("hpc", "AT-RI 18", quick=False), *own, *figure.last("AT-RI 18"))
    spread = paper_figure.discover("pft", ["spread"])[0]
    (other,) = (spec for spec in spread.experiment.run if spec.name == f"AT-RI {parameters[0].variant[0].name}")
    assert (*spread.overrides("hpc", other.name, quick=False), *other.set) == texts
