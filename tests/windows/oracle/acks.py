"""Traces of DCTCP, Swift and HPCC, ACK by ACK, from the text of their papers: `python acks.py` prints them.

It shares no code with Backwater: each controller is written down again from its paper (and RFC 8257 for the order of
DCTCP's steps), with the deviations that its file in `crates/control/src/reaction` lists. `../acks.rs` replays the left
columns and compares with the right ones, after the `|`. `../data/acks` keeps what two of them begin with, to be checked
by hand.
"""

import math
import random

MSS = 1048
LINE = 40_000_000_000


def write(name: str, rows: list[tuple[list[object], list[object]]]) -> None:
    """Prints one trace."""
    lines = [" ".join(map(str, told)) + " | " + " ".join(map(repr, wanted)) for told, wanted in rows]
    print(f"== {name}", *lines, sep="\n")


class Flow:
    """A sender with more to send than its window ever lets it, and a network that acknowledges packet by packet."""

    def __init__(self, window: float) -> None:
        self.acked = 0
        self.sent = max(1, math.ceil(window / MSS)) * MSS

    def ack(self, packets: int) -> int:
        """Bytes that an ACK for so many packets newly acknowledges."""
        newly = min(packets * MSS, self.sent - self.acked)
        self.acked += newly
        return newly

    def fill(self, window: float) -> None:
        """Sends what the window allows."""
        while self.sent - self.acked < max(window, 1):
            self.sent += MSS


def dctcp(rng: random.Random) -> None:
    """DCTCP paper, section 3.1, equation 1 and 2; RFC 8257, section 3.3 and 3.4."""
    gain, most = 1 / 16, 400_000.0
    window, alpha = 100_000.0, 1.0
    bytes_acked = bytes_marked = 0
    window_end = reduced_until = 0
    flow, rows, now = Flow(window), [], 0
    for step in range(900):
        now += rng.randrange(200_000, 400_000)
        # A lone packet most of the time; sometimes an ACK for several, sometimes one that tells nothing new.
        newly = flow.ack(rng.choice([1, 1, 1, 1, 2, 3, 0]))
        marked = rng.random() < (0.6 if step // 150 % 2 == 0 else 0.02)
        told = [now, flow.acked, newly, flow.sent, int(marked), rng.randrange(8_000_000, 30_000_000)]
        bytes_acked += newly
        if marked:
            bytes_marked += newly
        if flow.acked > window_end and bytes_acked > 0:
            fraction = bytes_marked / bytes_acked
            alpha = alpha * (1 - gain) + gain * fraction
            bytes_acked = bytes_marked = 0
            window_end = flow.sent
        if flow.acked > reduced_until:
            if marked:
                window = max(window * (1 - alpha / 2), MSS)
                reduced_until = flow.sent
            else:
                window = min(window + MSS * (newly / window), most)
        rows.append((told, [window, alpha]))
        flow.fill(window)
    write("dctcp", rows)


def swift(rng: random.Random) -> None:
    """Swift paper, Algorithm 1 and section 3.5."""
    ai, beta, max_mdf = 1.0, 0.8, 0.5
    base, hop, fs_range = 6_000_000, 1_500_000, 30_000_000
    fs_min, fs_max, least, most = 0.1, 100.0, 0.001, 400_000 / MSS
    fs_alpha = fs_range / (1 / math.sqrt(fs_min) - 1 / math.sqrt(fs_max))
    fs_beta = -fs_alpha / math.sqrt(fs_max)
    cwnd, t_last_decrease = 100_000 / MSS, None
    flow, rows, now, delay = Flow(100_000), [], 0, 9_000_000.0
    for step in range(900):
        now += rng.randrange(200_000, 4_000_000) * (500 if step // 150 == 4 else 1)
        newly = flow.ack(rng.choice([1, 1, 1, 1, 2, 0]))
        # Calm, then so crowded that windows fall below one packet, then calm again.
        centre = [8e6, 60e6, 9e6, 14e6, 900e6, 7e6][step // 150]
        delay = 0.7 * delay + 0.3 * centre * rng.uniform(0.6, 1.6)
        rtt, hops = round(delay), 1 + step // 100 % 5
        target = base + hops * hop + max(0, min(fs_alpha / math.sqrt(cwnd) + fs_beta, fs_range))
        before, acked = cwnd, newly / MSS
        can_decrease = t_last_decrease is None or now - t_last_decrease >= rtt
        if rtt < target:
            cwnd = cwnd + ai / cwnd * acked if cwnd >= 1 else cwnd + ai * acked
        elif can_decrease:
            cwnd = max(1 - beta * (rtt - target) / rtt, 1 - max_mdf) * cwnd
        cwnd = min(max(cwnd, least), most)
        if cwnd < before:
            t_last_decrease = now
        pacing = rtt / cwnd if cwnd < 1 else MSS * 8 * 1e12 / LINE
        told = [now, flow.acked, newly, flow.sent, 0, rtt, hops]
        rows.append((told, [cwnd, target, pacing]))
        flow.fill(cwnd * MSS)
    write("swift", rows)


def hpcc(rng: random.Random) -> None:
    """HPCC paper, Algorithm 1."""
    period, eta, max_stage, w_ai = 9_000_000, 0.95, 5, 80.0
    rates = [40_000_000_000, 100_000_000_000, 40_000_000_000]
    w_init = LINE / 8 * period / 1e12
    window = reference = float(int(w_init))
    flow = Flow(window)
    links: list[tuple[int, int, int]] | None = None
    u_total, inc_stage, last_update = 1.0, 0, 0
    now, rows = 0, []
    at, sent, queue = [0, 100_000, 200_000], [0, 0, 0], [0, 0, 0]
    for step in range(900):
        gap = rng.randrange(150_000, 600_000)
        now += gap
        newly = flow.ack(1)
        load = [0.4, 1.1, 0.8, 1.6, 0.2, 0.97][step // 150]
        for i, rate in enumerate(rates):
            at[i] += gap
            capacity = rate / 8 * gap / 1e12
            offered = capacity * load * rng.uniform(0.5, 1.5)
            through = min(capacity, queue[i] + offered)
            queue[i] = max(0, round(queue[i] + offered - through))
            sent[i] += round(through)
        now = max(now, at[2] + 3_000_000)
        told: list[object] = [now, flow.acked, newly, flow.sent, 0, 12_000_000, 3]
        for i, rate in enumerate(rates):
            told += [7 * i + 1, rate, at[i], sent[i], queue[i]]
        if links is None:
            last_update = flow.sent
        else:
            update = flow.acked > last_update
            # MeasureInflight
            u = tau = 0.0
            for i, rate in enumerate(rates):
                bytes_per_s = rate / 8
                span = (at[i] - links[i][0]) / 1e12
                tx_rate = (sent[i] - links[i][1]) / span
                u_link = min(queue[i], links[i][2]) / (bytes_per_s * period / 1e12) + tx_rate / bytes_per_s
                if u_link > u:
                    u, tau = u_link, span * 1e12
            tau = min(tau, period)
            u_total = (1 - tau / period) * u_total + tau / period * u
            # ComputeWind
            if u_total >= eta or inc_stage >= max_stage:
                window = reference / (u_total / eta) + w_ai
                next_stage = 0
            else:
                window = reference + w_ai
                next_stage = inc_stage + 1
            window = min(window, float(int(w_init)))
            if update:
                inc_stage, reference, last_update = next_stage, window, flow.sent
        links = [(at[i], sent[i], queue[i]) for i in range(3)]
        rows.append((told, [window, reference, u_total]))
        flow.fill(window)
    write("hpcc", rows)


if __name__ == "__main__":
    dctcp(random.Random(1))  # noqa: S311
    swift(random.Random(2))  # noqa: S311
    hpcc(random.Random(3))  # noqa: S311
