# mypy: disable-error-code="import-untyped"
# networkx has no types.
"""Servers with a scale-up switch: what stays in them, and what collectives take on them beside arithmetic."""

from __future__ import annotations

import json
from pathlib import Path

import networkx
import polars as pl
import pytest
from backwater import _core
from backwater.analysis import collectives, jobs
from backwater.api import inputs
from backwater.results import Results, measures
from plain_star import DELAY, LATENCY, PACKET, PS_PER_BYTE, scenario

SERVERS, GPUS = 4, 4
RANKS = SERVERS * GPUS
#: The scale-up links are ten times as fast as NICs of 100 Gbps.
POD = f'kind = "ai-pod"\nservers = {SERVERS}\ngpus = {GPUS}\nscale-up-rate = "1000Gbps"\nscale-up-delay = "200ns"'
FAST, NEAR = PS_PER_BYTE // 10, 200_000


def run(folder: Path, entry: str, topology: str = POD, overrides: tuple[str, ...] = ()) -> Results:
    text = scenario(entry, topology=topology)
    made = json.loads(_core.Scenario(text, "pod.toml", folder, overrides).run(folder / "out"))
    assert made["totals"]["finished"] == made["totals"]["flows"]
    return Results(folder / "out")


def collective(keys: str) -> str:
    return f'[[traffic]]\nname = "c"\nkind = "collective"\n{keys}\n'


def sent(results: Results) -> dict[str, int]:
    """Bytes that left the ports of switches within servers, of GPUs to these, and of all others."""
    within = measures.scale_up(results)
    where = (
        pl.when(pl.col("node").cast(pl.String).is_in(within))
        .then(pl.lit("down"))
        .when(pl.col("peer").cast(pl.String).is_in(within))
        .then(pl.lit("up"))
        .otherwise(pl.lit("out"))
    )
    rows = results.ports.group_by(where.alias("where")).agg(pl.col("sent_bytes").sum()).collect().rows()
    return {"down": 0, "up": 0, "out": 0} | dict(rows)


def inner(bytes_: int) -> int:
    """Picoseconds of a message within a server, alone on both links."""
    return (bytes_ + PACKET) * FAST + 2 * NEAR


def along(bytes_: int) -> int:
    """Picoseconds of a message on a rail."""
    return (bytes_ + PACKET) * PS_PER_BYTE + 2 * DELAY


@pytest.mark.parametrize("planes", [1, 2])
@pytest.mark.parametrize("wiring", ["rails", "shared"])
@pytest.mark.parametrize("op", ["all-reduce", "all-to-all"])
def test_what_the_gpus_of_a_server_exchange_never_leaves_it(tmp_path: Path, op: str, wiring: str, planes: int) -> None:
    topology = f'{POD}\nplanes = {planes}\nwiring = "{wiring}"'
    step = f'[[job.step]]\ncollective = "{op}"\nsize = "64000B"\ngroup = {GPUS}\n'
    found = sent(run(tmp_path, f'[[job]]\nname = "tensors"\n{step}', topology))
    # 2 (g - 1) / g of the size of each, or one size for each other.
    of_each = 2 * (GPUS - 1) * 64_000 // GPUS if op == "all-reduce" else (GPUS - 1) * 64_000
    assert found == {"up": RANKS * of_each, "down": RANKS * of_each, "out": 0}


def test_what_a_hierarchical_all_reduce_sends_out_of_servers_is_a_part_for_each_other_one(tmp_path: Path) -> None:
    size = 640_000
    results = run(tmp_path, collective(f'op = "all-reduce"\nalgorithm = "hierarchical"\nsize = "{size}B"'))
    within, among = 2 * (GPUS - 1) * size // GPUS, 2 * (SERVERS - 1) * size // RANKS
    # On a rail there are two links: that of a NIC, and that of a leaf.
    assert sent(results) == {"up": RANKS * within, "down": RANKS * within, "out": 2 * RANKS * among}
    spines = results.ports.filter(pl.col("node").cast(pl.String).str.starts_with("spine"))
    assert spines.select(pl.col("sent_bytes").sum()).collect().item() == 0


@pytest.mark.parametrize("wiring", ["rails", "shared"])
@pytest.mark.parametrize("op", ["all-reduce", "reduce-scatter", "all-gather", "all-to-all"])
def test_hierarchical_collectives_take_the_closed_form(tmp_path: Path, op: str, wiring: str) -> None:
    """α-β of rings within servers, then of rings among the GPUs of a number; of PXN of two floods."""
    size = 1_600_000
    keys = f'op = "{op}"\nalgorithm = "hierarchical"\nsize = "{size}B"'
    results = run(tmp_path, collective(keys), f'{POD}\nwiring = "{wiring}"')
    (one,) = collectives.of(results)
    around, among = GPUS - 1, SERVERS - 1
    match op:
        case "all-reduce":
            took = 2 * (around * inner(size // GPUS) + among * along(size // RANKS))
            took += (2 * (around + among) - 1) * LATENCY
        case "reduce-scatter":
            took = around * inner(size // GPUS) + among * along(size // RANKS) + (around + among - 1) * LATENCY
        case "all-gather":
            took = among * along(size) + around * inner(SERVERS * size) + (around + among - 1) * LATENCY
        case _:
            took = inner(around * SERVERS * size) + LATENCY + along(among * GPUS * size)
    assert one.time_ps == pytest.approx(took, rel=0.02)
    assert one.ideal_ps is not None
    assert one.time_ps is not None
    assert 0.5 * one.time_ps < one.ideal_ps <= one.time_ps + RANKS
    whole, factor = collectives.bandwidth(op, RANKS, size)
    assert one.bus_bps == pytest.approx(8e12 * whole * factor / took, rel=0.02)
    assert one.line_rate_bps == 100 * 10**9


def test_the_bus_bandwidth_of_a_ring_is_the_rate_of_the_nic_between_servers(tmp_path: Path) -> None:
    # In each round the last GPU of a server sends a part to the next server; the others are ten times as fast. Its NIC
    # rests for a host latency between two rounds, and while the first message is on its way.
    # With shared leaves: on rails these hops cross spines, where a hash lets some meet.
    size, topology = 16_000_000, f'{POD}\nwiring = "shared"'
    (one,) = collectives.of(
        run(tmp_path, collective(f'op = "all-reduce"\nalgorithm = "ring"\nsize = "{size}B"'), topology)
    )
    rounds, part = 2 * (RANKS - 1), size // RANKS
    took = rounds * (part * PS_PER_BYTE + LATENCY)
    assert one.time_ps == pytest.approx(took, rel=0.02)
    assert one.bus_bps == pytest.approx(100e9 * part * PS_PER_BYTE / (part * PS_PER_BYTE + LATENCY), rel=0.02)
    # By servers all NICs send at once.
    by_servers = collective(f'op = "all-reduce"\nalgorithm = "hierarchical"\nsize = "{size}B"')
    (two,) = collectives.of(run(tmp_path / "two", by_servers, topology))
    assert two.bus_bps is not None
    took = 2 * ((GPUS - 1) * inner(size // GPUS) + (SERVERS - 1) * along(part))
    took += (2 * (GPUS + SERVERS - 2) - 1) * LATENCY
    assert two.bus_bps == pytest.approx(8e12 * size * 2 * (RANKS - 1) / RANKS / took, rel=0.02)


def test_a_job_tells_the_ideal_of_what_stays_in_a_server(tmp_path: Path) -> None:
    step = f'[[job.step]]\ncollective = "all-reduce"\nsize = "1600000B"\ngroup = {GPUS}\n'
    (job,) = jobs.of(run(tmp_path, f'[[job]]\nname = "tensors"\n{step}'))
    took = 2 * (GPUS - 1) * inner(400_000) + (2 * GPUS - 3) * LATENCY
    assert job.steps[0].time_ps == pytest.approx(took, abs=16)
    assert job.steps[0].ideal_ps == pytest.approx(took, abs=16)


def test_any_number_of_threads_tells_the_same(tmp_path: Path) -> None:
    keys = 'op = "all-to-all"\nalgorithm = "hierarchical"\nsize = "64KB"'
    topology = f"{POD}\nplanes = 2\nunits = 2"
    digests = {
        run(tmp_path / str(threads), collective(keys), topology, (f"run.threads={threads}",)).meta["digest"]
        for threads in (1, 2, 5)
    }
    assert len(digests) == 1


@pytest.mark.parametrize(
    ("keys", "told"),
    [
        ("servers = 2\nplanes = 3", "planes"),
        ("servers = 2\nhomes = 0", "homes"),
        ("servers = 2\nnics = 4\nplanes = 2\nhomes = 2", "so few that nics x planes x homes is at most 15"),
        ("servers = 3\noversubscription = [2]", "would give a leaf 1.5 links up"),
        ("servers = 2\noversubscription = [1, 2]", "pods = 1; give 2 or more"),
        ('servers = 2\nwiring = "rail"', "rails"),
        ('servers = 2\nscale-up-rate = "0bps"', "scale-up-rate"),
        ("servers = 2\nplane = 2", 'did you mean "planes"'),
    ],
)
def test_what_makes_no_pod_is_said_with_its_key(tmp_path: Path, keys: str, told: str) -> None:
    entry = collective('op = "all-reduce"\nsize = "8KB"')
    with pytest.raises(_core.ScenarioError) as error:
        _core.Scenario(scenario(entry, topology=f'kind = "ai-pod"\n{keys}'), "pod.toml", tmp_path, ()).resolved()
    assert told in str(error.value)
    assert "pod.toml:" in str(error.value)


def test_shared_leaves_have_no_rails(tmp_path: Path) -> None:
    entry = collective('op = "all-reduce"\nsize = "8KB"\nplacement = "rails"')
    with pytest.raises(_core.ScenarioError, match="this network has no rails"):
        run(tmp_path, entry, f'{POD}\nwiring = "shared"')


def nodes_and_links(folder: Path, topology: str) -> tuple[dict[str, list[str]], list[dict[str, str]]]:
    """The nodes of a pod by their kind, and its links in words."""
    text = scenario(collective('op = "all-reduce"\nalgorithm = "ring"\nsize = "8KB"'), topology=topology)
    net = json.loads(_core.Scenario(text, "pod.toml", folder, ()).topology())["network"]
    names = net["nodes"]["name"]
    kinds: dict[str, list[str]] = {"hosts": [], "switches": [], "scale-up": [names[n] for n in net["scale_up"]]}
    for name, role in zip(names, net["nodes"]["role"], strict=True):
        kinds["hosts" if role == "host" else "switches"].append(name)
    columns = (net["links"][key] for key in ("a", "b", "rate_bps", "delay_ps"))
    links = [
        {"a": names[a], "b": names[b], "rate": f"{rate}bps", "delay": f"{delay}ps"}
        for a, b, rate, delay in zip(*columns, strict=True)
    ]
    return kinds, links


def written_out(folder: Path, topology: str) -> dict[str, str]:
    """The same pod as a list of links, as a topology file of the HPCC simulator, and as a graph of networkx."""
    kinds, links = nodes_and_links(folder, topology)
    table = "".join(
        "[[topology.links]]\n" + "".join(f'{key} = "{value}"\n' for key, value in link.items()) for link in links
    )
    lists = "".join(f"{key} = {json.dumps(names)}\n" for key, names in kinds.items())
    number = {name: i for i, name in enumerate([*kinds["hosts"], *kinds["switches"]])}
    rows = [f"{number[k['a']]} {number[k['b']]} {k['rate']} {k['delay']} 0" for k in links]
    switches = " ".join(str(number[name]) for name in kinds["switches"])
    head = f"{len(number)} {len(kinds['switches'])} {len(links)}"
    (folder / "pod.txt").write_text("\n".join([head, switches, *rows]) + "\n")
    within = json.dumps([f"n{number[name]}" for name in kinds["scale-up"]])
    graph = networkx.MultiGraph()
    for kind, of_kind in (("host", "hosts"), ("switch", "switches"), ("scale-up", "scale-up")):
        graph.add_nodes_from(kinds[of_kind], kind=kind)
    for link in links:
        graph.add_edge(link["a"], link["b"], rate=link["rate"], delay=link["delay"])
    shape = inputs.topology(graph)
    of_graph = "".join(f"{key} = {json.dumps(shape[key])}\n" for key in ("hosts", "switches", "scale-up"))
    of_graph += f"parallel-links = {json.dumps(shape['parallel-links'])}\n"
    assert shape["links"] == links
    return {
        "edges": f'kind = "edges"\nparallel-links = true\n{lists}{table}',
        "hpcc": f'kind = "hpcc"\nfile = "pod.txt"\nscale-up = {within}',
        "networkx": f'kind = "edges"\n{of_graph}{table}',
    }


@pytest.mark.parametrize("keys", ["", 'wiring = "shared"\nplanes = 2', "nics = 2\nplanes = 2"])
def test_a_pod_written_out_has_the_digest_of_the_pod(tmp_path: Path, keys: str) -> None:
    pod = f"{POD}\n{keys}"
    entry = collective('op = "all-to-all"\nalgorithm = "hierarchical"\nwithin = 4\nsize = "64KB"')
    text = scenario(entry, topology=pod)
    want = digest(tmp_path, text)
    for topology in written_out(tmp_path, pod).values():
        # The links of lists have rates and delays of their own.
        listed = scenario(entry, topology="@").replace('@\nrate = "100Gbps"\ndelay = "1us"', topology)
        assert digest(tmp_path, listed) == want


def digest(folder: Path, text: str) -> str:
    made = json.loads(_core.Scenario(text, "pod.toml", folder, ()).run(folder / "out"))
    assert made["totals"]["finished"] == made["totals"]["flows"]
    return str(made["digest"])


@pytest.mark.parametrize(
    ("scale_up", "told"),
    [
        ('["gpu0.0"]', "no switch of the network has this name"),
        ('["leaf0.0.0"]', "it is linked to the switch spine0.0.0, and may be linked to hosts only"),
        ('["scaleup0", "scaleup0"]', "it is named twice"),
    ],
)
def test_a_list_of_no_scale_up_switches_is_refused_where_it_stands(tmp_path: Path, scale_up: str, told: str) -> None:
    topology = written_out(tmp_path, POD)["edges"].replace("scale-up = [", f"scale-up = {scale_up} # [")
    text = scenario(collective('op = "all-reduce"\nsize = "8KB"'), topology="@")
    text = text.replace('@\nrate = "100Gbps"\ndelay = "1us"', topology)
    with pytest.raises(_core.ScenarioError) as error:
        _core.Scenario(text, "pod.toml", tmp_path, ()).resolved()
    assert told in str(error.value)
    assert "topology.scale-up" in str(error.value)


def by_servers_first(results: Results) -> list[str]:
    return [note["message"] for note in results.meta["notes"] if note["code"] == "by-servers-first"]


@pytest.mark.parametrize("op", ["all-reduce", "reduce-scatter", "all-gather", "all-to-all", "moe-all-to-all"])
def test_collectives_go_by_scale_up_switches_first_where_nothing_else_is_said(tmp_path: Path, op: str) -> None:
    keys = f'op = "{op}"\nsize = "64KB"\n'
    results = run(tmp_path, collective(keys))
    (told,) = by_servers_first(results)
    assert "algorithm: hierarchical, within servers of 4 ranks first (the default with scale-up switches)" in told
    (found,) = collectives.of(results)
    assert found.algorithm == "hierarchical"
    written = run(tmp_path, collective(f'{keys}algorithm = "hierarchical"\nwithin = 4'))
    assert written.meta["digest"] == results.meta["digest"]
    assert by_servers_first(written) == []
    job = f'[[job]]\nname = "c"\n[[job.step]]\ncollective = "{op}"\nsize = "64KB"\n'
    assert run(tmp_path, job).meta["scenario"]["job"][0]["step"][0]["within"] == GPUS


@pytest.mark.parametrize(
    ("keys", "algorithm"),
    [
        ('op = "all-reduce"\nalgorithm = "ring"', "ring"),
        ('op = "broadcast"', "tree"),
        # Neighbours that share no server, and ranks that share one: nothing is to be had by servers first.
        ('op = "all-reduce"\nplacement = "rails"', "ring"),
        ('op = "all-reduce"\nhosts = "gpu1.*"', "ring"),
        ('op = "all-reduce"\nhosts = ["gpu0.0", "gpu0.1", "gpu1.0", "gpu2.0"]', "ring"),
        # Servers of unlike sizes.
        ('op = "all-reduce"\nhosts = ["gpu0.0", "gpu0.1", "gpu1.0", "gpu1.1", "gpu1.2", "gpu1.3"]', "ring"),
    ],
)
def test_what_is_written_stands_and_neighbours_must_share_servers(tmp_path: Path, keys: str, algorithm: str) -> None:
    results = run(tmp_path, collective(f'{keys}\nsize = "64KB"'))
    assert by_servers_first(results) == []
    assert collectives.of(results)[0].algorithm == algorithm


def test_groups_of_a_job_go_by_the_part_of_a_server_that_they_have(tmp_path: Path) -> None:
    # Groups of 8 ranks, each second one: two of each server.
    step = '[[job.step]]\ncollective = "all-reduce"\nsize = "64KB"\ngroup = 8\nstride = 2\n'
    results = run(tmp_path, f'[[job]]\nname = "c"\n{step}')
    assert results.meta["scenario"]["job"][0]["step"][0]["within"] == 2


def test_a_list_with_scale_up_switches_says_how_many_ranks_a_server_has(tmp_path: Path) -> None:
    topology = written_out(tmp_path, POD)["edges"]
    entry = collective('op = "all-reduce"\nalgorithm = "hierarchical"\nsize = "64KB"')
    listed = scenario(entry, topology="@").replace('@\nrate = "100Gbps"\ndelay = "1us"', topology)
    assert digest(tmp_path, listed) == digest(tmp_path, scenario(entry, topology=POD))
    results = Results(tmp_path / "out")
    (one,) = collectives.of(results)
    assert one.ideal_ps is not None
    assert one.time_ps == pytest.approx(one.ideal_ps, rel=0.02)
