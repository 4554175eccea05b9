"""`backwater calibrate`: planted profiles are found, the closed form is the simulator's, bad tables are told apart."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from backwater.analysis import nic_fit, nic_table
from backwater.analysis.nic_fit import Link, Nic
from backwater.analysis.nic_table import Row
from backwater.cli import main
from backwater.errors import Exit, UsageError
from backwater.experiments import nic_runs
from backwater.scenario.presets import presets
from hypothesis import given, settings
from hypothesis import strategies as st

_LINK = Link()
_SHIPPED = Path(__file__).parents[2] / "scenarios" / "nic" / "connectx-5.csv"
_KIB = 1024
_SIZES = [2**power for power in range(1, 24)]
#: What a NIC might have, all of it.
_NIC = Nic(2500.0, gap=300.0, drain=60.0, cached=96 * _KIB, start=40.0, start_packets=4)


def _rows(nic: Nic, depths: tuple[int, ...] = (1, 64), *, off: float = 0.0) -> list[Row]:
    """The table that a NIC would give by the closed form, every other row off by a share up and down."""
    blank = [Row(number, f"depth{depth}", size, depth, 1.0) for depth in depths for number, size in enumerate(_SIZES)]
    gbps = nic_fit.goodputs(nic, _LINK, blank)
    return [
        replace(row, gbps=float(value) * (1 + (off if number % 2 else -off)))
        for number, (row, value) in enumerate(zip(blank, gbps, strict=True))
    ]


def test_the_closed_form_by_hand() -> None:
    # 8 KiB in two packets of 4178 B, 334.24 ns each: both, and the last one again at the switch.
    nic = Nic(2000.0)
    row = Row(1, "", 8192, 1, 1.0)
    assert nic_fit.goodputs(nic, _LINK, [row])[0] == pytest.approx(8192 * 8 / (2000 + 3 * 334.24))
    # With 64 under way the wire is the limit, and a gap of 100 ns adds to it.
    deep = replace(row, depth=64)
    assert nic_fit.goodputs(nic, _LINK, [deep])[0] == pytest.approx(8192 * 8 / (2 * 334.24))
    assert nic_fit.goodputs(replace(nic, gap=100.0), _LINK, [deep])[0] == pytest.approx(8192 * 8 / (2 * 334.24 + 100))
    # A ceiling of 50 Gbps takes twice as long as the wire.
    slow = replace(nic, drain=50.0, cached=0.0)
    assert nic_fit.goodputs(slow, _LINK, [deep])[0] == pytest.approx(8192 * 8 / (4 * 334.24))
    assert nic_fit.goodputs(slow, _LINK, [row])[0] == pytest.approx(8192 * 8 / (2000 + 6 * 334.24))


@pytest.mark.parametrize(
    "nic",
    [
        Nic(2500.0),
        Nic(2500.0, gap=300.0),
        Nic(4000.0, drain=70.0, cached=700 * _KIB),
        Nic(1500.0, start=50.0, start_packets=8),
        _NIC,
    ],
)
def test_a_planted_profile_is_found(nic: Nic) -> None:
    found = nic_fit.fit(_rows(nic), _LINK)
    assert abs(found.worst) < 1e-3
    for name in ("round_trip", "gap", "drain", "start"):
        value = getattr(nic, name)
        assert getattr(found.nic, name) == (pytest.approx(value, rel=0.01) if math.isfinite(value) else value)
    assert found.nic.start_packets == nic.start_packets
    if math.isfinite(nic.cached):
        low, high = found.intervals["cached"]
        assert low <= nic.cached < high <= 2 * low


@pytest.mark.parametrize("nic", [Nic(2500.0, gap=300.0), Nic(4000.0, drain=70.0, cached=700 * _KIB), _NIC])
def test_planted_values_lie_in_the_intervals_of_a_table_with_errors(nic: Nic) -> None:
    found = nic_fit.fit(_rows(nic, off=0.01), _LINK)
    assert found.rms == pytest.approx(0.01, rel=0.3)
    for name in ("round_trip", "drain"):
        if math.isfinite(getattr(nic, name)):
            low, high = found.intervals[name]
            assert low <= getattr(nic, name) <= high


def test_a_table_of_one_depth_says_nothing_of_the_gap() -> None:
    found = nic_fit.fit(_rows(Nic(2500.0, gap=300.0), depths=(1,)), _LINK)
    assert "gap" not in found.intervals
    assert found.nic.gap == 0.0


@pytest.mark.parametrize("nic", [Nic(2500.0), Nic(2500.0, gap=300.0), Nic(4000.0, drain=70.0, cached=96 * _KIB), _NIC])
def test_the_simulator_does_what_the_closed_form_says(nic: Nic) -> None:
    rows = [row for row in _rows(nic, depths=(1, 4, 64)) if row.size >= 64 and math.log2(row.size) % 2 == 0]
    found = nic_fit.Fit(tuple(rows), _LINK, nic, {}, tuple(row.gbps for row in rows))
    simulated = nic_runs.simulated(found)
    off = {
        (row.size, row.depth): one / row.gbps - 1
        for row, one in zip(rows, simulated, strict=True)
        # Between one message under way and a full wire a queue pair is idle only now and then.
        if not (nic.start_packets and row.depth == 4)
    }
    # A packet more or less of PFC's queue at either end.
    assert {place: error for place, error in off.items() if abs(error) > 0.005} == {}


def test_the_profile_that_is_shipped_is_that_of_its_table(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["calibrate", str(_SHIPPED), "--simulate", "--json", "--out", str(tmp_path / "nic.toml")]) == Exit.OK
    told = json.loads(capsys.readouterr().out)
    shipped = next(preset for preset in presets() if preset.name == "connectx-5")
    fitted = {f"{table}.{key}": value for table, keys in told["values"].items() for key, value in keys.items()}
    assert fitted == {key: value for key, value in shipped.values.items() if key != "host.queue"}
    for row in told["rows"]:
        assert row["simulated_gbps"] == pytest.approx(row["fitted_gbps"], rel=0.002)
        assert row["error"] == pytest.approx(row["fitted_gbps"] / row["goodput_gbps"] - 1)
    assert told["worst_error"] == max((row["error"] for row in told["rows"]), key=abs)


def test_what_is_written_is_taken_by_a_scenario(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert (
        main(["calibrate", str(_SHIPPED), "--out", str(tmp_path / "nic.toml"), "--plot", str(tmp_path / "a.svg")]) == 0
    )
    assert "message-gap is not set" in capsys.readouterr().out
    (tmp_path / "one.toml").write_text(
        'profile = "roce"\ntopology = { kind = "star", hosts = 2, rate = "100Gbps", delay = "1us" }\n'
        '[host.nic]\nprofile = "nic.toml"\n'
        '[[traffic]]\nname = "a"\nkind = "flow"\nfrom = "h1"\nto = "h0"\nsize = "1MB"\n'
    )
    assert main(["run", str(tmp_path / "one.toml"), "--json", "--out", str(tmp_path / "out")]) == Exit.OK
    known = json.loads(capsys.readouterr().out)["scenario"]["host"]
    assert (known["drain"], known["nic"]["post-delay"]) == ("80.67Gbps", "3.529us")


_HEAD = "size_bytes,depth,goodput_gbps\n"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "line 1: the first line names the columns, and size_bytes, goodput_gbps, depth"),
        ("size_bytes,goodput_gbps\n1,2\n", "depth (or arm) is missing"),
        ("size_bytes,depth,depth,goodput_gbps\n", "two columns are called depth"),
        (_HEAD, "there is no row"),
        (_HEAD + "64,1\n", "line 2, column 4: 2 fields, but the first line names 3"),
        (_HEAD + "# a\n64,1,0.5\n64,one,0.5\n", "line 4, column 4: depth = 'one'"),
        (_HEAD + "64,1,fast\n", "line 2, column 6: goodput_gbps = 'fast'"),
        (_HEAD + "64,1,nan\n", "goodput_gbps = 'nan'"),
        (_HEAD + "64,1,-3\n", "goodput_gbps = '-3'"),
        (_HEAD + "6.4,1,3\n", "line 2, column 1: size_bytes = '6.4'"),
        (_HEAD + "64,0,3\n", "depth = '0' is not allowed; give a whole number from 1"),
        ("arm,size_bytes,goodput_gbps\nfast,64,1\n", "arm = 'fast' says no depth"),
    ],
)
def test_a_bad_table_is_refused_with_its_place(text: str, said: str) -> None:
    with pytest.raises(UsageError) as refused:
        nic_table.parse(text, "t.csv")
    assert str(refused.value).startswith("t.csv")
    assert said in str(refused.value)


@settings(max_examples=300, deadline=None)
@given(st.text(alphabet="0123456789,.-\n #eabcdepth_sizgoutlw\"';\t\x00é", max_size=120))
def test_no_text_breaks_the_reader(text: str) -> None:
    for begin in ("", _HEAD, "arm,size_bytes,goodput_gbps\n"):
        try:
            rows = nic_table.parse(begin + text, "t.csv")
        except UsageError:
            continue
        assert all(row.size >= 1 and row.depth >= 1 and row.gbps > 0 for row in rows)


@settings(max_examples=10, deadline=None)
@given(
    st.lists(
        st.tuples(
            st.integers(1, 10**8), st.sampled_from([1, 2, 1024]), st.floats(1e-6, 98, allow_nan=False, exclude_min=True)
        ),
        min_size=4,
        max_size=12,
    )
)
def test_any_table_is_fitted_or_refused(of: list[tuple[int, int, float]]) -> None:
    rows = [Row(number, "", *one) for number, one in enumerate(of)]
    found = nic_fit.fit(rows, _LINK)
    assert all(math.isfinite(error) for error in found.errors)
    for name, (low, high) in found.intervals.items():
        assert low <= getattr(found.nic, name) <= high or name == "cached"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--rate", "50Gbps"], "are more than a link of 50 Gbps carries"),
        (["--rate", "fast"], "--rate fast is not allowed"),
        (["--payload", "0B"], "--payload 0B is not allowed"),
        (["--delay", "7"], "--delay 7 is not allowed"),
        (["--out", "nic.txt"], "must end in .toml"),
        (["--plot", "nic.txt"], "must end in"),
    ],
)
def test_what_cannot_be_is_refused(words: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["calibrate", str(_SHIPPED), *words, "--json"]) == Exit.BAD_INPUT
    told: dict[str, Any] = json.loads(capsys.readouterr().out)
    assert said in told["errors"][0]["message"]


def test_a_table_that_is_not_there_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["calibrate", str(tmp_path / "no.csv")]) == Exit.BAD_INPUT
    assert "no.csv cannot be read (No such file or directory)" in capsys.readouterr().err
