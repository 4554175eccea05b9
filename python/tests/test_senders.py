"""Jobs are asked for wherever traffic entries are: `compare`, `cite`, `tune` and `blame`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from backwater import Results, _core
from backwater.analysis.blame import scoring
from backwater.cli import main
from backwater.errors import Exit
from backwater.experiments import tuning_file
from backwater.experiments.toml_document import Document
from backwater.results import measures
from plain_star import PS_PER_BYTE, scenario

ROOT = Path(__file__).parents[2]
STEPS = """[[job.step]]
compute = "5us"
[[job.step]]
collective = "all-reduce"
size = "8000B"
"""
TRAIN = f'[[job]]\nname = "train"\nranks = 4\nstraggler = {{ slower = 1.2 }}\n{STEPS}'


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("BACKWATER_CACHE", str(tmp_path / "cache"))


def run(entries: str, *overrides: str, **scene: Any) -> Results:
    _core.Scenario(scenario(entries, **scene), "s.toml", Path(), overrides).run(Path("run"))
    return Results(Path("run"))


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (('"5us"', '"10us"'), "job.train.step[1].compute is 5us against 10us"),
        (("slower = 1.2", "slower = 3.0"), "job.train.straggler.slower is 1.2 against 3.0"),
        (("ranks = 4", "ranks = 5"), "job.train.ranks is 4 against 5"),
    ],
)
def test_schemes_with_other_jobs_are_refused_before_anything_runs(
    change: tuple[str, str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("a.toml").write_text(scenario(TRAIN))
    Path("b.toml").write_text(scenario(TRAIN.replace(*change)))
    assert main(["compare", "a.toml", "b.toml"]) == Exit.BAD_INPUT
    shown = capsys.readouterr().err
    assert "a and b do not have the same traffic" in shown
    assert said in shown
    assert "[[job]]" in shown
    assert not Path("results").exists()


def test_of_a_file_that_a_job_names_the_text_counts(capsys: pytest.CaptureFixture[str]) -> None:
    for name, size in (("a", 8000), ("same", 8000), ("b", 9000)):
        Path(f"{name}.trace").write_text(f"backwater-trace 1\nranks 2\nmessage 1 from 0 to 1 bytes {size}\n")
        Path(f"{name}.toml").write_text(scenario(f'[[job]]\nname = "app"\ntrace = "{name}.trace"\n'))
    assert main(["compare", "a.toml", "same.toml"]) in (Exit.OK, Exit.CAVEATS)
    capsys.readouterr()
    assert main(["compare", "a.toml", "b.toml"]) == Exit.BAD_INPUT
    assert "job.app.trace is a file with the hash" in capsys.readouterr().err


def test_compare_can_show_one_job(capsys: pytest.CaptureFixture[str]) -> None:
    Path("a.toml").write_text(scenario(TRAIN))
    Path("b.toml").write_text(scenario(TRAIN))
    assert main(["compare", "a.toml", "b.toml", "--traffic", "train", "--json"]) in (Exit.OK, Exit.CAVEATS)
    assert json.loads(capsys.readouterr().out)
    assert main(["compare", "a.toml", "b.toml", "--traffic", "tarin"]) == Exit.BAD_INPUT
    assert "there is no traffic 'tarin'; there is train" in capsys.readouterr().err


def test_the_papers_of_a_scenario_of_jobs_are_cited(capsys: pytest.CaptureFixture[str]) -> None:
    def cited(file: Path | str) -> dict[str, list[str]]:
        assert main(["cite", str(file), "--json"]) == Exit.OK
        return {one["key"]: one["because"] for one in json.loads(capsys.readouterr().out)}

    assert "cc.kind = dcqcn" in str(cited(ROOT / "scenarios" / "jobs.toml"))
    hosts = 'kind = "star"\nhosts = 12'
    Path("net.toml").write_text(scenario('[[job]]\nname = "net"\n[job.gpcnet]\nranks-per-host = 1\n', hosts))
    assert cited("net.toml")["chunduri2019gpcnet"] == ["traffic.kind = gpcnet"]
    # What only the link holds back has no reaction point.
    for control in ("cc", "line-rate"):
        text = scenario(TRAIN.replace("ranks = 4", f'ranks = 4\ncontrol = "{control}"'))
        Path(f"{control}.toml").write_text(text.replace('kind = "none"', 'kind = "timely"'))
    assert "cc.kind = timely" in str(cited("cc.toml"))
    assert "cc.kind" not in str(cited("line-rate.toml"))


def test_a_tuning_of_a_job_takes_the_job() -> None:
    Path("job.toml").write_text(scenario(TRAIN))
    tables = {"scenario": "job.toml", "objective": "p99_slowdown", "parameters": {"packet.payload": ["1000B", "2000B"]}}
    task = tuning_file.of(Document("tune.toml", Path(), tables))
    assert task.traffic == "train"


def test_a_job_on_hosts_that_send_puts_is_traffic_of_puts() -> None:
    resolved = json.loads(
        _core.Scenario(
            scenario(TRAIN, head='profile = "endpoint"'), "s.toml", Path(), ["host.transport=put"]
        ).resolved()
    )
    assert measures.has_puts(resolved)


#: Six ranks write to one host, so that its queue is longer than RED allows.
INCAST = '[[job]]\nname = "save"\nranks = 6\n[[job.step]]\nwrite = "200000B"\nto = "h7"\n'


def test_a_job_is_judged_by_its_receivers_where_these_report_only_many_marks() -> None:
    """With np-fraction = 1 a receiver reports a window only if all of its packets are marked."""
    marking = [
        "cc.kind=dcqcn",
        "switch.detector.kind=red",
        "switch.detector.kmin=20KB",
        "switch.detector.kmax=2MB",
    ]
    results = run(INCAST, *marking, "cc.np-fraction=1.0")
    flows = results.flows.select("flow", "ce_packets", "cnps_ce").collect()
    unreported = flows.filter((pl.col("ce_packets") > 0) & (pl.col("cnps_ce") == 0))["flow"]
    assert len(unreported)
    told = scoring.received(results).filter(pl.col("flow").is_in(unreported.implode()))
    assert not told["is_marked"].any()


ASIDE = '[[traffic]]\nname = "aside"\nkind = "flow"\nfrom = "h4"\nto = "h5"\nsize = "1000B"\n'


@pytest.mark.parametrize(
    ("by", "flows"),
    [
        ("job", {"a": 64}),
        ("collective", {"a, step 0: all-reduce": 48, "a, step 2: write": 16, "aside": 1}),
        ("iteration", {"a, iteration 0": 32, "a, iteration 1": 32, "aside": 1}),
    ],
)
def test_blame_is_summed_up_by_job_collective_and_iteration(
    by: str, flows: dict[str, int], capsys: pytest.CaptureFixture[str]
) -> None:
    """A ring of 4 ranks has 6 steps of 4 messages; a rank that writes sends one message and gets one."""
    steps = '[[job.step]]\ncollective = "all-reduce"\nsize = "8000B"\n[[job.step]]\ncompute = "1us"\n'
    steps += '[[job.step]]\nwrite = "10000B"\nto = "h7"\n'
    run(f'[[job]]\nname = "a"\nranks = 4\niterations = 2\n{steps}{ASIDE}')
    assert main(["blame", "run", "--by", by, "--json"]) == Exit.OK
    told = json.loads(capsys.readouterr().out)
    assert {row["group"]: row["flows"] for row in told["lost"]} == flows
    assert {row["group"] for row in told["because_of"]} <= flows.keys()
    assert main(["blame", "run", "--by", "step", "--json"]) == Exit.OK
    lost = [row["lost_ps"] for row in json.loads(capsys.readouterr().out)["lost"] if row["group"] != "aside"]
    assert sum(row["lost_ps"] for row in told["lost"] if row["group"] != "aside") == sum(lost) > 0


def test_blame_by_job_without_jobs_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    run(ASIDE)
    assert main(["blame", "run", "--by", "job"]) == Exit.OK
    assert "the run has no jobs" in capsys.readouterr().out


def test_beside_its_waits_a_path_says_what_it_waits_alone(capsys: pytest.CaptureFixture[str]) -> None:
    """Two ranks write 10 packets each to one host: even alone the last packet waits behind the 10 of the other rank."""
    step = '[[job.step]]\nwrite = "10000B"\nto = "h7"\n'
    text = scenario("".join(f'[[job]]\nname = "{name}"\nranks = 2\n{step}' for name in "ab"))
    Path("two.toml").write_text(text)
    assert main(["run", "two.toml", "--out", "o"]) in (Exit.OK, Exit.CAVEATS)
    told = " ".join(capsys.readouterr().out.split())
    alone_ps = 10_000 * PS_PER_BYTE
    assert told.count("of waits; alone it waits for 800 ns; the longest") == 2
    assert main(["critical", "o", "--json"]) == Exit.OK
    found = json.loads(capsys.readouterr().out)
    assert [one["alone_wait_ps"] for one in found] == [alone_ps, alone_ps]
    assert max(one["wait_ps"] for one in found) > alone_ps
    assert main(["critical", "o", "--job", "a"]) == Exit.OK
    assert "; alone it waits for 800 ns" in capsys.readouterr().out
    # Nothing is run for it.
    assert main(["cache", "clear"]) == Exit.OK
    capsys.readouterr()
    assert main(["critical", "o", "--json"]) == Exit.OK
    assert [one["alone_wait_ps"] for one in json.loads(capsys.readouterr().out)] == [None, None]
