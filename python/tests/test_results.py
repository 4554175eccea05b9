"""A results folder is read lazily and says what is wrong with it."""

import json
import shutil
from pathlib import Path

import made_results
import polars as pl
import pytest
import synthetic
from backwater import Results, run
from backwater.analysis import run_notes
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


def test_a_run_that_was_killed_is_told_as_such(tmp_path: Path) -> None:
    folder = tmp_path / "incast-s1"
    folder.mkdir()
    (folder / "flows.parquet.part").write_bytes(b"")
    with pytest.raises(UsageError) as told:
        Results(folder)
    text = str(told.value)
    assert text.startswith(f"the run of {folder} is still under way, or was killed: its tables have no end")
    assert "run the scenario again; Ctrl-C and SIGTERM keep what there is" in text


def test_a_folder_that_is_not_there_is_told_with_one_that_is(tmp_path: Path, tcd_run: Results) -> None:
    for name in ("incast-s1", "incast-s2"):
        shutil.copytree(tcd_run.folder, tmp_path / "results" / name)
    at = tmp_path / "results"
    compared = at / "compare" / "incast"
    shutil.copytree(tcd_run.folder, compared / "runs" / "incast-ECN-s1")
    for wrong, message in (
        (at / "incats-s1", f"there is no folder {at / 'incats-s1'}; is it {at / 'incast-s1'}?"),
        (at / "other", f"there is no folder {at / 'other'}; of runs there are {at / 'incast-s1'}, {at / 'incast-s2'}"),
        (
            tmp_path / "y/x",
            f"there is no folder {tmp_path / 'y/x'}; `backwater run` prints where it writes its results",
        ),
        (at, f"{at} is no run itself; name one of those in it: {at / 'incast-s1'}, {at / 'incast-s2'}"),
        (compared, f"{compared} is no run itself; name one of those in it: {compared / 'runs' / 'incast-ECN-s1'}"),
    ):
        with pytest.raises(UsageError) as told:
            Results(wrong)
        assert str(told.value) == message


def test_a_folder_of_one_run_is_that_run(tmp_path: Path, tcd_run: Results) -> None:
    shutil.copytree(tcd_run.folder, tmp_path / "mine" / "incast-s1")
    assert Results(tmp_path / "mine").folder == tmp_path / "mine" / "incast-s1"


def test_results_of_another_format_are_refused_by_whoever_reads_them(tmp_path: Path, tcd_run: Results) -> None:
    folder = tmp_path / "later"
    shutil.copytree(tcd_run.folder, folder)
    meta = json.loads((folder / "run.json").read_text())
    (folder / "run.json").write_text(json.dumps(meta | {"format": 99, "version": "9.9.0"}))
    with pytest.raises(UsageError, match=r"is of format 99 \(Backwater 9\.9\.0\), not 3: run the scenario again"):
        Results(folder)


def test_an_older_run_is_read_with_its_caveats_and_notes_as_sentences(tmp_path: Path, tcd_run: Results) -> None:
    folder = tmp_path / "older"
    shutil.copytree(tcd_run.folder, folder)
    meta = json.loads((folder / "run.json").read_text())
    said = {
        "format": 1,
        "caveats": ["without effect with x: cc.{g}", "holds: the results budget was used up"],
        "notes": ["by the rate"],
    }
    (folder / "run.json").write_text(json.dumps(meta | said))
    lines = run_notes.of(Results(folder))
    for line in ("caveat: without effect with x: cc.{g}", "caveat: holds: the results budget", "note: by the rate"):
        assert any(known.startswith(line) for known in lines)
    # Blame knows by the place which tables were cut.
    assert [one["place"] for one in Results(folder).meta["caveats"]] == ["", "holds"]


def test_an_older_run_has_goodput_by_its_name_of_today(tmp_path: Path) -> None:
    older = pl.DataFrame({"flow": [0, 1], "throughput_bps": [40_000_000_000, None]})
    traffic = [{"traffic": "web", "mean_throughput_bps": 4e10}]
    folder = made_results.write(tmp_path / "older", {"flows": older}, {}, 1, format=2, traffic=traffic)
    run = Results(folder)
    assert run.flows.select("goodput_bps").collect()["goodput_bps"].to_list() == [40_000_000_000, None]
    assert run.flows.filter(pl.col("goodput_bps") > 0).select("flow").collect().height == 1
    assert run.meta["traffic"] == [{"traffic": "web", "mean_goodput_bps": 4e10}]
    # Without the column, too: each table has those that its run wrote.
    other = made_results.write(tmp_path / "other", {"flows": older.select("flow")}, {}, 1, format=1)
    assert Results(other).flows.collect().columns == ["flow"]


def test_queues_are_plotted_the_longest_first_whatever_their_order_in_the_file(tmp_path: Path) -> None:
    text = (
        'profile = "authors"\n'
        '[topology]\nkind = "star"\nhosts = 14\nrate = "40Gbps"\ndelay = "1us"\n[run]\nuntil = "100us"\n'
        '[[traffic]]\nname = "in"\nkind = "incast"\nfrom = "h[0-9]"\nto = "h13"\nsize = "100KB"\n'
        '[[traffic]]\nname = "two"\nkind = "flow"\nfrom = ["h10", "h11"]\nto = "h12"\nsize = "100KB"\n'
        '[probe]\nsample = "5us"\n'
    )
    file = tmp_path / "queues.toml"
    file.write_text(text)
    made = run(file, out=tmp_path / "out")
    (axes,) = made.plot().axes
    legend = axes.get_legend()
    assert legend is not None
    labels = [words.get_text() for words in legend.get_texts()]
    # Ten senders into one port, two into another: no other queue can be longer.
    assert labels[:2] == ["s->h13", "s->h12"]
    assert "longest" in legend.get_title().get_text()


def test_what_was_not_recorded_is_told_with_the_key_that_records_it(tcd_run: Results) -> None:
    with pytest.raises(UsageError, match=r"--set probe\.delivered=true"):
        tcd_run.table("delivered")
