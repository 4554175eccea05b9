"""Collectives: their times on a network without contention by arithmetic, their messages and bytes, what is refused.

On a star every host has a link of its own to one switch. A message of m packets of P bytes on the wire takes
m P / C + P / C + 2 d: all packets leave the host, the last one crosses the switch whole, two links' delay.
"""

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from backwater import _core
from backwater.cli import main
from backwater.errors import Exit
from backwater.results import Results

#: 100 Gbps are 80 ps per byte; packets of 1000 B and no headers.
PS_PER_BYTE, PACKET, DELAY, LATENCY = 80, 1000, 1_000_000, 600_000


def text(keys: str, *, topology: str = 'kind = "star"\nhosts = 8', head: str = 'profile = "ideal"') -> str:
    return f"""{head}
[topology]
{topology}
rate = "100Gbps"
delay = "1us"
[switch]
flow-control = "none"
[packet]
payload = "1000B"
header = "0B"
[cc]
kind = "none"
[[traffic]]
name = "c"
kind = "collective"
{keys}
"""


def run(tmp_path: Path, keys: str, overrides: tuple[str, ...] = (), **scene: Any) -> Results:
    out = tmp_path / "run"
    _core.run(text(keys, **scene), "c.toml", str(tmp_path), list(overrides), str(out), None, None, None)
    return Results(out)


def rows(results: Results) -> list[dict[str, Any]]:
    return results.collectives.collect().to_dicts()


def message(size: int) -> int:
    """Picoseconds of a message of whole packets across the star, alone on both links."""
    assert size % PACKET == 0
    return (size + PACKET) * PS_PER_BYTE + 2 * DELAY


@pytest.mark.parametrize("n", [2, 3, 5, 8])
def test_a_ring_takes_two_times_n_minus_1_messages_of_an_nth(tmp_path: Path, n: int) -> None:
    part = 20_000
    results = run(tmp_path, f'op = "all-reduce"\nsize = "{part * n}B"\nranks = {n}')
    rounds = 2 * (n - 1)
    (row,) = rows(results)
    assert row["elapsed_ps"] == rounds * message(part) + (rounds - 1) * LATENCY
    # The bandwidth term of Patarasuk and Yuan, 2 (n - 1) / n S / C, is what is left without latencies.
    left = row["elapsed_ps"] - rounds * (PACKET * PS_PER_BYTE + 2 * DELAY) - (rounds - 1) * LATENCY
    assert left == 2 * (n - 1) * (part * n) // n * PS_PER_BYTE
    assert (row["messages"], row["payload_bytes"]) == (n * rounds, n * rounds * part)


@pytest.mark.parametrize(("op", "rounds"), [("reduce-scatter", 7), ("all-gather", 7)])
def test_half_a_ring_takes_half_as_many(tmp_path: Path, op: str, rounds: int) -> None:
    size = 8000 if op == "reduce-scatter" else 1000
    (row,) = rows(run(tmp_path, f'op = "{op}"\nsize = "{size}B"'))
    assert row["elapsed_ps"] == rounds * message(1000) + (rounds - 1) * LATENCY


def test_halving_and_doubling_has_three_rounds_each_way_of_halves(tmp_path: Path) -> None:
    (row,) = rows(run(tmp_path, 'op = "all-reduce"\nalgorithm = "halving-doubling"\nsize = "64000B"'))
    sizes = [32_000, 16_000, 8_000, 8_000, 16_000, 32_000]
    assert row["elapsed_ps"] == sum(map(message, sizes)) + 5 * LATENCY
    assert row["payload_bytes"] == 8 * sum(sizes) == 8 * 2 * 7 * 64_000 // 8


def test_recursive_doubling_sends_all_of_it_three_times(tmp_path: Path) -> None:
    (row,) = rows(run(tmp_path, 'op = "all-reduce"\nalgorithm = "recursive-doubling"\nsize = "64000B"'))
    assert row["elapsed_ps"] == 3 * message(64_000) + 2 * LATENCY


def test_a_broadcast_to_two_is_one_message_and_a_tree_there_and_back_two(tmp_path: Path) -> None:
    (row,) = rows(run(tmp_path, 'op = "broadcast"\nsize = "5000B"\nranks = 2'))
    assert row["elapsed_ps"] == message(5000)
    (row,) = rows(run(tmp_path / "tree", 'op = "all-reduce"\nalgorithm = "tree"\nsize = "5000B"\nranks = 2'))
    assert row["elapsed_ps"] == 2 * message(5000) + LATENCY


def test_a_tree_of_eight_is_as_deep_as_its_longest_branch(tmp_path: Path) -> None:
    # 0 sends to 4, 2, 1 one after the other; 4 to 6 and 5 when it has its own. The last leaf is 7, by 4 and 6.
    (row,) = rows(run(tmp_path, 'op = "broadcast"\nsize = "50000B"'))
    assert row["elapsed_ps"] == 3 * message(50_000) + 2 * LATENCY
    assert row["messages"] == 7


def test_iterations_follow_each_other_and_compute_in_between(tmp_path: Path) -> None:
    keys = 'op = "all-reduce"\nsize = "8000B"\niterations = 3\ncompute = "10us"\nstart = "1us"'
    found = rows(run(tmp_path, keys))
    one = 14 * message(1000) + 13 * LATENCY
    starts = [1_000_000 + i * (one + LATENCY + 10_000_000) for i in range(3)]
    assert [(row["iteration"], row["start_ps"], row["elapsed_ps"]) for row in found] == [
        (i, start, one) for i, start in enumerate(starts)
    ]


@pytest.mark.parametrize("algorithm", ["pairwise", "linear"])
@pytest.mark.parametrize("ranks", [5, 8])
def test_all_to_all_moves_a_block_for_each_pair(tmp_path: Path, algorithm: str, ranks: int) -> None:
    results = run(tmp_path, f'op = "all-to-all"\nalgorithm = "{algorithm}"\nsize = "3000B"\nranks = {ranks}')
    (row,) = rows(results)
    assert (row["messages"], row["payload_bytes"]) == (ranks * (ranks - 1), ranks * (ranks - 1) * 3000)
    if algorithm == "pairwise":
        # Each round is a permutation: nobody waits for anybody's link.
        assert row["elapsed_ps"] == (ranks - 1) * message(3000) + (ranks - 2) * LATENCY
    received = results.flows.group_by("src", "dst").agg(pl.col("received_bytes").sum()).collect()
    assert received.height == ranks * (ranks - 1)
    assert received["received_bytes"].unique().to_list() == [3000]


def test_experts_get_what_was_drawn_and_every_byte_arrives(tmp_path: Path) -> None:
    keys = 'op = "moe-all-to-all"\nsize = "800KB"\ntoken = "4000B"\ngini = 0.4\niterations = 2'
    results = run(tmp_path, keys)
    flows = results.flows.collect()
    assert (
        flows["received_bytes"].sum() == flows["size_bytes"].sum() == sum(row["payload_bytes"] for row in rows(results))
    )
    # 200 tokens of each of 8 ranks in 2 iterations: what goes to a rank's own expert does not travel.
    assert 0.6 < flows["size_bytes"].sum() / (2 * 8 * 800_000) < 0.95
    to = flows.group_by(pl.col("dst").cast(pl.String)).agg(pl.col("size_bytes").sum()).sort("size_bytes")
    assert to["size_bytes"][-1] > 2.5 * to["size_bytes"][0]


def test_every_engine_and_number_of_threads_tells_the_same(tmp_path: Path) -> None:
    keys = 'op = "all-reduce"\nalgorithm = "halving-doubling"\nsize = "300KB"\niterations = 2\nplacement = "random"'
    topology = 'kind = "clos"\npods = 2\nleaves = 2\nhosts-per-leaf = 3\noversubscription = [3, 2]'
    found = set()
    for overrides in ((), ("run.engine=heap",), ("run.threads=2",), ("run.threads=8",), ("probe.marks=true",)):
        results = run(tmp_path / "-".join(overrides), keys, overrides, topology=topology)
        found.add((results.meta["digest"], json.dumps(rows(results))))
    assert len(found) == 1


def test_ranks_by_rails_are_neighbours_at_one_switch(tmp_path: Path) -> None:
    topology = 'kind = "rail"\nservers = 4\ngpus = 2'
    keys = 'op = "all-gather"\nsize = "1000B"\nplacement = "{}"'
    for placement, first in (("rails", ("gpu0.0", "gpu1.0")), ("linear", ("gpu0.0", "gpu0.1"))):
        results = run(tmp_path / placement, keys.format(placement), topology=topology)
        pairs = results.flows.select(pl.col("src", "dst").cast(pl.String)).unique().collect().rows()
        assert first in pairs
        assert len(pairs) == 8


def test_a_collective_over_lanes_of_a_torus_comes_to_its_end(tmp_path: Path) -> None:
    scene = text('op = "all-to-all"\nsize = "20KB"\npriority = 1', topology='kind = "torus"\nsizes = [5, 3]')
    scene = scene.replace('profile = "ideal"', 'profile = "infiniband"').replace('flow-control = "none"\n', "")
    scene = scene.replace("[packet]", '[switch.credits]\nbuffer = "2MB"\n[packet]').replace('rate = "100', 'rate = "32')
    meta = json.loads(_core.run(scene, "t.toml", str(tmp_path), [], None, None, None, None))
    assert (meta["totals"]["flows"], meta["totals"]["finished"]) == (15 * 14, 15 * 14)


def test_run_prints_how_long_a_collective_took(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "c.toml"
    file.write_text(text('op = "all-reduce"\nsize = "8000B"\niterations = 2'))
    assert main(["run", str(file), "--out", str(tmp_path / "out")]) == Exit.OK
    shown = " ".join(capsys.readouterr().out.split())
    assert "c: all-reduce of 8KB: 38.0 µs on average, 38.0 µs to 38.0 µs, 2 of 2 iterations" in shown


@pytest.mark.parametrize(
    ("keys", "wanted"),
    [
        ('op = "all-reduce"', "has no size"),
        ('op = "allreduce"\nsize = "1KB"', 'did you mean "all-reduce"'),
        ('op = "all-reduce"\nsize = "1KB"\nalgorithm = "pairwise"', "no all-reduce is done by pairwise"),
        ('op = "broadcast"\nsize = "1KB"\nalgorithm = "ring"', "one of tree, linear"),
        (
            'op = "all-gather"\nsize = "1KB"\nalgorithm = "recursive-doubling"\nranks = 6',
            "recursive-doubling is for a power of two of ranks, and there are 6",
        ),
        ('op = "all-reduce"\nsize = "1KB"\nranks = 9', "ranks = 9, but there are 8 hosts for them"),
        ('op = "all-reduce"\nsize = "1KB"\nhosts = "h0"', "a collective needs at least two ranks"),
        ('op = "all-reduce"\nsize = "1KB"\nplacement = "rails"', "this network has no rails"),
        ('op = "all-reduce"\nsize = "1KB"\ngini = 0.2', "gini is of moe-all-to-all, and this is all-reduce"),
        ('op = "moe-all-to-all"\nsize = "1KB"\ngini = 0.99', "gini = 0.99 is out of range"),
        ('op = "moe-all-to-all"\nsize = "1TB"\ntoken = "1B"', "tokens to be drawn"),
        ('op = "all-to-all"\nsize = "1KB"\niterations = 1000000', "this means 56000000 flows"),
        ('op = "all-reduce"\nsize = "1KB"\niterations = 0', "iterations = 0 is out of range"),
        ('op = "all-reduce"\nsize = "1KB"\nroot = 3', "root"),
    ],
)
def test_what_is_wrong_is_said(tmp_path: Path, keys: str, wanted: str) -> None:
    with pytest.raises(_core.ScenarioError) as error:
        _core.validate(text(keys), "c.toml", str(tmp_path), [])
    assert wanted in str(error.value)
