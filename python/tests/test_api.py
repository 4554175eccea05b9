"""`import backwater as bw`: experiments, runs, tables for other libraries, graphs and frames as input, Ctrl-C."""
# networkx, pandas and pyarrow have no types.
# mypy: disable-error-code="import-untyped"

import json
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path
from typing import Any

import backwater as bw
import networkx as nx
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from backwater.api.inputs import topology
from backwater.scenario.toml_writer import toml, value_text

ROOT = Path(__file__).parents[2]
STAR: dict[str, Any] = {
    "profile": "authors",
    "topology": {"kind": "star", "hosts": 4, "rate": "40Gbps", "delay": "1us"},
    "traffic": [{"name": "incast", "kind": "incast", "to": "h0", "size": "100KB"}],
    "probe": {"blame": False},
}


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_importing_it_is_quick_and_brings_no_tables_or_figures() -> None:
    code = (
        "import sys, time; begin = time.process_time(); import backwater; took = time.process_time() - begin;"
        "print(took, [name for name in ('polars', 'numpy', 'matplotlib', 'numba', 'pydantic') if name in sys.modules])"
    )
    made = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)  # noqa: S603
    took, _, heavy = made.stdout.strip().partition(" ")
    assert float(took) < 0.1
    assert heavy == "[]"


def test_everything_that_it_offers_is_there_and_documented() -> None:
    assert set(bw.__all__) <= set(dir(bw))
    for name in bw.__all__:
        thing = getattr(bw, name)
        if callable(thing):
            assert thing.__doc__, name
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        _ = bw.nothing


def test_a_mapping_keyword_arguments_and_a_file_say_the_same() -> None:
    Path("star.toml").write_text(toml(STAR))
    runs = [
        bw.run(STAR, out="mapping"),
        bw.run(bw.Experiment(**STAR), out="keywords"),
        bw.run("star.toml", out="file"),
        bw.run(bw.Experiment("star.toml", profile="authors", probe={"blame": False}), out="both"),
    ]
    assert len({run.digest for run in runs if isinstance(run, bw.Results)}) == 1
    assert len(runs) == 4


def test_setting_a_value_is_the_override_of_the_command_line() -> None:
    set_ = bw.run(bw.Experiment(STAR).set("traffic.size", "200KB").set("run.seed", 7), out="set")
    given = bw.run(STAR, overrides=["traffic.size=200KB", "run.seed=7"], out="given")
    assert isinstance(set_, bw.Results)
    assert (set_.digest, set_.meta["seed"]) == (given.digest, 7)


def test_sweeps_make_every_combination_over_the_seeds() -> None:
    sizes = ["50KB", "100KB"]
    experiment = bw.Experiment(STAR).sweep("traffic.incast.size", sizes).sweep("cc.kind", ["none", "dcqcn"])
    runs = bw.run(experiment, seeds=[3, 4, 5], out="runs", jobs=2)
    assert isinstance(runs, bw.Runs)
    assert len(runs) == 12
    assert [labels["seed"] for labels in runs.labels][:3] == [3, 4, 5]
    assert runs.pick(kind="none", seed=4).summary.height == 2
    flows = runs.flows.collect()
    assert flows.height == 12 * 3
    assert set(flows["traffic.incast.size"]) == set(sizes)
    assert flows.filter(pl.col("traffic.incast.size") == "50KB")["size_bytes"].unique().to_list() == [50_000]
    assert "12 runs" in repr(runs)
    assert "12 runs" in runs._repr_html_()
    assert len({run.folder for run in runs}) == 12
    with pytest.raises(bw.UsageError, match="no run has"):
        runs.pick(kind="absent")


def test_an_interval_is_students_over_the_seeds_means() -> None:
    frame = pl.LazyFrame({"x": [1.0, 3.0, 4.0, 4.0, 6.0, 8.0, None], "seed": [1, 1, 2, 2, 3, 3, 3], "g": ["a"] * 7})
    found = frame.group_by("g").agg(bw.ci("x")).unnest("x").collect().to_dicts()[0]
    # Means 2, 4, 7: 13/3, deviation sqrt(19/3), t = 4.303 for two degrees of freedom.
    half = 4.303 * (19 / 3) ** 0.5 / 3**0.5
    assert found["mean"] == pytest.approx(13 / 3)
    assert (found["low"], found["high"]) == (pytest.approx(13 / 3 - half), pytest.approx(13 / 3 + half))
    assert found["seeds"] == 3
    largest = frame.group_by("g").agg(bw.ci("x", q=1)).unnest("x").collect()["mean"].item()
    assert largest == pytest.approx(5.0)
    alone = frame.filter(pl.col("seed") == 1).group_by("g").agg(bw.ci("x")).unnest("x").collect().to_dicts()[0]
    assert (alone["mean"], alone["low"], alone["high"], alone["seeds"]) == (2.0, None, None, 1)
    with pytest.raises(bw.UsageError, match="q = 99 is no quantile"):
        bw.ci("x", q=99)


def test_other_libraries_read_the_tables_by_themselves() -> None:
    results = bw.run(STAR, out="out")
    assert pa.table(results["flows"]).num_rows == 3
    assert pd.DataFrame.from_arrow(results["flows"]).shape[0] == 3
    assert results["ports"].lazy().collect().height > 0
    with pytest.raises(bw.UsageError, match="has no table 'absent'"):
        _ = results["absent"]
    runs = bw.run(STAR, seeds=2, out="runs")
    assert pa.table(runs).num_rows == 6


def test_a_run_shows_itself_and_its_figures() -> None:
    results = bw.run(STAR, out="out", overrides=['probe.ports=["s->h0"]', "probe.sample=1us", 'probe.rates=["incast"]'])
    assert results.digest in results._repr_html_()
    assert results.summary["flows"].to_list() == [3]
    for kind in (None, "queues", "rates", "slowdown"):
        figure = results.plot(kind)
        assert figure.axes[0].get_xlabel()
        assert figure.axes[0].lines
    with pytest.raises(bw.UsageError, match="choose of queues, rates, slowdown"):
        results.plot("pie")
    with pytest.raises(bw.UsageError, match=r"run it again with --set probe\.blame=true"):
        results.blame()
    blamed = bw.run(STAR, out="blamed", overrides=["probe.blame=true"])
    assert blamed.blame().flows.height == 3


def graph() -> Any:
    made = nx.Graph(rate="40Gbps", delay_ps=1_000_000)
    for leaf in "AB":
        made.add_edge(leaf, "spine", delay="4us")
        for host in range(2):
            made.add_edge(leaf, f"{leaf}{host}")
    return made


FLOWS = {"src": ["A0", "A1"], "dst": ["B0", "B0"], "size_bytes": [10_000, 20_000], "start_ps": [0, 1_000_000_001]}


def test_a_graph_is_a_topology() -> None:
    tables = topology(graph())
    assert sorted(tables["hosts"]) == ["A0", "A1", "B0", "B1"]
    assert sorted(tables["switches"]) == ["A", "B", "spine"]
    links = {frozenset((link["a"], link["b"])): (link["rate"], link["delay"]) for link in tables["links"]}
    assert links[frozenset(("A", "spine"))] == ("40Gbps", "4us")
    assert links[frozenset(("A", "A0"))] == ("40Gbps", "1000000ps")
    directed = topology(graph().to_directed())
    assert len(directed["links"]) == len(tables["links"])


def test_a_multigraph_may_join_two_nodes_by_several_links() -> None:
    made = nx.MultiGraph(graph())
    made.add_edge("A", "spine", delay="4us")
    tables = topology(made)
    assert tables["parallel-links"] is True
    assert len(tables["links"]) == 7
    assert len(topology(made.to_directed())["links"]) == 7


@pytest.mark.parametrize("kind", ["polars", "lazy", "pandas", "arrow", "columns"])
def test_frames_of_any_library_are_flows_exact_to_the_picosecond(kind: str) -> None:
    made = {
        "polars": pl.DataFrame,
        "lazy": pl.LazyFrame,
        "pandas": pd.DataFrame,
        "arrow": pa.table,
        "columns": lambda columns: [{"name": "flows", "flows": columns}],
    }[kind](FLOWS)
    results = bw.run(bw.Experiment(topology=graph(), traffic=made, probe={"blame": False}), out="out")
    assert isinstance(results, bw.Results)
    flows = results.flows.collect()
    assert (
        flows.select("src", "dst", "size_bytes", "start_ps").cast({"src": str, "dst": str}).to_dict(as_series=False)
        == FLOWS
    )
    # The files that were written for the run are beside the results: the text of the scenario can be run there.
    Path("out/again.toml").write_text(results.meta["scenario_text"])
    assert bw.run("out/again.toml", out="again").digest == results.digest


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"src": ["A0", "nowhere"]}, "row 1: host 'nowhere' is not there; names are of A0"),
        ({"size_bytes": [1.5, 2.0]}, "row 0: size_bytes 1.5 is not a whole number"),
        ({"start_ps": [0, -1]}, "row 1: start_ps -1 is not a whole number"),
        ({"start_ps": [0, None]}, "row 1: start_ps None is not a whole number"),
        ({"size": [1, 2], "size_bytes": None}, "the table has no size_bytes (it has src, dst, start_ps, size)"),
    ],
)
def test_a_table_that_is_no_flow_list_is_refused_with_the_row(change: dict[str, Any], message: str) -> None:
    columns = {name: values for name, values in {**FLOWS, **change}.items() if values is not None}
    with pytest.raises(bw.UsageError) as error:
        bw.Experiment(topology=graph(), traffic=pl.DataFrame(columns))
    assert message in str(error.value)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: nx.Graph(), "has no nodes"),
        (lambda: nx.path_graph(3), "link 0 - 1 has no rate; give the edge, or the graph, rate='100Gbps' or rate_bps"),
        (lambda: nx.Graph([(1, 2)], rate_bps=-1, delay="1us"), "rate_bps -1 is not a whole number"),
        (lambda: nx.Graph([(1, 2), ("1", 2)]), "two nodes of the graph have the same name"),
    ],
)
def test_a_graph_that_is_no_topology_is_refused(make: Any, message: str) -> None:
    with pytest.raises(bw.UsageError) as error:
        bw.Experiment(topology=make(), traffic=[])
    assert message in str(error.value)


@pytest.mark.parametrize(
    ("made", "message"),
    [
        (lambda: bw.Experiment(3), "is made of a file, a mapping or keyword arguments"),  # type: ignore[arg-type]
        (lambda: bw.Experiment("absent.toml"), "there is no scenario file"),
        (lambda: bw.Experiment(topology=object()), "which a scenario cannot hold"),
        (lambda: bw.Experiment(STAR).sweep("cc.kind", []), "there are no values"),
        (lambda: bw.Experiment(STAR).sweep("cc.kind", ["none"]).sweep("cc.kind", ["none"]), "given twice"),
        (lambda: bw.Experiment(STAR).seeds(0), "at least one run"),
        (lambda: bw.run(STAR, jobs=0), "give a number of runs at a time"),
        (lambda: bw.run(bw.Experiment(STAR), seed=1, seeds=[2]), "give seed for one run, or seeds for several"),
        (lambda: bw.Experiment(traffic=[3]), "is no entry"),
    ],
)
def test_what_is_no_experiment_is_refused(made: Any, message: str) -> None:
    with pytest.raises(bw.UsageError) as error:
        made()
    assert message in str(error.value)


def test_values_are_written_as_toml_reads_them() -> None:
    import tomllib

    value = {"text": 'a "b" \\ \n é \x7f', "n": -3, "x": 1e-9, "yes": True, "list": [1, [2.5, "x"]], "in": {"a b": 1}}
    assert tomllib.loads(f"value = {value_text(value)}")["value"] == value
    assert tomllib.loads(toml({"table": value, "list": [value, value]})) == {"table": value, "list": [value, value]}


ENDLESS = """
import sys, threading, time
import backwater as bw
TEXT = {"profile": "authors", "topology": {"kind": "star", "hosts": 9, "rate": "100Gbps", "delay": "1us"},
        "traffic": [{"name": "on", "kind": "long-lived", "from": ["*", "!h0"], "to": "h0"}],
        "run": {"until": "10000s"}, "probe": {"blame": False}}
"""


def child(code: str) -> subprocess.Popen[str]:
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "python")}
    code = ENDLESS + textwrap.dedent(code)
    return subprocess.Popen(  # noqa: S603
        [sys.executable, "-u", "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment
    )


@pytest.mark.skipif(os.name != "posix", reason="sends a Unix signal")
@pytest.mark.parametrize("function", ["", "plain"])
def test_ctrl_c_ends_a_run_at_once_and_leaves_whole_tables(function: str) -> None:
    given = ""
    if function:
        # One that never returns.
        given = """
        @bw.congestion_control(on=["cnp", "send"], compiled=False)
        def stuck(flow, event):
            while True:
                pass
        """
    code = f"""
    {textwrap.indent(textwrap.dedent(given), "    ").strip()}
    run = bw.run  # so that no import counts
    threading.Timer(1.0, lambda: print("running")).start()
    try:
        run(TEXT, out="out"{", cc=stuck" if function else ""})
    except KeyboardInterrupt:
        print("interrupted")
    """
    lines = [line.removeprefix("    ") for line in code.splitlines()]
    with child("\n".join(lines)) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "running\n"
        begin = time.monotonic()
        process.send_signal(signal.SIGINT)
        said = process.stdout.readline()
        took = time.monotonic() - begin
        _, errors = process.communicate(timeout=30)
    assert said == "interrupted\n", errors
    # Half a second on a machine that has nothing else to do.
    assert took < 0.5 * (1 + os.getloadavg()[0] / (os.cpu_count() or 1))
    if function:
        assert not Path("out").exists()
    else:
        results = bw.Results("out")
        assert not results.complete
        for table in results.tables:
            results.check(table)
    assert not list(Path().rglob("*.part"))


def test_other_threads_go_on_while_a_run_runs() -> None:
    beats = 0
    over = threading.Event()

    def count() -> None:
        nonlocal beats
        while not over.is_set():
            beats += 1
            time.sleep(0.001)

    other = threading.Thread(target=count)
    other.start()
    begin = time.monotonic()
    bw.run(STAR, overrides=["traffic.size=30MB"], out="out")
    took = time.monotonic() - begin
    over.set()
    other.join()
    # A run that held the interpreter would leave none.
    assert beats > 20 * took


def test_an_experiment_tells_what_it_will_do_before() -> None:
    experiment = bw.Experiment(STAR).set("cc.kind", "none").sweep("run.threads", [1, 2])
    assert experiment.validate()["cc"]["kind"] == "none"
    assert "2 runs" in repr(experiment)
    other = experiment.copy().set("cc.kind", "dcqcn")
    assert (experiment.validate()["cc"]["kind"], other.validate()["cc"]["kind"]) == ("none", "dcqcn")
    assert json.loads(json.dumps(experiment.runs())) == [[["run.threads=1"], None], [["run.threads=2"], None]]
