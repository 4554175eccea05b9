"""Source flow control where faults leave no way to a source."""

from __future__ import annotations

from typing import TYPE_CHECKING

import backwater
import polars as pl

if TYPE_CHECKING:
    from pathlib import Path

# Leaf 1 has one way to leaf 0. When it goes down, what is on its way to h0 finds a long queue, and there is no way
# back to h4 to h7.
SCENE = """
transport = { reliability = "go-back-n" }
[topology]
kind = "leaf-spine"
leaves = 3
spines = 1
hosts-per-leaf = 4
rate = "100Gbps"
delay = "1us"
[switch.isolation]
kind = "sfc"
sfc = { threshold = "2KB", target = "1KB" }
[fault-handling]
detect = "0s"
converge = "0s"
[[fault]]
kind = "link-down"
link = ["leaf1", "spine0"]
at = "30us"
for = "200us"
[[traffic]]
name = "incast"
kind = "incast"
from = ["h1", "h[4-7]"]
to = "h0"
size = "200KB"
"""


def test_a_switch_without_a_way_to_a_source_signals_nothing(tmp_path: Path) -> None:
    """All arrives when the link is back, and a signal is seen at no port whose link is down."""
    (tmp_path / "scene.toml").write_text(SCENE)
    run = backwater.run(tmp_path / "scene.toml", out=tmp_path / "out")
    assert run.flows.select((pl.col("fct_ps").is_not_null()).all()).collect().item()
    assert run.table("switches").select(pl.col("cims_sent").sum()).collect().item() > 0
