"""Random scenarios that mix everything with everything, and what must hold in each of them.

The seeds are fixed. To look for longer, with other seeds: ``make swarm SECONDS=600`` (or `SWARM_SECONDS` and
`SWARM_SEED` in the environment). A failure names its seed and features, and prints the smallest scenario that has it.
"""

from __future__ import annotations

import itertools
import os
import re
import shutil
import subprocess
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, cast

import backwater as bw
import polars as pl
import pytest
from backwater import _core
from backwater.analysis import critical
from backwater.analysis.blame.losses import PARTS, SOURCE
from backwater.common import quantities
from backwater.results import measures
from backwater.scenario.toml_writer import toml
from backwater.view.collect import packed
from backwater.view.page import View
from swarm_draws import Draw, draw
from view_reader import read

if TYPE_CHECKING:
    from collections.abc import Iterator

    from backwater import Results

#: Draws of a plain run of the tests, the first of them, and seconds at most: a busy machine makes fewer.
_DRAWS, _FIRST, _LONGEST = 20, 20_261_123, 40
#: Of so many draws one is opened in Chromium, where there is one.
_OPENED = 20
#: At most this share of the draws may be refused by validation: they are to be valid as they are made.
_REFUSED = 0.02
#: The other ways to run the same: each has to give the same digest.
_WAYS = {
    "two threads": ["run.threads=2"],
    "no probes": [f"probe.{name}=false" for name in ("marks", "pauses", "states", "blame", "drops")],
}


def _run(made: Draw, folder: Path, name: str = "windows", overrides: list[str] | None = None) -> Results:
    folder.mkdir(parents=True, exist_ok=True)
    for file, text in made.files.items():
        (folder / file).write_text(text)
    (folder / "swarm.toml").write_text(toml(made.scenario))
    return bw.run(folder / "swarm.toml", out=folder / name, overrides=overrides or [])


def violations(made: Draw, folder: Path, *, opened: bool = False) -> Iterator[str]:
    """What does not hold in this scenario."""
    run = _run(made, folder)
    yield from _conservation(run)
    yield from _physics(run)
    if all(run.has(name) for name in ("holds", "crowds", "waits", "pauses")):
        yield from _blame(run)
    yield from _critical(run)
    yield from _page(run)
    if opened:
        yield from _in_chromium(View([run]).write(folder / "view.html"))
    for name, overrides in _WAYS.items():
        other = _run(made, folder, name.replace(" ", "-"), overrides)
        if other.digest != run.digest:
            yield f"the digest with {name} is {other.digest}, not {run.digest}"


def _conservation(run: Results) -> Iterator[str]:
    flows, ports = run.flows.collect(), run.ports.collect()
    size, got = pl.col("size_bytes"), pl.col("received_bytes")
    if (more := flows.filter(got > size)).height:
        yield f"{more.height} flows received more than their size: {more.row(0, named=True)}"
    if (less := flows.filter(pl.col("finish_ps").is_not_null() & (got != size))).height:
        yield f"{less.height} flows finished with other bytes than their size: {less.row(0, named=True)}"
    # What switches got in the priorities of data they sent on, dropped, or still have; their own frames are in others.
    hosts = {int(node) for end in ("src_index", "dst_index") for node in flows[end].to_list()}
    topology = run.meta["network"]["nodes"]["tier"]
    switches = {node for node, tier in enumerate(topology) if tier > 0}
    data = ports.filter(pl.col("priority").is_in(measures.data_priorities(run)))
    frames = pl.col("packets").cast(pl.Int64)
    came = int(data.filter(pl.col("peer_index").is_in(switches)).select(frames.sum()).item())
    left = int(data.filter(pl.col("node_index").is_in(switches)).select(frames.sum()).item())
    lost = int(data.select(pl.col("dropped_packets").cast(pl.Int64).sum()).item())
    # Once every flow has finished nothing is left in them.
    drained = flows["finish_ps"].null_count() == 0
    if came < left + lost or (drained and came != left + lost):
        yield f"switches sent {left} and dropped {lost} packets of the {came} that links brought them"
    packet = run.meta["scenario"]["packet"]
    # What hosts received was on the last link to them, with a header to each packet.
    header, most = (quantities.parse_size(packet[key]) for key in ("header", "payload"))
    for node in hosts:
        mine = flows.filter(pl.col("dst_index") == node)
        last = data.filter(pl.col("peer_index") == node)
        reached, frames_there = int(last["sent_bytes"].sum()), int(last["packets"].sum())
        payload = int(mine["received_bytes"].sum())
        if payload > reached:
            yield f"node {node} received {payload} B of payload, and its link carried {reached} B"
        wanted = sum(-(-size // most) for size in mine["received_bytes"].to_list())
        if drained and frames_there < wanted:
            yield f"node {node} received {wanted} packets, and its link carried {frames_there}"
        # More frames than that are notifications, or were sent again.
        if drained and frames_there == wanted and not packet["padded"] and reached != payload + wanted * header:
            yield f"node {node} received {wanted} packets with {payload} B, and its link carried {reached} B"
    lossless = run.meta["scenario"].get("switch", {}).get("overflow", "stop") == "stop"
    if lossless and (dropped := int(ports["dropped_packets"].sum())):
        yield f"a lossless fabric dropped {dropped} packets"
    if run.has("delivered"):
        told = run.table("delivered").group_by(pl.col("traffic").cast(pl.String)).agg(pl.col("received_bytes").sum())
        sums = dict(told.collect().iter_rows())
        by_traffic = flows.group_by(pl.col("traffic").cast(pl.String)).agg(got.sum())
        for name, total in by_traffic.iter_rows():
            # The last period may end after the run.
            if sums.get(name, 0) > total:
                yield f"table delivered has {sums.get(name, 0)} B of {name}, the flows {total} B"


def _physics(run: Results) -> Iterator[str]:
    flows, ports, end = run.flows.collect(), run.ports.collect(), int(run.meta["sim_time_ps"])
    quick = flows.filter(pl.col("fct_ps").cast(pl.Int64) < pl.col("analytic_fct_ps").cast(pl.Int64))
    if quick.height:
        yield f"{quick.height} flows are faster than size over line rate and propagation: {quick.row(0, named=True)}"
    late = flows.filter((pl.col("finish_ps") < pl.col("start_ps")) | (pl.col("finish_ps") > end))
    if late.height:
        yield f"{late.height} flows finish before they start, or after the run: {late.row(0, named=True)}"
    by_port = ports.group_by("port").agg(pl.col("sent_bytes").sum(), pl.col("rate_bps").first())
    # A packet that leaves at the end is counted whole.
    carried = pl.col("rate_bps").cast(pl.Float64) * end / 8e12 + 10_000
    if (fast := by_port.filter(pl.col("sent_bytes") > carried)).height:
        yield f"a port sent more than its line rate: {fast.row(0, named=True)}"
    if (closed := ports.filter(pl.col("paused_ps") > end)).height:
        yield f"a gate was closed for longer than the run: {closed.row(0, named=True)}"
    negative = [name for name in SOURCE if (flows[name].cast(pl.Int64) < 0).any()]
    if negative:
        yield f"negative times at the source: {negative}"


def _blame(run: Results) -> Iterator[str]:
    blame = run.blame()
    weights = blame.rooted.group_by("off").agg(pl.col("weight").sum())
    wrong = weights.filter((pl.col("weight") - 1).abs() > 1e-6)
    if wrong.height:
        yield f"the shares of {wrong.height} of {weights.height} OFF intervals do not sum to 1: {wrong.row(0)}"
    puts = {entry["name"] for entry in run.meta["scenario"]["traffic"] if entry.get("transport") == "put"}
    parts = pl.sum_horizontal(*PARTS, "rest_ps") - pl.col("ideal_wait_ps")
    finished = blame.flows.filter(pl.col("lost_ps").is_not_null())
    if (unequal := finished.filter(parts != pl.col("lost_ps"))).height:
        yield f"the parts of {unequal.height} flows are not what they lost: {unequal.row(0, named=True)}"
    rest = finished.filter((pl.col("rest_ps") != 0) & ~pl.col("traffic").is_in(list(puts)))
    if rest.height:
        yield f"{rest.height} flows lost time that is not explained: {rest.row(0, named=True)}"
    shares = blame.feeding.group_by("root").agg(pl.col("share").sum())
    if (off := shares.filter((pl.col("share") - 1).abs() > 1e-6)).height:
        yield f"the shares of a root's flows do not sum to 1: {off.row(0)}"


def _critical(run: Results) -> Iterator[str]:
    """Messages alone, hosts and waits of a critical path are the application's time; pieces are their wait."""
    for path in critical.paths(run):
        name = path.graph.traffic
        if path.ideal_ps + path.wait_ps != path.end_ps - path.start_ps:
            yield f"the critical path of {name} is {path.ideal_ps + path.wait_ps} ps, not {path.end_ps - path.start_ps}"
        found = critical.of(run, path, top=3)
        for wait in found.waits:
            if (pieces := sum(piece.ps for piece, _ in wait.pieces)) != wait.ps:
                yield f"the pieces of a wait of {name} are {pieces} ps, not {wait.ps}"
            if not found.time_ps - wait.ps <= wait.without_ps <= found.time_ps:
                yield f"without a wait of {wait.ps} ps {name} takes {wait.without_ps} ps, not less than {found.time_ps}"
        if (rest := found.kinds.get("not explained")) and not _is_put(run, name):
            yield f"{rest} ps of the waits of {name} are not explained"


def _is_put(run: Results, name: str) -> bool:
    """Whether a traffic entry sends PUTs, which wait on each of their ways."""
    return any(entry["name"] == name and entry.get("transport") == "put" for entry in run.meta["scenario"]["traffic"])


def _page(run: Results) -> Iterator[str]:
    found = read(packed(run))
    for table, keys in (("roots", ("port",)), ("feeding", ("root", "flow")), ("waits", ("flow", "port"))):
        rows = [tuple(row[key] for key in keys) for row in found.table(table)]
        if len(set(rows)) != len(rows):
            yield f"the page has a row of {table} twice"
    if not 0 <= found.header["opening"]["time_ps"] <= found.header["end_ps"]:
        yield f"the page opens outside of the run: {found.header['opening']}"


def _chromium() -> str | None:
    return os.environ.get("CHROMIUM") or shutil.which("chromium")


def _in_chromium(file: Path) -> Iterator[str]:
    browser = _chromium()
    if browser is None:
        return
    command = [browser, "--headless", "--no-sandbox", "--virtual-time-budget=5000", "--dump-dom", file.as_uri()]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)  # noqa: S603
    seen = re.sub(r"<script.*?</script>", "", done.stdout, flags=re.DOTALL)
    if "cannot be drawn" in seen or "This cannot be shown" in seen or "Congestion roots" not in seen:
        yield f"the page does not draw itself in Chromium: {seen[-400:]}"


def _smallest(made: Draw, folder: Path) -> Draw:
    """The draw without the features that its failure does not need."""
    without: frozenset[str] = frozenset()
    for name in made.features:
        fewer = draw(made.seed, without | {name})
        if _failures(fewer, folder / f"without-{name}"):
            without |= {name}
    return draw(made.seed, without)


def _failures(made: Draw, folder: Path) -> list[str]:
    try:
        return list(violations(made, folder))
    except _core.ScenarioError:
        return []
    except Exception as error:  # noqa: BLE001 - whatever it is, it is what is looked for
        return [f"{type(error).__name__}: {error}"]


def _told(made: Draw, found: list[str]) -> str:
    files = "".join(f"\n--- {name}\n{text}" for name, text in made.files.items())
    head = f"seed {made.seed} ({made.fabric}; {', '.join(made.features)})"
    return f"{head}:\n  " + "\n  ".join(found) + f"\n--- swarm.toml\n{toml(made.scenario)}{files}"


def _seeds() -> Iterator[int]:
    """The fixed seeds; with `SWARM_SECONDS` more and more of them until the time is over."""
    first = int(os.environ.get("SWARM_SEED", _FIRST))
    seconds = float(os.environ.get("SWARM_SECONDS", "0"))
    end = time.monotonic() + (seconds or _LONGEST)
    for number in itertools.count() if seconds else range(_DRAWS):
        if time.monotonic() > end:
            return
        yield first + number


def test_whatever_is_mixed_bytes_are_kept_time_is_explained_and_every_engine_agrees() -> None:
    refused: Counter[str] = Counter()
    features: Counter[str] = Counter()
    failed: list[str] = []
    drawn = 0
    for number, seed in enumerate(_seeds()):
        made, drawn = draw(seed), number + 1
        with tempfile.TemporaryDirectory() as place:
            folder = Path(place)
            try:
                found = list(violations(made, folder / "all", opened=number % _OPENED == 0))
            except _core.ScenarioError as error:
                refused[str(error).splitlines()[0][:100]] += 1
                continue
            except Exception as error:  # noqa: BLE001 - whatever it is, it is what is looked for
                found = [f"{type(error).__name__}: {error}"]
            features.update([made.fabric, *made.features])
            if found:
                small = _smallest(made, folder)
                failed.append(_told(small, _failures(small, folder / "small") or found))
                print(failed[-1], flush=True)
    print(f"{drawn} draws, {refused.total()} refused; {dict(features.most_common())}")
    assert not failed, "\n\n".join(failed)
    assert refused.total() <= max(1, _REFUSED * drawn), refused.most_common()


def test_draws_are_valid_and_mix_everything() -> None:
    refused: Counter[str] = Counter()
    features: Counter[str] = Counter()
    pairs: set[frozenset[str]] = set()
    for seed in range(300):
        made = draw(seed)
        with tempfile.TemporaryDirectory() as place:
            for file, text in made.files.items():
                (Path(place) / file).write_text(text)
            (Path(place) / "swarm.toml").write_text(toml(made.scenario))
            try:
                bw.validate(Path(place) / "swarm.toml")
            except bw.ScenarioError as error:
                refused[str(error).splitlines()[0][:100]] += 1
                continue
        features.update(made.features)
        pairs |= {frozenset((one, other)) for one in made.features for other in made.features if one < other}
    assert refused.total() <= _REFUSED * 300, refused.most_common()
    assert min(features.values()) >= 5
    # Slow hosts beside lanes, throttles beside programs, functions of users beside tight buffers, and so on.
    assert len(pairs) > 100


#: What met in none of the tests before there was a swarm, and bugs were found where it met.
_NAMED = ("put", "window", "throttle", "slow-host", "isolation", "lanes", "spread", "program", "own-function")


def test_draws_mix_each_pair_of_the_named_features_that_scenarios_may_have() -> None:
    met: Counter[frozenset[str]] = Counter()
    for seed in range(400):
        made = draw(seed)
        names = {*made.features, made.fabric, *(["put"] if made.fabric.startswith("loss") else [])}
        met.update(frozenset(pair) for pair in itertools.combinations(_NAMED, 2) if names >= set(pair))
    missing = {frozenset(pair) for pair in itertools.combinations(_NAMED, 2)} - {pair for pair in met if met[pair] >= 3}
    assert missing == {
        # Packets out of order are asked for again.
        frozenset(("put", "spread")),
        # Ranks have queue pairs for many messages, not a window for each.
        frozenset(("program", "window")),
        # Isolation moves flows between classes under way, and its trees have one way.
        frozenset(("isolation", "window")),
        frozenset(("isolation", "spread")),
        # A throttle goes by credits, and isolation by PFC.
        frozenset(("isolation", "throttle")),
    }


def test_a_draw_without_a_feature_is_otherwise_the_same() -> None:
    whole = draw(7)
    for name in whole.features:
        fewer = draw(7, frozenset({name}))
        assert fewer.features == [other for other in whole.features if other != name]
        assert fewer.scenario["topology"] == whole.scenario["topology"]


@pytest.mark.skipif(_chromium() is None, reason="no Chromium")
def test_a_page_that_fails_is_told(tmp_path: Path) -> None:
    """The check sees a broken page: one whose data is cut off."""
    run = _run(draw(3), tmp_path)
    whole = View([run]).write(tmp_path / "view.html")
    assert list(_in_chromium(whole)) == []
    page = whole.read_text(encoding="utf-8")
    data = page.index("x-backwater-run")
    broken = tmp_path / "broken.html"
    broken.write_text(page[: data + 400] + page[page.index("</script>", data) :], encoding="utf-8")
    (told,) = _in_chromium(broken)
    assert "does not draw itself" in told


class _Other:
    """A run whose records say something else."""

    def __init__(self, run: Results, **changed: pl.DataFrame) -> None:
        tables = {"flows": run.flows.collect(), "ports": run.ports.collect()} | changed
        self.flows, self.ports, self.meta = tables["flows"].lazy(), tables["ports"].lazy(), run.meta

    def has(self, _: str) -> bool:
        """Nothing besides."""
        return False


def _other(run: Results, **changed: pl.DataFrame) -> Results:
    return cast("Results", _Other(run, **changed))


def _less(table: pl.DataFrame, column: str, row: int, by: int) -> pl.DataFrame:
    """The table with another value in one cell."""
    number = pl.int_range(pl.len())
    value = pl.col(column).cast(pl.Int64)
    return table.with_columns(pl.when(number == row).then(value - by).otherwise(value).alias(column))


def test_a_record_with_one_packet_or_byte_too_many_or_too_few_is_told(tmp_path: Path) -> None:
    """A star of 4 hosts at one switch, 3 of them with a flow of 10 packets to h0: 30 packets come and 30 go."""
    made = bw.run(
        {
            "profile": "authors",
            "topology": {"kind": "star", "hosts": 4, "rate": "40Gbps", "delay": "1us"},
            "packet": {"payload": "1000B", "header": "20B"},
            "cc": {"kind": "none"},
            "traffic": [{"name": "i", "kind": "incast", "to": "h0", "size": "10KB"}],
        },
        out=tmp_path / "run",
    )
    assert isinstance(made, bw.Results)
    flows, ports = made.flows.collect(), made.ports.collect()
    data = ports.with_row_index("row").filter(pl.col("priority").is_in(measures.data_priorities(made)))
    into = data.filter((pl.col("peer") == "s") & (pl.col("packets") > 0))
    down = data.filter((pl.col("node") == "s") & (pl.col("peer") == "h0") & (pl.col("packets") > 0))
    assert into["packets"].to_list() == [10, 10, 10]
    assert down["packets"].to_list() == [30]
    assert down["sent_bytes"].to_list() == [30 * 1020]
    assert list(_conservation(_other(made))) == []
    for by in (1, -1):
        for table, column, row in (
            (ports, "packets", into["row"][0]),
            (ports, "packets", down["row"][0]),
            (ports, "sent_bytes", down["row"][0]),
            (ports, "dropped_packets", down["row"][0]),
            (flows, "received_bytes", 0),
        ):
            name = "flows" if table is flows else "ports"
            assert list(_conservation(_other(made, **{name: _less(table, column, row, by)}))), (column, row, by)
