"""Every number that `blame`, `puts`, `throttle` and `gpcnet` print is one of the tables it was made of.

Scenes are run, or made by hand; what is printed is computed again from Parquet by a few lines that know nothing of the
modules that print it.
"""

from __future__ import annotations

import json
import math
import statistics
from typing import TYPE_CHECKING, Any

import gpcnet_scene
import polars as pl
import put_scene
import pytest
from backwater.cli import main
from backwater.common import quantities
from backwater.errors import Exit
from blame_scenes import figure_3, overlapped_trees
from test_throttle import sums

if TYPE_CHECKING:
    from pathlib import Path

US = 1_000_000


def table(folder: Path, name: str) -> pl.DataFrame:
    """A table with numbers that may be subtracted."""
    frame = pl.read_parquet(folder / f"{name}.parquet")
    numbers = [pl.col(column).cast(pl.Int64) for column, kind in frame.schema.items() if kind.is_integer()]
    return frame.with_columns(numbers)


def total(values: pl.Series) -> int:
    return int(values.sum())


def told(capsys: pytest.CaptureFixture[str], *arguments: str) -> Any:
    capsys.readouterr()
    assert main([*arguments, "--json"]) in (Exit.OK, Exit.CAVEATS)
    return json.loads(capsys.readouterr().out)


def shown(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    """What is printed for people, each run of blanks as one."""
    capsys.readouterr()
    assert main([*arguments]) in (Exit.OK, Exit.CAVEATS)
    return " ".join(capsys.readouterr().out.split())


def run(folder: Path, text: str, *settings: str) -> Path:
    folder.mkdir(parents=True)
    (folder / "scene.toml").write_text(text)
    given = [word for one in settings for word in ("--set", one)]
    code = main(["run", str(folder / "scene.toml"), *given, "--out", str(folder / "out")])
    assert code in (Exit.OK, Exit.CAVEATS)
    (found,) = (folder / "out").glob("*/run.json")
    return found.parent


INCAST = """
profile = "ideal"
[run]
seed = {seed}
[topology]
kind = "star"
hosts = {hosts}
rate = "40Gbps"
delay = "1us"
[switch]
flow-control = "pfc"
[switch.pfc]
threshold = "static"
xoff = "60KB"
xon = "57KB"
[switch.detector]
kind = "red"
kmin = "5KB"
kmax = "60KB"
pmax = 0.5
[cc]
kind = "{cc}"
[[traffic]]
name = "in"
kind = "incast"
from = "h[1-{senders}]"
to = "h0"
size = "{size}KB"
[[traffic]]
name = "web"
kind = "poisson"
size = "20KB"
load = 0.2
flows = 60
"""
#: Hosts, senders of the incast, their size in KB, congestion control, seed.
INCASTS = [(8, 5, 200, "none", 1), (6, 3, 400, "dcqcn", 2), (10, 9, 150, "dcqcn", 3), (5, 2, 30, "none", 4)]


@pytest.fixture(params=INCASTS, ids=lambda one: f"{one[1]} of {one[0]}, {one[3]}")
def incast(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """Around one switch only hosts are paused: no port of the switch is ever held, and every crowd is a root's."""
    names = ("hosts", "senders", "size", "cc", "seed")
    return run(tmp_path / "run", INCAST.format(**dict(zip(names, request.param, strict=True))))


@pytest.fixture
def two_hops(tmp_path: Path) -> Path:
    """Nobody is paused, and packets meet two long queues: towards the spine, and towards h4 where h5 sends, too."""
    text = INCAST.format(hosts=8, senders=5, size=200, cc="dcqcn", seed=5)
    text = text.replace('kind = "star"\nhosts = 8', 'kind = "leaf-spine"\nleaves = 2\nspines = 1\nhosts-per-leaf = 4')
    text = text.replace('"h[1-5]"', '["h[0-3]", "h[5-7]"]').replace('to = "h0"', 'to = "h4"')
    return run(tmp_path / "run", text.replace('"60KB"\nxon = "57KB"', '"1500KB"\nxon = "1400KB"'))


def offs(folder: Path) -> pl.DataFrame:
    """OFF intervals: from each closing of a gate to the next opening of the same, or to the end of the run."""
    end = json.loads((folder / "run.json").read_text())["sim_time_ps"]
    rows, since = [], dict[tuple[Any, ...], int]()
    changes = table(folder, "pauses").sort("time_ps", maintain_order=True)
    for row in changes.to_dicts():
        place = (row["node_index"], row["port_index"], row["priority"])
        if row["paused"]:
            since.setdefault(place, row["time_ps"])
        elif place in since:
            rows.append((*place, since.pop(place), row["time_ps"]))
    rows += [(*place, start, end) for place, start in since.items()]
    columns = ("node_index", "port_index", "priority", "off_ps", "on_ps")
    return pl.DataFrame(rows, schema=dict.fromkeys(columns, pl.Int64), orient="row")


def test_what_blame_tells_of_roots_where_only_hosts_are_held_is_in_the_crowds_and_pauses(
    incast: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found, crowds, held = told(capsys, "blame", str(incast)), table(incast, "crowds"), offs(incast)
    # A port is one row of the table of ports; an interval has a row for each of its flows.
    place = ["node_index", "port_index", "priority"]
    names = table(incast, "ports").select(*place, "port")
    named = crowds.join(names, on=place)
    roots = {root["root_port"]: root for root in found["roots"] if root["crowd_ps"] > 0}
    assert roots.keys() == set(named["port"])
    for port, mine in named.group_by("port"):
        root = roots[port[0]]
        spans = mine.select("start_ps", "end_ps").unique()
        assert root["crowd_ps"] == total(spans["end_ps"] - spans["start_ps"])
        assert root["packets"] == total(mine["packets"])
        assert root["ce_packets"] == total(mine["ce_packets"])
        assert root["flows"] == mine["flow"].n_unique()
        fed = [row for row in found["feeding"] if row["root_port"] == port[0]]
        assert sum(row["share"] for row in fed) == pytest.approx(1)
        sent = mine.join(table(incast, "flows").select("flow", "traffic"), on="flow")
        for row in fed:
            own = sent.filter(traffic=row["traffic"])
            assert (row["flows"], row["packets"]) == (own["flow"].n_unique(), total(own["packets"]))
            assert row["share"] == pytest.approx(total(own["sent_bytes"]) / total(mine["sent_bytes"]))
    # Each OFF interval is shared out in whole.
    off = total(held["on_ps"] - held["off_ps"])
    shared = sum(root["weighted_ps"] for root in found["roots"]) + found["unexplained_ps"]
    assert shared == pytest.approx(off, abs=len(found["branches"]))
    assert off == total(table(incast, "ports")["paused_ps"])


def test_what_blame_tells_of_flows_where_only_hosts_are_held_is_in_the_flows(
    incast: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found, flows = told(capsys, "blame", str(incast)), table(incast, "flows")
    culprit = set(table(incast, "crowds")["flow"])
    victim = set(flows.filter(pl.col("nic_held_ps") > 0)["flow"]) - culprit
    counts = {"culprit": len(culprit), "victim": len(victim), "unaffected": flows.height - len(culprit | victim)}
    assert found["flows"] == {verdict: count for verdict, count in counts.items() if count}
    assert {row["flow"] for row in found["victims"]} == victim
    last = table(incast, "waits").filter("last")
    for row in found["victims"]:
        (flow,) = flows.filter(flow=row["flow"]).to_dicts()
        waited = last.filter(flow=row["flow"])
        assert row["lost_ps"] == flow["fct_ps"] - flow["ideal_fct_ps"]
        assert row["queue_ps"] == total(waited["end_ps"] - waited["start_ps"])
        at_source = ("connection_wait_ps", "paced_ps", "nic_held_ps", "nic_queue_ps")
        assert [row[name] for name in at_source] == [flow[name] for name in at_source]
        assert (row["gate_ps"], row["backlog_ps"], row["rest_ps"]) == (0, 0, 0)
    said = shown(capsys, "blame", str(incast))
    words = [f"{counts[word]} {word}{'s' if counts[word] != 1 else ''}" for word in ("culprit", "victim")]
    assert f"flows: {', '.join(words)}, {counts['unaffected']} unaffected" in said


def scored(folder: Path) -> dict[str, Any]:
    """What marks, crowds and flows tell of a detector where no port of a switch is held."""
    place = ["node_index", "port_index", "priority"]
    marks, crowds, flows = (table(folder, name) for name in ("marks", "crowds", "flows"))
    long = {row[:3]: row[3] for row in crowds.select(*place, "threshold_bytes").unique().rows()}
    ce = marks.filter(code="CE")
    queues = ce.select(*place, "queue_bytes").rows()
    early = sum(queue <= long.get(tuple(where), math.inf) for *where, queue in queues)
    own = total(crowds["packets"]) - total(crowds["ce_before_packets"])
    own_ce = total(crowds["ce_packets"]) - total(crowds["ce_before_packets"])
    culprits, marked = set(crowds["flow"]), set(flows.filter(pl.col("ce_packets") > 0)["flow"])

    def share(part: int, whole: int) -> float | None:
        return part / whole if whole else None

    return {
        "ce_marks": ce.height,
        "early_marks": early,
        "precision": share(ce.height - early, ce.height - early),
        "root_packets": total(crowds["packets"]),
        "recall": share(total(crowds["ce_packets"]), total(crowds["packets"])),
        "own_recall": share(own_ce, own),
        "ue_marks": 0,
        "ue_precision": None,
        "marked_flows": len(marked),
        "flow_precision": share(len(marked & culprits), len(marked)),
        "culprits": len(culprits),
        "flow_recall": share(len(marked & culprits), len(culprits)),
    }


def line(expected: dict[str, Any]) -> str:
    """The score as it is printed for people."""

    def percent(share: float | None) -> str:
        return "-" if share is None else f"{100 * share:.1f} %"

    right = expected["ce_marks"] - expected["early_marks"]
    early = f" and {quantities.count(expected['early_marks'])} early" if expected["early_marks"] else ""
    flows = (
        f"flows: precision {percent(expected['flow_precision'])} of {quantities.count(expected['marked_flows'])}, "
        f"recall {percent(expected['flow_recall'])} of {quantities.count(expected['culprits'])}"
    )
    return (
        f"blame: precision {percent(expected['precision'])} of {quantities.count(right)} CE marks{early}; recall: "
        f"{percent(expected['recall'])} of {quantities.count(expected['root_packets'])} packets from roots left with "
        f"CE; {flows}"
    )


def test_the_score_of_a_detector_where_only_hosts_are_held_is_in_marks_crowds_and_flows(
    incast: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found, expected = told(capsys, "blame", str(incast)), scored(incast)
    assert found["score"] == pytest.approx(expected)
    if expected["ce_marks"]:
        assert 0 < expected["early_marks"] < expected["ce_marks"]
    # The ports' scores sum to that of the run, and so do those of its bins.
    for name in ("ce_marks", "early_marks", "root_packets"):
        assert sum(row[name] for row in found["port_scores"]) == expected[name]
    said = shown(capsys, "blame", str(incast))
    if expected["ce_marks"] or expected["root_packets"]:
        assert line(expected) in said


def test_what_an_earlier_port_marked_counts_for_the_recall_of_the_run_and_not_for_the_ports_own(
    two_hops: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert table(two_hops, "pauses").is_empty()
    found, expected = told(capsys, "blame", str(two_hops)), scored(two_hops)
    assert found["score"] == pytest.approx(expected)
    assert line(expected) in shown(capsys, "blame", str(two_hops))
    assert table(two_hops, "crowds")["ce_before_packets"].max() != 0
    assert 0 < expected["own_recall"] < expected["recall"] < 1
    place = ["node_index", "port_index", "priority"]
    named = table(two_hops, "crowds").join(table(two_hops, "ports").select(*place, "port"), on=place)
    rows = {row["port"]: row for row in found["port_scores"]}
    for port, mine in named.group_by("port"):
        came = total(mine["packets"]) - total(mine["ce_before_packets"])
        left = total(mine["ce_packets"]) - total(mine["ce_before_packets"])
        assert rows[port[0]]["root_packets"] == total(mine["packets"])
        assert rows[port[0]]["recall"] == pytest.approx(total(mine["ce_packets"]) / total(mine["packets"]))
        assert rows[port[0]]["own_recall"] == (pytest.approx(left / came) if came else None)


@pytest.mark.parametrize("scene", [figure_3, overlapped_trees])
def test_where_switches_are_held_the_sums_of_blame_are_those_of_its_tables(
    scene: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = run(tmp_path / "run", scene())
    found, flows, marks = told(capsys, "blame", str(folder)), table(folder, "flows"), table(folder, "marks")
    off = offs(folder)
    gates_ps = total(off["on_ps"] - off["off_ps"])
    shared = sum(root["weighted_ps"] for root in found["roots"]) + found["unexplained_ps"]
    assert shared == pytest.approx(gates_ps, abs=len(found["branches"]))
    score = found["score"]
    marked = set(flows.filter(pl.col("ce_packets") > 0)["flow"])
    assert score["marked_flows"] == len(marked)
    assert sum(found["flows"].values()) == flows.height
    assert score["culprits"] == found["flows"]["culprit"]
    # A port that was never OFF was never held, so whatever left a long queue there left that of a root.
    place = ["node_index", "port_index", "priority"]
    crowds = table(folder, "crowds")
    never = crowds.join(off, on=place, how="anti")
    assert total(never["packets"]) <= score["root_packets"] <= total(crowds["packets"])
    culprits = set(never["flow"])
    assert not culprits & {row["flow"] for row in found["victims"]}
    assert len(culprits) <= score["culprits"] <= crowds["flow"].n_unique()
    ce, ue = marks.filter(code="CE"), marks.filter(code="UE")
    assert (score["ce_marks"], score["ue_marks"]) == (ce.height, ue.height)
    # What was marked while the gate was closed is wrong, or right for UE, however long a port counts as held after.

    def at_closed(kind: pl.DataFrame) -> int:
        pairs = kind.with_row_index("mark").join(off, on=place)
        return pairs.filter(pl.col("time_ps").is_between("off_ps", "on_ps"))["mark"].n_unique()

    judged = score["ce_marks"] - score["early_marks"]
    if score["precision"] is not None:
        assert round(score["precision"] * judged) <= judged - at_closed(ce)
    if score["ue_precision"] is not None:
        assert round(score["ue_precision"] * ue.height) >= at_closed(ue)


PUTS = """
profile = "endpoint"
[run]
until = "300us"
[topology]
kind = "star"
hosts = 5
rate = "102.4Gbps"
delay = "100ns"
[host]
of = "h0"
drain = "30Gbps"
queue = "32KiB"
[put]
policy = "{policy}"
[[traffic]]
name = "put"
kind = "supply"
transport = "put"
from = "h[1-3]"
to = "h0"
rate = "40Gbps"
[[traffic]]
name = "other"
kind = "supply"
transport = "put"
from = "h3"
to = "h4"
rate = "10Gbps"
[probe]
sample = "50us"
streams = true
"""


@pytest.mark.parametrize("policy", ["by hand", "opt", "dack"])
def test_what_puts_tells_of_a_stream_is_in_the_sums_of_its_two_ends(
    policy: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    made = policy == "by hand"
    folder = put_scene.write(tmp_path / "run") if made else run(tmp_path / "run", PUTS.format(policy=policy))
    found, streams, ports = told(capsys, "puts", str(folder)), table(folder, "streams"), table(folder, "ports")
    end = json.loads((folder / "run.json").read_text())["sim_time_ps"]
    both = {(row["src"], row["dst"]) for row in found}
    assert len(found) == len(both)
    assert both == set(streams.select("src", "dst").rows())
    # DACK is there so that nothing is sent again.
    assert (sum(row["resent_packets"] for row in found) > 0) == (policy != "dack")
    assert sum(row["nacks"] + row["dacks"] for row in found) > 0
    said = shown(capsys, "puts", str(folder))
    for row in found:
        mine = streams.filter(src=row["src"], dst=row["dst"])
        sender, target = (mine.filter(side=side) for side in ("initiator", "target"))
        for name in ("sent_packets", "sent_bytes", "resent_packets", "resent_bytes", "timeouts"):
            assert row[name] == sender[name].sum(), name
        for name in ("accepted_packets", "accepted_bytes", "processed_bytes", "dropped_packets", "duplicate_packets"):
            assert row[name] == target[name].sum(), name
        assert row["out_of_order_packets"] == total(target["out_of_order_packets"])
        # What took effect, not what was sent back.
        for name in ("iacks", "marked_iacks", "dacks", "nacks"):
            assert row[name] == sender[name].sum(), name
        (rate,) = ports.filter(peer=row["dst"])["rate_bps"].unique()
        seconds = end / 1e12
        goodput = 8 * total(target["accepted_bytes"]) / seconds
        assert row["goodput_bps"] == pytest.approx(goodput)
        assert row["goodput"] == pytest.approx(goodput / rate)
        assert row["resent"] == pytest.approx(8 * total(sender["resent_bytes"]) / seconds / rate)
        shares = f"{quantities.rate(goodput)} │ {quantities.three_digits(100 * goodput / rate)} %"
        columns = [sender["sent_packets"], sender["resent_packets"], target["accepted_packets"]]
        counts = " │ ".join(quantities.count(total(column)) for column in columns)
        assert f"│ {row['src']}->{row['dst']} │ {counts} │" in said
        assert f"│ {shares} │" in said
    if not made:
        # The flows know the same from elsewhere.
        flows = table(folder, "flows")
        assert sum(row["resent_packets"] for row in found) == total(flows["resent_packets"])
        assert sum(row["processed_bytes"] for row in found) == total(flows["received_bytes"])


GPCNET = """
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
set = ["host.throttle.kind=pft", "host.throttle.pft.enter=60", "host.throttle.pft.escape=70"]
[probe]
blame = false
sample = "10us"
"""
MIB = 1024 * 1024


@pytest.fixture(scope="module")
def quick(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """GPCNeT under two schemes, with few rings and turns; PFT so eager that also so few hosts are throttled."""
    folder = tmp_path_factory.mktemp("gpcnet")
    (folder / "small.toml").write_text(GPCNET)
    code = main(["gpcnet", str(folder / "small.toml"), "--quick", "--out", str(folder / "out")])
    assert code in (Exit.OK, Exit.CAVEATS)
    return folder / "out"


def of_turns(folder: Path, entry: dict[str, Any], phase: str, key: str) -> dict[str, float]:
    """What GPCNeT's manual says of a test, from the times of its turns."""
    times = table(folder, "timings").filter(series=f"{phase}/{key}").select("label", "rank", "elapsed_ps")
    # A rank sends its messages to each of two neighbours; a latency is half of an exchange with both.
    moved: float = 2 * int(entry["bandwidth"]["messages"]) * quantities.parse_size(entry["bandwidth"]["size"]) / MIB
    turns: dict[tuple[int, int], list[int]] = {}
    for label, rank, elapsed in times.rows():
        turns.setdefault((label, rank), []).append(elapsed)

    def value(elapsed: list[int]) -> float:
        if key == "bw":
            return moved * len(elapsed) / (sum(elapsed) / 1e12)
        return statistics.fmean(elapsed) / 1e6 / (2 if key == "lat" else 1)

    rings: dict[int, list[float]] = {}
    for (label, _), elapsed in turns.items():
        rings.setdefault(label, []).append(value(elapsed))
    every = [one for ring in rings.values() for one in ring]
    best_first = sorted((value([elapsed]) for elapsed in times["elapsed_ps"]), reverse=key == "bw")
    worst = min if key == "bw" else max
    return {
        "avg": statistics.fmean(map(statistics.fmean, rings.values())),
        "min": min(every),
        "max": max(every),
        "avg_worst": statistics.fmean(map(worst, rings.values())),
        "p99": best_first[int(0.99 * len(best_first)) - 1],
        "p999": best_first[int(0.999 * len(best_first)) - 1],
        # Percentiles are read from a histogram of 100 000 buckets.
        "bucket": abs(best_first[0] - best_first[-1]) / 99_999,
        "samples": len(best_first),
    }


def test_what_gpcnet_tells_of_a_test_is_in_the_times_of_its_turns(
    quick: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found, said = told(capsys, "gpcnet", str(quick)), shown(capsys, "gpcnet", str(quick))
    runs = json.loads((quick / "gpcnet.json").read_text())["runs"]
    keys = {"RR Two-sided Lat": "lat", "RR Two-sided BW+Sync": "bw", "Multiple Allreduce": "allreduce"}
    assert runs.keys() == {"none", "PFT"}
    for scheme, (one,) in runs.items():
        folder = quick / one
        meta = json.loads((folder / "run.json").read_text())
        (entry,) = meta["scenario"]["traffic"]
        mine = [row for row in found["rows"] if row["scheme"] == scheme]
        factors = []
        for test, key in keys.items():
            rows = {row["phase"]: row for row in mine if row["test"].startswith(test)}
            known = {phase: of_turns(folder, entry, phase, key) for phase in ("isolated", "congested")}
            for phase, expected in known.items():
                for name in ("avg", "min", "max", "avg_worst", "samples"):
                    assert rows[phase][name] == pytest.approx(expected[name]), (test, phase, name)
                for name in ("p99", "p999"):
                    assert rows[phase][name] == pytest.approx(expected[name], abs=1.01 * expected["bucket"])
                cells = [f"{rows[phase][name]:.1f}" for name in ("avg", "p99")]
                assert f"| {rows[phase]['test']} | {cells[0]} | {cells[1]} |" in said
            for name in ("avg", "p99"):
                alone, beside = (float(f"{rows[phase][name]:.1f}") for phase in ("isolated", "congested"))
                factor = alone / beside if key == "bw" else beside / alone
                assert rows["congested"][f"impact_{name}"] == pytest.approx(factor)
                factors.append(factor)
        assert found["geometric_mean"][scheme] == pytest.approx(math.prod(factors) ** (1 / len(factors)))


def test_what_gpcnet_tells_of_congestors_is_in_what_their_ranks_got(
    quick: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = told(capsys, "gpcnet", str(quick))
    names = {"Alltoall": "all-to-all", "Two-sided Incast": "incast", "Put Incast": "put-incast"}
    for scheme, (one,) in json.loads((quick / "gpcnet.json").read_text())["runs"].items():
        folder = quick / one
        end = json.loads((folder / "run.json").read_text())["sim_time_ps"]
        timings, ranks = table(folder, "timings"), table(folder, "ranks")
        begun = timings.filter(pl.col("series").str.starts_with("isolated/"))["end_ps"].max()
        assert isinstance(begun, int)
        seconds = (end - begun) / 1e12
        for name, role in (names | {"Get Bcast": "get-broadcast"}).items():
            (row,) = [row for row in found["rows"] if row["scheme"] == scheme and row["test"].startswith(name)]
            mine = ranks.filter(role=role)
            nodes = mine["node"].n_unique()
            # Of an all-to-all over n nodes one of n exchanges is with oneself; the ranks of one root of n do not send.
            got = total(mine["received_bytes"]) * ((nodes - 1) / nodes if role == "all-to-all" else 1)
            senders = mine.height if role == "all-to-all" else mine.height * (nodes - 1) / nodes
            assert row["avg"] == pytest.approx(got / senders / MIB / seconds)


@pytest.mark.parametrize("made", [True, False], ids=["by hand", "run"])
def test_what_throttle_tells_of_a_nic_is_in_the_sums_of_its_periods(
    made: bool, quick: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    if made:
        folder = gpcnet_scene.write(tmp_path / "run", tables={"throttle": sums()})
    else:
        folder = quick / json.loads((quick / "gpcnet.json").read_text())["runs"]["PFT"][0]
    found, said = told(capsys, "throttle", str(folder)), shown(capsys, "throttle", str(folder))
    meta = json.loads((folder / "run.json").read_text())
    end, flit = meta["sim_time_ps"], quantities.parse_size(meta["scenario"]["switch"]["credits"]["unit"])
    rows, ranks = table(folder, "throttle"), table(folder, "ranks")
    roles = {node: ", ".join(sorted(set(mine["role"]))) for (node,), mine in ranks.group_by("node")}
    assert {nic["node"]: nic["sends"] for nic in found["nics"]} == roles
    assert sum(nic["congested_ps"] for nic in found["nics"]) > 0
    for nic in found["nics"]:
        mine = rows.filter(node=nic["node"])
        assert (nic["congested_ps"], nic["held_ps"]) == (total(mine["congested_ps"]), total(mine["held_ps"]))
        assert (nic["entries"], nic["used_max"]) == (total(mine["entries"]), mine["used_max"].max() or 0)
        assert nic["rate_bps"] == pytest.approx(total(mine["sent_flits"]) * flit * 8e12 / end)
        area = sum(
            mean * (until - since) for mean, since, until in mine.select("used_mean", "start_ps", "end_ps").rows()
        )
        assert nic["used_mean"] == pytest.approx(area / end)
        assert nic["held"] == pytest.approx(total(mine["held_ps"]) / end)
    for sender in found["senders"]:
        nodes = [node for node, role in roles.items() if role == sender["sends"]]
        own = {node: rows.filter(node=node) for node in nodes}
        assert sender["nics"] == len(nodes)
        for count, column in (("throttled", "congested_ps"), ("held_ever", "held_ps")):
            assert sender[count] == sum(mine[column].sum() > 0 for mine in own.values())
        for share, column in (("congested", "congested_ps"), ("held", "held_ps")):
            assert sender[share] == pytest.approx(sum(mine[column].sum() for mine in own.values()) / end / len(nodes))
        assert sender["held_most"] == pytest.approx(max(total(mine["held_ps"]) for mine in own.values()) / end)
        flits = sum(total(mine["sent_flits"]) for mine in own.values())
        assert sender["rate_bps"] == pytest.approx(flits * flit * 8e12 / end / len(nodes))
        percent = f"{quantities.three_digits(100 * sender['held_most'])} %"
        assert f"│ {sender['sends']} │ {len(nodes)} │ {sender['throttled']} │" in said
        assert f"│ {percent} │" in said
    test = [node for node, role in roles.items() if role == "test"]
    throttled = sum(total(rows.filter(node=node)["congested_ps"]) > 0 for node in test)
    told_of = f"{throttled} were throttled" if throttled else "none was throttled"
    assert f"bystanders, the {len(test)} NICs whose ranks only test: {told_of}" in found["bystanders"]


def test_what_describe_tells_of_tables_and_ranks_is_in_their_files(
    quick: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (one,) = json.loads((quick / "gpcnet.json").read_text())["runs"]["none"]
    found, said = told(capsys, "describe", str(quick / one)), shown(capsys, "describe", str(quick / one))
    files = {file.stem: file for file in (quick / one).glob("*.parquet")}
    assert found["run"]["tables"].keys() == files.keys()
    for name, file in files.items():
        frame = pl.read_parquet(file)
        assert found["run"]["tables"][name]["rows"] == frame.height
        assert found["run"]["tables"][name]["bytes"] == file.stat().st_size
        assert f"{file.name}: {quantities.count(frame.height)} rows, {quantities.size(file.stat().st_size)}" in said
        assert [entry["column"] for entry in found["columns"] if entry["table"] == name] == frame.columns
    ranks = table(quick / one, "ranks")
    for row in found["roles"]:
        mine = ranks.filter(traffic=row["traffic"], role=row["role"])
        assert (row["ranks"], set(row["nodes"])) == (mine.height, set(mine["node"]))
    assert sum(row["ranks"] for row in found["roles"]) == ranks.height
    totals, flows = found["run"]["totals"], table(quick / one, "flows")
    assert totals["flows"] == flows.height
    assert totals["packets"] == total(flows["packets"])
    assert totals["finished"] == flows["finish_ps"].count()
