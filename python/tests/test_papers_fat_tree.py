"""What Figures 16 and 19 and the headline of the TCD paper measure, on flows that a reader can check in the head."""

from pathlib import Path
from typing import Any

import polars as pl
import pytest
import synthetic
from backwater import Results
from backwater.experiments import store
from backwater.experiments.executor import Job
from backwater.experiments.plan import keyed
from backwater.papers import paper_figure
from backwater.scenario.scenario import Scenario

from papers.tcd import slowdowns

US = synthetic.US
#: In synthetic.py every flow takes 100 µs alone; the authors' base is taken as half of that here.
ALONE_US, ANALYTIC_US = 100, 50


#: So many flows have a 99th percentile.
ENOUGH = 100


def seed(*rows: tuple[int, float]) -> pl.DataFrame:
    """Flows of one seed as (size, slowdown), so many of each that percentiles are told."""
    rows = rows * ENOUGH
    return pl.DataFrame(
        {"size_bytes": [size for size, _ in rows], "fct_ps": 1000, "slowdown": [value for _, value in rows]},
        schema={"size_bytes": pl.UInt64, "fct_ps": pl.UInt64, "slowdown": pl.Float64},
    )


def run(folder: Path, *rows: tuple[int, int, int, int]) -> Results:
    """A run with flows of (size, FCT in µs, packets with CE, packets with UE)."""
    synthetic.write(folder, "TCD")
    one = pl.read_parquet(folder / "flows.parquet").filter(pl.col("traffic") == "A").head(1)
    flows = [
        one.with_columns(
            size_bytes=pl.lit(size, pl.UInt64),
            fct_ps=pl.lit(fct * US, pl.UInt64),
            analytic_fct_ps=pl.lit(ANALYTIC_US * US, pl.UInt64),
            ce_packets=pl.lit(ce, one["ce_packets"].dtype),
            ue_packets=pl.lit(ue, one["ue_packets"].dtype),
        )
        for size, fct, ce, ue in rows
    ]
    pl.concat(flows * ENOUGH).write_parquet(folder / "flows.parquet")
    return Results(folder)


def test_a_size_equal_to_a_cut_counts_as_large() -> None:
    small, large = slowdowns.sides(seed((99, 2.0), (100, 4.0)), 100)
    assert (small["median"], large["median"]) == (2.0, 4.0)


def test_a_gain_is_the_slowdown_without_tcd_over_that_with_it() -> None:
    found = slowdowns.gains(seed((10, 6.0), (200, 3.0)), seed((10, 2.0), (200, 4.0)), {"cut": 100})
    assert found["median_gain_under_cut"] == 3.0
    assert found["p99_gain_from_cut"] == 0.75


def test_sizes_without_a_flow_have_no_gain() -> None:
    found = slowdowns.gains(seed((10, 6.0)), seed((10, 2.0)), {"cut": 100})
    assert found["p99_gain_under_cut"] == 3.0
    assert found["p99_gain_from_cut"] is None


def test_only_bins_with_one_flow_in_fifty_have_a_gain() -> None:
    # Gains of 2, 3 and, in a bin of a single flow of 100, 50.
    sizes = [*[1] * 50, *[10] * 49, 100]
    plain = seed(*((size, {1: 4.0, 10: 9.0, 100: 50.0}[size]) for size in sizes))
    tcd = seed(*((size, {1: 2.0, 10: 3.0, 100: 1.0}[size]) for size in sizes))
    assert slowdowns.by_bin(plain, tcd, (10, 100))["median"] == pytest.approx({"from 0 B": 2.0, "from 10 B": 3.0})


def test_without_a_bin_of_enough_flows_there_is_no_gain_by_bin() -> None:
    many = seed(*((size, 1.0) for size in range(100)))
    found = slowdowns.by_bin(many, many, tuple(range(1, 100)))
    assert not any(found.values())


def test_both_bases_stand_beside_each_other(tmp_path: Path) -> None:
    runs = {
        slowdowns.name(workload, scheme): run(tmp_path / f"{workload}-{scheme}", (1_000, fct, 0, 0))
        for workload in slowdowns.CUTS
        for scheme, fct in (("dcqcn", 600), ("dcqcn+tcd", 200), ("dcqcn harsher", 300), ("dcqcn+tcd gentler", 500))
    }
    found = slowdowns.compare(runs, "dcqcn")
    assert found["hadoop_dcqcn_median_under_80KB"] == 600 / ANALYTIC_US
    assert found["hadoop_dcqcn_median_under_80KB_alone"] == 600 / ALONE_US
    assert found["web-search_median_gain_under_500KB"] == pytest.approx(3)
    assert found["web-search_median_gain_under_500KB_alone"] == pytest.approx(3)
    gains = found["hadoop_p99_gain_by_bin_under_50KB"]
    assert isinstance(gains, dict)
    assert list(gains.values()) == [pytest.approx(3)]
    assert found["web-search_p99_gain_from_1MB"] is None
    # Each change of TCD by itself.
    assert found["hadoop_cut_alone_p99_gain_under_50KB"] == pytest.approx(2)
    assert found["hadoop_detector_alone_p99_gain_under_50KB"] == pytest.approx(1.2)


def test_a_flow_with_ce_is_not_counted_as_one_with_ue(tmp_path: Path) -> None:
    rows = [(1, 100, 1, 1), (1, 100, 0, 1), (1, 100, 0, 0), (1, 100, 0, 0)]
    found = slowdowns.network(run(tmp_path / "run", *rows))
    assert (found["ce_percent"], found["ue_percent"], found["unfinished"]) == (25, 25, 0)


def test_the_gains_of_the_headline_are_of_both_controllers_and_workloads(tmp_path: Path) -> None:
    fct = {"timely": 700, "dcqcn": 400}
    runs = {
        slowdowns.name(workload, scheme): run(tmp_path / f"{workload}-{scheme}", (1_000, fct.get(scheme, 200), 0, 0))
        for workload in slowdowns.CUTS
        for scheme in slowdowns.SCHEMES
    }
    module: Any = paper_figure.discover("tcd", ["headline"])[0].module()
    found = module.metrics(runs)
    assert sorted(found["median_gain_by_bin"].values()) == pytest.approx([2, 2, 3.5, 3.5])
    assert {name.partition(" from")[0] for name in found["p99_gain_by_bin"]} == {
        "hadoop dcqcn", "hadoop timely", "web-search dcqcn", "web-search timely",
    }  # fmt: skip


def test_the_headline_reuses_the_runs_of_figures_16_and_19() -> None:
    kept = store.RunFolders(Path())

    def keys(figure: paper_figure.Figure) -> set[Path | None]:
        common = figure.overrides("authors", "", quick=False)
        jobs = (
            Job("", Scenario.load(figure.folder / spec.scenario), (*common, *own), 1)
            for spec in figure.experiment.run
            for _, own in spec.expand()
        )
        return {kept.place(job).out for job in keyed(jobs)}

    found = {figure.name: keys(figure) for figure in paper_figure.discover("tcd", ["fig16", "fig19", "headline"])}
    assert found["headline"] <= found["fig16"] | found["fig19"]
    assert len(found["headline"]) == 8


def test_a_cell_fits_where_both_levels_and_half_of_the_gain_are_the_papers() -> None:
    loads: Any = paper_figure.discover("tcd", ["loads"])[0].module()
    hadoop = loads.PRINTED[0]
    # 10.8 to 3.6, 3.0 times: levels within half as much again either way, and 2.0 times at least.
    assert loads.fits(hadoop, 10.8, 3.6)
    assert loads.fits(hadoop, 7.3, 2.5)
    assert not loads.fits(hadoop, 7.3, 3.7)
    assert not loads.fits(hadoop, 7.1, 2.5)
    assert not loads.fits(hadoop, 16.3, 3.6)


def test_levels_over_a_constant_base_are_those_of_size_over_40_gbps_and_the_constant(tmp_path: Path) -> None:
    loads: Any = paper_figure.discover("tcd", ["loads"])[0].module()
    # 50 KB take 10 us at 40 Gbps: after 44 us 2.0 times the base with 12 us.
    one = run(tmp_path / "one", (50_000, 44, 0, 0))
    assert loads.level(one, loads.PRINTED[0], 12.0) == pytest.approx(2.0)
