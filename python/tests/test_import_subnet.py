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


def _notes(capsys: pytest.CaptureFixture[str], *words: object) -> list[str]:
    assert _import(*words) == Exit.OK
    return [line.removeprefix("note: ") for line in capsys.readouterr().err.splitlines()]


def test_a_workload_on_a_subnet_takes_its_tables_and_the_length_of_its_cables(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["goal", TRACES / "pipeline.goal", "--topology"]
    more = ["--lfts", TABLES, "--delay", "25ns"]
    assert _import(*words, SUBNET, *more, "--out", tmp_path / "made") == Exit.OK
    made = validate(tmp_path / "made" / "scenario.toml")
    assert (made["topology"]["routing"], {link["delay"] for link in made["topology"]["links"]}) == ("table", {"25ns"})
    # A scenario as the network brings its routes along, and its profile unless another one is named.
    assert _import("ibnetdiscover", SUBNET, "--lfts", TABLES, "--out", tmp_path / "subnet") == Exit.OK
    capsys.readouterr()
    subnet = tmp_path / "subnet" / "scenario.toml"
    notes = _notes(capsys, *words, subnet, "--out", tmp_path / "again")
    assert f"no profile is named: hdr, as {subnet} says; --profile takes another one" in notes
    made = validate(tmp_path / "again" / "scenario.toml")
    assert (made["profile"], made["topology"]["routing"]) == ("hdr", "table")
    assert _import(*words, subnet, "--profile", "roce", "--out", tmp_path / "roce") == Exit.OK
    assert validate(tmp_path / "roce" / "scenario.toml")["profile"] == "roce"
    assert _import(*words, "star hosts=4", "--delay", "5ns", "--out", tmp_path / "star") == Exit.OK
    assert validate(tmp_path / "star" / "scenario.toml")["topology"]["delay"] == "5ns"
    capsys.readouterr()
    for arguments, message in (
        (["star hosts=4", "--lfts", TABLES], "star hosts=4 is no InfiniBand subnet"),
        ([subnet, "--delay", "5ns"], f"{subnet} says itself how long its links take"),
    ):
        assert _import(*words, *arguments, "--out", tmp_path / "no") == Exit.BAD_INPUT
        assert message in capsys.readouterr().err


@pytest.mark.parametrize("words", [["ibnetdiscover", SUBNET], ["goal", TRACES / "pipeline.goal", "--topology", SUBNET]])
def test_links_that_a_profile_is_not_meant_for_are_a_note(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], words: list[object]
) -> None:
    told = "links keep the rate of the network, 200 Gbps; profile xdr is meant for 800Gbps"
    assert told in _notes(capsys, *words, "--profile", "xdr", "--out", tmp_path / "xdr")
    assert not any("links keep" in note for note in _notes(capsys, *words, "--profile", "hdr", "--out", tmp_path / "h"))


def test_a_subnet_of_fdr_takes_the_next_profile_and_help_is_printed_whole(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    slow = tmp_path / "fdr.ibn"
    slow.write_text(SUBNET.read_text().replace("4xHDR", "4xFDR"))
    # Four lanes of 14.0625 Gbps by 64b/66b: 54.5 Gbps, for which the 280 KB and 50 us of the TCD paper are too few.
    assert _import("ibnetdiscover", slow, "--out", tmp_path / "made") == Exit.OK
    assert validate(tmp_path / "made" / "scenario.toml")["profile"] == "edr"
    capsys.readouterr()
    assert _import("ibnetdiscover", slow, "--profile", "infiniband", "--out", tmp_path / "no") == Exit.BAD_INPUT
    told = capsys.readouterr().err
    assert "What line rate needs:\n    Tc + 2 tp = 50us + 2*50ns = 50.1us\n" in told
    assert "buffer >= " in told


def test_a_table_that_is_cut_off_or_goes_round_is_said_of_the_file_that_was_given(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tables = TABLES.read_text()
    # The last table is that of spine-2: three of its eight hosts are lost, then all.
    lines = tables.splitlines(keepends=True)
    head = max(number for number, line in enumerate(lines) if line.startswith("Unicast"))
    last = max(number for number, line in enumerate(lines) if "Channel" in line)
    for kept, count in ((last - 2, 5), (head, 0)):
        cut = tmp_path / "cut.lfts"
        cut.write_text("".join(lines[:kept]))
        assert _import("ibnetdiscover", SUBNET, "--lfts", cut, "--out", tmp_path / "no") == Exit.BAD_INPUT
        told = capsys.readouterr().err
        assert f"error: {cut}: the table has no port of spine-2 for node0" in told
        assert f"of 8 hosts the file has ports of spine-2 for {count}; if it was cut off" in told
    # Leaf 1 sends packets for its own node01 up by port 37, and spine 1 sends them back.
    loop = tmp_path / "loop.lfts"
    loop.write_text(tables.replace("0x0005 001 :", "0x0005 037 :", 1))
    assert _import("ibnetdiscover", SUBNET, "--lfts", loop, "--out", tmp_path / "no") == Exit.BAD_INPUT
    told = capsys.readouterr().err
    assert f"error: {loop}: by the table packets for node01 that leave " in told
    assert "cut off" not in told
