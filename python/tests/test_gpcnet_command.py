"""`backwater gpcnet` and what other commands say of its runs, on ten hosts around a switch."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest
from backwater import Results
from backwater.analysis import gpcnet
from backwater.cli import main
from backwater.errors import Exit

SCENARIO = """
profile = "hpc"
[topology]
kind = "star"
hosts = 10
rate = "100Gbps"
delay = "100ns"
[[traffic]]
name = "g"
kind = "gpcnet"
ranks-per-host = 2
rings = 4
[[scheme]]
name = "none"
set = []
[[scheme]]
name = "PFT"
set = ["host.throttle.kind=pft"]
[probe]
blame = false
"""


#: 30 hosts of 8 ranks: 24 congest, six of each kind.
CROWDED = ["--set", "topology.hosts=30", "--set", "traffic.g.ranks-per-host=8"]


@pytest.fixture
def small(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    Path("small.toml").write_text(SCENARIO)
    return "small.toml"


def test_schemes_are_run_once_ranked_and_shown_again(small: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["gpcnet", small, "--quick", "--seeds", "2"]) == Exit.OK
    first = capsys.readouterr()
    assert "4 runs, 0 of them already done" in first.err
    assert "random rings of latency and of bandwidth: 3 (GPCNeT: 30)" in first.out
    assert main(["gpcnet", small, "--quick", "--seeds", "2"]) == Exit.OK
    second = capsys.readouterr()
    assert "4 of them already done" in second.err
    assert second.out == first.out
    table = pl.read_parquet("results/gpcnet/small-quick/gpcnet.parquet")
    # Of each scheme and seed three tests in two phases, and four congestors.
    assert table.group_by("scheme", "seed").len()["len"].to_list() == [3 * 2 + 4] * 4
    assert main(["gpcnet", "results/gpcnet/small-quick", "--json"]) == Exit.OK
    again = json.loads(capsys.readouterr().out)
    assert again["rows"] == table.to_dicts()
    assert set(again["geometric_mean"]) == {"none", "PFT"}


def test_every_rank_that_tests_measures_every_turn_of_every_ring(small: str) -> None:
    assert main(["gpcnet", small, "--schemes", "none", "--out", "out"]) == Exit.OK
    (run,) = Results.find("out")
    # Two test nodes of two ranks; 4 rings of 20 and of 2 turns, and 50 allreduces.
    for phase in gpcnet.PHASES:
        counts = [len(gpcnet.timings(run, phase, key)) for key in ("lat", "bw", "allreduce")]
        assert counts == [4 * 4 * 20, 4 * 4 * 2, 4 * 50]
    roles = dict(run.ranks.group_by(pl.col("role").cast(pl.String)).len().collect().rows())
    assert roles == {"test": 4, "all-to-all": 4, "incast": 4, "put-incast": 4, "get-broadcast": 4}


def test_a_congested_host_never_gets_more_across_than_its_link_carries(small: str) -> None:
    assert main(["gpcnet", small, "--schemes", "none", "--out", "out"]) == Exit.OK
    (run,) = Results.find("out")
    by_role = {one.role: one.bps for one in gpcnet.of(run).congestors}
    # Payload of 2 KiB in packets with 32 B of headers and 16 B of frame.
    assert all(0 < by_role[role] < 100e9 * 2048 / 2080 for role in ("incast", "put-incast", "get-broadcast"))


def test_a_test_that_was_not_over_when_the_run_ended_is_left_out_and_named(
    small: str, capsys: pytest.CaptureFixture[str]
) -> None:
    cut = ["gpcnet", small, "--schemes", "none", "--out", "out", "--set"]
    assert main(["gpcnet", small, "--schemes", "none", "--out", "whole", "--json"]) == Exit.OK
    whole = Results.find("whole")
    ends = next(whole).timings.group_by(pl.col("series").cast(pl.String)).agg(pl.col("end_ps").max()).collect()
    last = dict(ends.rows())
    # Between the ends of two tests, in nanoseconds.
    until = (last["isolated/bw"] + last["isolated/allreduce"]) // 2000
    capsys.readouterr()
    assert main([*cut, f"run.until={until}ns", "--plot", "cut.png"]) == Exit.CAVEATS
    told = capsys.readouterr().out
    assert "left out: isolated Multiple Allreduce (8 B)" in told
    assert "left out: congested RR Two-sided Lat (8 B)" in told
    assert "RR Two-sided BW+Sync (131072 B) |" in told
    assert "Key Results" not in told
    assert "Alltoall" not in told
    assert main([*cut, "run.until=1us"]) == Exit.BAD_INPUT
    assert "no test of GPCNeT came to its end" in capsys.readouterr().err


def test_blame_names_the_congestors_as_those_who_feed_the_roots(small: str, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["gpcnet", small, "--quick", "--schemes", "none", "--blame", *CROWDED]
    assert main(words) == Exit.OK
    told = capsys.readouterr().out
    assert "Blame under none, seed 1" in told
    assert "Who fed the congestion roots" in told
    truth = json.loads(_json(words, capsys))["blame"]["none"]
    roles = {row["role"]: row for row in truth["roles"]}
    # Of six nodes of an incast five have 8 ranks that send 4 KiB each to the sixth: 160 KiB at once, and K is 32 KiB.
    assert roles["incast"]["culprits"] == 5 * 8
    assert sum(row["share"] for row in roles.values()) == pytest.approx(1)
    # What is above K at once is what congestors send, as tests wait for each other after two messages.
    assert roles["test"]["share"] < 0.5
    # Nobody but incast's own nodes sends much to its root.
    nodes = {row["role"]: row["nodes"] for row in json.loads(_json(words, capsys))["ranks"]}
    fed = [row for row in truth["feeding"] if row["root_port"].partition("->")[2] in nodes["incast"]]
    assert {row["role"] for row in fed if row["share"] > 0.5} == {"incast"}
    assert "g, incast" in told
    assert main([*words, "--top", "1"]) == Exit.OK
    one = capsys.readouterr().out
    assert one.count("g, ") < told.count("g, ")


def test_congestors_alone_run_without_tests_for_a_millisecond(small: str, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["gpcnet", small, "--schemes", "none", "--congestors-alone", "--blame", "--out", "alone", *CROWDED]
    assert main(words) == Exit.OK
    told = capsys.readouterr().out
    assert "Congestion Tests alone" in told
    assert "the congestors alone, all kinds at the same time" in told
    assert "Key Results" not in told
    (run,) = Results.find("alone")
    assert run.meta["sim_time_ps"] == 1_000_000_000
    assert not run.has("timings")
    truth = {row["role"]: row for row in json.loads(_json(words, capsys))["blame"]["none"]["roles"]}
    # Nobody tests, so congestors have all of the roots.
    assert truth.get("test", {"share": 0})["share"] == 0
    assert main([*words, "--plot", "alone.png"]) == Exit.BAD_INPUT
    assert "--plot draws the tests" in capsys.readouterr().err


def _json(words: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    assert main([*words, "--json"]) == Exit.OK
    return capsys.readouterr().out


def test_compare_has_no_completion_times_of_channels(small: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compare", small, "--seeds", "1", "--set", "traffic.g.rings=1", "--out", "out"]) == Exit.OK
    told = capsys.readouterr().out
    assert "no flow has an end, so there is no slowdown to compare" in told
    assert "goodput" in told
    assert "p99 slowdown" not in told


def test_run_says_what_ranks_did_and_throttle_who_was_held(small: str, capsys: pytest.CaptureFixture[str]) -> None:
    few = ["--set", "traffic.g.rings=1", "--set", "probe.sample=10us"]
    assert main(["run", small, "--scheme", "PFT", *few, "--out", "out"]) == Exit.OK
    told = capsys.readouterr().out
    assert "of 20 ranks came to their end" in told
    assert "congestion impact factors of Avg and of 99 %: RR Two-sided Lat" in told
    assert "throttles: " in told
    (run,) = Results.find("out")
    assert run.meta["throttle"]["congested_ps"] == run.throttle.select(pl.col("congested_ps").sum()).collect().item()
    assert sum(row["sent_messages"] for row in run.meta["ranks"]) > 0
    assert main(["throttle", str(run.folder)]) == Exit.OK
    assert "bystanders, the 2 NICs whose ranks only test" in capsys.readouterr().out


def test_on_another_network_schemes_that_do_not_fit_are_left_out_with_the_reason(
    small: str, capsys: pytest.CaptureFixture[str]
) -> None:
    # 64 KiB of an ingress port, paused at 50 KiB, do not hold what is under way on 2 us of cable.
    narrow = ["switch.flow-control=pfc", "switch.queueing=combined", "switch.switching=store-and-forward"]
    narrow += ["switch.arbiter=deficit", "switch.combined.ingress=64KiB", "switch.combined.egress=64KiB"]
    scheme = f'[[scheme]]\nname = "narrow"\nset = {json.dumps(narrow)}\n[probe]'
    Path(small).write_text(Path(small).read_text().replace("[probe]", scheme))
    Path("tree.toml").write_text(
        '[topology]\nkind = "xgft"\nm = [4, 3]\nw = [1, 2]\nrate = "100Gbps"\ndelay = "2us"\nrouting = "d-mod-k"\n'
    )
    assert main(["gpcnet", small, "--quick", "--topology", "tree.toml"]) == Exit.CAVEATS
    told = capsys.readouterr()
    assert "narrow is left out:" in told.err
    assert Path("results/gpcnet/small-on-tree-quick/gpcnet.parquet").is_file()


def test_what_it_runs_on_is_printed(small: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["gpcnet", small, "--quick", "--schemes", "none"]) == Exit.OK
    told = capsys.readouterr()
    # Eight of ten nodes congest, two of each kind, and each node has two ranks.
    kinds = "2 all-to-all, 2 get-broadcast, 2 incast, 2 put-incast"
    assert f"profile hpc; 20 ranks on 10 nodes: 2 for tests, 8 for congestors ({kinds})" in told.out
    assert "1 run, 0 of them already done" in told.err


#: A switch with twelve hosts, by HDR.
_PORTS = range(1, 13)
_DISCOVERED = "\n".join(
    [
        'Switch 40 "S-00000000000000ff" # "leaf" enhanced port 0 lid 99 lmc 0',
        *(f'[{port}] "H-{port:016x}"[1]({port:x}) # "node{port} mlx5_0" lid {port} 4xHDR' for port in _PORTS),
        *(
            f'\nCa 1 "H-{port:016x}" # "node{port} mlx5_0"\n'
            f'[1]({port:x}) "S-00000000000000ff"[{port}] # lid {port} lmc 0 "leaf" lid 99 4xHDR'
            for port in _PORTS
        ),
    ]
)
_HTSIM = """Nodes 12
Tiers 2
Tier 0
Downlink_speed_Gbps 100
Radix_Down 4
Radix_Up 2
Downlink_Latency_ns 1000
Tier 1
Downlink_speed_Gbps 100
Radix_Down 3
Downlink_Latency_ns 1000
"""


@pytest.mark.parametrize("network", ["subnet", "htsim.topo", "star hosts=12"])
def test_it_takes_the_networks_that_imports_take(small: str, capsys: pytest.CaptureFixture[str], network: str) -> None:
    Path("subnet").write_text(_DISCOVERED)
    Path("htsim.topo").write_text(_HTSIM)
    words = ["gpcnet", small, "--quick", "--schemes", "none", "--set", "traffic.g.ranks-per-host=1"]
    assert main([*words, "--topology", network]) == Exit.OK
    told = capsys.readouterr()
    assert "12 ranks on 12 nodes" in told.out
    fits = "note: profile hpc stays that of the scenario; --set profile=hdr fits the network"
    assert (fits in told.err) == (network == "subnet")
    assert main([*words, "--lfts", "no.lfts"]) == Exit.BAD_INPUT
    assert "--topology names" in capsys.readouterr().err


def test_run_tells_what_the_ranks_of_a_program_measured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("ring.program").write_text(
        "backwater-program 1\nranks 3\nrank * loop 5\nrank * start turn\nrank * irecv from -1 bytes 4KiB tag 3\n"
        "rank * isend to +1 bytes 4KiB tag 3\nrank * wait\nrank * stop turn label 0\nrank * end\n"
    )
    network = SCENARIO.partition("[[traffic]]")[0]
    Path("ring.toml").write_text(f'{network}[[traffic]]\nname = "app"\nkind = "program"\nfile = "ring.program"\n')
    assert main(["run", "ring.toml", "--set", "topology.hosts=3", "--out", "out"]) == Exit.OK
    told = capsys.readouterr().out
    assert "app: all 3 ranks are done after" in told
    assert "app: turn, 15 readings: median " in told


def test_a_scenario_without_gpcnet_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "star.toml"
    file.write_text(
        'profile = "authors"\n'
        '[topology]\nkind = "star"\nhosts = 3\nrate = "40Gbps"\ndelay = "1us"\n[[traffic]]\nname = "i"\n'
        'kind = "incast"\nfrom = "*"\nto = "h0"\nsize = "64KB"\n'
    )
    assert main(["gpcnet", str(file)]) == Exit.BAD_INPUT
    assert "must have one traffic entry of kind gpcnet; it has none" in capsys.readouterr().err
