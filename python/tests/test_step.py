"""Runs that are stepped: `backwater.begin`."""

from __future__ import annotations

import gc
import re
from itertools import pairwise
from pathlib import Path
from typing import Any

import backwater as bw
import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

STAR = {"kind": "star", "hosts": 4, "rate": "100Gbps", "delay": "1us"}
INCAST = {"name": "incast", "kind": "incast", "from": "*", "to": "h0", "size": "100KB"}
EMPTY = {"name": "messages", "kind": "injected"}


def incast() -> bw.Experiment:
    return bw.Experiment(topology=STAR, traffic=[INCAST], probe={"sample": "2us", "ports": ["s->h0"]})


def whole(experiment: bw.Experiment, out: Path) -> bw.Results:
    results = bw.run(experiment, out=out)
    assert isinstance(results, bw.Results)
    return results


def tables(results: bw.Results) -> list[pl.DataFrame]:
    return [results.table(name).collect() for name in sorted(results.tables)]


def test_a_run_in_steps_is_the_run_in_one_go(tmp_path: Path) -> None:
    known = whole(incast(), tmp_path / "whole")
    ended = []
    with bw.begin(incast(), out=tmp_path / "steps") as run:
        for until in (1, "1.5us", 7_654_321, "0.02ms"):
            assert run.step(until).now_ps == (
                until if isinstance(until, int) else {"1.5us": 1_500_000}.get(until, 20_000_000)
            )
            ended += run.completions()
        over = [run.is_over, run.step("1s").is_over]
        assert over == [False, True]
        ended += run.completions()
        assert run.completions() == []
        stepped = run.finish()
    assert stepped.complete
    assert stepped.digest == known.digest
    for one, other in zip(tables(known), tables(stepped), strict=True):
        assert_frame_equal(one, other)
    told = pl.DataFrame(ended, schema=list(bw.Completion._fields), orient="row")
    columns = ["flow", "traffic", "src", "dst", "size_bytes", "start_ps", "finish_ps"]
    rows = known.flows.select(columns).collect().sort("finish_ps", "flow").rows()
    assert told.rows() == rows


@pytest.mark.parametrize(
    ("transport", "probe", "table"),
    [("roce", {"rates": ["messages"]}, "rates"), ("put", {"puts": ["messages"]}, "streams")],
)
def test_flows_that_are_injected_are_those_of_a_scenario_that_has_them(
    tmp_path: Path, transport: str, probe: dict[str, Any], table: str
) -> None:
    settings: dict[str, Any] = {"topology": STAR, "probe": {"sample": "2us", **probe}}
    rows = [
        {"src": 1, "dst": 0, "size_bytes": 200_000, "start_ps": 0},
        {"src": 2, "dst": 0, "size_bytes": 100_000, "start_ps": 3_000_001},
        {"src": 3, "dst": 2, "size_bytes": 5_000, "start_ps": 900_000_000},
    ]
    entry = {"name": "messages", "flows": pl.DataFrame(rows), "transport": transport}
    known = whole(bw.Experiment(traffic=[entry], **settings), tmp_path / "whole")
    empty = bw.Experiment(traffic=[{**EMPTY, "transport": transport}], **settings)
    with bw.begin(empty, out=tmp_path / "steps") as run:
        assert run.inject(rows[:1]) == range(1)
        run.step("3us")
        assert run.inject({**rows[1], "src": "h2", "dst": "h0", "traffic": "messages"}) == range(1, 2)
        run.step("800us")
        assert (run.is_over, len(run.completions())) == (True, 2)
        assert run.inject(pl.DataFrame(rows[2:])) == range(2, 3)
        results = run.finish()
    assert results.digest == known.digest
    assert results.table(table).collect().height > 0
    for one, other in zip(tables(known), tables(results), strict=True):
        assert_frame_equal(one, other)


@pytest.mark.parametrize("kind", ["swift", "dctcp", "hpcc", "timely", "dcqcn"])
def test_windows_of_injected_flows_are_of_the_longest_path(kind: str, tmp_path: Path) -> None:
    # The flow between two leaves has the longest path, that below one of them has not: both have its windows.
    clos = {"kind": "leaf-spine", "leaves": 2, "spines": 1, "hosts-per-leaf": 2, "rate": "100Gbps", "delay": "1us"}
    rows = [
        {"src": 0, "dst": 3, "size_bytes": 400_000, "start_ps": 0},
        {"src": 1, "dst": 0, "size_bytes": 100_000, "start_ps": 5_000_000},
    ]
    given = bw.Experiment(topology=clos, traffic=[{"name": "messages", "flows": pl.DataFrame(rows)}], cc={"kind": kind})
    known = whole(given, tmp_path / "whole")
    with bw.begin(bw.Experiment(topology=clos, traffic=[EMPTY], cc={"kind": kind}), out=tmp_path / "steps") as run:
        run.inject(rows)
        results = run.finish()
    assert results.digest == known.digest


def test_a_run_stops_where_a_flow_ends_and_a_chain_waits_for_acks_only(tmp_path: Path) -> None:
    """What comes of an end starts a picosecond later, when the ACK has left: its 64 B take 5.12 ns on the link."""
    hop = {"size_bytes": 100_000, "traffic": 0}
    with bw.begin(bw.Experiment(topology=STAR, traffic=[EMPTY]), out=tmp_path / "chain") as run:
        run.inject({**hop, "src": 0, "dst": 1, "start_ps": 0})
        finishes = []
        for src in (1, 2, 3):
            (ended,) = run.step_to_completion().completions()
            assert ended.finish_ps is not None
            assert run.now_ps == ended.finish_ps + 1
            finishes.append(ended.finish_ps)
            run.inject({**hop, "src": src, "dst": (src + 1) % 4, "start_ps": run.now_ps})
        (ended,) = run.step_to_completion().step_to_completion().completions()
        assert ended.finish_ps is not None
        finishes.append(ended.finish_ps)
        assert run.step_to_completion(run.now_ps + 5).completions() == []
        assert (run.step_to_completion("1s").now_ps, run.is_over) == (1_000_000_000_000, True)
    assert [later - sooner for sooner, later in pairwise(finishes)] == [finishes[0] + 5_120] * 3


def test_numbers_may_be_those_of_numpy(tmp_path: Path) -> None:
    flow = {"src": 1, "dst": 0, "size_bytes": 10_000, "start_ps": 2_000_000, "traffic": 0, "priority": 3}
    digests = []
    for number in (int, np.int64, np.uint64):
        with bw.begin(incast(), out=tmp_path / number.__name__) as run:
            run.step(number(1_500_000))
            run.inject({key: number(value) for key, value in flow.items()})
            digests.append(run.finish().digest)
    assert len(set(digests)) == 1
    with bw.begin(incast(), out=tmp_path / "bad") as run:
        for wrong in (True, np.True_, np.float64(1e6), np.array([1, 2]), -1, np.int64(-1), 2**64, None):
            with pytest.raises(bw.UsageError, match=r"picoseconds from 0 to 18446744073709551615"):
                run.step(wrong)  # type: ignore[arg-type]
            with pytest.raises(bw.UsageError, match=r"flows\[0\]: start_ps = .*allowed: whole numbers from 0"):
                run.inject({**flow, "start_ps": wrong})


def test_what_is_left_before_the_end_is_partial(tmp_path: Path) -> None:
    with bw.begin(incast(), out=tmp_path / "left") as run:
        run.step("5us")
    left = bw.Results(tmp_path / "left")
    assert (left.complete, left.meta["sim_time_ps"]) == (False, 5_000_000)
    dropped = bw.begin(incast(), out=tmp_path / "dropped").step("5us")
    del dropped
    gc.collect()
    assert bw.Results(tmp_path / "dropped").digest == left.digest
    stopped = bw.begin(incast(), out=tmp_path / "stopped").step("5us").stop()
    assert (stopped.complete, stopped.digest) == (False, left.digest)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["dropped", "left", "stopped"]


def test_what_cannot_be_says_place_value_range_and_fix(tmp_path: Path) -> None:
    good = {"src": 1, "dst": 0, "size_bytes": 1_000, "start_ps": 9_000_000}
    with bw.begin(incast(), out=tmp_path / "bad") as run:
        run.step("5us")
        refused: list[tuple[dict[str, Any], str, str]] = [
            ({"src": 9}, "src = 9 is no host", "0 to 3"),
            ({"dst": "h9"}, "dst = h9 is no host", "h3"),
            ({"dst": 1}, "dst = 1 is its source", "another host"),
            ({"size_bytes": 0}, "size = 0", "1 B"),
            ({"start_ps": 4_999_999}, "has passed", "from 5"),
            ({"traffic": "web"}, "traffic = web", "incast"),
            ({"priority": 5}, "priority = 5", "3"),
        ]
        for wrong, *told in refused:
            with pytest.raises(bw.ScenarioError) as error:
                run.inject([good, {**good, **wrong}])
            for words in ("inject: flows[1]", *told, "allowed:", "help:"):
                assert words in str(error.value)
        for wrong in ({"size_bytes": -1}, {"size_bytes": 1.5}, {"priority": 8}, {"size": 3}, {"src": True}):
            with pytest.raises(bw.UsageError, match=r"flows\[0\]"):
                run.inject({**good, **wrong})
        with pytest.raises(bw.ScenarioError, match="has passed"):
            run.step("4us")
        with pytest.raises(bw.ScenarioError, match="one of the units"):
            run.step("4 lightyears")
        with pytest.raises(bw.UsageError, match="1ms"):
            run.step(1.5)  # type: ignore[arg-type]
        # None of them has changed anything.
        results = run.finish()
        with pytest.raises(bw.ScenarioError, match="finished"):
            run.inject(good)
        with pytest.raises(bw.ScenarioError, match="finished"):
            run.step("1s")
    assert results.digest == whole(incast(), tmp_path / "whole").digest
    with pytest.raises(bw.UsageError, match="2 runs"):
        bw.begin(incast().seeds(2), out=tmp_path / "two")


@pytest.mark.parametrize("wrong", [[3], 3, "h0", [None], [("h0", "h1")]])
def test_what_is_no_flow_is_refused_with_what_one_is(wrong: Any, tmp_path: Path) -> None:
    with bw.begin(incast(), out=tmp_path / "out") as run, pytest.raises(bw.UsageError, match=r"inject: .*size_bytes"):
        run.inject(wrong)


def test_a_run_is_saved_in_a_file_and_a_folder_is_none(tmp_path: Path) -> None:
    with bw.begin(incast(), out=tmp_path / "out") as run:
        for folder in (tmp_path, Path(), tmp_path / ".."):
            with pytest.raises(bw.ScenarioError, match=r"is a folder, and a run is saved in a file") as error:
                run.save(folder)
            assert "warm.ckpt" in str(error.value)
        assert run.save(tmp_path / "good.ckpt").exists()


@pytest.mark.parametrize(
    "topology",
    [
        {"kind": "torus", "sizes": [4, 3], "rate": "32Gbps", "delay": "100ns"},
        {"kind": "dragonfly", "a": 2, "p": 1, "h": 1, "rate": "32Gbps", "delay": "100ns"},
    ],
)
def test_flows_that_are_injected_have_the_lanes_of_those_of_a_scenario(
    topology: dict[str, Any], tmp_path: Path
) -> None:
    switch = {"credits": {"buffer": "650KB"}}
    settings: dict[str, Any] = {"profile": "infiniband", "topology": topology, "switch": switch}
    rows = [{"src": src, "dst": (src + 2) % 6, "size_bytes": 100_000, "start_ps": 0} for src in range(6)]
    entry = {"name": "messages", "flows": pl.DataFrame(rows), "priority": 1}
    known = whole(bw.Experiment(traffic=[entry], **settings), tmp_path / "whole")
    with bw.begin(bw.Experiment(traffic=[{**EMPTY, "priority": 1}], **settings), out=tmp_path / "steps") as run:
        # Packets of priority 1 change to virtual lane 2: nobody begins there.
        with pytest.raises(bw.ScenarioError, match="packets of another one change to it on their way"):
            run.inject({**rows[0], "priority": 2})
        run.inject(rows)
        results = run.finish()
    assert results.digest == known.digest


@pytest.mark.parametrize("port", ["hash", "spray"])
@pytest.mark.parametrize("fault", [{"kind": "link-down"}, {"kind": "link-slow", "rate": "10Gbps"}])
def test_flows_that_are_injected_amid_a_fault_have_the_line_rate_of_those_of_a_scenario(
    fault: dict[str, Any], port: str, tmp_path: Path
) -> None:
    ends = [(host, plane) for host in ("h0", "h1") for plane in ("a", "b")]
    links = [{"a": host, "b": plane, "rate": "100Gbps", "delay": "1us"} for host, plane in ends]
    settings: dict[str, Any] = {
        "topology": {"kind": "edges", "hosts": ["h0", "h1"], "switches": ["a", "b"], "links": links},
        "host": {"nic": {"port": port}},
        "transport": {"reliability": "selective-repeat"},
        "fault": [{**fault, "link": ["h0", "a"], "at": "10us", "until": "20us"}],
    }
    rows = [{"src": 0, "dst": 1, "size_bytes": 2_000_000, "start_ps": 15_000_000 + number} for number in range(4)]
    known = whole(
        bw.Experiment(traffic=[{"name": "messages", "flows": pl.DataFrame(rows)}], **settings), tmp_path / "whole"
    )
    with bw.begin(bw.Experiment(traffic=[EMPTY], **settings), out=tmp_path / "steps") as run:
        run.step("15us")
        run.inject(rows)
        results = run.finish()
    assert results.digest == known.digest


def test_a_run_that_has_come_to_its_end_takes_no_more_flows(tmp_path: Path) -> None:
    ends = incast().set("run.until", "5us")
    with bw.begin(ends, out=tmp_path / "ends") as run:
        run.step("1s")
        assert (run.is_over, run.now_ps) == (True, 5_000_000)
        with pytest.raises(bw.ScenarioError, match=r"run\.until"):
            run.inject({"src": 1, "dst": 0, "size_bytes": 1_000, "start_ps": 6_000_000})


def test_the_page_on_steps_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    page = (Path(__file__).parents[2] / "docs" / "step.md").read_text(encoding="utf-8")
    names: dict[str, object] = {"__name__": "page"}
    ring, agent, saved, _ = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    exec(compile(ring, "page", "exec"), names)  # noqa: S102
    flows = bw.Results("results/ring").flows.sort("start_ps").collect()
    took = flows["finish_ps"] - flows["start_ps"]
    # The network is empty whenever a message starts: all take as long, two links of 1 us and 100 KB at 100 Gbps.
    assert took.n_unique() == 1
    assert 10_000_000 <= took[0] <= 11_000_000
    assert (flows["start_ps"].diff().drop_nulls() == took[0] + 3_000_000).all()
    exec(compile(agent, "page", "exec"), names)  # noqa: S102
    assert len(bw.Results("results/agent").flows.collect()) == 60
    assert "False" in capsys.readouterr().out
    exec(compile(saved, "page", "exec"), names)  # noqa: S102
    # Saved in its middle: 1 MB at 100 Gbps takes 80 us.
    flows = bw.Results("results/longer").flows.collect()
    assert flows["start_ps"].to_list() == [0]
    assert 80_000_000 < flows["finish_ps"][0] < 100_000_000


def test_time_passes_in_an_idle_network(tmp_path: Path) -> None:
    """A coupler that computes for a while goes on with the clock, and nothing starts before it."""
    with bw.begin(bw.Experiment(topology=STAR, traffic=[EMPTY]), out=tmp_path / "idle") as run:
        for turn in range(10):
            run.step(until=run.now_ps + 1_000_000)
            assert run.now_ps == (turn + 1) * 1_000_000
        with pytest.raises(bw.ScenarioError, match="has passed"):
            run.inject({"src": 0, "dst": 1, "size_bytes": 1000, "start_ps": 3_000_000})
        run.inject({"src": 0, "dst": 1, "size_bytes": 1000, "start_ps": 12_000_000})
        run.step(until="20us")
        (flow,) = run.completions()
        assert flow.start_ps == 12_000_000
        assert run.now_ps == 20_000_000
