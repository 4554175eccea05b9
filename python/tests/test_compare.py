"""Comparing schemes: the same traffic under each of them, slowdown by flow size."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl
import pytest
import sweep_scene
import synthetic
from backwater import Results
from backwater.analysis import same_traffic
from backwater.cli import main
from backwater.errors import Exit, UsageError
from sweep_scene import SCHEMES

if TYPE_CHECKING:
    from collections.abc import Callable

SCENARIO = sweep_scene.SCENARIO.replace("flows = 100", "flows = 200")


@pytest.fixture
def one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    Path("two.toml").write_text(SCENARIO + SCHEMES)
    return "two.toml"


def rows(capsys: pytest.CaptureFixture[str]) -> dict[tuple[str, str], dict[str, float]]:
    return {(row["bin"], row["scheme"]): row for row in json.loads(capsys.readouterr().out)["rows"]}


def test_messages_of_a_discrete_table_are_compared_size_by_size(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    entries = SCENARIO.split("[[traffic]]")
    messages = '[[traffic]]\nname = "m"\nkind = "poisson"\ncdf = "mpi"\nload = 0.1\nflows = 200\nconnection = "pair"\n'
    Path("m.toml").write_text(entries[0] + messages + SCHEMES)
    assert main(["compare", "m.toml", "--json"]) == Exit.OK
    table = rows(capsys)
    assert {bin_ for bin_, _ in table} == {"2 KiB", "4 KiB", "8 KiB", "16 KiB", "32 KiB", "all sizes"}


def test_every_flow_is_in_one_bin_under_each_scheme(one: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compare", one, "--seeds", "2", "--edges", "10KB,64KB", "--json"]) == Exit.OK
    found = rows(capsys)
    for scheme in ("none", "DCQCN"):
        sizes = [found[bin_, scheme]["flows"] for bin_ in ("< 10 KB", "10 KB–64 KB", "≥ 64 KB")]
        assert sum(sizes) == found["all sizes", scheme]["flows"] == 2 * 204
        # The incast's flows are as large as the cut.
        assert sizes[2] >= 2 * 4
        assert found["all sizes", scheme]["median"] >= 1
    assert found["all sizes", "none"]["p99_ratio"] == 1
    assert found["all sizes", "none"]["p99_ratio_low"] == 1


def test_the_ratio_is_taken_seed_by_seed(one: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compare", one, "--seeds", "2", "--edges", "10KB", "--json"]) == Exit.OK
    together = rows(capsys)["all sizes", "DCQCN"]["mean_ratio"]
    each = []
    for seed in ("1", "2"):
        assert main(["compare", one, "--seeds", "1", "--seed", seed, "--edges", "10KB", "--json"]) == Exit.OK
        found = rows(capsys)
        each.append(found["all sizes", "DCQCN"]["mean"] / found["all sizes", "none"]["mean"])
    assert together == pytest.approx((each[0] * each[1]) ** 0.5)


def test_a_table_a_picture_and_parquet_are_left(one: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compare", one, "--seeds", "2", "--traffic", "incast"]) == Exit.OK
    shown = capsys.readouterr().out
    assert "DCQCN" in shown
    assert "÷" in shown
    # A mean of the slowdowns, but the sum of the flows: 2 seeds with 4 each.
    assert "mean of 2 seeds" in shown
    assert "flows: how many finished, all 2 seeds together" in shown
    table = pl.read_parquet("results/compare/two/compare.parquet")
    assert table.filter(pl.col("bin") == "all sizes")["flows"].to_list() == [8, 8]
    assert Path("results/compare/two/compare.png").read_bytes().startswith(b"\x89PNG")


def test_runs_that_are_done_stay_done(one: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compare", one, "--seeds", "1"]) == Exit.OK
    assert "2 runs, 0 of them already done" in capsys.readouterr().err
    assert main(["compare", one, "--seeds", "2"]) == Exit.OK
    assert "4 runs, 2 of them already done" in capsys.readouterr().err


@pytest.mark.parametrize(
    "damage",
    [
        lambda file: file.unlink(),
        lambda file: file.write_bytes(file.read_bytes()[:500]),
        lambda file: file.write_bytes(b"junk" * (file.stat().st_size // 4)),
        # As long as before, with both ends: only reading finds it.
        lambda file: file.write_bytes(b"PAR1" + b"x" * (file.stat().st_size - 8) + b"PAR1"),
    ],
    ids=["missing", "cut off", "junk", "junk within"],
)
def test_a_run_with_a_damaged_table_is_done_again(
    one: str, damage: Callable[[Path], object], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["compare", one, "--seeds", "1"]) == Exit.OK
    before = capsys.readouterr().out
    damage(next(Path("results/compare/two/runs").iterdir()) / "flows.parquet")
    assert main(["compare", one, "--seeds", "1"]) == Exit.OK
    shown = capsys.readouterr()
    assert "2 runs, 1 of them already done" in shown.err
    assert shown.out == before


def test_several_files_are_several_schemes(one: str, capsys: pytest.CaptureFixture[str]) -> None:
    del one
    Path("plain.toml").write_text(SCENARIO)
    Path("other.toml").write_text(SCENARIO + '[cc]\nkind = "none"\n')
    assert main(["compare", "plain.toml", "other.toml", "--seeds", "1", "--json"]) == Exit.OK
    assert ("all sizes", "other") in rows(capsys)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (("flows = 200", "flows = 199"), "traffic.web.flows is 200 against 199"),
        (('"64KB"', '"65KB"'), "traffic.incast.size is 64KB against 65KB"),
        (('"40Gbps"', '"10Gbps"'), "topology.rate is 40Gbps against 10Gbps"),
        (('"1us"', '"2us"'), "topology.delay is 1us against 2us"),
        (('size = "64KB"', 'size = "64KB"\npriority = 4'), "traffic.incast.priority is 3 against 4"),
        (("hosts = 5", "hosts = 6"), "topology.hosts is 5 against 6"),
    ],
)
def test_schemes_with_other_traffic_are_refused_before_anything_runs(
    one: str, change: tuple[str, str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    del one
    Path("a.toml").write_text(SCENARIO)
    Path("b.toml").write_text(SCENARIO.replace(*change))
    assert main(["compare", "a.toml", "b.toml"]) == Exit.BAD_INPUT
    shown = capsys.readouterr().err
    assert "a and b do not have the same traffic" in shown
    assert said in shown
    assert not Path("results").exists()


def test_runs_whose_flows_differ_are_told_apart_whatever_their_settings_say(one: str) -> None:
    del one
    for name, text in (("a", SCENARIO), ("b", SCENARIO.replace('"64KB"', '"65KB"'))):
        Path(f"{name}.toml").write_text(text)
        assert main(["run", f"{name}.toml"]) == Exit.OK
    runs = [Results(Path("results") / f"{name}-s1") for name in "ab"]
    said = "4 of 204 flows differ, first h1->h0 64000 B at 0 ps against h1->h0 65000 B"
    with pytest.raises(UsageError, match=said):
        same_traffic.require_flows("a", runs[0], "b", runs[1])


CONSTANT = (
    SCENARIO.partition("[[traffic]]")[0]
    + """
[[traffic]]
name = "F"
kind = "constant"
from = "h1"
to = "h0"
rate = "30Gbps"
jitter = 0.1
catch-up = true
[run]
until = "1ms"
"""
)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (('"30Gbps"', '"1Gbps"'), "traffic.F.rate is 30Gbps against 1Gbps"),
        (("jitter = 0.1", "jitter = 0.2"), "traffic.F.jitter is 0.1 against 0.2"),
        (("catch-up = true", "catch-up = false"), "traffic.F.catch-up is true against false"),
    ],
)
def test_constant_flows_that_differ_only_in_how_they_send_are_other_traffic(
    one: str, change: tuple[str, str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    del one
    Path("a.toml").write_text(CONSTANT)
    Path("b.toml").write_text(CONSTANT.replace(*change))
    assert main(["compare", "a.toml", "b.toml"]) == Exit.BAD_INPUT
    assert said in capsys.readouterr().err


def test_the_scenes_of_one_and_of_several_congestion_points_are_other_traffic(
    one: str, capsys: pytest.CaptureFixture[str]
) -> None:
    del one
    scenarios = Path(__file__).parents[2] / "scenarios"
    files = [str(scenarios / f"{name}-congestion-point{end}.toml") for name, end in (("single", ""), ("multi", "s"))]
    assert main(["compare", *files]) == Exit.BAD_INPUT
    assert "against 24.1Gbps" in capsys.readouterr().err


def test_schemes_may_differ_in_who_controls_the_rate_of_a_traffic_entry(
    one: str, capsys: pytest.CaptureFixture[str]
) -> None:
    del one
    Path("a.toml").write_text(SCENARIO)
    Path("b.toml").write_text(SCENARIO + 'cc = { kind = "timely" }\n')
    assert main(["compare", "a.toml", "b.toml", "--seeds", "1", "--json"]) == Exit.OK
    assert ("all sizes", "b") in rows(capsys)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["two.toml", "--scheme", "TCD"], "two.toml has no scheme 'TCD'; it has none, DCQCN"),
        (["two.toml", "--scheme", "none"], "there is one scheme only"),
        (["two.toml", "--traffic", "wbe"], "there is no traffic 'wbe'; there is web, incast"),
        (["two.toml", "--edges", "10Kb"], "'10Kb' is not a size"),
        (["two.toml", "--edges", "10KB,1KB"], "smallest first"),
        (["two.toml", "two.toml"], "give their files different names"),
        ([], "name a scenario file"),
    ],
)
def test_what_cannot_be_compared_is_said(
    one: str, arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    del one
    assert main(["compare", *arguments]) == Exit.BAD_INPUT
    assert said in capsys.readouterr().err
    assert not Path("results").exists()


def test_run_runs_every_scheme_of_a_file_or_the_one_that_is_named(one: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", one, "--json"]) == Exit.OK
    runs = json.loads(capsys.readouterr().out)
    assert [run["scheme"] for run in runs] == ["none", "DCQCN"]
    assert [run["scenario"]["cc"]["kind"] for run in runs] == ["none", "dcqcn"]
    assert sorted(path.name for path in Path("results").iterdir()) == ["two-DCQCN-s1", "two-none-s1"]
    assert main(["run", one, "--scheme", "DCQCN", "--seed", "3"]) == Exit.OK
    assert Path("results/two-DCQCN-s3").is_dir()
    assert not Path("results/two-none-s3").exists()
    assert main(["run", one, "--scheme", "TCD"]) == Exit.BAD_INPUT
    assert "it has none, DCQCN" in capsys.readouterr().err


def test_what_the_user_sets_comes_after_what_a_scheme_sets(one: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", one, "--scheme", "DCQCN", "--set", "switch.detector.kmax=30KB", "--json"]) == Exit.OK
    run = json.loads(capsys.readouterr().out)
    assert run["scenario"]["switch"]["detector"]["kmax"] == "30KB"


SUPPLIED = """profile = "authors"
[topology]
kind = "star"
hosts = 5
rate = "40Gbps"
delay = "1us"
[[traffic]]
name = "tree"
kind = "supply"
from = ["h1", "h2", "h3"]
to = "h0"
rate = "40Gbps"
backlog = "16KB"
until = "500us"
[[traffic]]
name = "web"
kind = "flow"
from = "h1"
to = "h4"
size = "10KB"
"""


def test_what_an_application_supplies_is_the_same_traffic_whatever_a_scheme_lets_it_send(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    # With a fifth of the rate a bounded backlog takes fewer packets; that is an outcome.
    monkeypatch.chdir(tmp_path)
    schemes = SCHEMES.replace("none", "fast", 1).replace("DCQCN", "slow").replace("20KB", "6KB")
    Path("supply.toml").write_text(SUPPLIED + schemes)
    assert main(["compare", "supply.toml", "--seeds", "1", "--json"]) == Exit.OK
    table = rows(capsys)
    assert {scheme for _, scheme in table} == {"fast", "slow"}
    assert table["all sizes", "fast"]["flows"] == 1, "only what has a size has a slowdown"


def test_messages_of_a_trace_may_start_at_other_times_under_each_scheme(tmp_path: Path) -> None:
    def run(folder: str, kind: str, *starts_us: int) -> Results:
        place = synthetic.write(tmp_path / folder, "TCD")
        meta = json.loads((place / "run.json").read_text())
        meta["scenario"]["traffic"] = [{"name": "A", "kind": kind}]
        (place / "run.json").write_text(json.dumps(meta))
        flows = pl.read_parquet(place / "flows.parquet").filter(pl.col("traffic") == "A")
        starts = pl.Series([us * synthetic.US for us in starts_us], dtype=flows["start_ps"].dtype)
        flows.with_columns(start_ps=starts).write_parquet(place / "flows.parquet")
        return Results(place)

    same_traffic.require_flows("one", run("t1", "trace", 1, 2), "other", run("t2", "trace", 3, 1))
    with pytest.raises(UsageError, match="2 of 2 flows differ"):
        same_traffic.require_flows("one", run("p1", "poisson", 1, 2), "other", run("p2", "poisson", 3, 4))


def test_the_folder_of_a_run_has_the_name_of_its_scheme_and_equal_settings_share_one(one: str) -> None:
    twin = '[[scheme]]\nname = "again: a name / that no file may have"\nset = ["cc.kind=none"]\n'
    Path(one).write_text(SCENARIO + twin + SCHEMES)
    folder = Path("results/compare/two/runs")
    # The first of two schemes with the same settings names the folder; what would not survive in a name is a hash.
    assert main(["compare", one, "--seeds", "1"]) in (Exit.OK, Exit.CAVEATS)
    names = sorted(run.name for run in folder.iterdir())
    assert len(names) == 2
    assert sum(name.startswith("two-DCQCN-s1-") for name in names) == 1
    assert not any("/" in name or ":" in name or len(name) > 60 for name in names)
    # The same runs under other names are found again.
    Path(one).write_text(SCENARIO + SCHEMES)
    assert main(["compare", one, "--seeds", "1"]) in (Exit.OK, Exit.CAVEATS)
    assert sorted(run.name for run in folder.iterdir()) == names


#: A queue of ten packets, to which two hosts send a window of eleven each at once: what does not fit is cut or lost.
SMALL_QUEUE = """profile = "uec-400g"
[switch.trimming]
queue = "41500B"
[switch.detector]
kmin = "8300B"
kmax = "33200B"
[uec]
window = "45650B"
[topology]
kind = "star"
hosts = 3
rate = "400Gbps"
delay = "100ns"
[[traffic]]
name = "incast"
kind = "incast"
to = "h0"
size = "1MB"
[[scheme]]
name = "trims"
set = ["switch.overflow=trim"]
[[scheme]]
name = "drops"
set = ["switch.overflow=drop", "switch.port-buffer=41500B"]
"""


def test_flows_of_ultra_ethernet_tell_what_was_trimmed_dropped_and_sent_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("small.toml").write_text(SMALL_QUEUE)
    # A key of trimming does nothing where switches drop.
    assert main(["compare", "small.toml", "--seeds", "1", "--out", "o"]) == Exit.CAVEATS
    of_entry = {row["scheme"]: row for row in pl.read_parquet("o/traffic.parquet").to_dicts()}
    network = {row["scheme"]: row for row in pl.read_parquet("o/network.parquet").to_dicts()}
    # Each packet that was cut makes its source send one again, by its NACK; each that was lost, by a timer.
    assert network["trims"]["trims"] == of_entry["trims"]["resent_packets"] == of_entry["trims"]["nacks"] > 0
    assert network["trims"]["switch_drops"] == of_entry["trims"]["timeouts"] == 0
    assert network["drops"]["trims"] is None
    assert network["drops"]["switch_drops"] == of_entry["drops"]["resent_packets"] == of_entry["drops"]["timeouts"] > 0
    # The longest queue has at most what a port takes, and the packet in transmission counts.
    assert all(row["peak_queue_bytes"] <= 41_500 for row in network.values())
    assert all(0.5 <= row["fairness"] <= 1 for row in of_entry.values())


def test_schemes_are_compared_where_links_fail(one: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Whether all have the same traffic is found before any link fails."""
    lost = ["--set", 'fault=[{kind="loss", link=["h0", "s"], frames=0.001, at="1us"}]']
    again = ["--set", "transport.reliability=go-back-n", "--set", "ack.every=1"]
    assert main(["compare", one, *lost, *again, "--seeds", "1", "--json"]) == Exit.OK
    assert rows(capsys)["all sizes", "none"]["flows"] == 204
