"""The command line ``backwater``: which commands there are, and what their failures look like."""

from __future__ import annotations

import gc
import os
import signal
import sys
import threading
import traceback
import warnings
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING, Any

from backwater._core import ElsewhereError, InvariantError, ScenarioError, __version__
from backwater.cli import failures, overview
from backwater.common import processes, standard_streams
from backwater.common.codes import Remark, of_error
from backwater.errors import Exit, UsageError, reason, require_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from cyclopts import App

#: What the program is for.
ABOUT = "Congestion in lossless networks: which ports are congested, and which are only held back."
#: Every command with its summary. They are listed here, and imported when they are called, so that --help imports
#: nothing. `place` says where the function of each is.
COMMANDS = {
    "demo": "One congestion point under ECN and under TCD: a table, a picture, results folders.",
    "init": "Make a folder with a first scenario: your own network and flows, an AI cluster, or an example.",
    "run": "Run a scenario file and print what happened to its traffic and its ports.",
    "resume": "Go on from a file that a run was saved in: what was killed, or what-if from a moment on.",
    "sweep": "Run a scenario over values of its keys, schemes and seeds; what was run before is taken from a cache.",
    "advise": "Say which thresholds to set: a map of times and PAUSEs around those of a scenario.",
    "tune": "Look for settings of a scenario that make a measure small or large; judge them on other seeds.",
    "calibrate": "Fit the profile of a NIC to a table of message sizes, and print how well it fits.",
    "compare": "Run the same traffic under several schemes and compare the slowdown of its flows by size.",
    "blame": "Print who held whom back in a run: congestion roots, branches, culprits, victims and their losses.",
    "critical": "Print which message of an application waited where, for whom, and what is left without that.",
    "view": "Show a run as a page, or two side by side: the fabric, queues, PAUSEs, congestion trees, flows.",
    "puts": "Print what the PUT streams of a run got across and sent again; draw one packet by packet.",
    "gpcnet": "Run GPCNeT's network load test under several schemes, print its own tables and rank them.",
    "throttle": "Print which NICs throttled themselves (PFT), for how long, and whether bystanders did.",
    "topology": "Print the size, diameter, bisection and freedom of deadlock of a network.",
    "describe": "Print what a results folder holds, and what its columns mean.",
    "diff": "Print what two runs differ in: settings, and the first frame that is not the same in both.",
    "reproduce": "Run the figures of a paper over several seeds and print which of its claims hold.",
    "report": "Write the report of a reproduction again, from the runs that there are.",
    "sensitivity": "Vary what a paper leaves open and print which of its claims flip.",
    "schema": "Print the JSON Schema of a scenario file.",
    "cite": "Print BibTeX of Backwater and of the papers that a scenario's algorithms come from.",
    "completion": "Print what lets bash, zsh or fish complete commands, options and keys.",
    "doctor": "Check the settings of a scenario against good practice; or this installation, for a bug report.",
    "explain": "Print what a word means: an error or caveat, a column, a key, an algorithm, a claim.",
    "testbed": "Run Figure 11 of the TCD paper on software switches (DPDK) and print which of its claims hold.",
    "tcd max-ton": "Print max(Ton), the longest ON period of a held-back port.",
    "pfc headroom": "Print the headroom that an ingress port needs.",
    "cbfc feasibility": (
        "Print the buffer that a virtual lane needs to hold line rate, or the longest period of its credits."
    ),
    "cache info": "Print where the cache is, how many runs it has, and how large it is.",
    "cache clear": "Remove what the cache has.",
    "import hpcc": "Make a scenario of a config.txt of the HPCC simulator (ns-3).",
    "import htsim": "Make a scenario of a connection matrix of htsim (.cm), and of a topology (.topo).",
    "import goal": "Make a scenario of a GOAL schedule, text or binary.",
    "import chakra": "Make a scenario of Chakra execution traces, one file for each NPU.",
    "import vef": "Make a scenario of a VEF trace.",
    "import mpi": "Make a scenario of what the ranks of an MPI program have recorded.",
    "trace mpi": "Record an MPI program as it runs, and make a scenario of what its ranks called and computed.",
    "import ibnetdiscover": "Make a scenario of an InfiniBand subnet and its forwarding tables.",
    "import switch": "Make a scenario of a RoCE switch's settings (SONiC), and of its NICs' (DCQCN).",
    "export fct": "Write the flows that finished as HPCC's ns-3 simulator does: fct.txt.",
    "export pfc": "Write PAUSEs and RESUMEs as HPCC's ns-3 simulator does: pfc.txt.",
    "export perfetto": "Write a trace for https://ui.perfetto.dev: flows, pauses, detectors' states, queues, marks.",
    "export pcapng": "Write a capture that Wireshark dissects of the ports in probe.frames.",
    "export csv": "Write tables as CSV, one file each.",
}
#: The first words of commands that have two: the module of their functions, and what is common to them.
GROUPS = {
    "tcd": ("calculate", "Ternary congestion detection: what its parameters should be."),
    "pfc": ("calculate", "Priority flow control: what a port needs."),
    "cbfc": ("calculate", "Credit-based flow control: what a virtual lane needs."),
    "cache": ("cache", "Runs that sweeps have done before."),
    "import": ("import_", "Networks and workloads of other tools as scenarios."),
    "trace": ("trace", "What programs do, recorded as they run."),
    "export": ("export", "Results for other tools."),
}


def place(command: str) -> str:
    """Where the function of a command is, below `commands`: it is called as the last word, and so is its module.

    >>> place("run"), place("tcd max-ton"), place("import goal")
    ('run:run', 'calculate:max_ton', 'import_:goal')
    """
    group, _, word = command.rpartition(" ")
    return f"{GROUPS[group][0] if group else word}:{word.replace('-', '_')}"


@cache
def app() -> App:
    """The command line as cyclopts knows it: the tables above."""
    from cyclopts import App, Group

    from backwater.cli.help_layout import Layout

    def empty(name: str, about: str, group: str = "", **options: Any) -> App:
        summaries = {
            words.rpartition(" ")[2]: told for words, told in COMMANDS.items() if words.rpartition(" ")[0] == group
        }
        return App(name=name, help=about, help_formatter=Layout(summaries), **options)

    made = empty(
        "backwater",
        ABOUT,
        help_format="plaintext",
        group_parameters=Group("Options"),
        version=f"backwater {__version__}",
        result_action="return_value",
        # Ctrl-C is for `main`, which has an exit code for it; cyclopts would leave with its own.
        suppress_keyboard_interrupt=False,
    )
    rooms = {name: empty(name, about, name) for name, (_, about) in GROUPS.items()}
    for words in COMMANDS:
        group, _, word = words.rpartition(" ")
        rooms.get(group, made).command(f"backwater.cli.commands.{place(words)}", name=word)
    for room in rooms.values():
        made.command(room)
    return made


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; returns the exit code (see :class:`Exit`)."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    with _terminated_as_interrupted(), standard_streams.unbroken(), _own_warnings_as_notes(), _seldom_collected():
        if "--json" not in given:
            return _main(given, _fail)

        before = sys.stdout
        watch, sys.stdout = failures.watched(before)

        def fail(message: str, exits: Exit, code: str = "usage") -> int:
            if not watch.used:
                print(failures.as_json(message, exits, code))
            return _fail(message, exits)

        try:
            return _main(given, fail)
        finally:
            sys.stdout = before


@contextmanager
def _terminated_as_interrupted() -> Iterator[None]:
    """SIGTERM, as `timeout` and batch systems send it, keeps what was finished, as Ctrl-C does."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


@contextmanager
def _seldom_collected() -> Iterator[None]:
    """The collector looks for garbage less often: modules and what is read from JSON live to the end of a command.

    With 10 000 faults in the scenario its rounds took a tenth of a run of a second.
    """
    before = gc.get_threshold()
    gc.set_threshold(50_000, *before[1:])
    try:
        yield
    finally:
        gc.set_threshold(*before)


@contextmanager
def _own_warnings_as_notes() -> Iterator[None]:
    """What Backwater warns of is a note here, without the place in the source that Python shows."""
    before = warnings.formatwarning

    def shown(message: Warning | str, category: type[Warning], *place: Any, **line: Any) -> str:
        if category.__module__.partition(".")[0] == __name__.partition(".")[0]:
            return f"note: {message}\n"
        return before(message, category, *place, **line)

    warnings.formatwarning = shown
    try:
        yield
    finally:
        warnings.formatwarning = before


def _main(given: list[str], fail: Callable[..., int]) -> int:
    try:
        for word in given:
            require_text(word)
        result = _quickly(given)
        if result is None:
            result = app()(given, exit_on_error=False, print_error=False)
        # Here rather than at the interpreter's end, which could only complain of a disk that is full.
        sys.stdout.flush()
        processes.leave()
    except ScenarioError as error:
        return fail(str(error), Exit.BAD_INPUT)
    except UsageError as error:
        sys.stderr.write(error.traceback())
        return fail(_marked(error), Exit.BAD_INPUT)
    except InvariantError as error:
        return fail(_marked(error), Exit.INVARIANT_BROKEN)
    except ElsewhereError as error:
        processes.wait_for_others()
        return fail(str(error), Exit.INVARIANT_BROKEN)
    except OSError as error:
        return fail(_marked(error), Exit.BAD_INPUT)
    except KeyboardInterrupt:
        return fail("interrupted", Exit.CAVEATS, "interrupted")
    except Exception as error:  # noqa: BLE001  whatever else goes wrong is told without a traceback
        return _unexpected(error, fail)
    return result if isinstance(result, int) else Exit.OK


def _marked(error: Exception) -> str:
    """What the core said, with its code."""
    told = str(error)
    if isinstance(error, OSError) and error.filename is not None:
        told = f"{error.filename}: {reason(error)}"
    return str(Remark("error", of_error(error), told))


#: What is answered without importing what parses commands, which takes longer than all else.
_QUICK: tuple[list[str], ...] = ([], ["--help"], ["-h"], ["--version"])


def _quickly(given: Sequence[str]) -> int | None:
    if given not in _QUICK:
        return None
    print(f"backwater {__version__}" if "--version" in given else overview.text(ABOUT, COMMANDS))
    return Exit.OK


def _unexpected(error: Exception, fail: Callable[..., int]) -> int:
    """What else a command may raise: options that make no sense, tables that cannot be read, and bugs."""
    kinds = {"cyclopts": "CycloptsError", "polars": "exceptions.PolarsError"}
    found = {name for name, path in kinds.items() if _is(error, name, path)}
    if "cyclopts" in found:
        return fail(failures.of_arguments(error), Exit.BAD_INPUT)
    if "polars" in found:
        told = str(error).splitlines()[0] if str(error) else type(error).__name__
        return fail(f"error: a table of results cannot be read ({told}); run the scenario again", Exit.BAD_INPUT)
    if os.environ.get("BACKWATER_TRACEBACK"):
        traceback.print_exception(error)
    told = f"{type(error).__name__}: {error}"
    return fail(
        f"error: {told}\nThis is a bug of Backwater; please report it with the command. "
        "BACKWATER_TRACEBACK=1 shows where it happened.",
        Exit.INVARIANT_BROKEN,
        "audit",
    )


def _is(error: Exception, module: str, path: str) -> bool:
    """Whether an error is of a class of a module that may not have been imported."""
    found: object = sys.modules.get(module)
    for part in path.split("."):
        found = getattr(found, part, None)
    return isinstance(found, type) and isinstance(error, found)


def _fail(message: str, exits: Exit, _code: str = "") -> int:
    print(processes.failing(message), file=sys.stderr, flush=True)
    processes.failed(exits)
    return exits


if __name__ == "__main__":
    sys.exit(main())
