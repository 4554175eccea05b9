"""``bw.sweep``: the words of sweep files in Python."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import backwater as bw
import numpy as np
import polars as pl
import pytest
import sweep_scene
from backwater.cli import main
from backwater.errors import Exit
from failing_core import FailingCore

if TYPE_CHECKING:
    from collections.abc import Callable


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("BACKWATER_CACHE", str(tmp_path / "cache"))
    sweep_scene.write(tmp_path)
    return tmp_path


def test_a_file_a_call_and_the_command_line_give_the_same_table() -> None:
    assert main(["sweep", "loads.toml"]) == Exit.OK
    told = pl.read_parquet("results/loads/runs.parquet")
    assert bw.sweep("loads.toml").equals(told)
    axes: dict[str, Any] = {"traffic.web.load": np.array([0.2, 0.4])}
    assert bw.sweep(scenario="star.toml", axes=axes, seeds=range(1, 3)).equals(told)
    nested = {"traffic": {"web": {"load": {"from": 0.2, "to": 0.4, "count": 2}}}}
    assert bw.sweep(scenario=Path("star.toml"), axes=nested, seeds={"from": 1, "count": 2}, cache=False).equals(told)


def test_what_is_given_replaces_what_the_file_says_and_means_are_those_of_ci(here: Path) -> None:
    made = bw.sweep("loads.toml", seeds=[3, 4], measures=("mean_fct_ps",), out="mine", cache=here / "other")
    assert made.columns == ["traffic.web.load", "seed", "traffic", "mean_fct_ps", "status", "caveats", "digest"]
    assert made["seed"].unique().to_list() == [3, 4]
    means = pl.read_parquet("mine/means.parquet")
    told = made.group_by("traffic.web.load", "traffic", maintain_order=True).agg(bw.ci("mean_fct_ps"))
    told = told.unnest("mean_fct_ps")
    assert told["mean"].to_list() == means["mean_fct_ps_mean"].to_list()
    assert (told["high"] - told["mean"]).to_list() == pytest.approx(means["mean_fct_ps_ci95"].to_list())
    assert len(list((here / "other").glob("runs/*/*"))) == 4
    assert not (here / "cache").exists()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: bw.sweep(), 'sweep(): there is no scenario; name a file: scenario = "a.toml"'),
        (
            lambda: bw.sweep(scenario="star.toml", seeds=0),
            "sweep(): seeds = 0: give how many (1 to 100000), a list",
        ),
        (lambda: bw.sweep("loads.toml", seeds=0), "loads.toml: seeds = 0: give how many"),
        (lambda: bw.sweep("loads.toml", jobs=0), "jobs = 0: give a number of runs at a time, from 1"),
        (lambda: bw.sweep("loads.toml", on="mars"), 'on = \'mars\': it may be "here" or "ray"'),  # type: ignore[arg-type]
        (
            lambda: bw.sweep("loads.toml", address="auto"),
            'an address is that of a Ray cluster, and so needs --on ray (in Python on="ray")',
        ),
        (lambda: bw.sweep("loads.toml", measures=["fcts"]), 'measures = "fcts": '),
        (lambda: bw.sweep("loads.toml", axes={"traffic.web.load": 3}), "traffic.web.load = 3: give a list of values"),  # type: ignore[dict-item]
        (
            lambda: bw.sweep("loads.toml", axes={"cc.kind": [object()]}),
            "is of type object, which no key",
        ),
        (lambda: bw.sweep("no.toml"), "there is no sweep file "),
    ],
)
def test_bad_calls_say_what_would_do(call: Callable[[], pl.DataFrame], message: str) -> None:
    with pytest.raises(bw.UsageError) as told:
        call()
    assert message in str(told.value)
    assert not Path("cache/runs").exists()


def test_the_first_failure_is_raised_when_all_others_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(overrides: list[str]) -> None:
        if "run.seed=1" in overrides:
            raise bw.InvariantError("port s->h0 lost a packet")

    FailingCore.install(monkeypatch, fail)
    with pytest.raises(bw.InvariantError, match="lost a packet"):
        bw.sweep("loads.toml", jobs=1)
    assert len(list(Path("cache").glob("runs/*/*"))) == 2


def test_schemes_are_tested_seed_by_seed() -> None:
    # Half of the first in each of six seeds: 2 of the 64 ways of the signs are as uneven.
    rows = [
        {"scheme": scheme, "load": 0.2, "seed": seed, "traffic": "web", "mean_slowdown": value * (2 + seed)}
        for scheme, value in (("ECN", 1.0), ("TCD", 0.5))
        for seed in range(6)
    ]
    (one,) = bw.paired(pl.DataFrame(rows), "mean_slowdown").to_dicts()
    assert (one["at"], one["scheme"], one["against"], one["pairs"], one["shown"]) == ("0.2", "TCD", "ECN", 6, "lower")
    assert one["effect"] == pytest.approx(0.5)
    assert one["p_holm"] == 2 / 64
    with pytest.raises(bw.UsageError, match="no column 'p99_slowdown'"):
        bw.paired(pl.DataFrame(rows), "p99_slowdown")
    with pytest.raises(bw.UsageError, match="one value only"):
        bw.paired(pl.DataFrame(rows[:6]), "mean_slowdown")
