"""The load that Poisson arrivals drew, by arithmetic on flows that are made by hand, and where it is told."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import made_results
import polars as pl
import pytest
import sweep_scene
from backwater.cli import main
from backwater.errors import Exit
from backwater.results import Results, offered


def run(folder: Path, sizes: list[int], **entry: Any) -> Results:
    """Two hosts of 10 Gbps, which carry 2.5 MB in a millisecond together, and a switch."""
    count = len(sizes)
    flows = pl.DataFrame(
        {
            "traffic": ["web"] * count,
            "src_index": [number % 2 for number in range(count)],
            "size_bytes": sizes,
            "start_ps": [10**9 * number // count for number in range(count)],
        }
    )
    ports = pl.DataFrame({"node_index": [0, 1, 2], "port_index": [0, 0, 0], "rate_bps": [10**10, 10**10, 10**12]})
    asked = {"name": "web", "kind": "poisson", "load": 0.5, "from": "*", "until": "1ms", "start": "0s"} | entry
    scenario = {"traffic": [asked], "packet": {"payload": "1KB", "header": "100B", "padded": False}}
    network = {"nodes": {"role": ["host", "host", "switch"]}}
    return Results(made_results.write(folder, {"flows": flows, "ports": ports}, scenario, 10**12, network=network))


@pytest.mark.parametrize(
    ("sizes", "entry", "drawn"),
    [
        ([1_000_000, 250_000], {}, 0.5),
        ([2_000_000, 250_000], {}, 0.9),
        # 1000 packets of 100 B more, and 250.
        ([1_000_000, 250_000], {"load-counts": "wire"}, 0.55),
        # The last of four flows arrives after 0.75 ms.
        ([468_750] * 4, {"until": None}, 1.0),
        # Of the later half of the time, in which one of both flows starts.
        ([1_000_000, 500_000], {"start": "0.5ms"}, 1.2),
    ],
)
def test_the_drawn_load_is_what_flows_bring_over_what_links_carry(
    tmp_path: Path, sizes: list[int], entry: dict[str, Any], drawn: float
) -> None:
    made = run(tmp_path / "run", sizes, **entry)
    if "until" in entry and entry["until"] is None:
        del made.meta["scenario"]["traffic"][0]["until"]
    assert offered.loads(made)["web"].drawn == pytest.approx(drawn)


def test_only_a_load_that_is_another_one_is_told() -> None:
    assert offered.note("web", 0.5, [0.51, 0.49]) is None
    assert str(offered.note("web", 0.6, [0.552])) == (
        "note[drawn-load]: web: the arrivals that were drawn offer a load of 0.552; asked for: 0.6"
    )
    assert "0.750 on average over 2 seeds (0.500 to 1.00); asked for: 0.6" in str(offered.note("web", 0.6, [0.5, 1.0]))


def test_every_command_that_shows_arrivals_tells_their_load(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("BACKWATER_CACHE", str(tmp_path / "cache"))
    Path("two.toml").write_text(sweep_scene.SCENARIO + sweep_scene.SCHEMES)
    assert main(["run", "two.toml", "--scheme", "none"]) == Exit.OK
    told = capsys.readouterr().out
    flows = next(Results.find("results")).flows.filter(pl.col("traffic") == "web").collect()
    load = sum(flows["size_bytes"].to_list()) * 8e12 / (max(flows["start_ps"].to_list()) * 5 * 40e9)
    assert abs(load / 0.5 - 1) > 0.03
    assert f"offer a load of {load:.3f}" in " ".join(told.split())
    assert main(["compare", "two.toml", "--seeds", "2"]) == Exit.OK
    assert "note[drawn-load]: web: the arrivals" in capsys.readouterr().out
    assert main(["compare", "two.toml", "--over", "traffic.web.load=0.5", "--seeds", "2"]) == Exit.OK
    shown = capsys.readouterr().out
    assert "web at traffic.web.load=0.5: the arrivals" in shown
    # What goodput is stands wherever it does.
    assert "first start to its last finish" in " ".join(shown.split())
    more = ["--measure", "offered_load", "--measure", "asked_load", "--json"]
    assert main(["compare", "two.toml", "--over", "traffic.web.load=0.5", "--seeds", "1", *more]) == Exit.OK
    rows = json.loads(capsys.readouterr().out)["means"]
    of_web = next(row for row in rows if row["traffic"] == "web")
    assert of_web["offered_load_mean"] == pytest.approx(load)
    assert of_web["asked_load_mean"] == 0.5
