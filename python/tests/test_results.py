"""A results folder is read lazily and says what is wrong with it."""

from pathlib import Path

import pytest
import synthetic
from backwater import Results
from backwater.errors import UsageError


def test_every_table_of_a_run_is_a_lazy_frame(tcd_run: Results) -> None:
    assert tcd_run.flows.select("packets").sum().collect().item() == 100 + 200 + 64 + 64
    assert {name for name in tcd_run.tables if tcd_run.table(name).collect().height} == set(tcd_run.tables)


def test_a_port_has_the_name_that_its_topology_gives_it_and_its_own(tcd_run: Results) -> None:
    assert tcd_run.port("P2") == "L0->T2"
    assert tcd_run.port("L0->T2") == "L0->T2"


def test_a_table_that_the_run_did_not_write_is_named_with_those_that_it_did(tcd_run: Results) -> None:
    with pytest.raises(UsageError, match=r"no table 'credits' .*flows, ports"):
        tcd_run.table("credits")


def test_a_folder_without_run_json_is_no_results_folder(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"has no run\.json"):
        Results(tmp_path)


def test_a_damaged_run_json_says_so(tmp_path: Path) -> None:
    (tmp_path / "run.json").write_bytes(b'{"digest": "\xff')
    with pytest.raises(UsageError, match="damaged"):
        Results(tmp_path)


def test_a_damaged_table_is_named(tcd_run: Results) -> None:
    tcd_run.check("flows")
    file = tcd_run.file("flows")
    whole = file.read_bytes()
    file.write_bytes(whole[:100])
    with pytest.raises(UsageError, match=r"flows\.parquet is damaged .*run the scenario again"):
        tcd_run.check("flows")
    file.write_bytes(whole[:20] + bytes(100) + whole[120:])
    with pytest.raises(UsageError, match=r"flows\.parquet is damaged"):
        tcd_run.check("flows")


def test_a_table_with_other_rows_than_run_json_says_is_named(tcd_run: Results) -> None:
    tcd_run.flows.head(1).collect().write_parquet(tcd_run.folder / "other.parquet")
    (tcd_run.folder / "other.parquet").replace(tcd_run.file("flows"))
    with pytest.raises(UsageError, match="has 1 rows, not 4"):
        tcd_run.check("flows")


def test_an_interrupted_run_says_that_it_is_partial(tmp_path: Path) -> None:
    run = Results(synthetic.write(tmp_path / "part", status="partial"))
    assert not run.complete
    assert "partial" in repr(run)


def test_all_runs_below_a_folder_are_found_in_order(tmp_path: Path) -> None:
    for name in ("b", "a"):
        synthetic.write(tmp_path / "deep" / name)
    assert [run.folder.name for run in Results.find(tmp_path)] == ["a", "b"]
