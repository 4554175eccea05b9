"""`backwater run --profile`: sums that must hold, whatever the machine."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from backwater.cli import main

SCENARIO = """
[topology]
kind = "fat-tree"
k = 4
rate = "100Gbps"
delay = "1us"

[[traffic]]
name = "all"
kind = "permutation"
size = "200KB"
"""


@pytest.mark.parametrize("threads", [1, 2])
def test_a_profile_predicts_from_the_windows_of_the_run(
    threads: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "all.toml"
    file.write_text(SCENARIO)
    plain = ["run", str(file), "--out", str(tmp_path), "--json", "--threads", str(threads)]
    assert main(plain) == 0
    without = json.loads(capsys.readouterr().out)
    assert "profile" not in without
    assert main([*plain, "--profile"]) == 0
    run = json.loads(capsys.readouterr().out)
    assert run["digest"] == without["digest"]
    profile = run["profile"]
    assert profile["windows"] == run["windows"]["run"]
    assert sum(shard["nodes"] for shard in profile["shards"]) == 16 + 20
    assert profile["work_s"] == pytest.approx(sum(shard["work_s"] for shard in profile["shards"]))
    # One thread has no others; 36 nodes are enough for 32.
    assert [row["threads"] for row in profile["predictions"]] == [2, 4, 8, 16, 32]
    for row in profile["predictions"]:
        # The busiest has at least the mean, and at most all. Times are whole nanoseconds.
        assert 1 <= row["imbalance"] <= row["threads"]
        assert row["work_s"] == pytest.approx(profile["work_s"] * row["imbalance"] / row["threads"], abs=2e-9)
        assert row["wall_s"] == pytest.approx(row["work_s"] + row["mail_s"] + row["meet_s"], abs=2e-9)
        assert 0 < row["messages_between"] <= 1
    # Two halves of two pods each: of what two pods send, only what crosses the core changes sides.
    shares = [row["messages_between"] for row in profile["predictions"]]
    assert shares == sorted(shares)


def test_a_profile_is_told_in_words(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "all.toml"
    file.write_text(SCENARIO)
    assert main(["run", str(file), "--out", str(tmp_path), "--profile"]) == 0
    told = capsys.readouterr().out
    assert "time: " in told
    assert "Predicted for threads with a core each" in told
