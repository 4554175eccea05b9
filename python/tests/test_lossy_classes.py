"""A lossy class beside a lossless one: what is lost and sent again, in tables, measures and lines; it adds up."""

from __future__ import annotations

from pathlib import Path

import backwater
import polars as pl
import pytest
from backwater import Results
from backwater.analysis import repeat_notes, scheme_measures, scheme_tables
from backwater.experiments import sweep_measures
from backwater.results import measures

#: Eight senders each send 100 packets of either class, and all of it has arrived long before the end.
SCENARIO = """
profile = "roce"
run = { until = "5ms" }
topology = { kind = "star", hosts = 9, rate = "100Gbps", delay = "1us" }
packet = { payload = "1000B", header = "48B" }
cc = { kind = "none" }
probe = { drops = true }
[switch]
overflow = "drop-lossy"
arbiter = "deficit"
shares = [{ priority = 3, weight = 60 }, { priority = 1, weight = 40 }]
pfc = { priorities = [3] }
lossy = { pool = "50KB" }
[[traffic]]
name = "storage"
kind = "incast"
from = ["h1", "h2", "h3", "h4", "h5", "h6", "h7", "h8"]
to = "h0"
size = "100KB"
priority = 3
[[traffic]]
name = "rest"
kind = "incast"
from = ["h1", "h2", "h3", "h4", "h5", "h6", "h7", "h8"]
to = "h0"
size = "100KB"
priority = 1
reliability = "selective-repeat"
"""


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Results:
    folder = tmp_path_factory.mktemp("lossy")
    file = folder / "mixed.toml"
    file.write_text(SCENARIO)
    return backwater.run(file, out=folder / "results")


def test_what_is_sent_is_delivered_dropped_or_came_twice(run: Results) -> None:
    flows = run.flows.with_columns(pl.col("traffic").cast(pl.String)).collect()
    assert flows["packets"].to_list() == [100] * 16
    drops = run.drops.with_columns(pl.col("reason").cast(pl.String)).collect()
    assert set(drops["priority"]) == {1}
    assert set(drops["reason"]) == {"pool"}
    for (_,), of in flows.group_by("traffic"):
        sent = 100 * of.height + int(of["resent_packets"].sum())
        lost = drops.filter(pl.col("data"), pl.col("flow").is_in(of["flow"].to_list())).height
        twice, refused = int(of["duplicate_packets"].sum()), int(of["dropped_packets"].sum())
        assert sent == int(of["packets"].sum()) + lost + twice + refused
    assert flows.filter(pl.col("traffic") == "storage")["resent_packets"].sum() == 0


def test_measures_and_lines_tell_of_losses(run: Results) -> None:
    dropped = run.ports.select(pl.col("dropped_packets").sum()).collect().item()
    assert dropped > 0
    assert measures.drops(run) == dropped
    storage, rest = measures.by_traffic(run).to_dicts()
    assert storage["resent_packets"] == 0
    flows = run.flows.select(pl.col("resent_packets", "timeouts").sum()).collect().row(0)
    assert rest["resent_packets"] == flows[0]
    assert flows[0] > 0
    assert f"drops: {dropped} packets: pool {dropped}" in repeat_notes.of(run)
    assert [row["switch_drops"] for row in sweep_measures.of(run)] == [dropped, dropped]
    assert [row["timeouts"] for row in sweep_measures.of(run)] == [0, flows[1]]


def test_comparisons_have_drops_and_what_was_sent_again(run: Results) -> None:
    found = scheme_measures.outcomes({"one": [run]})
    again = run.flows.select(pl.col("resent_packets").sum()).collect().item()
    assert found.totals()["switch_drops"].to_list() == [measures.drops(run)]
    assert found.entries().filter(pl.col("traffic") == "rest")["resent_packets"].to_list() == [again]
    titles = [str(column.header) for table in scheme_tables.tables(found) for column in table.columns]
    assert {"resent", "dropped by switches"} <= set(titles)


def test_a_lossless_run_tells_of_no_losses(run: Results, tmp_path: Path) -> None:
    file = tmp_path / "lossless.toml"
    file.write_text(SCENARIO)
    wanted = ("switch.overflow=stop", "switch.pfc.priorities=[1,3]", "traffic.rest.reliability=none")
    calm = backwater.run(file, overrides=wanted, out=tmp_path / "results")
    assert measures.drops(calm) == 0
    assert not repeat_notes.of(calm)
    assert "switch_drops" not in scheme_measures.outcomes({"one": [calm]}).totals().columns
    assert run.digest != calm.digest
