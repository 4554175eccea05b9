"""Runs the oracle: `python run.py --policy opt --drain 0.7` prints sums."""

from __future__ import annotations

import argparse

from network import World
from settings import LINK, Settings


def measure(s: Settings, senders: int, source: str, warm: int, window: int, seed: int = 1) -> dict[str, float]:
    """Goodput, retransmission and largest difference between senders, as shares of the link, after a warm-up."""
    w = World(s, senders + 1)
    for i in range(1, senders + 1):
        if source == "greedy":
            w.greedy(i, 0)
        else:
            w.poisson(i, 0, 1 / senders, seed * 1000 + i)
    w.run(warm + window)
    counted = [line for line in w.trace if line[0] > warm]
    bits = s.link * window / 8e12
    accepted = [line[2] for line in counted if line[1] == "accepted"]
    rates = [accepted.count(i) * s.payload / bits for i in range(1, senders + 1)]
    resent = sum(line[1] == "resent" for line in counted)
    return {
        "goodput": sum(rates),
        "resent": resent * s.wire / bits,
        "difference": max(rates) - min(rates),
        "nacks": sum(line[1] == "nack_sent" for line in counted),
        "lost": sum(line[1] in ("dropped", "out_of_order") for line in counted),
        "peak": max(line[5] or 0 for line in w.trace if line[1] == "accepted"),
    }


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--policy", default="dack", choices=["opt", "aimd", "dack"])
    parser.add_argument("--payload", type=int, default=2048)
    parser.add_argument("--drain", type=float, default=0.5, help="share of the link's rate")
    parser.add_argument("--senders", type=int, default=1)
    parser.add_argument("--source", default="poisson", choices=["poisson", "greedy"])
    parser.add_argument("--warm", type=float, default=250.0, help="microseconds")
    parser.add_argument("--window", type=float, default=500.0, help="microseconds")
    parser.add_argument("--fairness", default="none", choices=["none", "verbs", "ordered"])
    given = parser.parse_args()
    s = Settings(given.policy, given.payload, drain=round(given.drain * LINK), fairness=given.fairness)
    print(measure(s, given.senders, given.source, round(given.warm * 1e6), round(given.window * 1e6)))


if __name__ == "__main__":
    main()
