"""What the page says to change: it names the port, who filled its queue, and what would not help."""

from __future__ import annotations

from pathlib import Path

import pytest
from backwater.analysis import collectives
from backwater.analysis.blame import Blame
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
    told = changes.sentences(beside, [Timed("ring", ring.time_ps, ring.time_ps / 2)], Blame(beside))
    assert told[0].startswith("ring takes 2.00 times as long as alone:")
    assert "are at s->h3. storage filled" in told[0]
    # 50 MB keep 8 MB of an incast without a PAUSE.
    assert told[1] == "There was no PAUSE: more buffer and other thresholds of PFC change nothing here."
    # 50 MB for 12 ports of 100 Gbps are 333 µs.
    assert any(sentence.startswith("Good practice, buffer per port:") and "333 µs" in sentence for sentence in told)


def test_who_is_as_fast_as_alone_is_not_named(beside: Results) -> None:
    (ring,) = collectives.of(beside)
    told = changes.sentences(beside, [Timed("ring", ring.time_ps, ring.time_ps)], Blame(beside))
    assert not any(sentence.startswith("ring") for sentence in told)


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
