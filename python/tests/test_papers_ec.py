"""What the figures of the EC paper measure, on tables that a reader can check in the head; every claim has a place."""

from pathlib import Path

import polars as pl
import pytest
from backwater import Results
from backwater.analysis import put_trace
from backwater.papers import claims, open_parameters, paper_figure, sensitivity
from backwater.papers.number_tables import NumberTable
from backwater.scenario import schemes
from backwater.scenario.scenario import Scenario
from ec_scenes import FRAME, US, queue, results, stream, write

from papers.ec import authors, compare, measured, traces

#: What the paper claims, by number, and where it is judged.
PLACES = {
    "network": ["E1"],
    "fig03": ["E2", "E3"],
    "fig04-05": ["E4", "E5", "E6", "E8", "E9", "E10", "E11", "E12", "E13"],
    "fig06-07": ["E14", "E15", "E16"],
    "fig08-09": ["E17", "E18", "E21", "E22"],
    "fig10": ["E19"],
    "waste": ["E7"],
    "headline": ["E20"],
}
FIGURES = [figure.name for figure in paper_figure.discover("ec")]
WINDOW_BYTES = 250_000 * 12.8
"""What the link carries in the window of 250 µs."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the made-up runs are that figures share."""
    return tmp_path_factory.mktemp("runs")


def made_up(folder: Path, name: str, drain: str) -> Results:
    """A run, made at the first time that it is wanted."""
    place = folder / f"{name} {drain}".replace(" ", "-")
    return Results(place) if place.exists() else write(place, name, drain)


def runs_of(name: str, folder: Path, *, quick: bool) -> dict[str, Results]:
    """A made-up run for each that a figure has."""
    figure = paper_figure.discover("ec", [name])[0]
    found = {}
    for spec in figure.experiment.run:
        for run, overrides in spec.expand():
            if not figure.skips(run, quick=quick):
                drains = [text.split("=")[1].strip('"') for text in overrides if text.startswith("host.drain=")]
                found[run] = made_up(folder, run, drains[-1] if drains else "51.2Gbps")
    return found


def test_every_claim_of_the_paper_has_its_place() -> None:
    found = {figure.name: [claim.id for claim in figure.claims] for figure in paper_figure.discover("ec")}
    for place, numbers in PLACES.items():
        told = {claim.removeprefix("EC-").split("-")[0] for claim in found[place]}
        assert {one for one in told if one.startswith("E")} == set(numbers)
    assert sorted(int(one[1:]) for numbers in PLACES.values() for one in numbers) == list(range(1, 23))


def test_the_paper_s_number_stays_the_bound_of_every_reading_of_the_waste() -> None:
    waste = paper_figure.discover("ec", ["waste"])[0]
    bounds = {check.bound.text for claim in waste.claims if claim.id != "EC-E7-own" for check in claim.checks}
    assert bounds == {"1.75..1.85"}


@pytest.mark.parametrize("name", ["unicast", "incast", "greedy", "never-idle"])
def test_every_scenario_runs_under_the_three_policies(name: str) -> None:
    file = Path(__file__).parents[2] / "papers" / "ec" / "scenarios" / f"{name}.toml"
    assert [scheme.name for scheme in schemes.of(Scenario.load(file))] == list(measured.POLICIES)


def events(folder: Path, *rows: tuple[int, str, int, str | None]) -> Results:
    """A run with these events of one stream: µs, event, number, state."""
    node = pl.when(pl.col("event").is_in(["accepted", "processed"]) | pl.col("event").str.ends_with("-sent"))
    table = pl.DataFrame(rows, schema=["us", "event", "seq", "state"], orient="row").with_columns(
        time_ps=pl.col("us") * US, queue_bytes=None, src=pl.lit("h1"), dst=pl.lit("h0"), traffic=pl.lit("put"),
        node=node.then(pl.lit("h0")).otherwise(pl.lit("h1")),
    )  # fmt: skip
    return results(folder, "51.2Gbps", puts=table)


def test_an_ack_that_names_another_packet_than_that_below_the_threshold_is_counted(tmp_path: Path) -> None:
    module = paper_figure.discover("ec", ["fig01"])[0].module()
    # Seven packets of 2112 B: the fifth begins at 8448 B, below 8992 B; the sixth at 10 560 B.
    rows: list[tuple[int, str, int, str | None]] = []
    for seq in range(1, 8):
        rows += [(seq, "accepted", seq, None), *([(seq, "iack-sent", seq, None)] if seq < 5 else [])]
    rows += [(8, "marked-sent", 5, None), (9, "iack-sent", 6, None), (10, "processed", 1, None)]
    found = module.metrics({"queue dack": events(tmp_path / "run", *rows)})
    assert (found["congested_iacks"], found["iacks_off_threshold"], found["free_iacks"]) == (2, 1, 4)
    # The sixth packet and the seventh entered a congested target; the IACK of the sixth follows a DACK, in the mark.
    assert (found["entries_without_dack"], found["iacks_without_dack"], found["free_iacks_late"]) == (2, 0, 0)


def test_steps_of_the_initiator_are_held_against_the_arrows_of_figure_2(tmp_path: Path) -> None:
    module = paper_figure.discover("ec", ["fig02"])[0].module()
    rows: list[tuple[int, str, int, str | None]] = [(1, "dack", 1, None), (1, "state", 0, "H-1"), (2, "iack", 2, None)]
    rows += [(2, "state", 0, "H0"), (3, "iack", 3, None), (3, "state", 0, "H1")]
    rows += [(seq, "iack", seq, None) for seq in range(4, 10)]
    run = events(tmp_path / "six", *rows, (9, "state", 0, "open"), (10, "marked", 10, None), (10, "state", 0, "H0"))
    found = module.metrics({"one dack": run, "eight dack": run})
    # Six IACKs in H(1) open the gate; a mark is a DACK and an IACK. H(0) and H(1) were never left by a DACK.
    assert (found["steps"], found["steps_off_figure"], found["arrows_seen"]) == (2 * 11, 0, 5)
    assert (found["openings"], found["openings_off_six"]) == (2, 0)
    early = events(tmp_path / "five", *rows[:-1], (8, "state", 0, "open"))
    found = module.metrics({"one dack": early, "eight dack": early})
    assert (found["steps_off_figure"], found["openings_off_six"]) == (2, 2)


def test_a_packet_that_no_iack_has_let_go_is_counted_but_for_the_one_in_the_nic(tmp_path: Path) -> None:
    module = paper_figure.discover("ec", ["fig02"])[0].module()
    halted: list[tuple[int, str, int, str | None]] = [
        (1, "sent", 1, None),
        (2, "dack", 1, None),
        (2, "state", 0, "H-1"),
    ]
    sent: list[tuple[int, str, int, str | None]] = [(at, "sent", at, None) for at in (3, 5, 6)]
    run = events(tmp_path / "run", *halted, sent[0], (4, "iack", 2, None), (4, "state", 0, "H0"), *sent[1:])
    # One was in the staging, one is that of the IACK, the third is too many.
    assert module.metrics({"one dack": run, "eight dack": run})["sent_without_iack"] == 2


@pytest.mark.parametrize("quick", [False, True])
@pytest.mark.parametrize("name", FIGURES)
def test_every_figure_measures_what_its_claims_ask_and_is_drawn(
    name: str, quick: bool, folder: Path, tmp_path: Path
) -> None:
    figure = paper_figure.discover("ec", [name])[0]
    runs = runs_of(name, folder, quick=quick)
    module = figure.module()
    found = module.metrics(runs)
    for claim in figure.claims:
        assert claims.judge(claim, name, "endpoint", [found]).verdict is not claims.Verdict.NOT_DECIDABLE
    module.draw([runs, runs], tmp_path / "picture.png")
    assert (tmp_path / "picture.png").stat().st_size > 10_000
    tables: list[NumberTable] = list(getattr(module, "tables", lambda _: ())([runs, runs]))
    assert all(isinstance(table, NumberTable) and table.rows for table in tables)


def test_goodput_is_payload_and_retransmission_is_frames_of_the_window_alone(tmp_path: Path) -> None:
    rows = [
        stream(2200, "h1", "target", accepted_packets=9, accepted_bytes=9 * 2048),
        stream(
            2250, "h1", "initiator", sent_packets=20, sent_bytes=20 * FRAME, resent_packets=5, resent_bytes=5 * FRAME
        ),
        stream(2250, "h1", "target", accepted_packets=10, accepted_bytes=10 * 2048, dropped_packets=1, nacks=2),
        stream(2450, "h2", "target", accepted_packets=4, accepted_bytes=4 * 2048, out_of_order_packets=3),
        stream(2450, "h2", "initiator", nacks=1),
    ]
    queues = [queue(2200, 1, 80_000), queue(2250, 800_000, 70_000), queue(2450, 800_000, 60_000)]
    one = measured.window(
        results(tmp_path / "one", "51.2Gbps", streams=pl.DataFrame(rows), endpoints=pl.DataFrame(queues))
    )
    assert one.goodput == pytest.approx(14 * 2048 / WINDOW_BYTES)
    assert one.retransmission == pytest.approx(5 * FRAME / WINDOW_BYTES)
    assert one.wire == pytest.approx(25 * FRAME / WINDOW_BYTES)
    assert one.difference == pytest.approx(6 * 2048 / WINDOW_BYTES)
    assert (one.sent, one.resent, one.accepted, one.full, one.behind, one.lost) == (20, 5, 14, 1, 3, 4)
    assert (one.nacks, one.peak) == (1, 70_000)
    assert one.use == pytest.approx(1)


def test_what_a_nic_with_95_ns_per_packet_can_send_is_the_fraction_of_cycles_that_the_paper_s_hardware_has() -> None:
    assert measured.ceiling(512) == pytest.approx(16 / 38)
    assert measured.ceiling(1024) == pytest.approx(32 / 38)
    assert measured.ceiling(8192) == pytest.approx(256 / 258)


def test_go_back_n_wastes_what_the_endpoint_leaves_of_the_wire() -> None:
    assert compare.own_waste(("opt", 2048, 0.7)) == pytest.approx(0.3)
    # The NIC sends 34 of 38 cycles' worth.
    assert compare.own_waste(("opt", 1024, 0.5)) == pytest.approx(0.5 * 34 / 38)
    # 18 of 38 are less than the endpoint takes.
    assert compare.own_waste(("opt", 512, 0.5)) == 0


def test_the_bandwidth_delay_product_is_that_of_7_5_us() -> None:
    assert measured.BDP == 7500 * measured.LINK_BYTES_PER_NS


def test_the_reference_has_every_point_of_the_figures_that_are_compared_with_it() -> None:
    for name in ("unicast", "incast"):
        at = {(policy, size) for policy, size, _ in authors.points(name)}
        assert at == {(policy, size) for policy in measured.POLICIES for size in measured.SIZES}
        assert len(authors.points(name)) == 90
    assert len(authors.points("depth")) == 72
    assert len(authors.below("unicast")) == len(authors.below("incast")) == 15
    # An assertion ended it.
    assert authors.points("depth")["dack", 8192, 0.125].goodput is None
    assert authors.below("incast")["dack", 2048, 0.1].goodput is None


def test_the_reference_s_own_policy_loses_nothing_with_one_sender() -> None:
    dack = [one for at, one in authors.points("unicast").items() if at[0] == "dack"]
    assert all(one.retransmission == 0 for one in dack)


def test_a_trace_tells_when_the_first_sign_left_and_when_it_acted(tmp_path: Path) -> None:
    trace = put_trace.of(write(tmp_path / "one", "greedy dack", "51.2Gbps"))
    assert traces.first_us(trace, *traces.DACKS) == pytest.approx(5.15)
    assert traces.halted_us(trace) == pytest.approx(9.31)
    # One packet each 0.33 µs.
    assert traces.sent_between(trace, 3.3, 6.6) == 11
    assert traces.first_us(trace, "timeout") is None


def test_every_reading_of_what_the_paper_leaves_open_names_figures_that_there_are() -> None:
    _, parameters = open_parameters.load("ec")
    assert all(case.figures for case in sensitivity.cases("ec", parameters, ["endpoint"]))


def test_a_start_is_blind_for_a_round_trip_and_a_packet() -> None:
    startup = paper_figure.discover("ec", ["startup"])[0].module()
    # 2 × 1867.5 + 430 back; 95 + 165 + 2 × 1865 + 2.5 + 165 forth.
    assert startup.blind_ns() == pytest.approx(8322.5)  # type: ignore[attr-defined]
    # T + one packet + half of 12.8 B/ns for that long.
    assert startup.peak_bytes(0.5) == pytest.approx(8992 + 2112 + 6.4 * 8322.5)  # type: ignore[attr-defined]
