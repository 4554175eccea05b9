"""``backwater topology`` and its generators against networkx: the same graphs, distances, cuts and flows."""
# networkx has no types.
# mypy: disable-error-code="import-untyped,no-any-return,no-untyped-call"

import json
import time
from itertools import combinations, product
from pathlib import Path
from typing import Any

import networkx as nx
import pytest
from backwater import _core
from backwater.cli import main
from backwater.errors import Exit
from backwater.scenario import network_facts

LINKS = 'rate = "100Gbps"\ndelay = "1us"\n'


def facts(tmp_path: Path, topology: str) -> dict[str, Any]:
    file = tmp_path / "net.toml"
    file.write_text(f"[topology]\n{topology}\n{LINKS}")
    return network_facts.of(file, [])


def graph(found: dict[str, Any]) -> nx.Graph:
    """Nodes by name with their role, links with their rate in Gbps; parallel links add up."""
    network = found["network"]
    nodes, links = network["nodes"], network["links"]
    made = nx.Graph()
    for name, role, at in zip(nodes["name"], nodes["role"], nodes["at"], strict=True):
        made.add_node(name, role=role, at=tuple(at))
    for a, b, rate in zip(links["a"], links["b"], links["rate_bps"], strict=True):
        one, other = nodes["name"][a], nodes["name"][b]
        before = made.edges[one, other]["capacity"] if made.has_edge(one, other) else 0
        made.add_edge(one, other, capacity=before + rate // 10**9)
    return made


def of_role(net: nx.Graph, role: str) -> list[str]:
    return [name for name, its in net.nodes(data="role") if its == role]


def diameter(net: nx.Graph) -> int:
    hosts = of_role(net, "host")
    return max(
        max(lengths[other] for other in hosts)
        for lengths in (nx.single_source_shortest_path_length(net, host) for host in hosts)
    )


def bisection(net: nx.Graph, first: set[str]) -> int:
    """Maximum flow from some hosts to the others, in Gbps."""
    both = net.to_directed()
    for host in of_role(net, "host"):
        both.add_edge(*(("from", host) if host in first else (host, "to")))
    return int(nx.maximum_flow_value(both, "from", "to"))


def switches(net: nx.Graph) -> nx.Graph:
    return net.subgraph(of_role(net, "switch"))


@pytest.mark.parametrize("sizes", [(5,), (4, 3), (3, 4, 5), (2, 3, 4), (2, 2, 2, 2)])
@pytest.mark.parametrize("kind", ["torus", "mesh"])
def test_tori_and_meshes_are_the_grid_graphs_of_networkx(tmp_path: Path, sizes: tuple[int, ...], kind: str) -> None:
    found = facts(tmp_path, f'kind = "{kind}"\nsizes = {list(sizes)}')
    net = graph(found)
    # networkx takes the dimensions in the other order.
    expected = nx.grid_graph(dim=list(reversed(sizes)), periodic=kind == "torus")
    named = lambda at: "sw" + ".".join(map(str, at if isinstance(at, tuple) else (at,)))  # noqa: E731
    assert {frozenset(edge) for edge in switches(net).edges} == {
        frozenset((named(a), named(b))) for a, b in expected.edges if a != b
    }
    assert found["diameter_links"] == diameter(net) == nx.diameter(expected) + 2
    assert nx.edge_connectivity(switches(net)) == min(dict(switches(net).degree).values())


def test_the_bisection_is_the_maximum_flow_that_networkx_finds(tmp_path: Path) -> None:
    clos = 'kind = "clos"\npods = 3\nleaves = 2\nhosts-per-leaf = 4\noversubscription = [2, 2]'
    fly = 'kind = "dragonfly"\na = 3\np = 2\nh = 1'
    for topology in (
        clos,
        fly,
        'kind = "rail"\nunits = 2\nservers = 4\ngpus = 3\noversubscription = 2',
        'kind = "ai-pod"\nservers = 4\ngpus = 3\nplanes = 2\noversubscription = [2]',
        'kind = "ai-pod"\npods = 2\nunits = 2\nservers = 2\ngpus = 2\nwiring = "shared"\noversubscription = [2]',
        'kind = "mesh"\nsizes = [3, 5]',
    ):
        found = facts(tmp_path, topology)
        net = graph(found)
        hosts = of_role(net, "host")
        assert found["bisection_bps"] == bisection(net, set(hosts[: len(hosts) // 2])) * 10**9, topology
        assert found["diameter_links"] == diameter(net), topology


def test_the_bisection_of_a_grid_is_the_least_of_its_even_dimensions(tmp_path: Path) -> None:
    found = facts(tmp_path, 'kind = "torus"\nsizes = [3, 8]\nhosts-per-switch = 3')
    net = graph(found)
    low = {host for host in of_role(net, "host") if net.nodes[host]["at"][1] < 4}
    assert found["bisection_halves"] == "along dimension 1"
    assert found["bisection_bps"] == bisection(net, low) * 10**9 == 3 * 2 * 100 * 10**9


def test_a_clos_is_made_of_complete_bipartite_pods_and_planes(tmp_path: Path) -> None:
    text = 'kind = "clos"\npods = 4\nleaves = 3\nhosts-per-leaf = 8\noversubscription = [2, 1.5]\nleaf-rate = "200Gbps"'
    net = graph(facts(tmp_path, text))
    # 8 x 100 / (2 x 200) = 2 aggregation switches; 3 x 200 / (1.5 x 200) = 2 spines a plane
    expected = nx.Graph()
    for pod, leaf in product(range(4), range(3)):
        expected.add_edges_from((f"leaf{pod}.{leaf}", f"h{(pod * 3 + leaf) * 8 + i}") for i in range(8))
        expected.add_edges_from((f"leaf{pod}.{leaf}", f"agg{pod}.{agg}") for agg in range(2))
    for pod, plane, spine in product(range(4), range(2), range(2)):
        expected.add_edge(f"agg{pod}.{plane}", f"spine{plane}.{spine}")
    assert {frozenset(edge) for edge in net.edges} == {frozenset(edge) for edge in expected.edges}
    assert nx.edge_connectivity(switches(net)) == 2


@pytest.mark.parametrize(("a", "p", "h", "g"), [(4, 2, 2, 9), (4, 1, 2, 5), (3, 1, 2, 4), (2, 2, 1, 3)])
def test_groups_of_a_dragonfly_are_complete_and_so_is_their_graph(
    tmp_path: Path, a: int, p: int, h: int, g: int
) -> None:
    found = facts(tmp_path, f'kind = "dragonfly"\na = {a}\np = {p}\nh = {h}\ng = {g}')
    net = graph(found)
    group = lambda switch: net.nodes[switch]["at"][0]  # noqa: E731
    assert (found["hosts"], found["switches"], found["switch_ports_most"]) == (a * p * g, a * g, a - 1 + p + h)
    between: dict[frozenset[int], int] = {}
    for one, other, capacity in switches(net).edges(data="capacity"):
        if group(one) != group(other):
            pair = frozenset((group(one), group(other)))
            between[pair] = between.get(pair, 0) + capacity // 100
    assert between == {frozenset(pair): a * h // (g - 1) for pair in combinations(range(g), 2)}
    for number in range(g):
        inside = net.subgraph([switch for switch in switches(net) if group(switch) == number])
        assert nx.density(inside) == 1
    assert found["longest_route_links"] <= 5
    assert found["diameter_links"] == diameter(net)


@pytest.mark.parametrize(
    ("topology", "hosts"),
    [
        ('kind = "clos"\npods = 8\nleaves = 8\nhosts-per-leaf = 16', 1024),
        ('kind = "rail"\nunits = 4\nservers = 32', 1024),
        ('kind = "ai-pod"\nunits = 4\nservers = 32\nplanes = 2', 1024),
        ('kind = "dragonfly"\na = 8\np = 4\nh = 4', 1056),
        ('kind = "torus"\nsizes = [16, 16, 4]', 1024),
        ('kind = "mesh"\nsizes = [32, 32]', 1024),
    ],
)
def test_a_thousand_hosts_are_built_in_a_second(tmp_path: Path, topology: str, hosts: int) -> None:
    text = f'[topology]\n{topology}\n{LINKS}[[traffic]]\nname = "p"\nkind = "permutation"\nsize = "1KB"\n'
    begin = time.process_time()
    read = _core.Scenario(text, "big.toml", tmp_path, ['switch.flow-control="none"'])
    resolved = json.loads(read.resolved())
    assert time.process_time() - begin < 1
    assert resolved["topology"]["kind"] in topology
    run = json.loads(read.run())
    assert (run["status"], run["totals"]["flows"], run["totals"]["finished"]) == ("complete", hosts, hosts)


def test_the_command_prints_sizes_and_which_routings_can_deadlock(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "torus.toml"
    file.write_text(f'[topology]\nkind = "torus"\nsizes = [5, 5]\n{LINKS}')
    assert main(["topology", str(file)]) == Exit.OK
    shown = capsys.readouterr().out
    for wanted in ("torus, routing dimension-order", "25", "diameter", "bisection", "dimension-order: the routes form"):
        assert wanted in shown
    assert main(["topology", str(file), "--json"]) == Exit.OK
    found = json.loads(capsys.readouterr().out)
    free = {(row["routing"], row["lanes"]): row["free"] for row in found["deadlock"]}
    assert free == {
        ("ecmp", 1): False,
        ("d-mod-k", 1): False,
        ("dimension-order", 2): True,
        ("dimension-order", 1): False,
    }


@pytest.mark.parametrize(
    ("text", "options", "wanted"),
    [
        ("[run]\nseed = 1\n", [], "net.toml has no [topology]"),
        (f'[topology]\nkind = "mesh"\nsizes = [4]\n{LINKS}', ["--set", "run.seed=2"], "only the topology counts here"),
        (f'[run]\nseed = 1\n[topology]\nkind = "mesh"\nsizes = [4, 1]\n{LINKS}', [], "net.toml:5:13"),
        (
            f'[topology]\nkind = "mesh"\nsizes = [4]\nrouting = "minimal"\n{LINKS}',
            [],
            'topology.routing = "minimal" is for kind dragonfly',
        ),
        (
            f'[topology]\nkind = "star"\nhosts = 4\nrouting = "dimension-order"\n{LINKS}',
            [],
            "is for kind torus or mesh",
        ),
        (f'[topology]\nkind = "dragonfly"\na = 2\np = 1\nh = 2\ng = 4\n{LINKS}', [], "a x h is a multiple of g - 1"),
        (
            f'[topology]\nkind = "rail"\nservers = 5\noversubscription = 2\n{LINKS}',
            [],
            "choose 2.5 for 2 links, or 1.6667 for 3",
        ),
        (f'[topology]\nkind = "torus"\nsize = [4]\n{LINKS}', [], 'did you mean "sizes"'),
    ],
)
def test_what_is_wrong_is_said_with_its_place(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str, options: list[str], wanted: str
) -> None:
    file = tmp_path / "net.toml"
    file.write_text(text)
    assert main(["topology", str(file), *options]) == Exit.BAD_INPUT
    assert wanted in capsys.readouterr().err
