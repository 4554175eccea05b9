"""Jobs: their times in an empty network by arithmetic, where their ranks are, who waits for whom, what is refused."""

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from backwater import Results, _core
from backwater.analysis import jobs, run_notes
from backwater.cli import main
from backwater.common import quantities
from backwater.errors import Exit
from backwater.results import measures
from backwater.view import summary
from plain_star import ALGORITHMS, DELAY, LATENCY, PACKET, PS_PER_BYTE, message, scenario

US = 1_000_000

STEPS = '[[job.step]]\ncompute = "5us"\n[[job.step]]\ncollective = "all-reduce"\nsize = "80000B"\n'


def job(name: str, keys: str = "", steps: str = STEPS) -> str:
    return f'[[job]]\nname = "{name}"\n{keys}\n{steps}\n'


def run(tmp_path: Path, entries: str, *overrides: str, **scene: Any) -> Results:
    out = tmp_path / "run"
    _core.Scenario(scenario(entries, **scene), "j.toml", tmp_path, overrides).run(out)
    return Results(out)


def refused(tmp_path: Path, entries: str, **scene: Any) -> str:
    with pytest.raises(_core.ScenarioError) as error:
        _core.Scenario(scenario(entries, **scene), "j.toml", tmp_path, ()).run(tmp_path / "run")
    return str(error.value)


#: A ring all-reduce of 80 000 B among 8 ranks: 14 messages of 10 000 B.
RING = 14 * message(10_000) + 13 * LATENCY


def test_an_iteration_takes_its_computation_and_its_collective(tmp_path: Path) -> None:
    results = run(tmp_path, job("train", "iterations = 3"))
    (train,) = jobs.of(results)
    assert train.time_ps == 3 * (5 * US + RING) + 2 * LATENCY
    assert train.ideal_ps == pytest.approx(train.time_ps, rel=0.02)
    compute, reduce = train.steps
    assert compute.time_ps == pytest.approx(5 * US, abs=LATENCY)
    assert compute.ideal_ps == 5 * US
    assert reduce.time_ps == RING
    assert reduce.ideal_ps == pytest.approx(RING, rel=0.02)
    # nccl-tests: S / t, and 2 (n - 1) / n times that.
    assert reduce.algorithm_bps == pytest.approx(8e12 * 80_000 / RING)
    assert reduce.bus_bps == pytest.approx(8e12 * 80_000 / RING * 2 * 7 / 8)
    assert reduce.bus_percent_of_line_rate == pytest.approx(100 * (reduce.bus_bps or 0) / 100e9)


@pytest.mark.parametrize(("skew", "later"), [("slower = 1.2", US), ('later = "3us"', 3 * US)])
def test_a_straggler_delays_the_end_by_exactly_its_skew(tmp_path: Path, skew: str, later: int) -> None:
    (train,) = jobs.of(run(tmp_path, job("train", f"straggler = {{ ranks = [3], {skew} }}")))
    assert train.time_ps == 5 * US + later + RING


def test_times_of_steps_add_up_to_that_of_the_job(tmp_path: Path) -> None:
    # Rank 3 computes 1 µs longer, so that others are in the all-reduce 1 µs before it.
    skew = "iterations = 2\nstraggler = { ranks = [3], slower = 1.2 }"
    (train,) = jobs.of(run(tmp_path, job("train", skew)))
    assert sum(2 * step.time_ps for step in train.steps) == train.time_ps
    (once,) = jobs.of(run(tmp_path, job("train", "straggler = { ranks = [3], slower = 1.2 }")))
    compute, reduce = once.steps
    assert (compute.time_ps, compute.rank_mean_ps, compute.rank_slowest_ps) == (6 * US, (7 * 5 + 6) * US / 8, 6 * US)
    # From the moment at which rank 3 is in, too: what others wait for it is no time of the all-reduce.
    assert reduce.time_ps == RING
    assert reduce.bus_bps == pytest.approx(8e12 * 80_000 / RING * 2 * 7 / 8)


def test_the_page_has_thresholds_sizes_and_bus_bandwidths(tmp_path: Path) -> None:
    told = summary.of(run(tmp_path, job("train", "iterations = 3")), {}, (8, 1), None)
    settings = dict(told["settings"])
    assert settings["jobs"] == "train: 3 times compute 5us, all-reduce of 80KB"
    tables = {table["title"]: table for table in told["tables"]}
    row = tables["Steps of jobs"]["rows"][-1]
    bus = 8e12 * 80_000 / RING * 2 * 7 / 8
    assert row[0] == "train 1: all-reduce"
    assert row[1] == quantities.time(RING)
    assert row[-1] == f"{quantities.rate(bus)} ({quantities.three_digits(100 * bus / 100e9)} %)"


def test_lateness_in_a_step_is_not_charged_to_the_next_one(tmp_path: Path) -> None:
    # Both halves of an all-reduce, in which ranks depend on each other as in the whole one.
    halves = "".join(
        f'[[job.step]]\ncollective = "{op}"\nsize = "{size}"\n'
        for op, size in (("reduce-scatter", "80000B"), ("all-gather", "10000B"))
    )
    (late,) = jobs.of(run(tmp_path, job("train", 'straggler = { ranks = [0], later = "3us" }', halves)))
    assert sum(step.time_ps for step in late.steps) == late.time_ps
    assert late.time_ps == pytest.approx(3 * US + RING, abs=LATENCY)


def test_drawn_skew_is_the_same_for_a_seed_and_another_one_for_another(tmp_path: Path) -> None:
    drawn = 'straggler = { slower = 1.5, drawn = "exponential" }'
    times = [jobs.of(run(tmp_path, job("train", drawn), f"run.seed={seed}"))[0].time_ps for seed in (1, 1, 2)]
    assert times[0] == times[1] != times[2]
    assert all(time is not None and time > 5 * US + RING for time in times)


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_a_job_begins_when_the_one_before_has_ended_on_any_number_of_threads(tmp_path: Path, threads: int) -> None:
    both = job("one", "ranks = 8\nstraggler = { ranks = [2], slower = 2 }") + job(
        "two", 'ranks = 4\nshare = true\nafter = "one"\ndelay = "7us"'
    )
    results = run(tmp_path, both, f"run.threads={threads}")
    first, second = jobs.of(results)
    assert first.end_ps == 10 * US + RING
    assert second.start_ps == (first.end_ps or 0) + 7 * US
    ring = 6 * message(20_000) + 5 * LATENCY
    assert second.time_ps == 5 * US + ring
    assert results.meta["digest"] == run(tmp_path, both, "run.threads=1").meta["digest"]


def test_a_job_alone_does_not_wait_for_one_that_does_not_run(tmp_path: Path) -> None:
    both = job("one", "ranks = 4") + job("two", 'ranks = 4\nafter = "one"')
    (second,) = jobs.of(run(tmp_path, both, 'run.only=["two"]'))
    assert (second.job, second.start_ps) == ("two", 0)


def test_packed_ranks_fill_a_switch_and_spread_ones_take_all_of_them(tmp_path: Path) -> None:
    leaves = 'kind = "leaf-spine"\nleaves = 4\nspines = 1\nhosts-per-leaf = 3'
    entries = job("packed", "ranks = 4") + job("spread", 'ranks = 5\nplacement = "spread"')
    packed, spread = jobs.of(run(tmp_path, entries, topology=leaves))
    assert packed.hosts == ["h0", "h1", "h2", "h3"]
    # Free are h4 and h5 of the second leaf and all of the third and fourth one.
    assert spread.hosts == ["h4", "h6", "h9", "h5", "h7"]


def test_listed_hosts_are_given_before_others_choose(tmp_path: Path) -> None:
    entries = job("free", "ranks = 3") + job("listed", 'placement = ["h2", "h[0-1]"]')
    free, listed = jobs.of(run(tmp_path, entries))
    assert (free.hosts, listed.hosts) == (["h3", "h4", "h5"], ["h2", "h0", "h1"])


def test_a_job_that_names_hosts_of_another_one_is_noted(tmp_path: Path) -> None:
    entries = job("first", 'hosts = "h[0-4]"') + job("second", 'hosts = ["h[3-5]", "h7"]')
    results = run(tmp_path, entries)
    assert jobs.of(results)[1].hosts == ["h5", "h7"]
    told = [str(line) for line in run_notes.remarks(results)]
    says = "job second has no rank at 2 of the hosts that it names, such as h3: first has them"
    assert f"note[hosts-taken]: {says}" in told
    # Who says how many ranks it is to have takes those that are free.
    counted = run(tmp_path, entries.replace('hosts = ["h[3-5]"', 'ranks = 2\nhosts = ["h[3-5]"'))
    assert not any("hosts-taken" in str(line) for line in run_notes.remarks(counted))


def test_random_ranks_are_drawn_by_the_seed(tmp_path: Path) -> None:
    entries = job("drawn", 'ranks = 5\nplacement = "random"')
    places = [jobs.of(run(tmp_path, entries, f"run.seed={seed}"))[0].hosts for seed in (1, 1, 2)]
    assert places[0] == places[1] != places[2]
    assert len(set(places[0])) == 5


def test_storage_is_written_and_read_in_two_messages_and_has_no_ranks(tmp_path: Path) -> None:
    steps = '[[job.step]]\nwrite = "10000B"\nto = "h0"\n[[job.step]]\nread = "20000B"\nfrom = "h0"\n'
    (saved,) = jobs.of(run(tmp_path, job("save", "ranks = 1", steps)))
    assert saved.hosts == ["h1"]
    short = 2 * PS_PER_BYTE + 2 * DELAY  # an answer, or a question, of 1 B on two links
    written, read = message(10_000) + LATENCY + short, short + LATENCY + message(20_000)
    assert saved.time_ps == written + LATENCY + read
    assert saved.ideal_ps == pytest.approx(saved.time_ps, rel=0.02)


def test_answers_of_one_byte_are_not_counted_with_what_is_written(tmp_path: Path) -> None:
    steps = '[[job.step]]\nwrite = "10000B"\nto = "h0"\n'
    results = run(tmp_path, job("save", "ranks = 1", steps))
    (row,) = measures.by_traffic(results).to_dicts()
    # One message each way; one of them is an answer.
    assert (row["flows"], row["finished"], row["slowdowns"]) == (2, 2, 1)
    assert row["mean_fct_ps"] == message(10_000)
    tables = {table["title"]: table for table in summary.of(results, {}, (8, 1), None)["tables"]}
    assert tables["Flow completion time"]["rows"][0][:3] == ["save", "1", quantities.time(message(10_000))]
    assert "without answers and questions of 1 B" in tables["Flow completion time"]["note"]


def test_a_trace_and_a_program_are_jobs_too(tmp_path: Path) -> None:
    (tmp_path / "a.trace").write_text("backwater-trace 1\nranks 2\nmessage 1 from 0 to 1 bytes 10000 delay 2us\n")
    (tmp_path / "a.program").write_text("backwater-program 1\nranks 2\nrank * compute 4us\n")
    slow = "straggler = { ranks = [1], slower = 1.5 }"
    entries = job("traced", "", 'trace = "a.trace"') + job(
        "program", f'after = "traced"\n{slow}', 'program = "a.program"'
    )
    traced, program = jobs.of(run(tmp_path, entries))
    assert traced.time_ps == 2 * US + message(10_000)
    assert (program.start_ps, program.time_ps) == ((traced.end_ps or 0) + 10 * US, 6 * US)


def test_every_message_is_named_by_step_iteration_and_rank(tmp_path: Path) -> None:
    results = run(tmp_path, job("train", "iterations = 2"))
    told = results.job_messages.join(results.flows.select("flow", pl.col("src").cast(pl.String)), on="flow").collect()
    assert told.height == results.flows.select(pl.len()).collect().item() == 2 * 14 * 8
    assert told.group_by("iteration", "step", "rank").len().select("step", "len").unique().rows() == [(1, 14)]
    assert all(row["src"] == f"h{row['rank']}" for row in told.to_dicts())


def ring(ranks: int, size: int) -> int:
    """A ring all-reduce on the star: messages of an n-th of the size, one after the other."""
    return 2 * (ranks - 1) * message(size // ranks) + (2 * ranks - 3) * LATENCY


def reduce(size: int, keys: str) -> str:
    return f'[[job.step]]\ncollective = "all-reduce"\nsize = "{size}B"\n{keys}\n'


SIXTEEN = 'kind = "star"\nhosts = 16'


@pytest.mark.parametrize("keys", ["group = 8", "group = 8\nstride = 2"])
def test_a_group_of_eight_takes_what_eight_ranks_take_alone(tmp_path: Path, keys: str) -> None:
    results = run(tmp_path, job("train", "", reduce(80_000, keys)), topology=SIXTEEN)
    (train,) = jobs.of(results)
    (step,) = train.steps
    assert (train.ranks, step.group, step.time_ps) == (16, 8, ring(8, 80_000))
    assert train.ideal_ps == step.ideal_ps == pytest.approx(ring(8, 80_000), rel=0.02)
    assert step.algorithm_bps == pytest.approx(8e12 * 80_000 / ring(8, 80_000))
    assert step.bus_bps == pytest.approx(8e12 * 80_000 / ring(8, 80_000) * 2 * 7 / 8)
    # Each rank sends 2 (n - 1) messages to the next one of its group.
    told = results.job_messages.join(results.flows.select("flow", pl.col("dst").cast(pl.String)), on="flow").collect()
    assert told.group_by("rank").len()["len"].unique().to_list() == [14]
    step_wide = 2 if "stride" in keys else 1
    first = {row["rank"]: row["dst"] for row in told.to_dicts()}
    assert (first[0], first[step_wide]) == (f"h{step_wide}", f"h{2 * step_wide}")


def test_a_group_that_is_hierarchical_reduces_among_neighbours_of_the_group_first(tmp_path: Path) -> None:
    # 8 ranks, 4 first: 3 rounds of quarters, one of eighths there and one back, 3 rounds of quarters.
    keys = 'group = 8\nstride = 2\nalgorithm = "hierarchical"\nwithin = 4'
    (train,) = jobs.of(run(tmp_path, job("train", "", reduce(80_000, keys)), topology=SIXTEEN))
    assert train.time_ps == 6 * message(20_000) + 2 * message(10_000) + 7 * LATENCY
    assert train.ideal_ps == pytest.approx(train.time_ps, rel=0.02)


def test_tensor_parallel_groups_then_data_parallel_ones(tmp_path: Path) -> None:
    steps = reduce(80_000, "group = 4") + reduce(160_000, "group = 2\nstride = 4")
    (train,) = jobs.of(run(tmp_path, job("train", "iterations = 2", steps)))
    tensor, data = train.steps
    both = ring(4, 80_000) + LATENCY + ring(2, 160_000)
    assert train.time_ps == 2 * both + LATENCY
    assert train.ideal_ps == pytest.approx(train.time_ps, rel=0.02)
    assert [tensor.group, tensor.stride, data.group, data.stride] == [4, 1, 2, 4]
    assert data.what == "all-reduce of 160KB, ring, groups of 2 ranks, 4 apart"
    assert data.bus_bps == data.algorithm_bps


def test_a_group_does_not_wait_for_the_straggler_of_another_one(tmp_path: Path) -> None:
    steps = '[[job.step]]\ncompute = "5us"\n' + reduce(80_000, "group = 4")
    results = run(tmp_path, job("train", "straggler = { ranks = [1], slower = 1.2 }", steps))
    ends = results.job_steps.filter(pl.col("step") == 1).group_by(pl.col("rank") // 4).agg(pl.col("end_ps").max())
    assert sorted(ends.collect().rows()) == [(0, 6 * US + ring(4, 80_000)), (1, 5 * US + ring(4, 80_000))]
    (train,) = jobs.of(results)
    assert train.steps[1].time_ps == ring(4, 80_000)


def test_a_group_of_all_ranks_is_the_job_without_groups(tmp_path: Path) -> None:
    runs = [run(tmp_path, job("train", "", reduce(80_000, keys))).meta["digest"] for keys in ("", "group = 8")]
    assert runs[0] == runs[1]


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_groups_are_the_same_on_any_number_of_threads(tmp_path: Path, threads: int) -> None:
    leaves = 'kind = "leaf-spine"\nleaves = 2\nspines = 1\nhosts-per-leaf = 4'
    entries = job("train", "iterations = 2", reduce(80_000, "group = 4") + reduce(40_000, "group = 2\nstride = 4"))
    digests = [
        run(tmp_path, entries, f"run.threads={number}", topology=leaves).meta["digest"] for number in (1, threads)
    ]
    assert digests[0] == digests[1]


def beyond(results: Results) -> int:
    """Bytes that leaf switches send up to spines."""
    names = results.ports.select("node", "peer", "sent_bytes").cast({"node": pl.String, "peer": pl.String}).collect()
    assert any(node.startswith("spine") for node in names["node"])
    return int(names.filter(pl.col("peer").str.starts_with("spine"))["sent_bytes"].sum())


def test_groups_at_different_switches_do_not_slow_each_other(tmp_path: Path) -> None:
    leaves = 'kind = "leaf-spine"\nleaves = 2\nspines = 1\nhosts-per-leaf = 4'
    both = run(tmp_path, job("train", "", reduce(80_000, "group = 4")), topology=leaves)
    assert beyond(both) == 0
    ends = both.job_steps.select("end_ps").collect()["end_ps"].unique().to_list()
    assert ends == [ring(4, 80_000)]
    # Every second rank: three messages at a time want to go up the one link.
    apart = run(tmp_path, job("train", "", reduce(80_000, "group = 4\nstride = 2")), topology=leaves)
    assert beyond(apart) > 0
    assert (jobs.of(apart)[0].time_ps or 0) > ring(4, 80_000)


def test_groups_of_one_place_in_all_servers_stay_on_their_rail(tmp_path: Path) -> None:
    rails = 'kind = "rail"\nservers = 4\ngpus = 4'
    along = run(tmp_path, job("train", "", reduce(80_000, "group = 4\nstride = 4")), topology=rails)
    assert beyond(along) == 0
    assert jobs.of(along)[0].time_ps == ring(4, 80_000)
    # Numbered along the rails, those of a rail are neighbours.
    keys = 'placement = "rails"'
    neighbours = run(tmp_path, job("train", keys, reduce(80_000, "group = 4")), topology=rails)
    assert beyond(neighbours) == 0
    assert jobs.of(neighbours)[0].time_ps == ring(4, 80_000)
    across = run(tmp_path, job("train", "", reduce(80_000, "group = 4")), topology=rails)
    # In a server every message changes rails: 6 rounds of a quarter of the size by 16 ranks.
    assert beyond(across) >= 16 * 6 * 20_000


def test_the_time_and_the_ideal_of_groups_are_those_of_the_slowest_one(tmp_path: Path) -> None:
    leaves = 'kind = "leaf-spine"\nleaves = 2\nspines = 1\nhosts-per-leaf = 4'
    # h0 and h1 are at one switch; between h2 and h4 are two links more.
    entry = job("train", 'placement = ["h0", "h1", "h2", "h4"]', reduce(80_000, "group = 2"))
    results = run(tmp_path, entry, topology=leaves)
    far = 2 * (message(40_000) + 2 * PACKET * PS_PER_BYTE + 2 * DELAY) + LATENCY
    ends = results.job_steps.sort("rank").select("end_ps").collect()["end_ps"].to_list()
    assert ends == [ring(2, 80_000), ring(2, 80_000), far, far]
    (step,) = jobs.of(results)[0].steps
    assert step.time_ps == far
    assert step.ideal_ps == pytest.approx(far, abs=8)


def test_a_step_takes_what_its_slowest_group_takes_though_another_one_begins_last(tmp_path: Path) -> None:
    leaves = 'kind = "leaf-spine"\nleaves = 2\nspines = 1\nhosts-per-leaf = 4'
    keys = 'placement = ["h0", "h1", "h2", "h4"]\nstraggler = { ranks = [0, 1], later = "50us" }'
    results = run(
        tmp_path, job("train", keys, '[[job.step]]\ncompute = "5us"\n' + reduce(80_000, "group = 2")), topology=leaves
    )
    far = 2 * (message(40_000) + 2 * PACKET * PS_PER_BYTE + 2 * DELAY) + LATENCY
    step = jobs.of(results)[0].steps[1]
    # The near group is the last one to begin and to end; the far one takes longer.
    assert step.time_ps == far
    assert step.algorithm_bps == step.bus_bps == pytest.approx(8e12 * 80_000 / far)


def by(op: str, algorithm: str, size: str, groups: str) -> str:
    """A step; a hierarchical one has parts of two."""
    within = "within = 2" if algorithm == "hierarchical" else ""
    return f'[[job.step]]\ncollective = "{op}"\nalgorithm = "{algorithm}"\nsize = "{size}"\n{groups}\n{within}\n'


@pytest.mark.parametrize(("op", "algorithm", "size"), ALGORITHMS)
@pytest.mark.parametrize("groups", ["group = 4", "group = 4\nstride = 2", "group = 2\nstride = 4"])
def test_alone_in_a_star_groups_take_their_ideal(
    tmp_path: Path, op: str, algorithm: str, size: str, groups: str
) -> None:
    (train,) = jobs.of(run(tmp_path, job("train", "", by(op, algorithm, size, groups))))
    assert train.time_ps == pytest.approx(train.ideal_ps, abs=8)


@pytest.mark.parametrize(("op", "algorithm", "size"), ALGORITHMS)
@pytest.mark.parametrize("groups", ["group = 4\nstride = 3", "group = 2\nstride = 2", "group = 6"])
def test_no_group_is_faster_than_its_ideal_in_a_network_of_several_tiers(
    tmp_path: Path, op: str, algorithm: str, size: str, groups: str
) -> None:
    if (op, algorithm, groups) == ("all-gather", "recursive-doubling", "group = 6"):
        pytest.skip("for powers of two")
    topology = 'kind = "clos"\npods = 2\nleaves = 2\nhosts-per-leaf = 3\noversubscription = [3, 2]'
    entry = job("train", 'placement = "random"', by(op, algorithm, size, groups))
    (train,) = jobs.of(run(tmp_path, entry, topology=topology))
    (step,) = train.steps
    assert step.ideal_ps is not None
    assert 0 < step.ideal_ps <= step.time_ps + 12


@pytest.mark.parametrize(
    ("entries", "says"),
    [
        (job("a", "ranks = 9"), ["its ranks need 9 hosts, and 8 of 8 are free"]),
        (job("a", "ranks = 6") + job("b", "ranks = 3"), ["its ranks need 3 hosts, and 2 of 8 are free: a has 6"]),
        (
            job("a", 'placement = ["h1", "h2"]') + job("b", 'placement = ["h2", "h3"]'),
            ["job.b and job.a both have a rank at h2", "share = true in job.b"],
        ),
        (job("a", 'after = "b"') + job("b", 'after = "a"'), ["leads back to itself: a after b after a"]),
        (job("a", 'after = "a"'), ["leads back to itself: a after a"]),
        (job("a", 'after = "c"'), ['there is no job "c"']),
        (
            job("a", "ranks = 4") + job("b", 'after = "a"\ndelay = "1us"'),
            ["delay = 1us is too short", "2us and more"],
        ),
        (job("a", "straggler = { ranks = [8], slower = 2 }"), ["there is no rank 8", "0 to 7"]),
        (job("a", "", ""), ["it has nothing to do"]),
        (job("a", "", '[[job.step]]\ncompute = "1us"\nsize = "1KB"\n'), ["size is of collective"]),
        (job("a", "", '[[job.step]]\ncollective = "all-reduce"\n'), ["has no size"]),
        (
            job("a", 'hosts = "h[0-3]"', '[[job.step]]\nwrite = "1KB"\nto = "h2"\n'),
            ["has rank 2 of it, and is its storage"],
        ),
        (job("a", 'placement = "rails"'), ["this network has no rails"]),
        (
            job("a", "", reduce(8000, "group = 3")),
            ["8 ranks do not divide into groups of 3", "allowed: 2, 4, 8", "or ranks = 6"],
        ),
        (
            job("a", "", reduce(8000, "group = 2\nstride = 3")),
            ["8 ranks do not divide into groups of 2 with stride = 3", "allowed: 1, 2, 4", "or ranks = 6"],
        ),
        (job("a", "", reduce(8000, "group = 8\nstride = 4")), ["allowed: 1", "or ranks = 32"]),
        (job("a", "", reduce(8000, "group = 3\nstride = 4")), ["allowed: 2", "or ranks = 12"]),
        (job("a", "", reduce(8000, "group = 1")), ["group = 1", "2"]),
        (job("a", "", reduce(8000, "stride = 2")), ["stride is of groups, and step 0 has none", "add group ="]),
        (job("a", "", '[[job.step]]\ncompute = "1us"\ngroup = 2\n'), ["group is of collective", "step 0 is compute"]),
        (
            job("a", "ranks = 4", '[[job.step]]\nwrite = "1KB"\nto = "h7"\ngroup = 2\nstride = 2\n'),
            ["group is of collective, and step 0 is write", "stride is of collective, and step 0 is write"],
        ),
        (
            job("a", "", reduce(8000, 'group = 4\nalgorithm = "hierarchical"\nwithin = 3')),
            ["among 3 ranks first, and a group has 4"],
        ),
        (job("a") + job("a", "share = true"), ['another job is named "a", too']),
        (job("a", 'delay = "50us"'), ["after is not given", "without effect"]),
        (job("a", "straggler = { ranks = [], slower = 2 }"), ["straggler.ranks names no rank"]),
        (
            job("a", "straggler = { slower = 2 }", '[[job.step]]\ncollective = "all-reduce"\nsize = "8000B"\n'),
            ["slower is for computations, of which this job has none", "write straggler.later"],
        ),
    ],
)
def test_what_cannot_be_is_refused_with_what_to_do(tmp_path: Path, entries: str, says: list[str]) -> None:
    told = refused(tmp_path, entries)
    assert all(part in told for part in says), told


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("trace", "backwater-trace 1\nranks 2\nmessage 1 from 0 to 1 bytes 10000\n"),
        ("program", "backwater-program 1\nranks 2\nrank * barrier\n"),
    ],
)
def test_an_option_that_has_no_effect_on_a_trace_or_a_program_is_an_error(tmp_path: Path, kind: str, text: str) -> None:
    (tmp_path / "a").write_text(text)
    idle = refused(tmp_path, job("a", 'host-latency = "50us"', f'{kind} = "a"'))
    assert "host-latency is for steps, of which this job has none" in idle
    slow = refused(tmp_path, job("a", "straggler = { slower = 2 }", f'{kind} = "a"'))
    assert "slower is for computations, of which this job has none" in slow
    # What is written of these keys in the scenario of a run has no effect either, and can be run again.
    (job_a,) = jobs.of(run(tmp_path, job("a", 'host-latency = "600ns"\ndelay = "10us"', f'{kind} = "a"')))
    assert job_a.ranks == 2


def gpcnet(keys: str = "", per_host: int = 16) -> str:
    return job("net", keys, f'[job.gpcnet]\nranks-per-host = {per_host}\ntests = ["latency"]\nrings = 1')


def test_the_ranks_of_gpcnet_fill_whole_hosts_at_least_ten_of_them(tmp_path: Path) -> None:
    topology = 'kind = "star"\nhosts = 24'
    few = refused(tmp_path, gpcnet("ranks = 16"), topology=topology)
    assert "ranks = 16 with gpcnet.ranks-per-host = 16" in few
    assert "allowed: 160 and more" in few
    assert "8 to 0" not in few
    part = refused(tmp_path, gpcnet("ranks = 167"), topology=topology)
    assert "no multiple of 16" in part
    assert "write ranks = 160 or 176" in part
    hosts = refused(tmp_path, gpcnet(), topology='kind = "star"\nhosts = 9')
    assert "GPCNeT needs at least 10" in hosts
    assert "to 7" not in hosts
    idle = refused(tmp_path, gpcnet('host-latency = "50us"'), topology=topology)
    assert "host-latency is for steps" in idle


def test_a_key_of_gpcnets_congestors_without_congestors_is_told(tmp_path: Path) -> None:
    entry = gpcnet("", 1) + "\ncongested = false\nwarm-up-passes = 3\n"
    results = run(tmp_path, entry, topology='kind = "star"\nhosts = 12')
    told = " ".join(caveat["message"] for caveat in results.meta["caveats"])
    assert "congested = false: job.net.gpcnet.{warm-up-passes}" in told


def test_ranks_and_hosts_of_a_job_are_its_placement_and_not_what_is_done(tmp_path: Path) -> None:
    """12 hosts with 2 ranks each; of 12 hosts 9 congest, for ever, and 3 are tested (0.8 of 12 is 9.6).

    In each of the 2 slices two congestors are targets of one-sided calls, which have nothing to do.
    """
    finite = 2 * 3 + 2 * 2
    results = run(tmp_path, gpcnet("", 2), topology='kind = "star"\nhosts = 12')
    (net,) = jobs.of(results)
    assert (net.ranks, net.finite_ranks, net.done_ranks) == (24, finite, finite)
    assert net.hosts == [f"h{rank // 2}" for rank in range(24)]
    assert net.time_ps
    assert jobs.lines([net], others=False)[0].startswith("job net: 24 ranks at 12 hosts, 14 of them endless, ")


def test_of_a_run_that_was_cut_it_is_told_how_many_ranks_are_done(tmp_path: Path) -> None:
    """All ranks are done with the collective at 17.04 µs; then rank 3 computes twice as long as the others."""
    ring = 6 * message(2000) + 6 * LATENCY
    steps = '[[job.step]]\ncollective = "all-reduce"\nsize = "8000B"\n[[job.step]]\ncompute = "10us"\n'
    entries = job("a", "ranks = 4\nstraggler = { ranks = [3], slower = 2 }", steps)
    (cut,) = jobs.of(run(tmp_path, entries, f"run.until={ring + 15 * US}ps"))
    assert (cut.ranks, cut.hosts, cut.done_ranks) == (4, ["h0", "h1", "h2", "h3"], 3)
    assert (cut.time_ps, cut.end_ps, cut.slowdown) == (None, None, None)
    assert jobs.lines([cut], others=False) == ["job a: 4 ranks; 3 of 4 ranks are done"]
    (none,) = jobs.of(run(tmp_path, entries, f"run.until={ring + 5 * US}ps"))
    assert (none.ranks, none.done_ranks, none.time_ps) == (4, 0, None)
    (whole,) = jobs.of(run(tmp_path, entries, f"run.until={ring + 25 * US}ps"))
    assert (whole.done_ranks, whole.time_ps) == (4, ring + 20 * US)


def test_a_rank_of_a_trace_that_does_nothing_is_a_rank(tmp_path: Path) -> None:
    (tmp_path / "a.trace").write_text("backwater-trace 1\nranks 4\nmessage 1 from 0 to 1 bytes 10000 delay 2us\n")
    (traced,) = jobs.of(run(tmp_path, job("a", "", 'trace = "a.trace"')))
    assert (traced.ranks, traced.hosts, traced.done_ranks) == (4, ["h0", "h1", "h2", "h3"], 4)
    assert traced.time_ps == 2 * US + message(10_000)


def test_the_terminal_and_json_tell_time_alone_slowdown_and_bandwidth(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "two.toml"
    leaves = 'kind = "leaf-spine"\nleaves = 2\nspines = 1\nhosts-per-leaf = 4'
    spread = 'ranks = 4\nplacement = "spread"'
    file.write_text(scenario(job("one", spread) + job("two", spread), leaves))
    assert main(["run", str(file), "--out", str(tmp_path / "o"), "--json"]) in (Exit.OK, Exit.CAVEATS)
    told = json.loads(capsys.readouterr().out)["jobs"]
    assert [one["job"] for one in told] == ["one", "two"]
    for one in told:
        # Their rings share the only spine.
        assert one["slowdown"] == one["time_ps"] / one["alone_ps"] >= 1
        assert one["steps"][1]["bus_percent_of_line_rate"] < 100
        # nccl-tests: 2 (n - 1) / n of S = 80 000 B by n = 4 ranks.
        reduce = one["steps"][1]
        assert reduce["alone_bus_bps"] == pytest.approx(8e12 * 80_000 * 2 * 3 / 4 / reduce["alone_ps"])
        assert one["steps"][0]["time_ps"] + reduce["time_ps"] == one["time_ps"]
    assert max(one["slowdown"] for one in told) > 1.1
    assert main(["run", str(file), "--out", str(tmp_path / "p")]) in (Exit.OK, Exit.CAVEATS)
    printed = capsys.readouterr().out
    assert "job one: 4 ranks" in printed
    assert "slowdown" in printed
    assert "% of the line rate" in printed


def test_times_alone_are_kept_until_the_scenario_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("BACKWATER_CACHE", str(tmp_path / "cache"))
    file = tmp_path / "two.toml"
    leaves = 'kind = "leaf-spine"\nleaves = 2\nspines = 1\nhosts-per-leaf = 4'

    def told(iterations: int) -> list[dict[str, Any]]:
        two = job("two", f'ranks = 4\nplacement = "spread"\niterations = {iterations}')
        file.write_text(scenario(job("one", 'ranks = 4\nplacement = "spread"') + two, leaves))
        assert main(["run", str(file), "--out", str(tmp_path / "o"), "--json"]) in (Exit.OK, Exit.CAVEATS)
        found: list[dict[str, Any]] = json.loads(capsys.readouterr().out)["jobs"]
        return found

    def kept() -> int:
        return sum(1 for _ in (tmp_path / "cache" / "runs").glob("*/*"))

    first = told(1)
    assert kept() == 2
    assert told(1) == first
    assert kept() == 2
    changed = told(2)
    assert kept() == 4
    assert changed[0]["alone_ps"] == first[0]["alone_ps"]
    assert changed[1]["alone_ps"] > 1.9 * first[1]["alone_ps"]


def test_where_no_cache_can_be_made_times_alone_are_told_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("BACKWATER_CACHE", str(tmp_path / "file"))
    file = tmp_path / "two.toml"
    half = "ranks = 4"
    file.write_text(scenario(job("one", half) + job("two", half)))
    assert main(["run", str(file), "--out", str(tmp_path / "o"), "--json"]) in (Exit.OK, Exit.CAVEATS)
    told = capsys.readouterr()
    assert all(one["alone_ps"] > 0 for one in json.loads(told.out)["jobs"])
    assert "note: times alone are not kept" in told.err


def test_gpcnet_as_a_job_is_the_run_that_it_is_as_a_traffic_entry(tmp_path: Path) -> None:
    network = 'profile = "hpc"\ntopology = { kind = "star", hosts = 12, rate = "100Gbps", delay = "100ns" }\n'
    entry = '[[traffic]]\nname = "net"\nkind = "gpcnet"\nranks-per-host = 1\n'
    ours = '[[job]]\nname = "net"\n[job.gpcnet]\nranks-per-host = 1\n'
    digests = set()
    for name, text in (("entry", entry), ("job", ours)):
        scenario = _core.Scenario(f'{network}[run]\nuntil = "300us"\n{text}', "g.toml", tmp_path, ())
        scenario.run(tmp_path / name)
        digests.add(Results(tmp_path / name).meta["digest"])
    assert len(digests) == 1
