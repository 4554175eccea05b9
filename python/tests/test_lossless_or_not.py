"""PFC or drops, go-back-N or selective repeat: scenarios/lossless-or-not.toml, and what is told where packets are lost.

What is expected follows from arithmetic: what was sent is what was taken, and what was lost, and no more.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from statistics import mean
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import pytest
from backwater import Results
from backwater.analysis import run_notes, run_picture, scheme_measures, scheme_pictures, scheme_slowdown, scheme_tables
from backwater.cli import main
from backwater.errors import Exit, UsageError
from backwater.experiments import sweep_measures
from backwater.results import measures
from backwater.results.catalogue import named
from backwater.scenario import schemes
from backwater.scenario.scenario import Scenario

if TYPE_CHECKING:
    from collections.abc import Sequence

FILE = Path(__file__).parents[2] / "scenarios" / "lossless-or-not.toml"
CONTROLLERS = ("DCQCN", "DCQCN+TCD", "ICI+", "HPCC", "Swift")
REPEATS = ("GBN", "SR")
#: Short runs, whose switches hold so little that something is dropped under every controller.
SHORT = ("traffic.web-search.until=300us", "traffic.incast.rounds=1", "traffic.incast.start=50us")
LITTLE = ("switch.port-buffer=200KB",)


def _run(scenario: Scenario, overrides: Sequence[str], *, out: Path) -> None:
    scenario.read(overrides).run(out)


@pytest.fixture(scope="module")
def short(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Results]:
    """A short run under each scheme."""
    root = tmp_path_factory.mktemp("short")
    found: dict[str, Results] = {}
    for scheme in schemes.of(Scenario.load(FILE)):
        more = LITTLE if scheme.name.startswith("drop") else ()
        folder = root / str(len(found))
        _run(scheme.scenario, (*scheme.overrides, *SHORT, *more), out=folder)
        found[scheme.name] = Results(folder)
    return found


def total(run: Results, column: str) -> int:
    return int(run.flows.select(pl.col(column).sum()).collect().item())


def drops(run: Results) -> int:
    """Of switches: what receivers do not take stands with the flows."""
    return measures.drops(run)


def test_every_combination_is_run_or_told_why_not() -> None:
    scenario = Scenario.load(FILE)
    run = [scheme.name for scheme in schemes.of(scenario)]
    without = schemes.left_out(scenario)
    both = {f"{fabric} {repeat} {cc}" for fabric in ("PFC", "drop") for repeat in REPEATS for cc in CONTROLLERS}
    assert {*run, *without} == both
    assert not {*run} & {*without}
    # Both need PAUSEs: TCD tells what waits for them, ICI+ sends them.
    assert {*without} == {f"drop {repeat} {cc}" for repeat in REPEATS for cc in ("DCQCN+TCD", "ICI+")}
    assert all("without PFC" in why for why in without.values())


def test_a_scheme_that_is_left_out_is_refused_by_name() -> None:
    with pytest.raises(UsageError, match=r"leaves the scheme 'drop SR ICI\+' out: ICI\+ holds"):
        schemes.of(Scenario.load(FILE), only=["drop SR ICI+"])


@pytest.mark.parametrize("scheme", [f"drop {repeat} {cc}" for repeat in REPEATS for cc in ("DCQCN", "HPCC", "Swift")])
def test_what_was_sent_again_is_what_was_lost_discarded_or_had_come_before(
    short: dict[str, Results], scheme: str
) -> None:
    run = short[scheme]
    flows = run.flows.collect()
    assert flows["finish_ps"].null_count() == 0
    # Each byte once, whatever came twice.
    assert (flows["received_bytes"] == flows["size_bytes"]).all()
    # ACKs and NACKs are dropped, too: of them nothing is sent again.
    lost = run.drops.filter(pl.col("reason").cast(pl.String) != "not-taken")
    data = lost.filter(pl.col("data")).select(pl.len()).collect().item()
    assert 0 < data <= drops(run)
    assert total(run, "resent_packets") == data + total(run, "dropped_packets") + total(run, "duplicate_packets")
    if " SR " in scheme:
        assert total(run, "dropped_packets") == 0, "selective repeat keeps what comes out of order"


@pytest.mark.parametrize("scheme", [f"PFC {repeat} {cc}" for repeat in REPEATS for cc in CONTROLLERS])
def test_with_pfc_and_headroom_nothing_is_dropped(short: dict[str, Results], scheme: str) -> None:
    run = short[scheme]
    assert (drops(run), total(run, "dropped_packets"), total(run, "nacks")) == (0, 0, 0)
    # A timer may end before an ACK has come; then what was sent again comes twice.
    assert total(run, "resent_packets") == total(run, "duplicate_packets")


def test_where_nobody_is_paused_and_nothing_is_dropped_both_fabrics_are_the_same(
    short: dict[str, Results], tmp_path: Path
) -> None:
    (scheme,) = schemes.of(Scenario.load(FILE), only=["drop GBN Swift"])
    _run(scheme.scenario, (*scheme.overrides, *SHORT), out=tmp_path)
    lossless, lossy = short["PFC GBN Swift"], Results(tmp_path)
    assert lossless.meta["totals"]["pauses"] == drops(lossy) == 0
    assert lossless.digest == lossy.digest


def test_a_picture_of_losses_is_drawn(short: dict[str, Results], tmp_path: Path) -> None:
    found = scheme_measures.outcomes({name: [run] for name, run in short.items()})
    file = scheme_pictures.draw(found, tmp_path / "schemes.png", title="losses")
    assert file.stat().st_size > 10_000


def test_no_more_is_useful_than_packets_without_headers_and_acks_leave(short: dict[str, Results]) -> None:
    for name, run in short.items():
        packet = run.meta["scenario"]["packet"]["header"], run.meta["scenario"]["ack"]["size"]
        header, ack = (int(str(size).removesuffix("B")) for size in packet)
        wire = measures.on_the_wire(run)
        # 4096 B in a packet with its header, and an ACK for each.
        most = 100 * 4096 / (4096 + header + ack)
        useful, sent = wire["useful_percent"], wire["sent_bytes"]
        assert useful is not None
        assert sent is not None
        assert useful < most, name
        assert sent * useful / 100 == pytest.approx(total(run, "size_bytes"))
        if not total(run, "resent_packets"):
            assert useful > most - 1, name


def test_without_pauses_tcd_marks_what_ecn_marks_and_the_run_says_so(tmp_path: Path) -> None:
    (scheme,) = schemes.of(Scenario.load(FILE), only=["drop GBN DCQCN"])
    runs = {}
    for kind in ("red", "tcd"):
        _run(scheme.scenario, (*scheme.overrides, *SHORT, *LITTLE, f"switch.detector.kind={kind}"), out=tmp_path / kind)
        runs[kind] = Results(tmp_path / kind)
    assert runs["tcd"].digest == runs["red"].digest
    codes = {kind: [caveat["code"] for caveat in run.meta["caveats"]] for kind, run in runs.items()}
    assert "tcd-without-off" in codes["tcd"]
    assert "tcd-without-off" not in codes["red"]
    # Marking for certain begins at 1.6 MB, and a port holds 200 KB.
    assert "drops-before-marks" in codes["red"]


def test_a_comparison_tells_of_losses_and_has_no_pauses_where_there_can_be_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    names = ("PFC GBN DCQCN", "drop GBN DCQCN", "drop SR DCQCN")
    less = [argument for text in (*SHORT, "switch.buffer=1.5MB") for argument in ("--set", text)]
    chosen = [argument for name in names for argument in ("--scheme", name)]
    command = ["compare", str(FILE), "--seeds", "1", *chosen, *less]
    assert main([*command, "--json"]) == Exit.CAVEATS
    told = json.loads(capsys.readouterr().out)
    network = {row["scheme"]: row for row in told["network"]}
    pauses = [network[name]["pauses_3"] for name in names]
    assert pauses[0] > 0
    assert pauses[1:] == [None, None]
    assert network["PFC GBN DCQCN"]["victims"] is not None
    assert network["drop GBN DCQCN"]["victims"] is None
    assert network["PFC GBN DCQCN"]["switch_drops"] == 0
    assert network["drop GBN DCQCN"]["switch_drops"] > 0
    assert {row["scheme"] for row in told["left_out"]} == {*schemes.left_out(Scenario.load(FILE))}
    assert main(command) == Exit.CAVEATS
    shown = " ".join(capsys.readouterr().out.split())
    # Of one of three schemes, which it names.
    assert shown.count("caveat[reliability-idle]") == 1
    assert "What was lost and sent again" in shown
    assert "drop SR ICI+: left out: ICI+ holds the queues" in shown


def test_what_is_left_out_is_told_over_the_values_of_a_key_as_well(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    text = CUT.partition("[[fault]]")[0].replace("1MB", "10KB")
    listed = '[[scheme]]\nname = "{}"\nset = ["cc.kind={}"]\n'
    text += listed.format("one", "dcqcn") + listed.format("two", "none")
    Path("left.toml").write_text(text + listed.format("three", "timely") + 'left-out = "of no use here"\n')
    over = ["compare", "left.toml", "--over", "traffic.whole.size=10KB,20KB", "--seeds", "1"]
    main(over)
    assert "three: left out: of no use here" in capsys.readouterr().out
    main([*over, "--json"])
    told = json.loads(capsys.readouterr().out)
    assert told["left_out"] == [{"scheme": "three", "why": "of no use here"}]
    assert {row["scheme"] for row in told["means"]} == {"one", "two"}


#: h2 is cut off for good: its flow is given up, whatever the other one does.
CUT = """
profile = "roce"
[topology]
kind = "star"
hosts = 3
rate = "100Gbps"
delay = "1us"
[transport]
reliability = "go-back-n"
[transport.go-back-n]
timeout = "1ms"
retries = 2
[[traffic]]
name = "whole"
kind = "flow"
from = "h0"
to = "h1"
size = "1MB"
[[traffic]]
name = "cut"
kind = "flow"
from = "h0"
to = "h2"
size = "1MB"
[[fault]]
kind = "link-down"
link = ["h2", "s"]
at = "0s"
"""


#: Nothing comes back from h1 to h0, and from 10 us on nothing comes from h3 to h2.
DEAF = """
profile = "roce"
[topology]
kind = "star"
hosts = 4
rate = "100Gbps"
delay = "1us"
[transport]
reliability = "go-back-n"
[transport.go-back-n]
timeout = "100us"
retries = 2
[[traffic]]
name = "arrived"
kind = "flow"
from = "h0"
to = "h1"
size = "100KB"
[[traffic]]
name = "cut"
kind = "flow"
from = "h3"
to = "h2"
size = "1MB"
[[fault]]
kind = "gray"
switch = "s"
from = "h1"
to = "h0"
share = 1.0
at = "0s"
[[fault]]
kind = "gray"
switch = "s"
from = "h3"
to = "h2"
share = 1.0
at = "10us"
"""


def test_a_flow_that_has_arrived_counts_as_finished_though_its_queue_pair_fails(tmp_path: Path) -> None:
    """Of one flow all ACKs are lost, of another the data: both queue pairs give up, and the first flow has its FCT."""
    scenario = tmp_path / "deaf.toml"
    scenario.write_text(DEAF)
    _run(Scenario.load(scenario), (), out=tmp_path / "run")
    run = Results(tmp_path / "run")
    rows = {row["traffic"]: row for row in sweep_measures.of(run)}
    assert [rows[name]["failed"] for name in ("arrived", "cut")] == [1, 1]
    assert [rows[name]["finished"] for name in ("arrived", "cut")] == [1, 0]
    # 100 KB at 100 Gbps take 8 us, and no packet of them was lost.
    assert 1 <= rows["arrived"]["max_slowdown"] < 1.1
    told = "\n".join(run_notes.of(run))
    assert "note[failed-pairs]: 2 queue pairs are in error: no ACK came after the last retry" in told
    assert "Of 1 flow all had arrived, which counts as finished; 1 never ends. The first: arrived, h0 to h1" in told


def test_a_flow_that_never_ends_is_counted_beside_every_percentile(tmp_path: Path) -> None:
    scenario = tmp_path / "cut.toml"
    scenario.write_text(CUT)
    _run(Scenario.load(scenario), (), out=tmp_path / "run")
    run = Results(tmp_path / "run")
    rows = {row["traffic"]: row for row in sweep_measures.of(run)}
    assert [rows[name]["finished"] for name in ("whole", "cut")] == [1, 0]
    assert [rows[name]["unfinished"] for name in ("whole", "cut")] == [0, 1]
    assert [rows[name]["failed"] for name in ("whole", "cut")] == [0, 1]
    assert rows["cut"]["max_slowdown"] is None
    # The first timeout sends again, and so does each of two retries; the next one gives up.
    assert rows["cut"]["timeouts"] == 3
    told = "\n".join(run_notes.of(run))
    # The other flow's 1 MB, of which hosts sent at least that and 2 MB more: the first try and two that were in vain.
    assert 0 < float(re.findall(r"; ([0-9.]+) % of the", told)[0]) < 34
    assert "note[failed-pairs]: 1 queue pair is in error" in told
    assert "note[unfinished]: 1 of 2 finite flows" in told
    found = scheme_measures.outcomes({"x": [run]})
    assert [one.name for one in found.losses] == [one.name for one in scheme_measures.OF_LOSSES]
    assert found.traffic["cut"]["x"]["failed"].mean == 1
    assert any("unfinished" in str(one.title) or one.columns for one in scheme_tables.tables(found))


def test_the_curve_of_slowdowns_ends_at_the_share_of_flows_that_finished(tmp_path: Path) -> None:
    """A curve of the two flows together, of which one never ends, ends at a half."""
    scenario = tmp_path / "cut.toml"
    scenario.write_text(CUT)
    _run(Scenario.load(scenario), (), out=tmp_path / "run")
    (axes,) = run_picture.slowdowns({"both": [Results(tmp_path / "run")]}).axes
    (line,) = axes.lines
    assert max(np.asarray(line.get_ydata()).tolist()) == 0.5
    assert line.get_label() == "both (1 of 2 flows)"


def test_fct_txt_says_how_many_flows_it_is_without(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    scenario = tmp_path / "cut.toml"
    scenario.write_text(CUT)
    _run(Scenario.load(scenario), (), out=tmp_path / "run")
    assert main(["export", "fct", str(tmp_path / "run"), "--out", str(tmp_path / "fct.txt")]) == Exit.OK
    assert len((tmp_path / "fct.txt").read_text().splitlines()) == 1
    assert "note: 1 flow did not finish, and is not in the file" in capsys.readouterr().err


def test_a_picture_names_the_schemes_whose_flows_never_finished() -> None:
    rows = [("all sizes", f"s{number}", number) for number in range(7)] + [("< 1 KB", "s9", 9)]
    table = pl.DataFrame(rows, schema=["bin", "scheme", "unfinished"], orient="row")
    told = "; without flows that never finished: 1 of s1, 2 of s2, 3 of s3, 4 of s4, some of 2 more schemes"
    assert scheme_slowdown.unfinished(table) == told
    assert scheme_slowdown.unfinished(table.filter(pl.col("unfinished") == 0)) == ""


def test_where_nothing_is_sent_again_nothing_is_told_of_it(tcd_run: Results) -> None:
    assert not measures.repeats(tcd_run.meta["scenario"])
    row: dict[str, Any] = sweep_measures.of(tcd_run)[0]
    assert [row[name] for name in ("resent_packets", "failed", "nacks", "timeouts")] == [None] * 4


@pytest.mark.parametrize("controller", ["none", "TIMELY", "DCQCN"])
def test_irn_without_pfc_is_better_than_roce_with_pfc_by_what_its_paper_says(controller: str, tmp_path: Path) -> None:
    # The abstract of the IRN paper: "IRN (without PFC) outperforms RoCE (with PFC) by 6-83%". Means over five seeds.
    wanted = named("mean_slowdown mean_fct_ps p99_fct_ps")
    found: dict[str, list[dict[str, float]]] = {"RoCE PFC": [], "IRN": []}
    names = [f"{nics} {controller}" for nics in found]
    listed = schemes.of(Scenario.load(FILE.with_name("irn.toml")), only=names)
    for nics, scheme in zip(found, sorted(listed, key=lambda one: names.index(one.name)), strict=True):
        for seed in range(1, 6):
            out = tmp_path / nics / str(seed)
            _run(scheme.scenario, (*scheme.overrides, f"run.seed={seed}"), out=out)
            found[nics].append(measures.of_traffic(Results(out), wanted).row(0, named=True))
    for measure in (one.name for one in wanted):
        less = [1 - irn[measure] / roce[measure] for roce, irn in zip(*found.values(), strict=True)]
        assert 0.06 < mean(less) < 0.83, measure
