"""The rules of the ConWeave simulator, written as a program of their own, give its answers, to the nanosecond.

Nothing is drawn in these cases: each has no ECN, and one path for each flow (tests/differential/data/README.md).
"""

from __future__ import annotations

import conweave_answers
import conweave_rules
import pytest


@pytest.mark.parametrize("name", conweave_answers.CASES)
def test_every_flow_drop_and_pause_is_that_of_the_simulator(name: str) -> None:
    star, flows = conweave_rules.case(conweave_answers.folder(name))
    wanted = conweave_answers.answers(name)
    assert [
        (flow.done and flow.done - flow.start, flow.sent, flow.nacks, flow.notified, flow.timeouts) for flow in flows
    ] == wanted.flows
    assert [
        (drop.time, drop.ingress, drop.egress, drop.why, drop.source, drop.seq) for drop in star.drops
    ] == wanted.drops
    heard = [paused for _, _, paused in wanted.pauses]
    assert (star.pauses, star.resumes) == (heard.count(True), heard.count(False))
