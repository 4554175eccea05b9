"""InfiniBand subnets with their forwarding tables, and samples of workloads on HPC networks."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from backwater import Results, validate
from backwater.cli import main
from backwater.errors import Exit

ROOT = Path(__file__).parents[2]
SUBNET = ROOT / "scenarios" / "subnet" / "hdr.ibnetdiscover"
TABLES = ROOT / "scenarios" / "subnet" / "hdr.lfts"
TRACES = ROOT / "scenarios" / "traces"


def _import(*words: object) -> int:
    return main(["import", *map(str, words)])


def _run(scenario: Path, *words: str) -> Results:
    out = scenario.parent / "results"
    assert main(["run", str(scenario), "--out", str(out), *words]) == Exit.OK
    return next(Results.find(out))


def test_a_subnet_becomes_a_scenario_of_its_generation_whose_packets_take_its_tables(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert _import("ibnetdiscover", SUBNET, "--lfts", TABLES, "--out", tmp_path / "made", "--json") == Exit.OK
    told = json.loads(capsys.readouterr().out)
    assert told["holds"] == "8 hosts, 4 switches, 16 cables"
    assert any(note.startswith("no profile is named: hdr") for note in told["notes"])
    made = validate(tmp_path / "made" / "scenario.toml")
    assert (made["profile"], made["topology"]["routing"]) == ("hdr", "table")
    # One port for each destination leaves nothing to adapt to.
    assert made["switch"]["load-balancing"] == "ecmp"
    assert {link["rate"] for link in made["topology"]["links"]} == {"200Gbps"}
    run = _run(tmp_path / "made" / "scenario.toml")
    # What the tables say of hosts of the other leaf: 2 of 4 by each spine, each with a cable of its own up.
    sent = dict(run.ports.select("port", "sent_bytes").collect().rows())
    used = {port for port, count in sent.items() if count and port.startswith(("leaf-1->spine", "leaf-2->spine"))}
    pairs = run.flows.select("src", "dst").collect().rows()
    leaf = {f"node0{i}": 1 if i <= 4 else 2 for i in range(1, 9)}
    up = {1: "spine-1:0", 2: "spine-1:1", 3: "spine-2:0", 4: "spine-2:1"}
    across = [(src, dst) for src, dst in pairs if leaf[src] != leaf[dst]]
    assert used == {f"leaf-{leaf[src]}->{up[(int(dst[-1]) - 1) % 4 + 1]}" for src, dst in across}


def test_a_subnet_is_a_network_of_other_imports_and_says_what_is_wrong_with_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["goal", TRACES / "pipeline.goal", "--topology"]
    assert _import(*words, SUBNET, "--out", tmp_path / "made") == Exit.OK
    assert "hdr, by the links of most hosts" in capsys.readouterr().err
    assert validate(tmp_path / "made" / "scenario.toml")["profile"] == "hdr"
    broken = tmp_path / "broken"
    broken.write_text(SUBNET.read_text().replace("lid 5 4xHDR", "lid 5 4xABC", 1))
    assert _import("ibnetdiscover", broken, "--out", tmp_path / "no") == Exit.BAD_INPUT
    assert f"{broken}, line 10: 4xABC is no width and speed" in capsys.readouterr().err
    cut = tmp_path / "cut"
    cut.write_text("".join(TABLES.read_text().splitlines(keepends=True)[:-5]))
    assert _import("ibnetdiscover", SUBNET, "--lfts", cut, "--out", tmp_path / "no") == Exit.BAD_INPUT
    assert "has no port of spine-2 for node" in capsys.readouterr().err
    assert _import("ibnetdiscover", SUBNET, "--delay", "0ns", "--out", tmp_path / "no") == Exit.BAD_INPUT
    assert "--delay: 0ns is not longer than 0" in capsys.readouterr().err
    assert not (tmp_path / "no").exists()


def test_a_table_is_what_topology_says_of_the_network(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert _import("ibnetdiscover", SUBNET, "--lfts", TABLES, "--out", tmp_path / "made") == Exit.OK
    capsys.readouterr()
    assert main(["topology", str(tmp_path / "made" / "scenario.toml"), "--json"]) == Exit.OK
    (table, *_) = json.loads(capsys.readouterr().out)["deadlock"]
    assert (table["routing"], table["free"]) == ("table", True)


def test_the_sample_schedule_takes_what_arithmetic_says(tmp_path: Path) -> None:
    words = ["goal", TRACES / "pipeline.goal", "--topology", "star hosts=4", "--profile", "hdr"]
    assert _import(*words, "--out", tmp_path / "made") == Exit.OK
    made = validate(tmp_path / "made" / "scenario.toml")
    assert (made["topology"]["rate"], made["profile"]) == ("200Gbps", "hdr")
    flows = _run(tmp_path / "made" / "scenario.toml").flows.sort("start_ps").collect()
    # 245 packets of 26 B of headers: 1 006 370 B at 25 B/ns are 40.25 us. The second message joins after 10 us, so that
    # the rest takes twice as long. Then the switch (130 ns and a header of 20 B) and two cables of 50 ns.
    alone = 1_006_370 / 25 * 1000
    expected = 10_000_000 + 2 * (alone - 10_000_000) + 130_000 + 20 / 25 * 1000 + 2 * 50_000
    first = flows.row(0, named=True)
    assert first["start_ps"] == 10_000_000
    # Packets take turns whole: one of 4122 B more or less.
    assert first["fct_ps"] == pytest.approx(expected, abs=4122 / 25 * 1000)


def test_the_sample_training_step_runs_on_a_fat_tree_of_its_profile(tmp_path: Path) -> None:
    words = ["chakra", TRACES / "training-step", "--topology", "xgft m=[4,2] w=[1,4]", "--profile", "ndr"]
    assert _import(*words, "--out", tmp_path / "made") == Exit.OK
    made = validate(tmp_path / "made" / "scenario.toml")
    assert (made["topology"]["kind"], made["topology"]["rate"]) == ("xgft", "400Gbps")
    flows = _run(tmp_path / "made" / "scenario.toml").flows.collect()
    # Two allreduces of 8 NPUs, each as a ring: 14 rounds of 8 messages.
    assert flows.height == 2 * 14 * 8
    # The gradients of layer 2 are there after 20 us and 10 us.
    assert flows["start_ps"].min() == 30_000_000


@pytest.mark.parametrize(
    ("topology", "message"),
    [
        ("fat-tre k=4", "fat-tre"),
        ("fat-tree k=3", "k"),
        ("fat-tree size=3", "size"),
    ],
)
def test_a_kind_that_is_none_is_refused_with_the_word(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], topology: str, message: str
) -> None:
    words = ["goal", TRACES / "pipeline.goal", "--topology", topology, "--out", tmp_path / "made"]
    assert _import(*words) == Exit.BAD_INPUT
    assert message in capsys.readouterr().err
    assert not (tmp_path / "made").exists()
