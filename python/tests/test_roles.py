"""Which hosts have which ranks: `backwater describe` of a run with programs."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from backwater import Results
from backwater.analysis import roles
from backwater.cli import main
from backwater.errors import Exit

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

#: Six hosts with two ranks each; of 12 ranks the first two are masters.
SCENARIO = """
profile = "hpc"
[topology]
kind = "star"
hosts = 6
rate = "100Gbps"
delay = "100ns"
[[traffic]]
name = "app"
kind = "program"
file = "app.program"
ranks-per-host = 2
placement = "cyclic"
"""
PROGRAM = """backwater-program 1
ranks 12
role master 0,1
role worker 2-11
rank * barrier
"""


def _run(folder: Path) -> Path:
    (folder / "app.program").write_text(PROGRAM, encoding="utf-8")
    (folder / "ranks.toml").write_text(SCENARIO, encoding="utf-8")
    assert main(["run", str(folder / "ranks.toml"), "--out", str(folder / "results")]) == Exit.OK
    return folder / "results" / "ranks-s1"


def test_ranks_dealt_out_to_six_hosts_have_their_roles_there(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    results = _run(tmp_path)
    rows = [
        {"traffic": "app", "role": "master", "ranks": 2, "nodes": ["h0", "h1"]},
        {"traffic": "app", "role": "worker", "ranks": 10, "nodes": [f"h{host}" for host in range(6)]},
    ]
    assert roles.of(Results(results)) == rows
    capsys.readouterr()
    assert main(["describe", str(results), "--json"]) == Exit.OK
    assert json.loads(capsys.readouterr().out)["roles"] == rows
    assert main(["describe", str(results)]) == Exit.OK
    told = capsys.readouterr().out
    assert "Ranks: what they are and where" in told
    assert "h0, h1, h2, h3, h4, h5" in told
