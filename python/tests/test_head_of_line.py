"""What head-of-line blocking cost is told by `run`: a port that was free, and packets for it behind others."""

from __future__ import annotations

from pathlib import Path

import backwater
from backwater.analysis import run_notes

#: Packets of 1000 B take 1 us on a wire of 8 Gbps and 1 us on its cable.
SCENE = """
profile = "ideal"
topology = { kind = "star", hosts = 5, rate = "8Gbps", delay = "1us" }
packet = { payload = "952B", header = "48B" }
switch = { queueing = "input" }
cc = { kind = "none" }
"""
FLOW = '[[traffic]]\nname = "f{0}{1}"\nkind = "flow"\nfrom = "h{0}"\nto = "h{1}"\nstart = "{2}ns"\nsize = "952B"\n'


def _told(path: Path, flows: list[tuple[int, int, int]], *overrides: str) -> list[str]:
    path.write_text(SCENE + "".join(FLOW.format(*one) for one in flows))
    run = backwater.run(path, out=path.with_suffix(""), overrides=list(overrides))
    return [line for line in run_notes.of(run) if line.startswith("head-of-line")]


def test_run_tells_for_how_long_a_port_stood_free(tmp_path: Path) -> None:
    # Hosts 1 and 4 send host 2 a packet, host 0 one there, too, and behind it one to host 3, whose link is free. Those
    # for host 2 are in the switch at 2.00, 2.05 and 2.10 us and leave by 3, 4 and 5 us. The one for host 3 is there at
    # 3.10 us and waits for the head of its FIFO until 5.00 us.
    flows = [(1, 2, 0), (4, 2, 50), (0, 2, 100), (0, 3, 150)]
    told = _told(tmp_path / "fifo.toml", flows)
    assert told == ["head-of-line blocking: s->h3 was free for 1.90 µs while packets for it stood behind others"]
    assert _told(tmp_path / "voq.toml", flows, "switch.queueing=voq") == []


def test_run_adds_up_the_ports_and_names_the_worst(tmp_path: Path) -> None:
    # As above. One for host 1 is there at 4.10 us. The packet for host 3 leaves the FIFO from 5.00 to 6.00 us, and then
    # it does: each of the two waited for 1.90 us, and the first by name is told.
    flows = [(1, 2, 0), (4, 2, 50), (0, 2, 100), (0, 3, 150), (0, 1, 160)]
    (told,) = _told(tmp_path / "two.toml", flows)
    assert "2 ports were free for 3.80 µs together" in told
    assert told.endswith("; s->h1 was free for 1.90 µs")


def test_run_says_where_nothing_stood_behind_others(tmp_path: Path) -> None:
    (told,) = _told(tmp_path / "none.toml", [(0, 1, 0)])
    assert told == "head-of-line blocking: no port was free while packets for it stood behind others"
