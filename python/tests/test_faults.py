"""Faults of a run: what is told of each, who is blamed for a storm, what the page shows."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import backwater
import made_results
import numpy as np
import polars as pl
import pytest
import view_reader
from backwater import Results
from backwater.analysis import fault_costs, fault_notes, run_picture
from backwater.analysis.blame import Blame
from backwater.view import collect
from blame_scenes import branches_of

MS, US = 10**9, 10**6
SCENARIOS = Path(__file__).parents[2] / "scenarios"

_FLOW = {"src": "h0", "dst": "h2", "dst_index": 2, "start_ps": 0, "finish_ps": 3 * MS, "slowdown": 2.0}
_FLOW |= {"traffic": "x", "priority": 3, "size_bytes": 1000}


def _event(time: int, event: str, node: str, port: str | None, **others: Any) -> dict[str, Any]:
    index = {"s": 8, "t": 9, "h2": 2}[node]
    rest = {"packets": 0, "wire_bytes": 0, "flows": 0, "last_ps": None}
    row = {"time_ps": time, "fault": 0, "kind": "link-down", "event": event, "node": node, "port": port}
    return row | {"node_index": index} | rest | others


@pytest.fixture
def made(tmp_path: Path) -> Results:
    """A link is down from 1 to 1.5 ms and loses packets of flows 0 and 1; of 1000 B in 100 us h2 receives 200 B."""
    lost = {"packets": 7, "wire_bytes": 7000, "flows": 2, "last_ps": 1300 * US}
    faults = [
        _event(1 * MS, "down", "s", "s->t"),
        _event(1 * MS, "down", "t", "t->s"),
        _event(1200 * US, "detected", "s", "s->t"),
        _event(1500 * US, "up", "s", "s->t"),
        _event(1500 * US, "up", "t", "t->s"),
        _event(1100 * US, "lost", "s", "s->t", **lost),
    ]
    flows = [
        {"flow": 0, **_FLOW, "slowdown": 8.0},
        {"flow": 1, **_FLOW, "finish_ps": None, "slowdown": None},
        {"flow": 2, **_FLOW, "dst": "h3", "dst_index": 3},
    ]
    drop = {"node_index": 8, "port": "s->t", "reason": "link-down"}
    drops = [
        {"time_ps": 1100 * US, "flow": 0, **drop},
        {"time_ps": 1300 * US, "flow": 1, **drop},
        # Another time, port or reason is not of the fault.
        {"time_ps": 1301 * US, "flow": 2, **drop},
        {"time_ps": 1200 * US, "flow": 2, **drop, "port": "s->h2"},
        {"time_ps": 1200 * US, "flow": 2, **drop, "reason": "memory"},
    ]
    # From 1.1 to 1.6 ms it receives a fifth of what it did.
    received = [1000 if period < 11 or period >= 16 else 200 for period in range(30)]
    delivered = [
        {"time_ps": period * 100 * US, "node_index": 2, "received_bytes": value}
        for period, value in enumerate(received)
    ]
    folder = made_results.write(
        tmp_path / "run",
        {
            "faults": pl.DataFrame(faults, schema_overrides={"last_ps": pl.Int64}),
            "flows": pl.DataFrame(flows),
            "drops": pl.DataFrame(drops),
            "delivered": pl.DataFrame(delivered),
        },
        {
            "probe": {"sample": "100us"},
            "fault": [{"kind": "link-down", "link": ["s", "t"], "at": "1ms", "for": "500us"}],
        },
        3 * MS,
    )
    return Results(folder)


def test_a_fault_has_a_time_line_and_a_cost(made: Results, monkeypatch: pytest.MonkeyPatch) -> None:
    told = (
        "fault 0 (link-down): 1.00 ms down s->t, 1.20 ms noticed by s, 1.50 ms up again s->t; "
        "7 packets lost from 1.10 ms to 1.30 ms; "
        "2 flows lost packets, 1 finished, median slowdown 8"
    )
    # The first period may not be whole: nine are left, which are too few.
    assert fault_notes.of(made) == [told]
    monkeypatch.setattr(fault_costs, "_FEWEST", 9)
    goodput = (
        "goodput of 1 receiver below the least of 9 periods of 100 µs before, on average by 80 % of their mean, "
        "up again 600 µs after the fault (by chance in at most 1.7 % of runs)"
    )
    assert fault_notes.of(made) == [f"{told}; {goodput}"]


def test_a_picture_over_time_has_a_line_where_each_fault_begins_and_ends(made: Results, tmp_path: Path) -> None:
    samples = pl.DataFrame({"port": ["s->t", "s->t"], "time_ps": [0, 2 * MS], "queue_bytes": [1000, 0]})
    tables = {"samples": samples, "faults": made.faults.collect()}
    run = Results(made_results.write(tmp_path / "sampled", tables, {}, 3 * MS))
    axes = run_picture.of_run(run).axes[0]
    places = [np.asarray(line.get_xdata()) for line in axes.lines]
    assert [at[0] for at in places if np.ptp(at) == 0] == [1.0, 1.5]
    assert [text.get_text() for text in axes.texts] == ["fault 0"]


def test_a_picture_without_queues_says_so(made: Results, tmp_path: Path) -> None:
    samples = pl.DataFrame({"port": ["s->t", "t->s"], "time_ps": [0, 2 * MS], "queue_bytes": [0, 0]})
    tables = {"samples": samples, "faults": made.faults.collect()}
    run = Results(made_results.write(tmp_path / "sampled", tables, {}, 3 * MS))
    axes = run_picture.of_run(run).axes[0]
    told = "no packet waited at any of the 2 ports\nwhen their queues were looked at"
    assert [text.get_text() for text in axes.texts] == [told, "fault 0"]
    assert axes.get_legend() is None


@pytest.mark.parametrize(
    ("least", "periods", "down"), [(1000, 5, 100 * US), (150, 5, None), (1000, 4, 100 * US), (1000, 3, None)]
)
def test_goodput_is_down_below_every_period_before_for_longer_than_chance_makes_it(
    made: Results, monkeypatch: pytest.MonkeyPatch, least: int, periods: int, down: int | None
) -> None:
    monkeypatch.setattr(fault_costs, "_FEWEST", 9)
    frame = pl.read_parquet(made.folder / "delivered.parquet")
    # One of the periods before had no more than this.
    low = pl.when(pl.col("time_ps") == 5 * 100 * US).then(least).otherwise("received_bytes")
    frame = frame.with_columns(received_bytes=low)
    whole = pl.when(pl.col("time_ps") >= (11 + periods) * 100 * US).then(1000).otherwise("received_bytes")
    frame = frame.with_columns(received_bytes=whole)
    monkeypatch.setattr(Results, "delivered", property(lambda _: frame.lazy()))
    found = fault_costs.of(made)[0].recovery
    assert found is not None
    assert (found.receivers, found.period_ps, found.before, found.down_ps) == (1, 100 * US, 9, down)
    # Looked at are 15 periods, to nine after the last event. Three in a row have 13 of 220 orders, four 12 of 715.
    assert found.row == 4
    assert found.chance == pytest.approx(12 / 715)
    if down is not None:
        # Five periods: up in that from 1.6 ms on, 600 us after it began; a fifth of the mean is left.
        assert found.up_ps == (1 + periods) * 100 * US
        assert found.missing == pytest.approx(0.8)


def test_receivers_that_have_all_their_flows_are_not_told_as_down(tmp_path: Path) -> None:
    """Goodput ends after 2.5 ms, as the only flow does; from 2.0 ms on its switch loses a packet."""
    event = _event(2 * MS, "lost", "s", "s->h2", kind="gray", packets=1, wire_bytes=1000, flows=1, last_ps=2 * MS)
    drop = {"time_ps": 2 * MS, "flow": 0, "node_index": 8, "port": "s->h2", "reason": "gray"}
    delivered = [{"time_ps": n * 100 * US, "node_index": 2, "received_bytes": 1000 * (n < 25)} for n in range(40)]
    tables = {
        "faults": pl.DataFrame([event]),
        "flows": pl.DataFrame([_FLOW | {"flow": 0, "finish_ps": 2500 * US}]),
        "drops": pl.DataFrame([drop]),
        "delivered": pl.DataFrame(delivered),
    }
    scenario = {"probe": {"sample": "100us"}, "fault": [{"kind": "gray", "switch": "s", "share": 0.01}]}
    found = fault_costs.of(Results(made_results.write(tmp_path / "run", tables, scenario, 4 * MS)))[0].recovery
    assert found is not None
    assert found.down_ps is None


def test_chance_alone_is_told_as_goodput_that_is_down_in_no_more_runs_than_it_says() -> None:
    draw = np.random.default_rng(1)
    runs, told, chance = 2000, 0, 0.0
    for _ in range(runs):
        frame = pl.DataFrame({"period": range(40), "node_index": 2, "received_bytes": draw.integers(1, 10**9, 40)})
        found = fault_costs._Goodput(frame, US, 40).around(pl.Series([2]), 21 * US, 21 * US, (-1, 40 * US), 40 * US)
        assert found is not None
        told += found.down_ps is not None
        chance = found.chance
    # 20 periods before, 11 looked at; two in a row: 10 of 231 orders.
    assert chance == pytest.approx(10 / 231)
    assert told / runs < chance + 3 * (chance * (1 - chance) / runs) ** 0.5


def _storm(folder: Path, during: Sequence[float | None], before: Sequence[float], **fault: Any) -> str:
    """What is told of a storm at h2 from 1 to 2 ms: flows begin every 10 us, before it and while it lasts."""
    flows = [
        _FLOW | {"flow": number, "start_ps": number * 10 * US, "finish_ps": (number + 1) * 10 * US, "slowdown": slow}
        for number, slow in enumerate(before)
    ]
    for number, slow in enumerate(during):
        start = MS + number * 10 * US
        finish = None if slow is None else start + 10 * US
        flows.append(_FLOW | {"flow": len(flows), "start_ps": start, "finish_ps": finish, "slowdown": slow})
    # Another entry is faster, another receiver slower, and another size, too: none of them is like those.
    flows.append(_FLOW | {"flow": 1000, "traffic": "y", "finish_ps": US, "slowdown": 1.0})
    flows.append(_FLOW | {"flow": 1001, "dst": "h3", "dst_index": 3, "finish_ps": US, "slowdown": 99.0})
    flows.append(_FLOW | {"flow": 1002, "size_bytes": 4000, "finish_ps": US, "slowdown": 99.0})
    rows = [_event(time, event, "h2", "h2->s", kind="pause-storm") for time, event in ((MS, "storm"), (2 * MS, "calm"))]
    scenario = {
        "switch": {"pfc": {"priorities": [3, 4]}},
        "fault": [{"kind": "pause-storm", "host": "h2", "at": "1ms", "until": "2ms"} | fault],
    }
    faults = pl.DataFrame(rows, schema_overrides={"last_ps": pl.Int64})
    tables = {"faults": faults, "flows": pl.DataFrame(flows, infer_schema_length=None)}
    (line,) = fault_notes.of(Results(made_results.write(folder / "run", tables, scenario, 3 * MS)))
    head = "fault 0 (pause-storm): 1.00 ms PAUSE without end h2->s, 2.00 ms RESUME h2->s; no packet lost; "
    assert line.startswith(head)
    return line.removeprefix(head)


#: 49 flows, from 1 to 4.
USUAL = [1 + 3 * number / 48 for number in range(49)]


def test_a_storm_that_slows_flows_is_told_beside_flows_like_them_before(tmp_path: Path) -> None:
    # Each is slower than all 49: one place of 50, and twice that for three.
    assert _storm(tmp_path, [20.0, 30.0, 40.0], USUAL) == (
        "3 flows under way there, all finished, median slowdown 30 "
        "(3 that began meanwhile 30, 49 like them before 2.5: by chance in at most 4 % of runs)"
    )


def test_a_storm_without_effect_is_not_told_as_a_cost(tmp_path: Path) -> None:
    assert _storm(tmp_path, USUAL, USUAL) == (
        "49 flows under way there, all finished, median slowdown 2.5 "
        "(49 that began meanwhile 2.5, 49 like them before 2.5: may be chance)"
    )


def test_a_storm_in_a_priority_without_traffic_concerns_no_flow(tmp_path: Path) -> None:
    told = "no flow that it concerns was under way"
    assert _storm(tmp_path, [5.0, 5.0], USUAL, priorities=[4]) == told


def test_with_too_few_flows_before_nothing_is_compared(tmp_path: Path) -> None:
    assert _storm(tmp_path, [30.0], USUAL[:9]) == "1 flow under way there, it finished, median slowdown 30"


def test_flows_that_do_not_finish_are_slower_than_all_others(tmp_path: Path) -> None:
    # The run ends a millisecond after the storm, and no flow before took longer than 10 us.
    assert _storm(tmp_path, [None, None, 30.0], USUAL) == (
        "3 flows under way there, 1 finished, median slowdown 30 "
        "(3 that began meanwhile half or more not finished, 49 like them before 2.5: by chance in at most 4 % of runs)"
    )


def test_slow_flows_are_not_missing_from_those_before(tmp_path: Path) -> None:
    """The 13th of 49 flows is under way when the storm begins: only the twelve before it are compared with."""
    flows = [
        _FLOW | {"flow": number, "start_ps": number * 10 * US, "finish_ps": (number + 1) * 10 * US, "slowdown": 1.0}
        for number in range(49)
    ]
    flows[12] |= {"finish_ps": 1500 * US, "slowdown": 100.0}
    flows.append(_FLOW | {"flow": 49, "start_ps": 1200 * US, "finish_ps": 1300 * US, "slowdown": 10.0})
    faults = [_event(MS, "storm", "h2", "h2->s", kind="pause-storm")]
    tables = {"faults": pl.DataFrame(faults, schema_overrides={"last_ps": pl.Int64}), "flows": pl.DataFrame(flows)}
    scenario = {"switch": {"pfc": {"priorities": [3]}}, "fault": [{"kind": "pause-storm", "host": "h2", "at": "1ms"}]}
    found = fault_costs.of(Results(made_results.write(tmp_path / "run", tables, scenario, 3 * MS)))[0].comparison
    assert found is not None
    # One place of thirteen, and twice that.
    assert (found.flows, found.like, found.usual) == (1, 12, 1.0)
    assert found.chance == pytest.approx(2 / 13)


def test_of_many_faults_those_that_lost_most_are_told(tmp_path: Path) -> None:
    rows = [_event(n * US, "lost", "s", "s->t", fault=n, packets=n, last_ps=n * US) for n in range(1, 31)]
    flows = pl.DataFrame([{"flow": 0, **_FLOW}])
    tables = {"faults": pl.DataFrame(rows), "flows": flows}
    entry = {"kind": "link-down", "link": ["s", "t"], "at": "1us"}
    lines = fault_notes.of(Results(made_results.write(tmp_path / "run", tables, {"fault": [entry] * 31}, MS)))
    assert len(lines) == fault_notes.MOST + 2
    assert lines[0].startswith("fault 11 (link-down): 11 packets lost")
    assert lines[-2:] == [
        "faults: 10 more, which lost no more packets each",
        "fault 0 (link-down): no packet lost by it",
    ]


def test_of_goodput_below_an_empty_period_nothing_is_told(made: Results, monkeypatch: pytest.MonkeyPatch) -> None:
    """It gets nothing from the fault on, and had nothing in 2 of the 9 periods before: none is below these."""
    monkeypatch.setattr(fault_costs, "_FEWEST", 9)
    frame = pl.read_parquet(made.folder / "delivered.parquet")
    empty = pl.col("time_ps").is_in([300 * US, 500 * US]) | (pl.col("time_ps") >= 1000 * US)
    frame = frame.with_columns(received_bytes=pl.when(empty).then(0).otherwise("received_bytes"))
    monkeypatch.setattr(Results, "delivered", property(lambda _: frame.lazy()))
    (told,) = fault_notes.of(made)
    assert told.endswith(
        "; whether goodput of 1 receiver was down cannot be told, as 2 of 9 periods of 100 µs before were empty: "
        "take a longer probe.sample"
    )


IDLE = """
profile = "roce"
topology = { kind = "star", hosts = 4, rate = "100Gbps", delay = "1us" }
transport = { reliability = "go-back-n" }
[[traffic]]
name = "x"
kind = "flow"
from = "h0"
to = "h2"
size = "1MB"
[[fault]]
kind = "gray"
switch = "s"
from = "h1"
to = "h3"
share = 1.0
at = "10us"
[[fault]]
kind = "link-down"
link = ["h3", "s"]
at = ["5s", "6s"]
for = "1ms"
"""


def test_a_fault_that_meets_nothing_has_a_line(tmp_path: Path) -> None:
    """No packet goes from h1 to h3, and the run ends with its only flow."""
    file = tmp_path / "idle.toml"
    file.write_text(IDLE, encoding="utf-8")
    assert fault_notes.of(backwater.run(file, out=tmp_path / "run")) == [
        "fault 0 (gray): no packet lost by it",
        "fault 1 (link-down): the run ended before it began",
    ]


def test_what_a_link_sends_again_is_told_and_is_no_loss(tmp_path: Path) -> None:
    again = {"kind": "loss", "packets": 8, "wire_bytes": 33_200, "last_ps": 9 * US}
    tables = {
        "faults": pl.DataFrame([_event(2 * US, "replayed", "s", "s->t", **again)]),
        "flows": pl.DataFrame([{"flow": 0, **_FLOW}]),
    }
    scenario = {"fault": [{"kind": "loss", "link": ["s", "t"], "frames": 0.1}]}
    results = Results(made_results.write(tmp_path / "run", tables, scenario, 3 * MS))
    assert fault_notes.of(results) == ["fault 0 (loss): from 2.00 µs 8 packets sent again by s->t; no packet lost"]
    assert fault_costs.of(results)[0].packets == 0


def test_of_many_faults_that_meet_nothing_some_are_named(tmp_path: Path) -> None:
    entry = {"kind": "loss", "link": ["s", "t"], "frames": 0.1}
    lines = fault_notes.of(Results(made_results.write(tmp_path / "run", {}, {"fault": [entry] * 25}, MS)))
    assert len(lines) == fault_notes.MOST + 1
    assert lines[-1] == "faults: 5 more that lost nothing and changed nothing"


STORM = """
profile = "ideal"
run = { until = "3ms" }
topology = { kind = "leaf-spine", leaves = 2, spines = 1, hosts-per-leaf = 3, rate = "100Gbps", delay = "1us" }
probe = { pauses = true, blame = true }
[switch]
flow-control = "pfc"
[[traffic]]
name = "to-storm"
kind = "constant"
from = ["h3", "h4"]
to = "h0"
rate = "20Gbps"
[[traffic]]
name = "beside"
kind = "poisson"
from = "h5"
to = "h1"
size = "10KB"
load = 0.2
until = "2500us"
[[traffic]]
name = "local"
kind = "poisson"
from = "h1"
to = "h2"
size = "10KB"
load = 0.2
until = "2500us"
[[fault]]
kind = "pause-storm"
host = "h0"
at = "500us"
"""


def test_a_host_that_does_not_stop_sending_pause_is_the_root_of_all_that_it_holds(tmp_path: Path) -> None:
    file = tmp_path / "storm.toml"
    file.write_text(STORM, encoding="utf-8")
    blame = Blame(backwater.run(file, out=tmp_path / "out"))
    root = "h0 (sends PAUSE without end)"
    assert blame.roots["root_port"].to_list() == [root]
    branches = branches_of(blame, root)
    assert {name: branches[name]["depth"] for name in ("leaf0->h0", "spine0->leaf0", "leaf1->spine0")} == {
        "leaf0->h0": 1,
        "spine0->leaf0": 2,
        "leaf1->spine0": 3,
    }
    assert {"h3->leaf1", "h4->leaf1", "h5->leaf1"} <= set(branches)
    # From 0.5 ms to the end, but for a microsecond and what a frame takes.
    assert branches["leaf0->h0"]["weighted_ps"] == pytest.approx(2.5 * MS, rel=0.01)
    assert blame.unexplained_ps == 0


def test_a_page_has_the_places_of_faults_while_they_last(tmp_path: Path) -> None:
    shown = view_reader.read(collect.packed(backwater.run(SCENARIOS / "faults.toml", out=tmp_path / "run")))
    assert [one["name"] for one in shown.header["faults"]] == [
        "fault 0: link-down",
        "fault 1: loss",
        "fault 2: switch-down",
    ]
    assert [one["dead"] for one in shown.header["faults"]] == [True, False, True]
    node = {name: number for number, name in enumerate(shown.header["nodes"])}
    tick, end = shown.header["tick_ps"], shown.header["end_ps"]
    rows = [
        (row["fault"], row["node"], row["peer"], row["start"] * tick, (row["start"] + row["length"]) * tick)
        for row in shown.table("faults")
    ]
    assert rows == [
        (0, node["leaf0"], node["spine0"], 1 * MS, 4 * MS),
        (1, node["leaf1"], node["spine1"], 6 * MS, end),
        (2, node["spine3"], -1, 7 * MS, end),
    ]
    lanes = [lane["name"] for lane in shown.header["lanes"]]
    assert lanes == ["fault 0: link-down", "noticed", "fault 1: loss", "fault 2: switch-down", "noticed"]
    assert all(one["cost"][0].endswith("ms") for one in shown.header["faults"])


def test_flows_that_begin_after_another_fault_are_not_compared(tmp_path: Path) -> None:
    """Two flows begin during a storm, the second one after a link has gone down, too."""
    flows = [
        _FLOW | {"flow": number, "start_ps": number * 10 * US, "finish_ps": (number + 1) * 10 * US}
        for number in range(49)
    ]
    flows += [_FLOW | {"flow": 50 + n, "start_ps": (1200 + 300 * n) * US, "slowdown": 10.0 + n} for n in range(2)]
    events = [
        _event(MS, "storm", "h2", "h2->s", kind="pause-storm"),
        _event(1400 * US, "down", "s", "s->t", fault=1),
        _event(2 * MS, "calm", "h2", "h2->s", kind="pause-storm"),
    ]
    tables = {"faults": pl.DataFrame(events, schema_overrides={"last_ps": pl.Int64}), "flows": pl.DataFrame(flows)}
    storm = {"kind": "pause-storm", "host": "h2", "at": "1ms", "until": "2ms"}
    down = {"kind": "link-down", "link": ["s", "t"], "at": "1400us"}
    scenario = {"switch": {"pfc": {"priorities": [3]}}, "fault": [storm, down]}
    run = Results(made_results.write(tmp_path / "run", tables, scenario, 4 * MS))
    (found,) = (fault.comparison for fault in fault_costs.of(run) if fault.kind == "pause-storm")
    assert found is not None
    assert (found.flows, found.slowdown, found.like) == (1, 10.0, 49)


def test_other_faults_bound_what_is_compared_however_many_there_are(tmp_path: Path) -> None:
    """Of 5000 links that fail, each for 10 us and one after the other, those with the most losses are told."""
    rows = []
    for number in range(5000):
        times = [(number * 20 + after) * US // 10 for after in (0, 10)]
        for time, event in zip(times, ("down", "up"), strict=True):
            rows.append({**_event(time, event, "s", "s->t"), "fault": number})
        if number % 100 == 7:
            lost = {"packets": number, "wire_bytes": 0, "flows": 1, "last_ps": times[0] + US // 2}
            rows.append({**_event(times[0], "lost", "s", "s->t", **lost), "fault": number})
    frame = pl.DataFrame(rows, schema_overrides={"last_ps": pl.Int64})
    flows = pl.DataFrame([{"flow": 0, **_FLOW}])
    entry = {"kind": "link-down", "link": ["s", "t"], "at": "1ms"}
    tables = {"faults": frame, "flows": flows}
    run = Results(made_results.write(tmp_path / "run", tables, {"fault": [entry] * 5000}, 10 * MS))
    found = fault_costs.of(run, 20)
    assert [fault.number for fault in found] == list(range(3007, 5000, 100))
    assert [fault.packets for fault in found] == list(range(3007, 5000, 100))
    lines = fault_notes.of(run)
    assert len(lines) == 21
    assert lines[-1] == "faults: 4 980 more, which lost no more packets each"


def test_times_of_other_faults_are_those_before_and_after() -> None:
    """Of three faults, and the watchdog, one that did something at the same time is neither before nor after."""
    known = [(0, "loss", 5), (0, "loss", 9), (1, "loss", 7), (2, "gray", 9), (2, "gray", 30), (None, "watchdog", 8)]
    times = pl.DataFrame(known, schema=["fault", "kind", "time_ps"], orient="row")

    def around(number: int | None, kind: str) -> tuple[int, int]:
        own = times.filter(pl.col("kind").eq(kind) & pl.col("fault").eq_missing(pl.lit(number, pl.Int64)))
        return fault_costs._around(times, own, 100)

    assert around(0, "loss") == (-1, 7)
    assert around(1, "loss") == (5, 8)
    assert around(2, "gray") == (8, 100)
    assert around(None, "watchdog") == (7, 9)
