"""What the page says to change: it names the port, who filled its queue, and what would not help."""

from __future__ import annotations

from pathlib import Path

import pytest
from backwater.analysis import collectives
from backwater.analysis.blame import Blame
from backwater.analysis.critical import brief
from backwater.analysis.critical.brief import Brief
from backwater.experiments.executor import Job, run_jobs
from backwater.results import Results
from backwater.scenario.scenario import Scenario
from backwater.view import changes
from backwater.view.changes import Timed

#: A ring over h0 to h3 beside an incast into h3: the only queue is that of s->h3, and the incast fills it.
BESIDE = """[topology]
kind = "star"
hosts = 12
rate = "100Gbps"
delay = "1us"
[switch]
buffer = "50MB"
[[traffic]]
name = "ring"
kind = "collective"
op = "all-reduce"
hosts = "h[0-3]"
size = "400KB"
[[traffic]]
name = "storage"
kind = "incast"
from = "h[4-11]"
to = "h3"
size = "1MB"
"""


@pytest.fixture(scope="module")
def beside(tmp_path_factory: pytest.TempPathFactory) -> Results:
    folder = tmp_path_factory.mktemp("beside") / "run"
    (outcome,) = run_jobs([Job("beside", Scenario(BESIDE, "beside.toml", Path()), out=folder)], 1, None)
    assert outcome.error is None
    return Results(folder)


def test_the_port_and_who_filled_it_are_named(beside: Results) -> None:
    (ring,) = collectives.of(beside)
    assert ring.time_ps is not None
    late = {one.traffic: one for one in brief.briefs(beside)}
    told = changes.sentences(beside, [Timed("ring", ring.time_ps, ring.time_ps / 2)], late)
    assert told[0].startswith("ring takes 2.00 times as long as alone. Send storage to another host")
    assert told[0].endswith("only shorten the queue of s->h3.")
    # 50 MB keep 8 MB of an incast without a PAUSE.
    assert told[1] == "There was no PAUSE: more buffer and other thresholds of PFC change nothing here."
    # 50 MB for 12 ports of 100 Gbps are 333 µs.
    assert any(sentence.startswith("Good practice, buffer per port:") and "333 µs" in sentence for sentence in told)


def test_who_is_as_fast_as_alone_is_not_named(beside: Results) -> None:
    (ring,) = collectives.of(beside)
    told = changes.sentences(beside, [Timed("ring", ring.time_ps, ring.time_ps)], {})
    assert not any(sentence.startswith("ring") for sentence in told)


def test_the_longest_waits_of_a_critical_path_are_those_behind_the_incast(beside: Results) -> None:
    (found,) = brief.briefs(beside)
    assert (found.traffic, found.how, next(iter(found.ports))) == ("ring", "queue", "s->h3")
    assert found.others is not None
    assert found.others[0] == "storage"
    told = brief.line(beside, found)
    assert "are waits on its critical path." in told
    assert "in that of s->h3; storage filled" in told


def test_causes_are_told_by_kind_with_ports_and_traffic(beside: Results) -> None:
    paced = Brief("ring", 18 * 10**9, 12 * 10**9, "paced", 0.98, {"a->b": 0.6, "c->d": 0.4}, {})
    assert brief.cause(beside, paced) == (
        "98 % of the waits on its critical path are pacing by DCQCN, for marks of 2 ports, such as a->b (60 %)"
    )
    held = Brief("ring", 17 * 10**9, 10 * 10**9, "held", 0.83, {"s->h3": 0.9, "s->h2": 0.1}, {"storage": 1.0})
    assert brief.line(beside, held) == (
        "ring: 10.0 ms of its 17.0 ms (59 %) are waits on its critical path. 83 % of them are behind PAUSEs, 90 % of "
        "these because of s->h3; only storage filled it."
    )
    none = Brief("ring", 17 * 10**9, 0, "", 0.0, {}, {})
    assert brief.line(beside, none) == "ring: nothing on its critical path of 17.0 ms waited."


def test_who_is_slow_already_alone_is_named(beside: Results) -> None:
    slow = Timed("ring", 30e9, 30e9, 10e9, "98 % of the waits on its critical path are pacing by DCQCN")
    told = changes.sentences(beside, [slow], {})
    assert told[0].startswith("ring is slow already alone: 30.0 ms are 3.00 times its ideal of 10.0 ms; 98 % of")
    assert "try another placement" in told[1]
    assert not changes.slow_alone(Timed("ring", 30e9, 14e9, 10e9))


def test_shares_add_up_and_lost_is_that_of_the_flows(beside: Results) -> None:
    blame = Blame(beside)
    table = changes.table(blame)
    assert [row[0] for row in table["rows"]] == ["ring", "storage"]
    for row in table["rows"]:
        shares = [int(cell.removesuffix(" %")) for cell in row[2:]]
        assert abs(sum(shares) - 100) <= 2
        assert len(row) == len(table["headings"])
    # Nothing waits behind a PAUSE where there is none.
    assert "behind PAUSEs" not in table["headings"]
