"""Every number that a command prints is one of the tables it was made of.

A small swarm of drawn scenarios is run; what `run`, `compare` and `sweep` print for machines and for people is computed
again from Parquet by a few lines that know nothing of `measures`.
"""

import csv
import json
import math
import re
import statistics
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from backwater.cli import main
from backwater.common import quantities
from backwater.errors import Exit

SWARM = range(8)


class Draw:
    """Draws that are the same everywhere: a linear congruential generator (Knuth's MMIX)."""

    def __init__(self, seed: int) -> None:
        self.state = seed

    def below(self, bound: int) -> int:
        """A number from 0 to less than `bound`."""
        self.state = (self.state * 6364136223846793005 + 1442695040888963407) % 2**64
        return (self.state >> 33) % bound

    def within(self, least: int, bound: int) -> int:
        """A number from `least` to less than `bound`."""
        return least + self.below(bound - least)

    def choice(self, of: Sequence[Any]) -> Any:
        """One of several."""
        return of[self.below(len(of))]


def scenario(seed: int) -> str:
    """A network of some kind with two or three kinds of traffic, drawn by `seed`."""
    draw = Draw(seed)
    topologies = [
        'kind = "star"\nhosts = 8',
        'kind = "clos"\npods = 2\nleaves = 1\nhosts-per-leaf = 4\noversubscription = [2, 1]',
        'kind = "rail"\nservers = 4\ngpus = 2',
    ]
    op = draw.choice(["all-reduce", "all-gather", "all-to-all", "moe-all-to-all", "reduce-scatter", "broadcast"])
    hosts = "gpu*" if (topology := draw.choice(topologies)).startswith('kind = "rail"') else "h*"
    to = "gpu0.0" if hosts == "gpu*" else "h0"
    few, many = draw.within(1, 30), draw.within(100, 160)
    parts = [
        f'name = "few"\nkind = "poisson"\nsize = "{draw.within(2, 40)}KB"\nload = 0.2\nflows = {few}',
        f'name = "many"\nkind = "poisson"\nsize = "3KB"\nload = 0.3\nflows = {many}',
        f'name = "in"\nkind = "incast"\nfrom = "{hosts}"\nto = "{to}"\nsize = "{draw.within(20, 200)}KB"',
        f'name = "job"\nkind = "collective"\nop = "{op}"\nsize = "{8 * draw.within(1, 9)}KB"\niterations = 2\n'
        f'start = "{draw.below(20)}us"',
    ]
    draw_out = draw.below(3)
    chosen = [part for number, part in enumerate(parts) if number != draw_out]
    lossy = draw.below(5) == 0
    cc, kind = draw.choice(["none", "dcqcn"]), draw.choice(["red", "tcd"])
    return f"""profile = "ideal"
[topology]
{topology}
rate = "{draw.choice([40, 100])}Gbps"
delay = "{draw.choice(["500ns", "1us"])}"
[switch]
flow-control = "{"none" if lossy else "pfc"}"
detector.kind = "{kind}"
[cc]
kind = "{cc}"
[probe]
blame = {str(draw.below(2) == 0).lower()}
""" + "".join(f"[[traffic]]\n{part}\n" for part in chosen)


def table(folder: Path, name: str) -> pl.DataFrame:
    frame = pl.read_parquet(folder / f"{name}.parquet")
    return frame.with_columns(pl.col(column).cast(pl.String) for column in ("traffic", "src", "dst") if column in frame)


def rank(values: list[float], percent: int) -> float:
    """The nearest rank by counting: the smallest value that so many percent do not exceed."""
    return min(value for value in values if 100 * sum(other <= value for other in values) >= percent * len(values))


def made(tmp_path: Path, capsys: pytest.CaptureFixture[str], seed: int, *more: str) -> tuple[dict[str, Any], Path]:
    file = tmp_path / "drawn.toml"
    file.write_text(scenario(seed))
    capsys.readouterr()
    assert main(["run", str(file), "--json", "--out", str(tmp_path / "out"), *more]) in (Exit.OK, Exit.CAVEATS)
    (folder,) = (tmp_path / "out").glob("*/run.json")
    return json.loads(capsys.readouterr().out), folder.parent


@pytest.mark.parametrize("seed", SWARM)
def test_what_run_tells_of_traffic_is_in_the_flows(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], seed: int
) -> None:
    told, folder = made(tmp_path, capsys, seed)
    flows, ports = table(folder, "flows"), table(folder, "ports")
    for row in told["traffic"]:
        mine = flows.filter(traffic=row["traffic"])
        assert row["flows"] == mine.height
        assert row["finished"] == mine["finish_ps"].count()
        for key in ("packets", "received_bytes", "ce_packets", "ue_packets", "cnps_ce", "cnps_ue"):
            assert row[key] == mine[key].sum()
        for name, column in (("fct_ps", "fct_ps"), ("slowdown", "slowdown")):
            values = [float(value) for value in mine[column].drop_nulls()]
            one = row[name]
            assert (one["count"], one["max"]) == (len(values), max(values))
            assert one["mean"] == pytest.approx(statistics.fmean(values))
            assert one["p50"] == rank(values, 50)
            # Of too few a percentile would be the largest value: null, with the reason.
            for percent, needed in ((95, 20), (99, 100)):
                assert one[f"p{percent}"] == (rank(values, percent) if len(values) >= needed else None)
            assert ("too_few" in one) == (len(values) < 100)
    assert told["totals"]["pauses"] == ports["pauses"].sum()
    assert told["totals"]["flows"] == flows.height


@pytest.mark.parametrize("seed", SWARM)
def test_what_run_tells_of_a_collective_is_in_its_messages(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], seed: int
) -> None:
    told, folder = made(tmp_path, capsys, seed)
    flows = table(folder, "flows").filter(traffic="job")
    (one,), (app,) = told["collectives"], told["applications"]
    rows = table(folder, "collectives").cast({"start_ps": pl.Int64, "end_ps": pl.Int64})
    times = [end - start for start, end in rows.select("start_ps", "end_ps").rows()]
    assert one["time_ps"] == pytest.approx(statistics.fmean(times))
    assert (one["least_ps"], one["greatest_ps"]) == (min(times), max(times))
    assert rows["start_ps"].min() == flows["start_ps"].min()
    entry = next(entry for entry in told["scenario"]["traffic"] if entry["name"] == "job")
    # From the start of the entry to the last message.
    last = int(flows.select(pl.col("finish_ps").max()).item())
    assert app["time_ps"] == last - quantities.parse_time(entry["start"])
    # What NCCL-tests print: S / t, and what a rank sends of it at least.
    n, size = one["ranks"], quantities.parse_size(entry["size"])
    of_ranks = {"all-gather": n, "all-to-all": n}.get(entry["op"], 1)
    share = {"all-reduce": 2 * (n - 1) / n, "broadcast": 1}.get(entry["op"], (n - 1) / n)
    assert one["algorithm_bps"] == pytest.approx(8e12 * size * of_ranks / one["time_ps"])
    assert one["bus_percent_of_line_rate"] == pytest.approx(100 * one["algorithm_bps"] * share / one["line_rate_bps"])
    # Nothing is faster than its ideal, alone or not, but for what lies between the posting of sends.
    assert one["ideal_ps"] <= one["alone_ps"] + n
    assert one["ideal_ps"] <= one["time_ps"] + n


@pytest.mark.parametrize("seed", SWARM)
def test_what_run_prints_for_people_is_what_it_tells_machines(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], seed: int
) -> None:
    told, folder = made(tmp_path, capsys, seed)
    assert main(["run", str(tmp_path / "drawn.toml"), "--out", str(tmp_path / "again")]) in (Exit.OK, Exit.CAVEATS)
    shown = " ".join(capsys.readouterr().out.split())
    (one,) = told["collectives"]
    assert (
        f"alone {quantities.time(one['alone_ps'])}, {quantities.three_digits(one['time_ps'] / one['alone_ps'])}"
        in shown
    )
    assert f"bus bandwidth {quantities.rate(one['bus_bps'])}" in shown
    for name, flows in table(folder, "flows").group_by("traffic"):
        values = [float(value) for value in flows["slowdown"].drop_nulls()]
        three = quantities.three_digits(max(values) if len(values) < 100 else rank(values, 99))
        cell = f"{three} (max of {len(values)})" if len(values) < 100 else three
        assert f"{cell} │" in shown, (name, cell)
        assert f"{quantities.time(float(flows.select(pl.col('fct_ps').mean()).item()))} │" in shown


def test_the_means_of_a_sweep_are_those_of_its_runs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("drawn.toml").write_text(scenario(1))
    Path("sweep.toml").write_text(
        'scenario = "drawn.toml"\nseeds = 3\nmeasures = ["mean_slowdown", "max_slowdown", "p99_slowdown", "finished"]\n'
        '[axes]\n"topology.delay" = ["500ns", "2us"]\n'
    )
    assert main(["sweep", "sweep.toml"]) in (Exit.OK, Exit.CAVEATS)
    capsys.readouterr()
    (means,) = Path().glob("**/means.csv")
    runs = pl.read_csv(means.with_name("runs.csv"))
    rows = list(csv.DictReader(means.open()))
    assert rows
    for row in rows:
        mine = runs.filter(pl.col("topology.delay") == row["topology.delay"], pl.col("traffic") == row["traffic"])
        for name in ("mean_slowdown", "max_slowdown", "finished"):
            values = [float(value) for value in mine[name]]
            assert float(row[f"{name}_mean"]) == pytest.approx(statistics.fmean(values))
            # Student's t of 2 degrees of freedom: 4.303.
            width = 4.303 * statistics.stdev(values) / math.sqrt(3)
            assert float(row[f"{name}_ci95"]) == pytest.approx(width, abs=1e-9)
            least = 1.0 if "slowdown" in name else 0.0
            low = max(statistics.fmean(values) - width, least)
            assert float(row[f"{name}_low"]) == pytest.approx(low)
        few = min(mine["finished"]) < 100
        assert (row["p99_slowdown_mean"] == "") == few


def test_what_compare_tells_of_a_bin_is_in_the_flows(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    text = scenario(2).replace('detector.kind = "tcd"', 'detector.kind = "red"')
    text += '[[scheme]]\nname = "none"\nset = ["cc.kind=none"]\n[[scheme]]\nname = "dcqcn"\nset = ["cc.kind=dcqcn"]\n'
    Path("two.toml").write_text(text)
    assert main(["compare", "two.toml", "--seeds", "3", "--json"]) in (Exit.OK, Exit.CAVEATS)
    told = json.loads(capsys.readouterr().out)
    for row in told["rows"]:
        high = math.inf if row["high_bytes"] is None else row["high_bytes"]
        seeds = []
        for run in told["runs"]:
            if run["scheme"] == row["scheme"]:
                flows = table(Path(run["folder"]), "flows").filter(pl.col("slowdown").is_not_null())
                inside = flows.filter(pl.col("size_bytes") >= row["low_bytes"], pl.col("size_bytes") < high)
                seeds.append([float(value) for value in inside["slowdown"]])
        seeds = [values for values in seeds if values]
        assert row["flows"] == sum(map(len, seeds))
        assert (row["least_flows"], row["most_flows"]) == (min(map(len, seeds)), max(map(len, seeds)))
        for name, of in (("median", lambda v: rank(v, 50)), ("max", max), ("mean", statistics.fmean)):
            assert row[name] == pytest.approx(statistics.fmean(map(of, seeds)))
            assert row[f"{name}_low"] >= 1
        for name, percent, needed in (("p95", 95, 20), ("p99", 99, 100)):
            enough = all(len(values) >= needed for values in seeds)
            expected = pytest.approx(statistics.fmean(rank(v, percent) for v in seeds)) if enough else None
            assert row[name] == expected


#: What a number is counted in where a cell has a unit.
_UNITS = {"ps": 1.0, "ns": 1e3, "µs": 1e6, "ms": 1e9, "s": 1e12}


def _number(cell: str) -> tuple[float, str]:
    """The mean of a cell such as ``615 (0 to 1 271) µs``, and what stands behind it."""
    match = re.fullmatch(r"([\d\u202f ]+(?:\.\d+)?)(.*)", cell)
    assert match, cell
    rest = match[2].strip()
    unit = _UNITS.get(rest.split()[-1], 1.0) if rest else 1.0
    return float(re.sub(r"\s", "", match[1])) * unit, rest


def test_what_compare_prints_for_people_is_what_it_tells_machines(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "400")
    text = scenario(2).replace('detector.kind = "tcd"', 'detector.kind = "red"')
    text += '[[scheme]]\nname = "none"\nset = ["cc.kind=none"]\n[[scheme]]\nname = "dcqcn"\nset = ["cc.kind=dcqcn"]\n'
    Path("two.toml").write_text(text)
    call = ["compare", "two.toml", "--seeds", "3", "--edges", "2KB,40KB"]
    assert main([*call, "--json"]) in (Exit.OK, Exit.CAVEATS)
    told = json.loads(capsys.readouterr().out)["rows"]
    assert main(call) in (Exit.OK, Exit.CAVEATS)
    shown = capsys.readouterr().out
    lines = [[cell.strip() for cell in re.split("[│┃]", line)[1:-1]] for line in shown.splitlines() if line[:1] in "│┃"]
    assert lines[0][:8] == ["size", "scheme", "flows", "median", "p95", "p99", "mean", "mean FCT"]
    assert len(told) >= 4
    maxima = 0
    for row, cells in zip(told, lines[1:], strict=False):
        assert cells[1] == row["scheme"]
        for name, cell in zip(("flows", "median", "p95", "p99", "mean", "mean_fct_ps"), cells[2:8], strict=True):
            number, rest = _number(cell)
            of_largest = row[name] is None
            assert ("max of" in rest) == of_largest, (name, cell)
            maxima += of_largest
            # Three digits are shown.
            assert number == pytest.approx(row["max"] if of_largest else row[name], rel=0.006), (name, cell)
    assert maxima
