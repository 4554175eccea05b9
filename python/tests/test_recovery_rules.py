"""The program of recovery_rules.py against arithmetic: one packet of a lone flow is lost."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from lossy_network import Packet, Star
from recovery_rules import Flow, Settings

#: A packet of 1000 B takes 80 units, a reply of 50 B 4; each link has a delay of 1000.
PACKET, REPLY, DELAY, TIMEOUT, LOW, PACKETS = 80, 4, 1000, 320_000, 100_000, 200
#: From the beginning of a packet until its reply is back at the sender.
ROUND = 2 * PACKET + 2 * REPLY + 4 * DELAY


@dataclass
class Losing:
    """A switch that loses one packet, once."""

    number: int | None

    def enter(self, packet: Packet, _egress: int) -> str | None:
        if packet.seq != self.number:
            return None
        self.number = None
        return "chosen"

    def leave(self, packet: Packet, egress: int) -> None:
        """Nothing: it has room for all."""


def sent(*, selective: bool, loses: int | None, cap: int | None = None) -> Flow:
    star = Star(lambda size: size * 8 // 100, [DELAY, DELAY])
    star.admission = Losing(loses)
    settings = Settings(952, 48, 50, selective, TIMEOUT, LOW, cap=cap)
    flow = Flow(star, settings, 0, 1, 952 * PACKETS, 0)
    star.clock.run()
    assert flow.done is not None
    assert flow.sent == PACKETS + len(star.drops) + flow.discarded + flow.duplicates
    return flow


@pytest.mark.parametrize("selective", [False, True])
def test_without_a_loss_a_flow_takes_its_packets_and_a_round_trip(selective: bool) -> None:
    flow = sent(selective=selective, loses=None)
    assert (flow.done, flow.nacks, flow.timeouts) == ((PACKETS - 1) * PACKET + ROUND, 0, 0)


@pytest.mark.parametrize("lost", [0, 17, 100])
def test_selective_repeat_sends_one_packet_more(lost: int) -> None:
    flow = sent(selective=True, loses=lost)
    # Each packet that comes before the lost one has come again is a NACK: from its NACK's way, in whole packets.
    assert (flow.done, flow.sent, flow.timeouts) == (PACKETS * PACKET + ROUND, PACKETS + 1, 0)
    begins = -(-((lost + 1) * PACKET + ROUND) // PACKET)
    assert flow.nacks == begins - lost - 1


@pytest.mark.parametrize("lost", [0, 17, 100])
def test_go_back_n_sends_a_round_trip_again_and_has_one_nack(lost: int) -> None:
    flow = sent(selective=False, loses=lost)
    back = -(-((lost + 1) * PACKET + ROUND) // PACKET)
    assert (flow.done, flow.nacks, flow.timeouts) == ((back + PACKETS - lost - 1) * PACKET + ROUND, 1, 0)
    assert flow.discarded == back - lost - 1


@pytest.mark.parametrize(("selective", "timeout"), [(False, TIMEOUT), (True, TIMEOUT)])
def test_a_lost_last_packet_waits_for_the_timer(selective: bool, timeout: int) -> None:
    flow = sent(selective=selective, loses=PACKETS - 1)
    # The timer began anew with the last ACK, of the last packet but one; only one packet was under way then.
    span = LOW if selective else timeout
    assert (flow.done, flow.nacks, flow.timeouts) == ((PACKETS - 2) * PACKET + ROUND + span + ROUND, 0, 1)


@pytest.mark.parametrize("selective", [False, True])
@pytest.mark.parametrize(("backoff", "waits"), [(False, 13), (True, 1023 + 3 * 1024)])
def test_a_queue_pair_that_hears_nothing_ends_in_error(selective: bool, backoff: bool, waits: int) -> None:
    # Thirteen waits, the first ten of them 1 + 2 + ... + 512 = 1023, and three more of 1024 each.
    star = Star(lambda size: size * 8 // 100, [DELAY, DELAY])
    star.faulty = lambda _packet: True
    settings = Settings(952, 48, 50, selective, TIMEOUT, LOW, retries=12, backoff=backoff)
    flow = Flow(star, settings, 0, 1, 952, 0)
    star.clock.run()
    assert (flow.done, flow.failed, flow.timeouts, flow.sent) == (None, 1, 13, 13)
    assert star.clock.now == waits * (LOW if selective else TIMEOUT)


def test_bdp_fc_keeps_what_is_under_way_within_the_cap() -> None:
    # Ten packets a round trip: the eleventh begins when the first one's reply has come.
    flow = sent(selective=True, loses=None, cap=10)
    assert flow.done == (PACKETS // 10 - 1) * ROUND + 9 * PACKET + ROUND
