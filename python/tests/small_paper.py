"""A paper of one figure with two claims, for tests of what is done with papers. The simulator is a stand-in there."""

EXPERIMENT = """
title = "Queue of P2"
paper = "Figure 3 (a)"
about = "One congestion point."
seeds = 2
[[run]]
name = "tcd"
scenario = "one.toml"
[[run]]
name = "ecn"
scenario = "one.toml"
sweep = { "switch.detector.kind" = ["red"], "cc.dcqcn.alpha-initial" = [0.5, 1.2] }
[profile.ideal]
set = ["switch.buffer=9MB"]
[[assumption]]
parameter = "start of F0"
value = "183 us"
why = "when F1 falls below 15 Gbps"
"""

CLAIMS = """
kind = "result"
[[claim]]
id = "X-F3a"
text = "P2 holds more than P1"
paper = "Fig. 3"
metric = "p2_over_p1"
bound = "> 1"
[[claim]]
id = "X-F3b"
text = "nothing is marked CE"
paper = "Fig. 3"
metric = "ce"
bound = "== 0"
unit = "packets"
"""

FIGURE = """
from backwater.results import measures

def metrics(runs):
    ports = measures.by_port(runs["tcd"], ["P1", "P2"], 3)["peak_queue_bytes"]
    return {"p2_over_p1": ports[1] / ports[0], "ce": len(measures.mark_times(runs["ecn red 0.5"], "P2", 3, "CE"))}

def draw(seeds, file):
    file.write_bytes(b"picture")
"""

FIRST = """
[[first]]
name = "lone"
scenario = "one.toml"
set = ["traffic.F0.start=1s"]
"""


SETTLE = """
def settle(first):
    return {"start": f"{measures.by_traffic(first['lone'])['ce_packets'][0]}us"}
"""
