"""What a comparison tells of traffic and network beside the slowdown, on tables that a reader can check in the head."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import made_results
import polars as pl
import pytest
from backwater import Results
from backwater.analysis import scheme_measures, scheme_pictures, scheme_tables
from backwater.cli import main
from backwater.errors import Exit, UsageError
from backwater.results import measures

US = 1_000_000
GBPS = 1_000_000_000
#: Bytes that 10 Gbps carry in 10 µs.
FULL = 12_500
FLOW: dict[str, Any] = {
    "traffic_index": 0,
    "traffic": "web",
    "packets": 10,
    "ce_packets": 0,
    "ue_packets": 0,
    "size_bytes": 1000,
}
FLOW |= {"cnps_ce": 0, "cnps_ue": 0, "start_ps": 0, "received_bytes": 1000, "slowdown": 1.0}
PORT = {
    "priority": 3,
    "ce_marks": 0,
    "ue_marks": 0,
    "paused_ps": 0,
    "pauses": 0,
    "pauses_sent": 0,
    "peak_queue_bytes": 0,
}
SWITCH = {"allocations": 0, "refusals": 0, "mirror_refusals": 0, "cims_sent": 0, "peak_slots": 0}


def run(folder: Path, *, isolation: str = "none", **rows: list[dict[str, Any]]) -> Results:
    """A run of 100 µs with flows, ports, and other tables; what a row does not say is as above."""
    blank: dict[str, dict[str, Any]] = {"flows": FLOW, "ports": PORT, "switches": SWITCH, "delivered": {}}
    rows = {"flows": [flow(5)], "ports": [{}], **rows}
    tables = {name: pl.DataFrame([blank[name] | row for row in table]) for name, table in rows.items()}
    scenario = {"probe": {"sample": "10us"}, "switch": {"isolation": {"kind": isolation}}}
    return Results(made_results.write(folder, tables, scenario, 100 * US))


def flow(us: int | None, **others: Any) -> dict[str, Any]:
    """A flow that took so long."""
    took = None if us is None else us * US
    return {"fct_ps": took, "finish_ps": took} | others


def delivered(us: int, size: int, traffic: str = "web") -> dict[str, Any]:
    return {"time_ps": us * US, "traffic": traffic, "received_bytes": size}


def mean(found: scheme_measures.Outcomes, traffic: str, scheme: str, name: str) -> float:
    return found.traffic[traffic][scheme][name].mean


def test_marks_are_a_share_of_the_packets_and_becns_are_of_either_mark(tmp_path: Path) -> None:
    flows = [flow(5, ce_packets=3, cnps_ce=2), flow(7, ue_packets=1, cnps_ue=4, traffic="other", traffic_index=1)]
    found = scheme_measures.outcomes({"x": [run(tmp_path / "x", flows=[*flows, flow(9)])]})
    assert list(found.traffic) == ["web", "other"]
    assert mean(found, "web", "x", "ce_percent") == 15
    assert mean(found, "other", "x", "ue_percent") == 10
    assert [mean(found, name, "x", "becns") for name in ("web", "other")] == [2, 4]
    assert found.network["x"]["becns"].mean == 6


def test_fct_is_that_of_the_flows_that_finished_and_endless_flows_have_none(tmp_path: Path) -> None:
    flows = [flow(us) for us in (1, 2, 3, None)]
    endless = flow(None, size_bytes=None, traffic="endless", traffic_index=1)
    found = scheme_measures.outcomes({"x": [run(tmp_path / "x", flows=[*flows, endless])]})
    assert mean(found, "web", "x", "median_fct_ps") == 2 * US
    assert (mean(found, "web", "x", "max_fct_ps"), mean(found, "web", "x", "timed")) == (3 * US, 3)
    assert "p99_fct_ps" not in found.traffic["web"]["x"]
    assert mean(found, "web", "x", "finished") == 3
    assert not {"finished", "median_fct_ps", "p99_fct_ps"} & found.traffic["endless"]["x"].keys()


def test_goodput_of_a_window_is_what_arrived_within_it(tmp_path: Path) -> None:
    hosts = [delivered(10, FULL), delivered(20, FULL), delivered(20, FULL), delivered(30, 9 * FULL)]
    one = run(tmp_path / "x", delivered=hosts)
    rates = [
        mean(scheme_measures.outcomes({"x": [one]}, (start * US, end * US)), "web", "x", "goodput_bps")
        for start, end in ((10, 20), (10, 30), (20, 30), (50, 90))
    ]
    assert rates == [10 * GBPS, 15 * GBPS, 20 * GBPS, 0]


@pytest.mark.parametrize(
    ("tables", "window", "said"),
    [
        ({}, (0, 50), "probe.delivered"),
        ({"delivered": [delivered(10, 1)]}, (0, 110), "ends after the runs do, at 100 µs"),
        ({"delivered": [delivered(10, 1)]}, (5, 50), "multiples of probe.sample, 10us"),
    ],
)
def test_a_window_that_cannot_be_measured_is_refused(
    tmp_path: Path, tables: dict[str, Any], window: tuple[int, int], said: str
) -> None:
    one = run(tmp_path / "x", **tables)
    with pytest.raises(UsageError, match=said):
        scheme_measures.outcomes({"x": [one]}, (window[0] * US, window[1] * US))


def test_a_priority_that_only_one_scheme_pauses_has_no_pauses_under_the_others(tmp_path: Path) -> None:
    one = run(tmp_path / "1", ports=[{"pauses": 4, "paused_ps": 20 * US}, {"pauses": 1, "priority": 2}])
    two = run(tmp_path / "2", ports=[{"ce_marks": 7}])
    found = scheme_measures.outcomes({"one": [one], "two": [two]})
    names = [quantity.name for quantity in found.quantities]
    assert names == ["ce_marks", "becns", "pauses_3", "pauses_2", "paused_ps"]
    assert [found.network["one"][name].mean for name in names] == [0, 0, 4, 1, 20 * US]
    assert [found.network["two"][name].mean for name in names] == [7, 0, 0, 0, 0]


def test_refusals_of_entries_and_of_mirrors_count_and_without_isolation_there_are_none_to_tell_of(
    tmp_path: Path,
) -> None:
    switches = [{"allocations": 5, "refusals": 2, "peak_slots": 4}, {"mirror_refusals": 3, "cims_sent": 6}]
    one = run(tmp_path / "1", isolation="ci", switches=switches)
    two = run(tmp_path / "2", switches=[{}])
    found = scheme_measures.outcomes({"ci": [one], "none": [two]})
    names = ("allocations", "refusals", "peak_slots", "cims")
    assert [found.network["ci"][name].mean for name in names] == [5, 5, 4, 6]
    assert not set(names) & found.network["none"].keys()
    assert found.totals()["refusals"].to_list() == [5, None]


def test_means_over_seeds_have_intervals_in_tables_and_are_drawn(tmp_path: Path) -> None:
    runs = [run(tmp_path / str(us), flows=[flow(us, slowdown=us / 2 - 1)], ports=[{"pauses": us}]) for us in (4, 6)]
    found = scheme_measures.outcomes({"a": runs, "ECN+ici": runs})
    # Two seeds: half the interval is 12.706 standard errors, of 1 µs here.
    row = found.entries().row(0, named=True)
    assert (row["median_fct_ps"], row["median_fct_ps_high"]) == (5 * US, pytest.approx(17.706 * US))
    traffic, network = scheme_tables.tables(found)
    cells = [cell for column in (*traffic.columns, *network.columns) for cell in column.cells]
    # No time and no count is below 0, no slowdown below 1; a p99 of one flow is the slowest of one.
    assert {"5.00 (0.00 to 17.71) µs", "5 (0 to 18)", "1.50 (1.00 to 7.85) (max of 1)"} <= set(cells)
    assert "max of n: too few values in each run for a percentile (p99 needs 100)" in str(traffic.caption)
    picture = scheme_pictures.draw(found, tmp_path / "x.png", title="x")
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_recovery_is_what_the_last_message_of_others_took_after_the_last_incast(tmp_path: Path) -> None:
    tree: dict[str, Any] = {"traffic": "tree", "traffic_index": 1}
    # The incast ends at 50 µs. Of the others one began before and came at 62; one that began after it does not count.
    others = [flow(40), flow(12, start_ps=50 * US - 1, finish_ps=62 * US), flow(9, start_ps=50 * US, finish_ps=90 * US)]
    entries = [{"name": "web", "kind": "poisson"}, {"name": "tree", "kind": "incast"}]

    def found(name: str, flows: list[dict[str, Any]]) -> int | None:
        tables = {"flows": pl.DataFrame([FLOW | one for one in flows]), "ports": pl.DataFrame([PORT])}
        return measures.recovery(Results(made_results.write(tmp_path / name, tables, {"traffic": entries}, 100 * US)))

    assert found("late", [*others, flow(50, **tree), flow(30, **tree)]) == 12 * US
    assert found("before", [others[0], others[2], flow(50, **tree)]) == 0
    assert found("alone", [flow(50, **tree)]) is None
    assert found("unfinished", [*others, flow(None, **tree)]) is None
    assert found("other unfinished", [flow(None), flow(50, **tree)]) is None
    entries = entries[:1]
    assert found("no incast", others) is None


SCENARIO = """profile = "authors"
[topology]
kind = "star"
hosts = 5
rate = "40Gbps"
delay = "1us"
[[traffic]]
name = "incast"
kind = "incast"
from = "*"
to = "h0"
size = "640KB"
[[scheme]]
name = "none"
set = ["cc.kind=none"]
[[scheme]]
name = "ECN"
set = ["switch.detector.kind=red", "switch.detector.kmax=20KB"]
"""


def test_compare_tells_of_traffic_and_network(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("two.toml").write_text(SCENARIO)
    assert main(["compare", "two.toml", "--seeds", "1", "--json"]) == Exit.OK
    told = json.loads(capsys.readouterr().out)
    entries = {row["scheme"]: row for row in told["entries"]}
    network = {row["scheme"]: row for row in told["network"]}
    assert entries["none"]["becns"] == 0 < entries["ECN"]["becns"] == network["ECN"]["becns"]
    assert network["none"]["pauses_3"] >= network["ECN"]["pauses_3"]
    assert main(["compare", "two.toml", "--seeds", "1"]) == Exit.OK
    assert "Network under each scheme, one seed" in capsys.readouterr().out
    root = Path("results/compare/two")
    assert pl.read_parquet(root / "traffic.parquet")["scheme"].to_list() == ["none", "ECN"]
    assert pl.read_parquet(root / "network.parquet")["scheme"].to_list() == ["none", "ECN"]
    assert (root / "schemes.png").is_file()


@pytest.mark.parametrize(
    ("window", "said"),
    [
        ("0.2ms", "write two times, such as 0.2ms..1.2ms"),
        ("1ms..2", "'2' is not a time"),
        ("2ms..1ms", "write the earlier time first"),
    ],
)
def test_a_window_is_two_times(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], window: str, said: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("two.toml").write_text(SCENARIO)
    assert main(["compare", "two.toml", "--window", window]) == Exit.BAD_INPUT
    assert said in capsys.readouterr().err
    assert not Path("results").exists()


def test_a_slow_host_gets_the_same_traffic_in_lossy_and_in_lossless_fabrics() -> None:
    from backwater.analysis import same_traffic
    from backwater.scenario import schemes

    found = schemes.of_files([Path(__file__).parents[2] / "scenarios" / "lossy-or-lossless.toml"])
    resolved = [scheme.scenario.resolve(scheme.overrides) for scheme in found]
    for scheme in found:
        same_traffic.require_settings(found[0], scheme)
    assert [one["switch"]["flow-control"] for one in resolved] == ["none"] * 3 + ["pfc"] * 5
    assert all(one["host"]["pattern"] == resolved[0]["host"]["pattern"] for one in resolved)


@pytest.mark.parametrize("name", ["isolation-and-tcd", "isolation-and-tcd-one-tree"])
def test_isolation_stands_beside_tcd_on_the_same_switch_with_the_same_traffic(name: str) -> None:
    from backwater.analysis import same_traffic
    from backwater.scenario import schemes

    found = schemes.of_files([Path(__file__).parents[2] / "scenarios" / f"{name}.toml"])
    assert [scheme.name for scheme in found][1:4] == ["ECN", "NP-ECN", "TCD"]
    switches = []
    for scheme in found:
        same_traffic.require_settings(found[0], scheme)
        switch = scheme.scenario.resolve(scheme.overrides)["switch"]
        switches.append({key: value for key, value in switch.items() if key not in ("detector", "isolation")})
    assert switches[0]["queueing"] == "combined"
    assert all(switch == switches[0] for switch in switches)


SUPPLY = """
profile = "isolation"
[run]
until = "300us"
[topology]
kind = "star"
hosts = 4
rate = "100Gbps"
delay = "25ns"
[[traffic]]
name = "tree"
kind = "supply"
from = ["h1", "h2"]
to = "h0"
rate = "100Gbps"
backlog = "64KiB"
until = "200us"
[[traffic]]
name = "others"
kind = "incast"
from = ["h1", "h2"]
to = "h3"
size = "64KiB"
[[scheme]]
name = "none"
set = ["cc.kind=none", "switch.detector.kind=none"]
[[scheme]]
name = "ECN"
set = ["switch.detector.kind=red"]
[probe]
delivered = true
sample = "10us"
"""


def test_how_much_of_a_supply_is_sent_is_an_outcome_and_no_difference_of_the_traffic(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("supply.toml").write_text(SUPPLY)
    assert main(["compare", "supply.toml", "--seeds", "1", "--window", "0us..200us", "--json"]) == Exit.OK
    told = json.loads(capsys.readouterr().out)
    tree = {row["scheme"]: row for row in told["entries"] if row["traffic"] == "tree"}
    assert tree["none"]["goodput_bps"] > tree["ECN"]["goodput_bps"] > 0
    assert tree["none"]["finished"] is tree["none"]["p99_fct_ps"] is None
    # The sizes are those of the others alone.
    assert {row["bin"] for row in told["rows"]} == {"64 KiB", "all sizes"}


def test_schemes_that_agree_are_named_below_the_tables(tmp_path: Path) -> None:
    marks = [{"ce_marks": 3}]
    taken = [{"allocations": 4, "peak_slots": 2}]
    runs = {
        "ici": [run(tmp_path / "ici", isolation="ici", switches=taken)],
        "ici+": [run(tmp_path / "ici+", isolation="ici-plus", switches=taken)],
        "ci": [run(tmp_path / "ci", isolation="ci", switches=[taken[0] | {"peak_slots": 9}])],
        "ecn": [run(tmp_path / "ecn", ports=marks)],
    }
    told = str(scheme_tables.tables(scheme_measures.outcomes(runs))[1].caption).splitlines()
    assert told[-2].startswith("ici and ici+ agree in every number: ici+ marks flows that a full table refused")
    assert told[-1] == "ici and ci agree in every number but most slots"
    apart = scheme_measures.outcomes({name: runs[name] for name in ("ci", "ecn")})
    assert "agree" not in str(scheme_tables.tables(apart)[1].caption)


PUTS = """
profile = "endpoint"
[run]
until = "200us"
[topology]
kind = "star"
hosts = 3
rate = "102.4Gbps"
delay = "1865ns"
[host]
of = "h0"
drain = "51.2Gbps"
[[traffic]]
name = "put"
kind = "supply"
from = ["h1", "h2"]
to = "h0"
rate = "102.4Gbps"
full = "wait"
packets = 16
[[scheme]]
name = "opt"
set = ["put.policy=opt"]
[[scheme]]
name = "dack"
set = ["put.policy=dack"]
[probe]
sample = "50us"
"""


def test_traffic_without_an_end_is_compared_by_what_it_gets_across(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("puts.toml").write_text(PUTS)
    assert main(["compare", "puts.toml", "--seeds", "1", "--window", "100us..200us", "--json"]) == Exit.OK
    told = json.loads(capsys.readouterr().out)
    network = {row["scheme"]: row for row in told["network"]}
    assert told["rows"] == []
    # The host takes half of what its link brings, and without DACK the other half is lost.
    assert 40 < network["dack"]["goodput_percent"] < 50
    assert network["opt"]["resent_percent"] > 30
    assert network["opt"]["target_drops"] > network["dack"]["target_drops"]
    assert network["opt"]["dacks"] == 0 < network["dack"]["dacks"]
    assert main(["compare", "puts.toml", "--seeds", "1"]) == Exit.OK
    out = capsys.readouterr().out
    assert "no flow has an end" in out
    assert "PUTs under each scheme" in out
    # What no scheme has to tell of is no column, and what is zero under all is named below.
    assert "p99 FCT" not in out
    assert "Network: 0 under all: CE marks, BECNs" in " ".join(out.split())
    assert not Path("results/compare/puts/compare.png").exists()
    assert main(["run", "puts.toml", "--scheme", "opt"]) == Exit.OK
    assert "dropped by their targets" in capsys.readouterr().out
