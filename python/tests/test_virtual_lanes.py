"""Two virtual lanes, or priorities, on the same links: what is printed of a run has both, and names them."""

import io
from pathlib import Path

import backwater
import polars as pl
import pytest
from backwater import Results
from backwater.analysis import tables
from backwater.analysis.blame import Blame
from backwater.cli import main
from backwater.errors import Exit
from backwater.results import measures
from rich.console import Console
from rich.table import Table

SCENARIO = Path(__file__).parents[2] / "scenarios" / "virtual-lanes.toml"

TWO_PRIORITIES = """profile = "authors"
[run]
until = "2ms"
[topology]
kind = "star"
hosts = 5
rate = "40Gbps"
delay = "1us"
[switch.pfc]
priorities = [0, 1]
[cc]
kind = "none"
"""

ENTRY = """
[[traffic]]
name = "lane-{lane}"
kind = "long-lived"
from = ["h{first}", "h{second}"]
to = "h0"
priority = {lane}
"""


@pytest.fixture(scope="module")
def lanes(tmp_path_factory: pytest.TempPathFactory) -> Results:
    return backwater.run(SCENARIO, out=tmp_path_factory.mktemp("lanes") / "run")


@pytest.fixture(scope="module")
def priorities(tmp_path_factory: pytest.TempPathFactory) -> Results:
    folder = tmp_path_factory.mktemp("priorities")
    file = folder / "two.toml"
    file.write_text(TWO_PRIORITIES + "".join(ENTRY.format(lane=n, first=1 + 2 * n, second=2 + 2 * n) for n in (0, 1)))
    return backwater.run(file, out=folder / "run")


def text(table: Table) -> str:
    console = Console(width=125, file=io.StringIO(), record=True)
    console.print(table)
    return console.export_text()


def column(table: Table, heading: str) -> list[str]:
    found = next(column for column in table.columns if column.header == heading)
    return [str(cell) for cell in found.cells]


def test_lanes_with_weights_of_32_and_96_blocks_share_the_link_one_to_three(lanes: Results) -> None:
    rates = dict(measures.by_traffic(lanes).select("traffic", "goodput_bps").iter_rows())
    assert rates["bulk"] == pytest.approx(8e9, rel=0.01)
    assert rates["quick"] == pytest.approx(24e9, rel=0.01)


def test_a_port_has_a_row_for_each_lane_that_it_sends_in(lanes: Results) -> None:
    ports = tables.busiest_ports(lanes, 12)
    table = tables.port_table({"": lanes}, ports, tables.ports_title(lanes, len(ports)))
    assert table.title == "Egress ports in use, a row for each virtual lane that they send in"
    rows = list(zip(column(table, "port"), column(table, "VL"), strict=True))
    used = lanes.ports.filter(pl.col("priority") < 2, pl.col("sent_bytes") > 0)
    expected = set(used.select(pl.col("port").cast(pl.String), pl.col("priority").cast(pl.String)).collect().rows())
    assert set(rows) == expected
    assert {("leaf0->h0", "0"), ("leaf0->h0", "1"), ("h1->leaf0", "0"), ("h2->leaf0", "1")} <= expected
    assert ("h1->leaf0", "1") not in rows
    # Marks of both lanes are there, and all of it fits into 125 columns.
    marks = lanes.ports.filter(pl.col("port").cast(pl.String) == "leaf0->h0", pl.col("priority") < 2)
    shown = [
        cell.replace(" ", "") for row, cell in zip(rows, column(table, "CE"), strict=True) if row[0] == "leaf0->h0"
    ]
    assert shown == [str(count) for count in marks.sort("priority").collect()["ce_marks"]]
    assert "…" not in text(table)


def test_blame_tells_lanes_apart_as_vl_and_priorities_as_priority(lanes: Results, priorities: Results) -> None:
    assert set(Blame(lanes).roots["root_port"]) >= {"leaf0->h0 VL 0", "leaf0->h0 VL 1"}
    assert set(Blame(priorities).roots["root_port"]) == {"s->h0 priority 0", "s->h0 priority 1"}


def test_on_ethernet_a_row_is_of_a_priority(priorities: Results) -> None:
    table = tables.port_table({"": priorities}, ["s->h0"])
    assert column(table, "priority") == ["0", "1"]


def test_a_table_that_cannot_show_all_ports_has_fewer_of_them_where_each_has_several_rows(lanes: Results) -> None:
    assert len(tables.busiest_ports(lanes, 6)) == 4
    title = tables.ports_title(lanes, 4)
    assert title.startswith(
        "The first 4 of 7 egress ports in use, a row for each virtual lane that they send in, by time OFF"
    )


def test_the_command_prints_both_lanes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", str(SCENARIO), "--set", "run.until=1ms", "--out", str(tmp_path)]) == Exit.OK
    assert "a row for each virtual lane" in " ".join(capsys.readouterr().out.split())
