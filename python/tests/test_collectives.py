"""Collectives: their times on a network without contention by arithmetic, their messages and bytes, what is refused."""

import json
from pathlib import Path
from typing import Any

import backwater as bw
import polars as pl
import pytest
from backwater import Results, _core
from backwater.analysis import collectives
from backwater.cli import main
from backwater.errors import Exit
from plain_star import ALGORITHMS, DELAY, LATENCY, PACKET, PS_PER_BYTE, message, scenario

#: TCD without flow control has a caveat.
NO_MARKS = ["--set", "switch.detector.kind=none"]


def text(keys: str, **scene: str) -> str:
    return scenario(f'[[traffic]]\nname = "c"\nkind = "collective"\n{keys}', **scene)


def run(tmp_path: Path, keys: str, overrides: tuple[str, ...] = (), **scene: Any) -> Results:
    out = tmp_path / "run"
    _core.Scenario(text(keys, **scene), "c.toml", tmp_path, overrides).run(out)
    return Results(out)


def rows(results: Results) -> list[dict[str, Any]]:
    return results.collectives.collect().to_dicts()


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
    if algorithm == "linear":
        # All posted at once, the next rank first: every link is full until the last packet has crossed the switch.
        # Two packets of two queue pairs may leave in the same order at every rank only to the ps of their posting.
        whole = (ranks - 1) * 3000 * PS_PER_BYTE + PACKET * PS_PER_BYTE + 2 * DELAY
        assert row["elapsed_ps"] == pytest.approx(whole, abs=ranks)
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


def test_any_number_of_threads_tells_the_same(tmp_path: Path) -> None:
    keys = 'op = "all-reduce"\nalgorithm = "halving-doubling"\nsize = "300KB"\niterations = 2\nplacement = "random"'
    topology = 'kind = "clos"\npods = 2\nleaves = 2\nhosts-per-leaf = 3\noversubscription = [3, 2]'
    found = set()
    for overrides in ((), ("run.threads=2",), ("run.threads=8",), ("probe.marks=true",)):
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
    meta = json.loads(_core.Scenario(scene, "t.toml", tmp_path, []).run())
    assert (meta["totals"]["flows"], meta["totals"]["finished"]) == (15 * 14, 15 * 14)


def test_run_prints_how_long_a_collective_took(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "c.toml"
    file.write_text(text('op = "all-reduce"\nsize = "8000B"\niterations = 2'))
    assert main(["run", str(file), *NO_MARKS, "--out", str(tmp_path / "out")]) == Exit.OK
    shown = " ".join(capsys.readouterr().out.split())
    # Ideal: 14 steps of 1 KB, each 80 ns + 80 ns + 2 µs, and 13 host latencies of 600 ns.
    assert (
        "c: all-reduce of 8KB, 8 ranks, ring: 38.0 µs on average, 38.0 µs to 38.0 µs, 2 of 2 iterations; "
        "ideal 38.0 µs, 1.00 times that; it was alone" in shown
    )
    # 64 kbit in 38.04 µs, and 2 x 7/8 of it.
    assert "c: algorithm bandwidth 1.68 Gbps, bus bandwidth 2.94 Gbps, 2.94 % of the line rate of 100 Gbps" in shown


def by(op: str, algorithm: str, size: str) -> str:
    """The keys of a collective; a hierarchical one has groups of two."""
    within = "\nwithin = 2" if algorithm == "hierarchical" else ""
    return f'op = "{op}"\nalgorithm = "{algorithm}"\nsize = "{size}"{within}'


@pytest.mark.parametrize(("op", "algorithm", "size"), ALGORITHMS)
def test_alone_in_a_star_a_collective_takes_its_ideal(tmp_path: Path, op: str, algorithm: str, size: str) -> None:
    results = run(tmp_path, by(op, algorithm, size))
    (one,) = collectives.of(results)
    assert one.time_ps == pytest.approx(one.ideal_ps, abs=8)


@pytest.mark.parametrize(("op", "algorithm", "size"), ALGORITHMS)
@pytest.mark.parametrize("ranks", [8, 6])
def test_nothing_is_faster_than_its_ideal_in_a_network_of_several_tiers(
    tmp_path: Path, op: str, algorithm: str, size: str, ranks: int
) -> None:
    if (op, algorithm, ranks) == ("all-gather", "recursive-doubling", 6):
        pytest.skip("for powers of two")
    keys = f'{by(op, algorithm, size)}\nranks = {ranks}\nplacement = "random"'
    topology = 'kind = "clos"\npods = 2\nleaves = 2\nhosts-per-leaf = 3\noversubscription = [3, 2]'
    (one,) = collectives.of(run(tmp_path, keys, topology=topology))
    assert one.time_ps is not None
    assert one.ideal_ps is not None
    assert 0.3 * one.time_ps < one.ideal_ps <= one.time_ps + ranks


def test_groups_reduce_by_themselves_then_with_the_others_and_share_what_came_out(tmp_path: Path) -> None:
    # 8 ranks in groups of 4: 3 rounds of quarters within, one of eighths there and one back between the two, 3 rounds.
    keys = 'op = "all-reduce"\nalgorithm = "hierarchical"\nwithin = 4\nsize = "64000B"'
    (row,) = rows(run(tmp_path, keys))
    assert row["elapsed_ps"] == 6 * message(16_000) + 2 * message(8_000) + 7 * LATENCY
    assert row["payload_bytes"] == 8 * 2 * 7 * 64_000 // 8


def test_an_all_to_all_by_groups_hands_over_first_and_then_sends_one_message_to_each_other_group(
    tmp_path: Path,
) -> None:
    # 8 ranks in groups of 2: what is for 4 ranks to the neighbour, then what 2 have for it to 3 others, all at once.
    keys = 'op = "all-to-all"\nalgorithm = "hierarchical"\nwithin = 2\nsize = "10000B"'
    (row,) = rows(run(tmp_path, keys))
    wanted = message(40_000) + LATENCY + (3 * 20_000 + PACKET) * PS_PER_BYTE + 2 * DELAY
    assert row["elapsed_ps"] == pytest.approx(wanted, abs=8)
    assert row["payload_bytes"] == 8 * (40_000 + 3 * 20_000)


SERVERS, GPUS = 8, 4
RAILS = f'kind = "rail"\nservers = {SERVERS}\ngpus = {GPUS}'


def across(bytes_: int, links: int) -> float:
    """Picoseconds of a message over so many links, alone on each."""
    return (bytes_ + (links - 1) * PACKET) * PS_PER_BYTE + links * DELAY


def on_rails(algorithm: str, size: int) -> float:
    """The closed form in a network in which no message waits for another: α-β, with the links between ranks.

    GPUs of a rail are two links apart, others four.
    """
    n, around, along = SERVERS * GPUS, 4, 2
    match algorithm:
        case (
            "ring"
        ):  # by rails: a part goes around once and again to the rank before it, and crosses to another rail each time
            fast = 2 * (n - 1) - 2 * GPUS
            return fast * across(size // n, along) + 2 * GPUS * across(size // n, around) + (2 * n - 3) * LATENCY
        case "tree":  # neighbours by number are in a server, or, from 4 apart, on a rail
            rounds = [along if distance >= GPUS else around for distance in (1, 2, 4, 8, 16)]
            return 2 * sum(across(size, links) for links in rounds) + 9 * LATENCY
        case "hierarchical":
            within, among = 2 * (GPUS - 1), 2 * (SERVERS - 1)
            sent = within * across(size // GPUS, around) + among * across(size // n, along)
            return sent + (within + among - 1) * LATENCY
        case _:  # all-to-all: the NIC sends all, and the last packet goes to another rail
            return (n - 1) * size * PS_PER_BYTE + (around - 1) * PACKET * PS_PER_BYTE + around * DELAY


@pytest.mark.parametrize(
    ("op", "algorithm", "placement", "size"),
    [
        ("all-reduce", "ring", "rails", 6_400_000),
        ("all-reduce", "tree", "linear", 500_000),
        ("all-reduce", "hierarchical", "linear", 6_400_000),
        ("all-to-all", "linear", "linear", 200_000),
    ],
)
def test_on_rails_an_empty_network_takes_the_closed_form(
    tmp_path: Path, op: str, algorithm: str, placement: str, size: int
) -> None:
    keys = f'op = "{op}"\nalgorithm = "{algorithm}"\nplacement = "{placement}"\nsize = "{size}B"'
    # The closed forms know no two messages that meet on a way up: packets take the shortest queue.
    (row,) = rows(run(tmp_path, keys, ("switch.load-balancing=adaptive",), topology=RAILS))
    assert row["elapsed_ps"] == pytest.approx(on_rails(algorithm, size), rel=0.02)


def test_groups_are_the_servers_of_rails_and_must_divide_the_ranks(tmp_path: Path) -> None:
    keys = 'op = "all-reduce"\nalgorithm = "hierarchical"\nsize = "80000B"'
    named = run(tmp_path / "named", f"{keys}\nwithin = {GPUS}", topology=RAILS)
    assert rows(run(tmp_path / "servers", keys, topology=RAILS)) == rows(named)
    for more, told in [
        ("", "hierarchical needs within"),
        ("\nwithin = 3", "among 3 ranks first, and there are 8"),
        ("\nwithin = 0", "within"),
    ]:
        with pytest.raises(_core.ScenarioError, match=told):
            _core.Scenario(text(keys + more), "c.toml", tmp_path, ()).run(tmp_path / "out")
    with pytest.raises(_core.ScenarioError, match="within is of algorithm = hierarchical"):
        _core.Scenario(text('op = "all-reduce"\nsize = "8KB"\nwithin = 2'), "c.toml", tmp_path, ()).run()


@pytest.mark.parametrize(
    ("op", "size", "factor"),
    # nccl-tests, doc/PERFORMANCE.md, of 4 ranks and 1 MB; there all-gather and all-to-all have the size of all ranks.
    [
        ("all-reduce", 1, 1.5),
        ("reduce-scatter", 1, 0.75),
        ("all-gather", 4, 0.75),
        ("all-to-all", 4, 0.75),
        ("broadcast", 1, 1.0),
    ],
)
def test_bandwidths_are_those_of_nccl_tests(op: str, size: int, factor: float) -> None:
    assert collectives.bandwidth(op, 4, 1_000_000) == (size * 1_000_000, factor)


OTHER = """
[[traffic]]
name = "storage"
kind = "incast"
from = "h[1-7]"
to = "h0"
size = "100KB"
"""


def test_run_prints_what_a_collective_takes_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "c.toml"
    file.write_text(text('op = "all-to-all"\nsize = "30KB"') + OTHER)
    assert main(["run", str(file), *NO_MARKS, "--json", "--out", str(tmp_path / "out")]) == Exit.OK
    made = json.loads(capsys.readouterr().out)
    (one,) = made["collectives"]
    assert one["algorithm"] == "linear"
    # 7 messages of 30 KB, one packet across the switch, 2 µs; NICs send in turn, so that about as much of the others
    # goes into h0 until the collective is done.
    assert one["alone_ps"] == pytest.approx((210_000 + PACKET) * PS_PER_BYTE + 2 * DELAY, abs=8)
    assert one["time_ps"] > one["alone_ps"] + 200_000 * PS_PER_BYTE
    assert one["bus_bps"] == pytest.approx(8e12 * 7 * 30_000 / one["time_ps"])
    assert one["bus_percent_of_line_rate"] == pytest.approx(one["bus_bps"] / 1e9)
    (app,) = made["applications"]
    assert (app["alone_ps"], app["other_traffic"]) == (one["alone_ps"], True)
    assert main(["run", str(file), *NO_MARKS, "--out", str(tmp_path / "out")]) == Exit.OK
    shown = " ".join(capsys.readouterr().out.split())
    assert "ideal 18.9 µs" in shown
    assert "; alone 18.9 µs," in shown


def test_only_one_entry_sends_what_it_sends_beside_the_others_and_on_the_same_paths(tmp_path: Path) -> None:
    # Without congestion control and with buffers without end, others that go another way change nothing: equal times
    # mean equal draws and equal paths. The others start before, so that the flows of the collective have other numbers.
    topology = 'kind = "clos"\npods = 2\nleaves = 2\nhosts-per-leaf = 3\noversubscription = [1, 1]'
    keys = 'op = "moe-all-to-all"\nsize = "80KB"\ntoken = "4000B"\nstart = "10us"\nranks = 6'
    scene = text(keys, topology=topology)
    other = '[[traffic]]\nname = "o"\nkind = "poisson"\nfrom = "h6"\nto = "h7"\nsize = "2KB"\nload = 0.1\nflows = 20\n'
    found = {}
    for name, more in (("both", []), ("alone", ['run.only=["c"]']), ("threads", ['run.only=["c"]', "run.threads=2"])):
        out = tmp_path / name
        _core.Scenario(scene + other, "c.toml", tmp_path, more).run(out)
        one = Results(out)
        flows = one.flows.filter(pl.col("traffic").cast(pl.String) == "c")
        found[name] = flows.select("size_bytes", "start_ps", "finish_ps", "ideal_fct_ps").collect().rows()
        assert one.flows.collect().height == len(found[name]) + (20 if name == "both" else 0)
    assert found["both"] == found["alone"] == found["threads"]
    with pytest.raises(_core.ScenarioError, match='there is no traffic "d"'):
        _core.Scenario(scene + other, "c.toml", tmp_path, ['run.only=["d"]']).resolved()


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
        _core.Scenario(text(keys), "c.toml", tmp_path, []).resolved()
    assert wanted in str(error.value)


#: Of the NICs of four hosts at one switch: 25, 100, 100 and 25 Gbps, 1 us from it.
UNEQUAL = """5 1 4
4
0 4 25Gbps 0.001ms 0
1 4 100Gbps 0.001ms 0
2 4 100Gbps 0.001ms 0
3 4 25Gbps 0.001ms 0
"""
SLOW = 320  # ps per byte


def unequal(tmp_path: Path, keys: str) -> tuple[Results, collectives.Measured]:
    (tmp_path / "topology.txt").write_text(UNEQUAL)
    scene = text(keys, topology='kind = "hpcc"\nfile = "topology.txt"')
    scene = scene.replace('rate = "100Gbps"\ndelay = "1us"\n', "")
    _core.Scenario(scene, "c.toml", tmp_path, []).run(tmp_path / "run")
    results = Results(tmp_path / "run")
    (one,) = collectives.of(results)
    assert one.ideal_ps is not None
    assert one.time_ps is not None
    assert one.ideal_ps <= one.time_ps + 4
    assert one.line_rate_bps == 25_000_000_000
    return results, one


def test_the_ideal_of_unequal_nics_is_that_of_the_busiest_at_its_own_rate(tmp_path: Path) -> None:
    # h0 sends 30 KB at 25 Gbps; the last packet then crosses the link of a fast host.
    _, one = unequal(tmp_path, 'op = "all-to-all"\nsize = "10000B"')
    assert one.ideal_ps == pytest.approx(30_000 * SLOW + PACKET * PS_PER_BYTE + 2 * DELAY, abs=4)


def test_the_ideal_of_a_ring_of_unequal_nics_is_that_of_its_messages(tmp_path: Path) -> None:
    # Four messages of 10 KB, from each rank to the next: 25 to 100 Gbps, 100 to 100, 100 to 25, 25 to 25. Four chains
    # of three rounds share them out, three of each, so that some chain has the mean or more.
    _, one = unequal(tmp_path, 'op = "all-gather"\nsize = "10000B"')
    fast, slow = PACKET * PS_PER_BYTE, PACKET * SLOW
    four = (10 * slow + fast) + (10 * fast + fast) + (fast + 10 * slow) + (10 * slow + slow) + 4 * 2 * DELAY
    assert one.ideal_ps == pytest.approx(3 * four / 4 + 2 * LATENCY, abs=4)


@pytest.mark.parametrize("algorithm", ["linear", "pairwise"])
def test_the_ideal_of_experts_at_unequal_nics_is_that_of_the_busiest_nic(tmp_path: Path, algorithm: str) -> None:
    keys = f'op = "moe-all-to-all"\nalgorithm = "{algorithm}"\nsize = "400KB"\ntoken = "4000B"\niterations = 2'
    results, one = unequal(tmp_path, keys)
    per_byte = {"n0": SLOW, "n1": PS_PER_BYTE, "n2": PS_PER_BYTE, "n3": SLOW}
    flows = results.flows.with_columns(pl.col("src", "dst").cast(pl.String)).collect()
    ends = [
        (flows.filter(pl.col(end) == host)["size_bytes"].sum(), host) for end in ("src", "dst") for host in per_byte
    ]
    busiest = float(max(moved * per_byte[host] for moved, host in ends)) / 2
    between = 2 * LATENCY if algorithm == "pairwise" else 0
    assert one.ideal_ps is not None
    # The last packet crosses one more link, at 100 or at 25 Gbps.
    assert 2 * DELAY <= one.ideal_ps - busiest - between <= 2 * DELAY + PACKET * SLOW


def test_parallel_links_within_a_server_carry_what_they_have_together(tmp_path: Path) -> None:
    """Hosts with two links of 400 Gbps to their scale-up switch, and one of 100 Gbps out of the server."""
    links = [
        {"a": f"h{host}", "b": end, "rate": rate, "delay": "200ns"}
        for host in range(4)
        for end, rate in [(f"nv{host // 2}", "400Gbps"), (f"nv{host // 2}", "400Gbps"), ("leaf", "100Gbps")]
    ]
    scenario = {
        "profile": "roce",
        "topology": {
            "kind": "edges",
            "hosts": [f"h{host}" for host in range(4)],
            "switches": ["nv0", "nv1", "leaf"],
            "scale-up": ["nv0", "nv1"],
            "parallel-links": True,
            "links": links,
        },
        "traffic": [{"name": "sum", "kind": "collective", "op": "all-reduce", "size": "64KB"}],
    }
    results = bw.run(scenario, out=tmp_path / "run")
    assert isinstance(results, bw.Results)
    rates = collectives.rates(results, results.flows).sort("host")
    assert rates["rate"].to_list() == [100 * 10**9] * 4
    assert rates["inner_rate"].to_list() == [800 * 10**9] * 4
    assert rates["server"].to_list() == ["nv0", "nv0", "nv1", "nv1"]
