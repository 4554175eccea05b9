"""``backwater init FOLDER --gpus N``: a cluster that runs as it is, and what cannot be built is said with what can."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from backwater.analysis import jobs
from backwater.cli import main
from backwater.errors import Exit, UsageError
from backwater.io import first_cluster
from backwater.results import Results
from backwater.scenario.scenario import Scenario


def made(tmp_path: Path, gpus: int, nic: str, topology: str) -> Scenario:
    text = first_cluster.begin(tmp_path, gpus, nic, topology).files["scenario.toml"]
    return Scenario(text, "scenario.toml", tmp_path)


@pytest.mark.parametrize("topology", first_cluster.TOPOLOGIES)
@pytest.mark.parametrize(("gpus", "nic"), [(16, "100Gbps"), (1024, "400Gbps"), (128, "200Gbps"), (128, "800Gbps")])
def test_every_network_has_its_hosts_and_its_presets_fit(tmp_path: Path, topology: str, gpus: int, nic: str) -> None:
    facts = json.loads(made(tmp_path, gpus, nic, topology).read().topology())
    assert facts["hosts"] == gpus
    # As many links up as down: nothing is oversubscribed.
    assert all(row["ratio"] <= 1 for row in facts["oversubscription"])


def test_a_thousand_gpus_on_rails_is_forty_lines_of_which_ten_are_hers(tmp_path: Path) -> None:
    scenario = made(tmp_path, 1024, "400Gbps", "rails")
    lines = [line for line in scenario.text.splitlines() if line and not line.startswith("#")]
    assert len(lines) <= 40
    settings = scenario.resolve()
    # The first preset with 128 ports of 400 Gbps; 128 servers of 8, at most 64 of them at a switch.
    topology = settings["topology"]
    assert (topology["units"], topology["servers"], topology["gpus"]) == (2, 64, 8)
    assert (settings["switch"]["preset"], settings["host"]["nic"]["preset"]) == ("spectrum4", "connectx7")


def test_it_runs_as_it_is_and_both_jobs_have_times(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "cluster"
    assert main(["init", str(folder), "--gpus", "16", "--nic", "100Gbps", "--json"]) == Exit.OK
    scenario = json.loads(capsys.readouterr().out)["scenario"]
    assert main(["run", scenario, "--out", str(tmp_path / "results"), "--json"]) in (Exit.OK, Exit.CAVEATS)
    told = json.loads(capsys.readouterr().out)
    assert [job["job"] for job in told["jobs"]] == ["training", "checkpoint"]
    assert all(job["time_ps"] >= 0.99 * job["ideal_ps"] and job["alone_ps"] for job in told["jobs"])
    # It writes 15 times 4 MB to one NIC of 100 Gbps: 4.8 ms.
    assert told["jobs"][1]["ideal_ps"] > 15 * 4_000_000 * 8e12 / 100e9


def test_a_ring_of_all_gpus_stays_on_the_rails(tmp_path: Path) -> None:
    text = made(tmp_path, 32, "100Gbps", "rails").text
    assert 'placement = "rails"' in text
    assert "NVLink" in text
    every = Scenario(text.replace('hosts = "gpu*.0"', 'hosts = "*"'), "s.toml", tmp_path)
    every.read(['run.only=["training"]']).run(tmp_path / "run")
    rails = [host.partition(".")[2] for host in jobs.of(Results(tmp_path / "run"))[0].hosts]
    # Four servers of eight: all GPUs 0, then all GPUs 1, and so on.
    assert rails == sorted(rails)
    assert len(rails) == 32


@pytest.mark.parametrize(
    ("gpus", "nic", "topology", "says"),
    [
        (100, "400Gbps", "rails", "multiple of 8 from 16 to 32768"),
        (1024, "400", "rails", "a rate such as 400Gbps"),
        (1024, "1.6Tbps", "rails", "at most 800Gbps"),
        (1024, "400Gbps", "ring", "rails, fat-tree, leaf-spine, clos"),
        # k = 8 has 128 hosts, k = 12 has 432.
        (256, "400Gbps", "fat-tree", "choose 128 or 432"),
        (32768, "400Gbps", "leaf-spine", "a spine has a port for each leaf"),
    ],
)
def test_what_cannot_be_built_is_said_with_what_can(
    tmp_path: Path, gpus: int, nic: str, topology: str, says: str
) -> None:
    with pytest.raises(UsageError, match=says):
        first_cluster.begin(tmp_path, gpus, nic, topology)


def test_options_that_do_not_go_together_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["init", str(tmp_path / "a"), "--nic", "400Gbps"]) == Exit.BAD_INPUT
    assert "add --gpus N" in capsys.readouterr().err
    assert main(["init", str(tmp_path / "a"), "--gpus", "16", "--flows", "x"]) == Exit.BAD_INPUT
    assert "remove --flows" in capsys.readouterr().err
