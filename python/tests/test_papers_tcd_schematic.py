"""What the schematic figures of the TCD paper read from frames, gates and states, on tables that were made by hand."""

from __future__ import annotations

import importlib
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import pytest
import synthetic
from backwater import Results
from backwater.cli import main
from backwater.papers import paper_figure
from backwater.scenario.scenario import Scenario
from synthetic import PORTS, PRIORITY, US

if TYPE_CHECKING:
    from types import ModuleType

SCENARIOS = Path(__file__).parents[2] / "papers" / "tcd" / "scenarios"
SCENARIO = {
    "switch": {
        "pfc": {"xoff": "320KB", "xon": "318KB"},
        "detector": {
            "kind": "tcd",
            "kmax": "3KB",
            "kmin": "3KB",
            "tcd": {"max-ton": "10us", "low": "1KB", "delta": "2KB"},
        },
    }
}


@pytest.fixture
def schematic() -> ModuleType:
    paper_figure.discover("tcd", ["fig03"])[0].module()  # from now on what figures share can be imported
    return importlib.import_module("papers.tcd.schematic")


def written(folder: Path, **tables: pl.DataFrame) -> Results:
    """The synthetic run with some tables replaced."""
    synthetic.write(folder, "TCD")
    file = folder / "run.json"
    meta = json.loads(file.read_text())
    for name, frame in tables.items():
        place = folder / f"{name}.parquet"
        frame.write_parquet(place)
        meta["tables"][name] = {"file": place.name, "rows": frame.height, "bytes": place.stat().st_size}
    file.write_text(json.dumps(meta | {"scenario": SCENARIO}))
    return Results(folder)


def frames(*rows: tuple[str, int, float, float, str]) -> pl.DataFrame:
    """Packets of 1000 B of flow 0: port, number, when the first bit left, when all had arrived (µs), code point."""
    common: dict[str, Any] = {"kind": "data", "priority": PRIORITY, "wire_bytes": 1000, "flow": 0}
    found = [
        {
            "port": PORTS[port],
            "seq": seq,
            "sent_ps": round(sent * US),
            "time_ps": round(came * US),
            "code": code,
            **common,
        }
        for port, seq, sent, came, code in rows
    ]
    whole = pl.DataFrame(found)
    return whole.with_columns(pl.col("flow", "seq").cast(pl.UInt64), pl.col("sent_ps", "time_ps").cast(pl.UInt64))


def test_the_ingress_counter_is_what_came_less_what_left(schematic: ModuleType, tmp_path: Path) -> None:
    came = [("P2", seq, 0.0, 10.0 + seq, "capable") for seq in range(4)]
    left = [("P3", seq, at, at + 1, "capable") for seq, at in enumerate((11.0, 15.0, 20.0))]
    counter = schematic.ingress(written(tmp_path / "run", frames=frames(*came, *left)), "P2", "P3")
    at = np.array([9, 10, 11, 12, 13, 15, 20]) * US
    assert schematic.at(counter, at).tolist() == [0, 1000, 1000, 2000, 3000, 2000, 1000]


def flowchart_frames(second: str) -> pl.DataFrame:
    """Six packets come to P2 by 90 µs, one by 110, four by 120. Four leave, of which the second has this code."""
    came = [("P0", seq, 80.0, 90.0 if seq < 6 else 110.0 if seq < 7 else 120.0, "capable") for seq in range(11)]
    codes = ("UE", second, "CE", "CE")
    left = [
        ("P2", seq, at, at + 1, code) for seq, (at, code) in enumerate(zip((105, 115, 126, 127), codes, strict=True))
    ]
    return frames(*came, *left)


def flowchart_run(folder: Path, second: str) -> Results:
    gate = pl.DataFrame({"time_ps": [95 * US, 100 * US], "paused": [True, False], "port": PORTS["P2"]})
    steps = {105: "undetermined", 115: "judging", 126: "congestion"}
    states = pl.DataFrame({"time_ps": [us * US for us in steps], "state": [*steps.values()], "port": PORTS["P2"]})
    gate, states = (one.with_columns(priority=pl.lit(PRIORITY)) for one in (gate, states))
    return written(folder, frames=flowchart_frames(second), pauses=gate, states=states)


def test_a_queue_that_rises_for_a_period_after_the_release_is_congestion(schematic: ModuleType, tmp_path: Path) -> None:
    # max(Ton) and T are 10 µs: released at 110, first looked at 115 with 5 KB, and at 125 or later with 8 KB
    found = schematic.follow(flowchart_run(tmp_path / "run", "capable"), "P2")
    assert found.paths == {"held": 1, "waiting": 1, "rising": 1, "congested": 1}
    assert (found.other_codes, found.other_states) == (0, 0)


def test_a_packet_with_a_code_that_the_flowchart_does_not_give_is_counted(
    schematic: ModuleType, tmp_path: Path
) -> None:
    found = schematic.follow(flowchart_run(tmp_path / "run", "UE"), "P2")
    assert (found.other_codes, found.other_states) == (1, 0)


def test_a_released_port_without_a_verdict_is_still_undetermined(schematic: ModuleType, tmp_path: Path) -> None:
    run = flowchart_run(tmp_path / "run", "capable")
    assert [state.what for state in schematic.ternary(run, "P2")] == ["non-congestion", "undetermined", "congestion"]
    assert schematic.transitions(run, "P2") == [(105 * US, "③"), (126 * US, "⑤")]


def test_the_model_of_two_flows_at_line_rate_is_equation_1(schematic: ModuleType) -> None:
    rates = {"c": 40e9, "ri": 40e9, "rd": 20e9, "rd_on": 20e9, "rd_off": 20e9}
    times = {
        "tau_off": 8.4e-6,
        "tau_on": 8.4e-6,
        "tau_longest": 8.4e-6,
        "tau_shortest": 8.4e-6,
        "ton": 0.0,
        "toff": 0.0,
        "periods": 0,
    }
    found = schematic.OnOff(b1=320e3, b0=318e3, highest=0.0, lowest=0.0, **rates, **times)
    # (16 kbit + 8.4 µs · 20 Gbps) / 20 Gbps + 8.4 µs, and the same for OFF as Ri − Rd is Rd
    assert found.model_ton == pytest.approx(17.6e-6)
    assert found.model_toff == pytest.approx(17.6e-6)
    assert (found.model_highest, found.model_lowest) == pytest.approx((341e3, 297e3))
    assert found.epsilon == 0.5


@pytest.mark.parametrize("name", ["transitions", "trees"])
def test_the_scenes_of_the_schematic_figures_are_valid(name: str) -> None:
    assert Scenario.load(SCENARIOS / f"{name}.toml").resolve()["traffic"]


def test_the_flowchart_on_the_wires_gives_what_the_detector_decided(tmp_path: Path) -> None:
    asked = ["--figure", "fig09", "--profile", "ideal", "--quick", "--out", str(tmp_path)]
    assert main(["reproduce", "tcd", *asked]) == 0
    (whole, paths) = json.loads((tmp_path / "fig09-ideal-quick" / "claims.json").read_text())
    values = {check["metric"]: check["values"] for check in whole["checks"]}
    assert values["decisions"][0] > 100_000
    assert (values["other_codes"], values["other_states"]) == ([0], [0])
    assert paths["checks"][0]["values"][0] >= 1
    assert (tmp_path / "fig09-ideal-quick" / "fig09-ideal.png").is_file()
