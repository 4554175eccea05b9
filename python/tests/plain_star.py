"""A network whose times are known by arithmetic: no flow control, no congestion control, packets without headers.

On a star every host has a link of its own to one switch. A message of m packets of P bytes on the wire takes
m P / C + P / C + 2 d: all packets leave the host, the last one crosses the switch whole, two links' delay.
"""

from __future__ import annotations

#: 100 Gbps are 80 ps per byte; packets of 1000 B and no headers; ranks take 600 ns between two messages.
PS_PER_BYTE, PACKET, DELAY, LATENCY = 80, 1000, 1_000_000, 600_000

#: Every operation by every algorithm, with a size whose parts are whole packets, among 8 ranks as among 4 and 2.
ALGORITHMS = [
    ("all-reduce", "ring", "80000B"),
    ("all-reduce", "recursive-doubling", "64000B"),
    ("all-reduce", "halving-doubling", "64000B"),
    ("all-reduce", "tree", "50000B"),
    ("all-reduce", "hierarchical", "80000B"),
    ("reduce-scatter", "ring", "80000B"),
    ("reduce-scatter", "hierarchical", "80000B"),
    ("all-gather", "ring", "10000B"),
    ("all-gather", "hierarchical", "10000B"),
    ("all-gather", "recursive-doubling", "10000B"),
    ("all-to-all", "linear", "10000B"),
    ("all-to-all", "pairwise", "10000B"),
    ("broadcast", "tree", "50000B"),
    ("broadcast", "linear", "50000B"),
]


def scenario(entries: str, topology: str = 'kind = "star"\nhosts = 8', head: str = 'profile = "ideal"') -> str:
    """The text of a scenario with these entries of traffic or jobs."""
    return f"""{head}
[topology]
{topology}
rate = "100Gbps"
delay = "1us"
[switch]
flow-control = "none"
[packet]
payload = "1000B"
header = "0B"
[cc]
kind = "none"
{entries}
"""


def message(size: int) -> int:
    """Picoseconds of a message of whole packets across the star, alone on both links."""
    assert size % PACKET == 0
    return (size + PACKET) * PS_PER_BYTE + 2 * DELAY
