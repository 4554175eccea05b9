"""What a user sees of values that do, and that do not, follow the rate of the links.

64 hosts write 1 MB each to h0 on links of 400 Gbps, beside an all-to-all of 8 KB. Whether the switch PAUSEs is answered
by its buffer alone, and so by whether the profile's value for 100 Gbps followed the rate.

The dynamic threshold of an ingress is alpha = 1/8 of the pool that is free. With 16 MiB for each 50 Gbps (`run.py` of
the HPCC simulator) the pool is 134 MB, less some MB of headroom. All that is ever sent is 65 · 64 · 8 KB + 64 · 1 MB =
97.3 MB, 102 MB with headers of 48 B. Even if all of it waited at once an ingress would have at most 1.6 MB of it, and
an eighth of the 30 MB that were left is more. With the 33.6 MB of a switch of 100 Gbps 64 ingresses stop at
33.6 MB / (1 / alpha + 64) = 466 KB, which senders of 1 MB that nobody slows reach: after 32 µs all has been sent, and
h0 has had less than 2 MB of it.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from backwater.cli import main
from backwater.errors import Exit

SCENE = """
profile = "hpcc-ns3"
[topology]
kind = "star"
hosts = 65
rate = "400Gbps"
delay = "500ns"
[[traffic]]
name = "all-to-all"
kind = "collective"
op = "all-to-all"
size = "8KB"
[[traffic]]
name = "storage"
kind = "incast"
from = "h[1-64]"
to = "h0"
size = "1MB"
[probe]
marks = false
blame = false
"""
#: What `run.py` (commit 08d4ba0) has for 100 Gbps, and for four times that.
OF_100G = {"switch.buffer": 32 << 20, "switch.detector.kmin": "400KB", "switch.detector.kmax": "1.6MB"}
INCREMENTS_100G = {"cc.dcqcn.rate-ai": "20Mbps", "cc.dcqcn.rate-hai": "200Mbps"}
FOLLOWED = (
    f"switch.buffer = {128 << 20}B, switch.detector.kmin = 1.6MB, switch.detector.kmax = 6.4MB, "
    "cc.dcqcn.rate-ai = 80Mbps, cc.dcqcn.rate-hai = 800Mbps"
)


@pytest.fixture
def scene(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    Path("storage.toml").write_text(SCENE)
    return "storage.toml"


def ran(
    scene: str, capsys: pytest.CaptureFixture[str], *settings: str, code: Exit = Exit.OK
) -> tuple[str, dict[str, Any]]:
    """What `run` prints, on one line, and what run.json says."""
    capsys.readouterr()
    given = [word for one in settings for word in ("--set", one)]
    assert main(["run", scene, *given, "--out", "out"]) == code
    (file,) = Path("out").glob("*/run.json")
    meta: dict[str, Any] = json.loads(file.read_text())
    file.unlink()
    return " ".join(capsys.readouterr().out.split()), meta


@pytest.mark.parametrize("cc", ["dcqcn", "none"])
def test_a_switch_of_400_gbps_has_the_memory_of_one_and_the_user_is_told_all_that_followed(
    scene: str, capsys: pytest.CaptureFixture[str], cc: str
) -> None:
    shown, meta = ran(scene, capsys, f"cc.kind={cc}")
    assert meta["totals"]["pauses"] == 0
    assert "no PAUSE" in shown
    assert f"by the rate of most hosts' links, 400Gbps, as profile hpcc-ns3 has it for 100Gbps: {FOLLOWED}" in shown
    assert "given, not by the rate" not in shown


def test_the_memory_of_a_switch_of_100_gbps_makes_pauses_and_the_user_is_told_what_did_not_follow(
    scene: str, capsys: pytest.CaptureFixture[str]
) -> None:
    shown, meta = ran(scene, capsys, "cc.kind=none", f"switch.buffer={OF_100G['switch.buffer']}B")
    # Each of 64 ingresses held more than 466 KB, so each was paused once at least.
    assert meta["totals"]["pauses"] >= 64
    assert "no PAUSE" not in shown
    told = f"(in brackets what profile hpcc-ns3 has for it): switch.buffer = {32 << 20}B ({128 << 20}B)"
    assert f"given, not by the rate of most hosts' links, 400Gbps {told}" in shown


def test_one_threshold_that_is_given_takes_no_other_along(scene: str, capsys: pytest.CaptureFixture[str]) -> None:
    # A sweep of kmin compares what it says: kmax stays that of 400 Gbps.
    for kmin in ("1MB", "3MB"):
        shown, meta = ran(scene, capsys, f"switch.detector.kmin={kmin}")
        detector = meta["scenario"]["switch"]["detector"]
        assert (detector["kmin"], detector["kmax"]) == (kmin, "6.4MB")
        assert f"has for it): switch.detector.kmin = {kmin} (1.6MB)" in shown
        assert "switch.detector.kmax = 6.4MB" in shown


def test_where_ports_have_several_rates_a_threshold_that_is_given_holds_for_all_and_the_others_follow_each(
    scene: str, capsys: pytest.CaptureFixture[str]
) -> None:
    # Hosts of 100 Gbps below a spine of 400 Gbps: the table by rate stays, with kmax = 4 · 1.6 MB.
    clos = SCENE.replace("[topology]", '[topology]\nleaf-rate = "400Gbps"').replace('"star"', '"clos"')
    sizes = "pods = 2\nleaves = 1\nhosts-per-leaf = 8\noversubscription = [2, 1]"
    clos = clos.replace('rate = "400Gbps"\ndelay', 'rate = "100Gbps"\ndelay').replace("hosts = 65", sizes)
    Path(scene).write_text(clos.replace("h[1-64]", "h[1-15]"))
    shown, meta = ran(scene, capsys, "switch.detector.kmin=300KB")
    told = "as profile hpcc-ns3 has it for 100Gbps: switch.detector of ports of 400Gbps kmin = 300KB and kmax = 6.4MB"
    assert f"by the rate of each port, {told}" in shown
    detector = meta["scenario"]["switch"]["detector"]
    assert (detector["kmin"], detector["kmax"]) == ("300KB", "1.6MB")
    assert [{key: row[key] for key in ("rate", "kmin", "kmax")} for row in detector["by-rate"]] == [
        {"rate": "400Gbps", "kmin": "300KB", "kmax": "6.4MB"}
    ]


def _only(remarks: list[dict[str, str]]) -> str:
    (remark,) = remarks
    return remark["message"]


def test_with_the_rule_off_a_caveat_names_the_values_that_stayed_and_the_key_that_makes_them_follow(
    scene: str, capsys: pytest.CaptureFixture[str]
) -> None:
    shown, meta = ran(scene, capsys, "line-rate.scale=false", code=Exit.CAVEATS)
    caveat = _only(meta["caveats"])
    stayed = OF_100G | INCREMENTS_100G
    for key in ("switch.detector.kmin", "switch.detector.kmax", "cc.dcqcn.rate-ai", "cc.dcqcn.rate-hai"):
        assert f"{key} = {stayed[key]}" in caveat
    assert "most links have 400Gbps, and profile hpcc-ns3 is meant for 100Gbps" in caveat
    assert "line-rate.scale = true" in caveat
    assert f"caveat[other-line-rate]: {caveat}" in shown


def test_with_the_rule_off_and_all_else_given_the_memory_of_a_switch_alone_is_named(
    scene: str, capsys: pytest.CaptureFixture[str]
) -> None:
    given = [
        "switch.detector.kmin=1.6MB",
        "switch.detector.kmax=6.4MB",
        "cc.dcqcn.rate-ai=80Mbps",
        "cc.dcqcn.rate-hai=800Mbps",
    ]
    _, meta = ran(scene, capsys, "line-rate.scale=false", *given, code=Exit.CAVEATS)
    caveat = _only(meta["caveats"])
    assert f"100Gbps: switch.buffer = {OF_100G['switch.buffer']}B are its values" in caveat
