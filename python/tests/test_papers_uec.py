"""The published rows of the Ultra Ethernet Consortium's simulator: their matrices, bounds and orders, without a run."""

from __future__ import annotations

import csv
import hashlib
import re
from dataclasses import replace
from pathlib import Path

import backwater as bw
import pytest
from backwater.cli import main
from backwater.errors import Exit, UsageError
from backwater.io.importing import htsim_flags
from backwater.papers import paper_figure, uec_matrices, uec_rows
from backwater.papers.claims import Verdict, judge

HOME = Path(__file__).parents[2] / "papers" / "uec"
ROWS = uec_rows.read(HOME / uec_rows.PUBLISHED)
SPREADS = uec_rows.spreads(HOME / uec_rows.SPREAD)


# What that repository has as files.


@pytest.mark.parametrize(
    ("name", "digest"),
    [
        # The first 16 digits of the SHA-256 of the pairs in its files, in their order, with a space between.
        ("perm_16n_16c_2MB.cm", "c34d022e777c6b48"),
        ("perm_1024n_1024c_0u_2000000b.cm", "a561008f902dc7ff"),
        ("incast_1024_100K.cm", "34cf3a6f01c1b483"),
        ("perm_8192n_8192c_1MB.cm", "128892303bb2fe36"),
        ("perm_8192n_8192c_100MB.cm", "99954478d14c1a57"),
        ("outcast_incast.cm", "9f2ffd43cfa68618"),
    ],
)
def test_matrices_are_those_of_the_consortiums_repository(name: str, digest: str) -> None:
    pairs = re.findall(r"\d+->\d+", uec_matrices.matrix(name) or "")
    assert hashlib.sha256(" ".join(pairs).encode()).hexdigest()[:16] == digest


def test_every_row_has_a_matrix_of_as_many_flows_and_packets_as_it_says() -> None:
    packet = htsim_flags.MTU - htsim_flags.HEADER
    for matrix in {row.matrix for row in ROWS}:
        text = uec_matrices.matrix(matrix)
        assert text is not None
        sizes = [int(size) for size in re.findall(r"size (\d+)", text)]
        said = {(row.connections, row.new_packets) for row in ROWS if row.matrix == matrix}
        assert said == {(len(sizes), sum(-(-size // packet) for size in sizes))}


# What the rows say of themselves.


def test_there_are_524_rows_whose_commands_are_understood() -> None:
    assert len(ROWS) == 524
    assert len({row.name for row in ROWS}) == 524
    flags = {line.place[0] for row in ROWS for line in htsim_flags.parse(row.command)}
    assert flags == {
        *("-tm", "-end", "-paths", "-q", "-topo", "-cwnd", "-linkspeed", "-ecn", "-failed", "-conn_reuse"),
        *("-sender_cc_only", "-receiver_cc_only", "-sender_cc", "-receiver_cc"),
        *("-load_balancing_algo", "-sack_threshold"),
    }


def test_targets_of_8192_hosts_follow_from_size_rate_oversubscription_and_slow_spines() -> None:
    # `generate_permutation_experiments.py`: 1.2 of the ideal, which is the size at the link's rate and 9 us, by the
    # capacity of 64 spines.
    for row in ROWS:
        found = re.fullmatch(r"perm_8192n_8192c_(\d+)MB.cm", row.matrix)
        if found is None:
            continue
        over = re.search(r"_(\d)_to_1", row.topology)
        failed = 1 if "-failed 1" in row.command else 0
        ideal = int(int(found[1]) * 8000 / 400 + 9) * (int(over[1]) if over else 1)
        ideal = int(ideal * 64 / (64 - failed + failed / 4))
        assert int(row.target_us) == int(1.2 * ideal)
        assert f"-end {max(4 * ideal, 1000)} " in row.command


def test_a_row_passed_if_its_last_flow_was_done_within_its_target() -> None:
    for row in ROWS:
        assert (float(row.tail_us) <= float(row.target_us)) == (row.verdict == "PASS"), row.name


def test_rows_of_that_programs_own_seed_lie_within_its_spread() -> None:
    assert len(SPREADS) == 39
    by_name = {row.name: row for row in ROWS}
    for name, spread in SPREADS.items():
        low, high = map(float, spread.tail_us)
        assert low <= float(by_name[name].tail_us) <= high
    # Lone flows: 12 of connections used again, one flow three times, and two that cross under NSCC.
    exact = {name for name, spread in SPREADS.items() if spread.exact}
    assert exact == {
        *(f"validate_uec_connreuse-{n}" for n in range(1, 13)),
        *("validate_uec_sender-1", "validate_uec_sender-2", "validate_uec_rcv-1", "validate_uec_both-1"),
    }


def test_exact_rows_are_what_arithmetic_says() -> None:
    # Packets of 4150 B take 332 ns at 100 Gbps, ACKs 5.12 ns; a path has six links of 1 us. The last packet is stored
    # and forwarded at five switches, and its ACK comes back.
    def done(packets: int, last_ns: float) -> float:
        return ((packets - 1) * 332 + 5 * 332 + last_ns + 6000 + 6 * 5.12 + 6000) / 1000

    by_name = {row.name: float(row.tail_us) for row in ROWS}
    assert by_name["validate_uec_connreuse-1"] == float(f"{done(10, 332):.6g}")
    assert by_name["validate_uec_connreuse-7"] == float(f"{done(100, 332):.6g}")
    # 2 MB: 489 full packets and one of 1946 B, 155.68 + 5.12 ns.
    assert by_name["validate_uec_sender-1"] == float(f"{done(490, 160.8):.6g}")


# How rows are judged.


def test_bounds_are_exact_or_what_that_program_or_its_versions_show() -> None:
    figures = paper_figure.discover("uec")
    by_row = {row.name: row for row in ROWS}
    judged = {claim.id.removeprefix("UEC-"): claim for figure in figures for claim in figure.claims}
    assert by_row.keys() <= judged.keys()
    for name, row in by_row.items():
        bound = judged[name].checks[0].bound
        ratio = bound.low / float(row.tail_us), bound.high / float(row.tail_us)
        if name in SPREADS:
            assert (bound.low, bound.high) == tuple(map(float, SPREADS[name].tail_us))
        elif "_2-" in name:
            assert ratio == pytest.approx((1 / 1.05, 1 / 0.83), rel=1e-4)
        else:
            assert ratio == pytest.approx((0.83, 1.05), rel=1e-4)


def test_each_row_is_judged_by_one_figure_and_a_quick_look_has_40() -> None:
    figures = [figure for figure in paper_figure.discover("uec") if figure.name != "orders"]
    assert sum(len(figure.rows) for figure in figures) == 524
    runs = [row.name for figure in figures for row in figure.rows if not figure.skips(row.name, quick=True)]
    assert len(set(runs)) == len(runs) == 40


def test_every_order_that_is_claimed_holds_among_the_published_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    (figure,) = paper_figure.discover("uec", ["orders"])
    module = figure.module()
    from papers.uec import family

    monkeypatch.setattr(family, "tail_us", lambda row: float(row.tail_us))
    found = module.metrics({row.name: row for row in figure.rows})  # type: ignore[misc]
    for claim in figure.claims:
        assert judge(claim, "orders", "htsim", [found], each=True).verdict is Verdict.HOLDS, claim.id
    # And it is these rows that make it hold: with 1:1 and 4:1 changed for each other it does not.
    changed = {row.name: row for row in figure.rows}
    changed["400g_nscc-4"] = replace(changed["400g_nscc-4"], tail_us="1e+04")
    again = module.metrics(changed)  # type: ignore[arg-type]
    verdicts = {claim.id: judge(claim, "orders", "htsim", [again], each=True).verdict for claim in figure.claims}
    assert {claim for claim, verdict in verdicts.items() if verdict is Verdict.DIFFERS} == {
        *("UEC-O2", "UEC-O3", "UEC-O6")
    }


# A user's own rows.


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("tail_fct_us", "tail"), "line 1: the columns tail_fct_us are missing; they are file, "),
        (("176.2,176.2", "soon,176.2"), "line 2: tail_fct_us is 'soon', not a time in us such as 176.2"),
        ((",490,", ",-490,"), "line 2: new_packets is '-490', not a whole number from 0"),
        (("-end 1000", "-ende 1000"), "--flags: '-ende' is no flag of htsim_uec; -end?"),
        (
            ("validate_outputs/validate_uec_sender.out", "a b"),
            "line 2: it has not 13 values, or the name of its file is odd",
        ),
    ],
)
def test_what_is_wrong_with_a_file_of_rows_is_said_with_its_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], change: tuple[str, str], message: str
) -> None:
    with (HOME / uec_rows.PUBLISHED).open(newline="") as published:
        lines = [
            line for line in csv.reader(published) if line[0] in ("file", "validate_outputs/validate_uec_sender.out")
        ]
    file = tmp_path / "rows.csv"
    with file.open("w", newline="") as out:
        csv.writer(out).writerows(lines[:2])
    file.write_text(file.read_text().replace(*change))
    assert main(["reproduce", "uec", "--rows", str(file), "--out", str(tmp_path / "out")]) == Exit.BAD_INPUT
    assert message in capsys.readouterr().err


def test_rows_of_matrices_that_are_not_known_need_a_checkout(tmp_path: Path) -> None:
    row = replace(ROWS[0], command="./htsim_uec -tm connection_matrices/other.cm -end 1000")
    with pytest.raises(UsageError, match=r"other.cm is none of the files that can be made anew; .* with --uet"):
        uec_rows.scenario(row, tmp_path, None)


def test_only_uec_has_published_rows(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["reproduce", "tcd", "--rows", str(tmp_path / "rows.csv")]) == Exit.BAD_INPUT
    assert "tcd has no published rows; uec has" in capsys.readouterr().err


# Runs.


@pytest.mark.parametrize(
    "name",
    [
        # A lone flow of 490 packets, ten messages of one, two flows that cross.
        "validate_uec_sender-1",
        "validate_uec_rcv-1",
        "validate_uec_connreuse-3",
        "validate_uec_sender-2",
        "validate_uec_both-1",
        # A permutation of 16 hosts.
        "validate_uec_sender-8",
    ],
)
def test_a_published_row_comes_out(tmp_path: Path, name: str) -> None:
    from papers.uec import family

    (row,) = uec_rows.select(ROWS, [name], "here")
    (claim,) = uec_rows.claims([row], SPREADS)
    uec_rows.scenario(row, tmp_path, None)
    run = bw.run(tmp_path / "made" / f"{name}.toml", out=tmp_path / "results")
    judged = judge(claim, "here", "htsim", [family.of_run(name, run)], each=True)
    assert judged.verdict is Verdict.HOLDS, [(one.check.metric, one.value) for one in judged.measured]
    # Of tables with a row for each mark, drop or hold there are none: nobody judges them.
    written = {file.stem for file in (tmp_path / "results").glob("*.parquet")}
    assert not written & {"marks", "drops", "states", "crowds", "waits", "holds"}
