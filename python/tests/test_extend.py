"""Controllers and detectors of the user's own: what they give, what they are told, what happens when they fail."""

import ctypes
import importlib.util
import json
import subprocess
import sys
from pathlib import Path

import backwater as bw
import pytest
from backwater import _core, cli
from backwater.errors import Exit
from backwater.extend import abi, faults
from backwater.extend.functions import UserFunction

ROOT = Path(__file__).parents[2]
DCQCN = ROOT / "scenarios" / "custom" / "dcqcn.toml"

STAR = """
profile = "authors"
[topology]
kind = "star"
hosts = 5
rate = "40Gbps"
delay = "1us"
[cc]
kind = "custom"
custom.function = "mine.py:mine"
[[traffic]]
name = "incast"
kind = "incast"
to = "h0"
size = "300KB"
[probe]
blame = false
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "star.toml").write_text(STAR)
    return tmp_path


def write(folder: Path, body: str, decorator: str = '@bw.congestion_control(on=["cnp"], state={"n": int})') -> Path:
    lines = "".join(f"    {line}\n" for line in body.splitlines())
    text = f"import math\nimport sys\nimport backwater as bw\n\n{decorator}\ndef mine(flow, event):\n{lines}"
    (folder / "mine.py").write_text(text)
    return folder / "star.toml"


def refused(folder: Path, body: str, **more: str) -> str:
    """What a run with a function of this body says, compiled and plain; nothing may be left of it."""
    said = []
    for compiled in (True, False):
        decorator = more.get("decorator", "@bw.congestion_control(on=['cnp'], state={'n': int}, compiled=COMPILED)")
        file = write(folder, body, decorator.replace("COMPILED", str(compiled)))
        with pytest.raises(bw.UserCodeError) as error, pytest.warns() if not compiled else _nothing():
            bw.run(file, out=folder / "out")
        assert not (folder / "out").exists()
        said.append(str(error.value).split(" 00")[0])
    assert said[0] == said[1]
    return said[0]


class _nothing:  # noqa: N801
    def __enter__(self) -> None: ...
    def __exit__(self, *_: object) -> None: ...


def dcqcn(out: Path, *overrides: str, compiled: bool = True) -> bw.Results:
    experiment = bw.Experiment(DCQCN).set("traffic.size", "3MB")
    if not compiled:
        code = (DCQCN.parent / "dcqcn.py").read_text().replace('"send"])', '"send"], compiled=False)')
        (out.parent / "plain.py").write_text(code)
        experiment.set("cc.custom.function", f"{out.parent / 'plain.py'}:dcqcn")
    made = bw.run(experiment, overrides=overrides, out=out)
    assert isinstance(made, bw.Results)
    return made


def test_dcqcn_as_a_function_gives_the_very_same_run_as_the_one_that_is_built_in(tmp_path: Path) -> None:
    native = dcqcn(tmp_path / "native", "cc.kind=dcqcn").digest
    blind = "probe.blame=false"
    assert dcqcn(tmp_path / "compiled").digest == native
    assert dcqcn(tmp_path / "threads", "run.threads=2").digest == native
    assert dcqcn(tmp_path / "blind", blind).digest == native
    sampled = dcqcn(tmp_path / "sampled", 'probe.rates=["incast"]', "probe.sample=1us")
    assert sampled.digest == native
    assert sampled.has("rates")
    with pytest.warns(bw.PlainPythonWarning, match=r"plain Python: a call takes \d us"):
        assert dcqcn(tmp_path / "plain", blind, compiled=False).digest == native


def test_with_undetermined_marks_and_another_rate_it_is_the_same_too(tmp_path: Path) -> None:
    scenario = (ROOT / "scenarios" / "multi-congestion-points.toml").read_text()
    (tmp_path / "scene.toml").write_text(scenario)
    native = bw.run(
        tmp_path / "scene.toml", out=tmp_path / "native", overrides=["cc.kind=dcqcn", "cc.dcqcn.on-ue=reset-hold"]
    )
    assert native.flows.collect()["cnps_ue"].sum() > 0
    mine = ["cc.kind=custom", f"cc.custom.function={DCQCN.parent / 'dcqcn.py'}:dcqcn"]
    alpha = native.meta["scenario"]["cc"]["dcqcn"]["alpha-initial"]
    mine.append(f"cc.custom.parameters.alpha={alpha}")
    assert bw.run(tmp_path / "scene.toml", out=tmp_path / "mine", overrides=mine).digest == native.digest


def test_red_as_a_function_marks_the_same_packets_as_the_one_that_is_built_in(folder: Path) -> None:
    red = """
if event.kind != bw.DEPARTURE:
    return
counted = max(event.queue_bytes - 1030, 0)
if counted > 206_000:
    queue.ce = 1.0
elif counted > 5_150:
    queue.ce = 0.01 / (206_000 - 5_150) * (counted - 5_150)
queue.state = bw.CONGESTION if counted > 206_000 else bw.NON_CONGESTION
"""
    body = "".join(f"    {line}\n" for line in red.strip().splitlines())
    for compiled in (True, False):
        text = f"import backwater as bw\n@bw.detector(compiled={compiled})\ndef red(queue, event):\n{body}"
        (folder / f"red_{compiled}.py").write_text(text)
    native = ["cc.kind=dcqcn", "switch.detector.kind=red", "traffic.size=2MB"]
    known = bw.run("star.toml", out="native", overrides=native)
    assert known.flows.collect()["ce_packets"].sum() > 100
    mine = [
        *native,
        "switch.detector.kind=custom",
        "switch.detector.custom.function=red_True.py:red",
        "probe.states=true",
    ]
    for more in ((), ("run.threads=2",)):
        assert bw.run("star.toml", out="mine", overrides=[*mine, *more]).digest == known.digest
    with pytest.warns(bw.PlainPythonWarning):
        plain = bw.run("star.toml", out="plain", overrides=[*mine, "switch.detector.custom.function=red_False.py:red"])
    assert plain.digest == known.digest
    # The function itself, where it is at hand.
    spec = importlib.util.spec_from_file_location("red_True", folder / "red_True.py")
    assert spec is not None
    assert spec.loader is not None
    spec.loader.exec_module(module := importlib.util.module_from_spec(spec))
    assert bw.run("star.toml", out="given", overrides=native, detector=module.red).digest == known.digest
    assert plain.meta["functions"][0]["place"] == "switch.detector"


def test_what_the_function_is_stands_in_run_json(folder: Path) -> None:
    import hashlib

    file = write(folder, "flow.rate_bps = max(flow.rate_bps / 2, 1e8)")
    facts = bw.run(file, out="out", overrides=["cc.custom.parameters.n=3"]).meta["functions"]
    digest = hashlib.sha256((folder / "mine.py").read_bytes()).hexdigest()
    assert [(one["place"], one["function"], one["sha256"]) for one in facts] == [("cc", "mine.py:mine", digest)]
    assert facts[0]["state"] == {"n": 3}
    assert "flow.rate_bps / 2" in facts[0]["source"]


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("flow.rate_bps = math.nan", "the rate became NaN bit/s"),
        ("flow.rate_bps = -1e9", "the rate became -1000000000 bit/s"),
        ("flow.rate_bps = 0.0", "the rate became 0 bit/s"),
        ("flow.rate_bps = math.inf", "the rate became inf bit/s"),
        ("flow.timer_ps = event.now_ps", "the timer that was due was set to"),
        ("flow.n = 1 // flow.n", "it raised ZeroDivisionError"),
        ("flow.n += 1\nif flow.n == 2:\n    raise ValueError('no')", "it raised ValueError: no"),
    ],
)
def test_what_is_no_answer_ends_the_run_with_the_function_and_its_line(folder: Path, body: str, message: str) -> None:
    said = refused(folder, body)
    assert said.startswith("congestion control mine.py:mine (mine.py:")
    assert message in said
    assert "of flow " in said
    assert "us, " in said


@pytest.mark.parametrize("value", [2**70, -(2**63) - 1])
@pytest.mark.parametrize("field", ["timer_ps", "n"])
def test_an_integer_that_does_not_fit_its_field_is_refused(folder: Path, field: str, value: int) -> None:
    # ctypes keeps the lower 64 bits: 2**70 would be a timer at 0 ps.
    file = write(
        folder,
        f"flow.{field} = {value}",
        "@bw.congestion_control(on=['cnp'], state={'n': int}, compiled=False)",
    )
    with pytest.warns(bw.PlainPythonWarning), pytest.raises(bw.UserCodeError) as error:
        bw.run(file, out="out")
    assert f"it raised OverflowError: {field} = {value} does not fit 64 bits" in str(error.value)


@pytest.mark.parametrize("compiled", [True, False])
def test_a_packet_due_after_the_longest_run_is_no_deadlock(folder: Path, compiled: bool) -> None:
    # At 1 bit/s a packet of 1 KB takes more than two hours of the five that a run can last.
    file = write(folder, "pass", f"@bw.congestion_control(on=['cnp'], initial_rate_bps=1.0, compiled={compiled})")
    (folder / "star.toml").write_text(STAR.replace('kind = "incast"', 'kind = "flow"\nfrom = "h1"'))
    warns = pytest.warns(bw.PlainPythonWarning) if not compiled else _nothing()
    with warns, pytest.raises(bw.InvariantError, match=r"18014.* the longest simulated time is reached, 1 flow"):
        bw.run(file, out="out")
    warns = pytest.warns(bw.PlainPythonWarning) if not compiled else _nothing()
    with warns:
        ended = bw.run(file, out="out", overrides=["run.until=18000s"])
    assert (ended.meta["status"], ended.meta["sim_time_ps"]) == ("complete", 18_000 * 10**12)
    assert ended.flows.collect()["finish_ps"].to_list() == [None]


@pytest.mark.parametrize(
    ("body", "raised"),
    [("sys.exit(0)", SystemExit), ("raise KeyboardInterrupt", KeyboardInterrupt), ("return 3", TypeError)],
)
def test_a_plain_function_cannot_leave_in_silence(folder: Path, body: str, raised: type) -> None:
    file = write(folder, body, "@bw.congestion_control(on=['cnp'], compiled=False)")
    with pytest.warns(bw.PlainPythonWarning), pytest.raises(bw.UserCodeError, match=raised.__name__) as error:
        bw.run(file, out="out")
    assert isinstance(error.value.__cause__, raised)
    assert not (folder / "out").exists()


def test_the_users_line_is_shown_also_of_machine_code(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(folder, "k = flow.n\nflow.n = 5 // k")
    assert cli.main(["run", "star.toml"]) == Exit.BAD_INPUT
    said = capsys.readouterr().err
    assert 'mine.py", line 8, in mine' in said
    assert "flow.n = 5 // k" in said
    assert "extend/" not in said
    assert not list(folder.glob("results/*"))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("import backwater as bw\n", "has no 'mine'; it has no decorated function"),
        ("def mine(flow, event): pass\n", "mine is not decorated; put @bw.congestion_control"),
        ("import backwater as bw\n@bw.congestion_control()\ndef min(flow, event): pass\n", "did you mean 'min'?"),
        (
            "import backwater as bw\n@bw.congestion_control()\ndef mine(flow): pass\n",
            r"takes (flow), expected (flow, event)",
        ),
        ("import backwater as bw\n@bw.congestion_control()\ndef mine(*a): pass\n", "expected (flow, event)"),
        ("import backwater as bw\n@bw.congestion_control()\ndef mine(f, e): return 1\n", "must return nothing"),
        ("import backwater as bw\n@bw.congestion_control()\ndef mine(f, e): f.rat = 1\n", "cannot be compiled"),
        (
            "import backwater as bw\n@bw.congestion_control(on=['cpn'])\ndef mine(f, e): pass\n",
            "on = 'cpn' is not known",
        ),
        ("import backwater as bw\n@bw.congestion_control(state={'a': 'x'})\ndef mine(f, e): pass\n", "is not a number"),
        (
            "import backwater as bw\n@bw.congestion_control(state={'rate_bps': 1})\ndef mine(f, e): pass\n",
            "is there already",
        ),
        ("import backwater as bw\n@bw.congestion_control(state=3)\ndef mine(f, e): pass\n", "is not a mapping"),
        (
            "import backwater as bw\n@bw.congestion_control(state=dict.fromkeys(map('a{}'.format, range(30)), 0))\n"
            "def mine(f, e): pass\n",
            "30 words of state; a congestion control has at most 29",
        ),
        (
            "import backwater as bw\n@bw.detector()\ndef mine(f, e): pass\n",
            "is a detector, expected a congestion control",
        ),
        ("import sys\nsys.exit(0)\n", "importing it raised SystemExit: 0"),
        ("raise KeyboardInterrupt\n", "importing it raised KeyboardInterrupt"),
        ("import nothing_of_this_name\n", "importing it raised ModuleNotFoundError"),
        ("def mine(:\n", "importing it raised SyntaxError"),
        ("\x00", "importing it raised SyntaxError"),
    ],
)
def test_a_function_that_cannot_be_used_is_refused_with_its_place(folder: Path, text: str, message: str) -> None:
    (folder / "mine.py").write_text(text)
    with pytest.raises(bw.UserCodeError) as error:
        bw.run("star.toml", out="out")
    assert message in str(error.value)
    assert not (folder / "out").exists()


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("cc.custom.function=absent.py:mine", "there is no file"),
        ("cc.custom.function=mine.so:mine", "there is no library"),
        ("cc.custom.function=nothing.of.this:name", "importing it raised ModuleNotFoundError"),
        ("cc.custom.function=python:mine-12345678", "was a function of a Python session that has ended"),
        ("cc.custom.parameters.absent=1", "the function has no state of this name; it has n"),
        ("cc.custom.parameters.n=1.5", "it is a whole number"),
    ],
)
def test_what_a_scenario_names_and_is_not_there_is_refused(folder: Path, override: str, message: str) -> None:
    file = write(folder, "flow.rate_bps = 1e9")
    with pytest.raises(bw.UserCodeError) as error:
        bw.run(file, out="out", overrides=[override])
    assert message in str(error.value)


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("cc.custom.function=mine", "is not a file or module and a name"),
        ("cc.custom.function=:mine", "is not a file or module and a name"),
        ("cc.custom.function=7", "expected a text in quotes"),
        ("cc.custom.parameters=3", "expected a table"),
        ('cc.custom.parameters={n="x"}', "expected a number"),
        ("cc.custom.feedback=int", "is not known"),
        ("switch.detector.kind=custom", "switch.detector.custom.function does not say which function"),
    ],
)
def test_a_scenario_that_names_no_function_is_refused_with_its_line(folder: Path, override: str, message: str) -> None:
    file = write(folder, "flow.rate_bps = 1e9")
    with pytest.raises(bw.ScenarioError, match="nothing was run") as error:
        bw.run(file, out="out", overrides=[override])
    assert message in str(error.value)


def test_the_core_without_the_package_does_not_run_them(folder: Path) -> None:
    with pytest.raises(bw.ScenarioError, match=r"have not been loaded; run it with backwater\.run"):
        _core.Scenario((folder / "star.toml").read_text(), "star.toml", folder, []).run()


@pytest.mark.parametrize(
    ("events", "overrides", "fix"),
    [
        # The profile `authors` sends no ACKs; round-trip times take the place of CNPs; without marks neither comes.
        ('["ack"]', (), 'No ACK comes, as ack.every = 0: set cc.custom.feedback = "rtt"'),
        ('["cnp"]', ("cc.custom.feedback=rtt",), 'cc.custom.feedback = "rtt" sends no CNPs'),
        ('["cnp", "ack"]', ("switch.detector.kind=none", "ack.every=1"), 'detector.kind = "none" marks no packet'),
        ("[]", (), "it is notified of nothing; choose of send, ack, cnp"),
    ],
)
def test_a_controller_that_can_never_be_called_is_refused(
    folder: Path, capsys: pytest.CaptureFixture[str], events: str, overrides: tuple[str, ...], fix: str
) -> None:
    file = write(folder, "flow.rate_bps = 1e9", f"@bw.congestion_control(on={events})")
    with pytest.raises(bw.UserCodeError) as error:
        bw.run(file, out="out", overrides=overrides)
    assert "cc.custom.function = 'mine.py:mine' is never called" in str(error.value)
    assert fix in str(error.value)
    assert not (folder / "out").exists()
    assert cli.main(["run", str(file), *(word for one in overrides for word in ("--set", one))]) == Exit.BAD_INPUT
    assert "error[never-called]: cc.custom.function" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("events", "overrides"),
    [
        ('["ack"]', ("cc.custom.feedback=rtt", "switch.detector.kind=none")),
        ('["ack"]', ("ack.every=1",)),
        ('["send"]', ("cc.custom.feedback=rtt",)),
        # Where two entries have it, one that calls it will do.
        ('["ack"]', ("traffic.cc.custom.feedback=rtt",)),
    ],
)
def test_a_controller_that_some_flow_calls_runs(folder: Path, events: str, overrides: tuple[str, ...]) -> None:
    file = write(folder, "raise ValueError", f"@bw.congestion_control(on={events})")
    with pytest.raises(bw.UserCodeError, match="ValueError"):
        bw.run(file, out="out", overrides=overrides)


def test_plain_functions_run_on_one_thread(folder: Path) -> None:
    file = write(folder, "flow.rate_bps = 1e9", "@bw.congestion_control(compiled=False)")
    with pytest.warns(bw.PlainPythonWarning), pytest.raises(bw.UserCodeError, match=r"set run\.threads = 1"):
        bw.run(file, out="out", threads=2)


def test_without_numba_the_extra_is_named(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = write(folder, "flow.rate_bps = 1e9")
    monkeypatch.setitem(sys.modules, "numba", None)
    with pytest.raises(bw.UserCodeError, match=r"pip install 'backwater\[jit\]'"):
        bw.run(file, out="out")


def test_round_trip_times_are_told_where_the_scenario_asks_for_them(folder: Path) -> None:
    body = "if event.kind == bw.ACK and event.rtt_ps > 100_000_000:\n    flow.rate_bps = max(flow.rate_bps * 0.9, 1e8)"
    file = write(folder, body, '@bw.congestion_control(on="ack")')
    slow = bw.run(file, out="rtt", overrides=["cc.custom.feedback=rtt", "traffic.size=2MB"])
    fast = bw.run(file, out="none", overrides=["cc.kind=none", "traffic.size=2MB"])
    assert slow.flows.collect()["paced_ps"].sum() > fast.flows.collect()["paced_ps"].sum()


def test_a_function_can_be_called_like_any_other() -> None:
    @bw.congestion_control()
    def halve(flow, event):  # type: ignore[no-untyped-def]  # noqa: ARG001
        flow.rate_bps /= 2

    class Flow:
        rate_bps = 8.0

    flow = Flow()
    halve(flow, None)
    assert flow.rate_bps == 4
    assert isinstance(halve, UserFunction)
    assert "test_extend.py" in repr(halve)


def test_the_structs_have_the_sizes_of_the_core() -> None:
    flow, event, queue, port_event, words, queue_words = _core.abi()
    for interface, state, happened, count in (
        (abi.CONTROLLER, flow, event, words),
        (abi.DETECTOR, queue, port_event, queue_words),
    ):
        assert interface.words == count
        full = abi.State.of(interface, {f"w{number}": 0.0 for number in range(count)}, "here")
        assert ctypes.sizeof(abi.structure("State", full.fields())) == state
        assert ctypes.sizeof(abi.structure("Event", interface.event)) == happened


C_HALVE = """
#include <backwater.h>
static uint32_t halve(struct backwater_flow *flow, const struct backwater_event *event) {
    if (event->kind == BACKWATER_CNP && flow->rate_bps > 2e8) flow->rate_bps /= flow->state[0].f;
    flow->state[1].i += 1;
    return flow->state[1].i > 1000000 ? 7 : STATUS;
}
const struct backwater_controller mine = {BACKWATER_VERSION + LATER, BACKWATER_CNP, 0.0, "by=2.0 calls=0", halve};
_Static_assert(sizeof(struct backwater_flow) == 256 && sizeof(struct backwater_event) == 40, "the core's");
_Static_assert(sizeof(struct backwater_queue) == 128 && sizeof(struct backwater_port_event) == 48, "the core's");
"""


def library(folder: Path, *, status: int = 0, later: int = 0) -> str:
    (folder / "mine.c").write_text(C_HALVE)
    include = Path(abi.__file__).parent
    name = f"mine{status}{later}.so"
    command = ["cc", "-shared", "-fPIC", f"-DSTATUS={status}", f"-DLATER={later}", f"-I{include}", "mine.c", "-o", name]
    subprocess.run(command, cwd=folder, check=True)  # noqa: S603
    return f"cc.custom.function={name}:mine"


def test_a_library_in_c_does_what_the_same_function_does_in_python(folder: Path) -> None:
    file = write(
        folder,
        "if event.kind == bw.CNP and flow.rate_bps > 2e8:\n    flow.rate_bps /= flow.by",
        "@bw.congestion_control(on=['cnp'], state={'by': 2.0})",
    )
    mine = bw.run(file, out="python")
    in_c = bw.run(file, out="c", overrides=[library(folder)])
    assert in_c.digest == mine.digest
    assert in_c.meta["functions"][0]["runs"] == "library"
    other = bw.run(file, out="c4", overrides=[library(folder), "cc.custom.parameters.by=4"])
    assert other.digest == bw.run(file, out="p4", overrides=["cc.custom.parameters.by=4"]).digest
    assert other.digest != mine.digest


def test_a_library_that_fails_or_is_of_another_version_is_told(folder: Path) -> None:
    file = write(folder, "flow.rate_bps = 1e9")
    with pytest.raises(bw.UserCodeError, match="it returned 9, expected 0"):
        bw.run(file, out="out", overrides=[library(folder, status=9)])
    with pytest.raises(bw.UserCodeError, match=r"is of version 2, expected 1"):
        bw.run(file, out="out", overrides=[library(folder, later=1)])
    with pytest.raises(bw.UserCodeError, match="has no symbol 'other'"):
        bw.run(file, out="out", overrides=[library(folder).replace(":mine", ":other")])
    (folder / "text.so").write_text("no library")
    with pytest.raises(bw.UserCodeError, match="cannot be loaded"):
        bw.run(file, out="out", overrides=["cc.custom.function=text.so:mine"])


def test_an_answer_that_only_machine_code_gives_is_said_to_be_so() -> None:
    @bw.congestion_control()
    def fine(flow, event):  # type: ignore[no-untyped-def]
        pass

    from backwater.extend.loading import Functions, Loaded

    code = fine.loaded()
    told = {
        "what": "controller",
        "number": 0,
        "where": "flow 1",
        "time_ps": 5,
        "event": [abi.CNP, 5, 0, abi.CE, -1],
        "before": [0] * 32,
        "refusal": ["failed", 1],
    }
    error = faults.explained(json.dumps(told), Functions([Loaded("cc", "m.py:fine", fine.state, code, fine)]))
    assert "but not as plain Python" in str(error)


def test_a_rate_in_another_unit_is_a_note(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    # 20 Gbps were meant; 300 KB take two minutes at 20 kbit/s.
    body = "if event.kind == bw.SEND:\n    flow.rate_bps = 20e3"
    file = write(folder, body, '@bw.congestion_control(on=["send"])')
    assert cli.main(["run", str(file)]) == Exit.OK
    shown = " ".join(capsys.readouterr().out.split())
    assert "note[slow-controller]: mine.py:mine let flow" in shown
    assert "flow.rate_bps is in bit/s (20e9 is 20 Gbps)" in shown
    write(folder, body.replace("20e3", "20e9"), '@bw.congestion_control(on=["send"])')
    assert cli.main(["run", str(file)]) == Exit.OK
    assert "slow-controller" not in capsys.readouterr().out
