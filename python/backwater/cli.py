"""The command line ``backwater``: which commands there are, and what their failures look like."""

from __future__ import annotations

import os
import signal
import sys
import threading
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from cyclopts import App, CycloptsError

from backwater import InvariantError, ScenarioError, __version__
from backwater.errors import Exit, UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

app = App(
    name="backwater",
    help="Congestion in lossless networks: which ports are congested, and which are only held back.",
    version=f"backwater {__version__}",
    result_action="return_value",
)
for path, summary in (
    ("demo:demo", "One congestion point under ECN and under TCD: a table, a picture, results folders."),
    ("init:init", "Make a folder with a first scenario: your own network and flows, or an example."),
    ("run:run", "Run a scenario file and print what happened to its traffic and its ports."),
    ("compare:compare", "Run the same traffic under several schemes and compare the slowdown of its flows by size."),
    (
        "blame:blame",
        "Print who held whom back in a run: congestion roots, branches, culprits, victims and their losses.",
    ),
    ("view:view", "Show a run as a page, or two side by side: the fabric, queues, PAUSEs, congestion trees, flows."),
    ("puts:puts", "Print what the PUT streams of a run got across and sent again; draw one packet by packet."),
    ("gpcnet:gpcnet", "Run GPCNeT's network load test under several schemes, print its own tables and rank them."),
    ("throttle:throttle", "Print which NICs throttled themselves (PFT), for how long, and whether bystanders did."),
    ("topology:topology", "Print the size, diameter, bisection and freedom of deadlock of a network."),
    ("describe:describe", "Print what a results folder holds, and what its columns mean."),
    ("reproduce:reproduce", "Run the figures of a paper over several seeds and print which of its claims hold."),
    ("report:report", "Write the report of a reproduction again, from the runs that there are."),
    ("sensitivity:sensitivity", "Vary what a paper leaves open and print which of its claims flip."),
    ("schema:schema", "Print the JSON Schema of a scenario file."),
):
    # By path and with the summary given, so that --help imports no command.
    app.command(f"backwater.commands.{path}", help=summary)

app.command(
    "backwater.commands.testbed:on_switches",
    name="testbed",
    help="Run Figure 11 of the TCD paper on software switches (DPDK) and print which of its claims hold.",
)

tcd = App(name="tcd", help="Ternary congestion detection: what its parameters should be.")
tcd.command("backwater.commands.calculate:max_ton", help="Print max(Ton), the longest ON period of a held-back port.")
app.command(tcd)

pfc = App(name="pfc", help="Priority flow control: what a port needs.")
pfc.command("backwater.commands.calculate:headroom", help="Print the headroom that an ingress port needs.")
app.command(pfc)

cbfc = App(name="cbfc", help="Credit-based flow control: what a virtual lane needs.")
cbfc.command(
    "backwater.commands.calculate:feasibility",
    help="Print the buffer that a virtual lane needs to hold line rate, or the longest period of its credits.",
)
app.command(cbfc)


trace = App(name="trace", help="Messages that depend on each other: traces of applications.")
trace.command("backwater.commands.trace:import_", name="import", help="Make a trace file of a VEF trace.")
app.command(trace)

import_ = App(name="import", help="Networks and workloads of other tools as scenarios.")
for name, summary in (
    ("hpcc", "Make a scenario of a config.txt of the HPCC simulator (ns-3)."),
    ("htsim", "Make a scenario of a connection matrix of htsim (.cm), and of a topology (.topo)."),
    ("goal", "Make a scenario of a GOAL schedule, text or binary."),
    ("chakra", "Make a scenario of Chakra execution traces, one file for each NPU."),
    ("vef", "Make a scenario of a VEF trace."),
):
    import_.command(f"backwater.commands.import_:{name}", help=summary)
app.command(import_)

export = App(name="export", help="Results for other tools.")
for name, summary in (
    ("fct", "Write the flows that finished as HPCC's ns-3 simulator does: fct.txt."),
    ("pfc", "Write PAUSEs and RESUMEs as HPCC's ns-3 simulator does: pfc.txt."),
    ("perfetto", "Write a trace for https://ui.perfetto.dev: flows, pauses, detectors' states, queues, marks."),
    ("pcapng", "Write a capture that Wireshark dissects of the ports in probe.frames."),
    ("csv", "Write tables as CSV, one file each."),
):
    export.command(f"backwater.commands.export:{name}", help=summary)
app.command(export)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; returns the exit code (see :class:`Exit`)."""
    with _terminated_as_interrupted():
        return _main(arguments)


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


def _main(arguments: Sequence[str] | None) -> int:
    try:
        result = app(arguments, exit_on_error=False)
        # Here rather than at the interpreter's end, which could only complain of a pipe that was closed.
        sys.stdout.flush()
    except CycloptsError:
        return Exit.BAD_INPUT
    except ScenarioError as error:
        return _fail(str(error), Exit.BAD_INPUT)
    except UsageError as error:
        _show_traceback(error)
        return _fail(f"error: {error}", Exit.BAD_INPUT)
    except InvariantError as error:
        return _fail(f"error: {error}", Exit.INVARIANT_BROKEN)
    except BrokenPipeError:
        # The reader of a pipe left, as `head` does.
        return _without_reader()
    except SystemExit as left:
        # What prints --help, rich, leaves in this way.
        if isinstance(left.__context__, BrokenPipeError):
            return _without_reader()
        raise
    except OSError as error:
        return _fail(f"error: {error}", Exit.BAD_INPUT)
    except KeyboardInterrupt:
        return _fail("interrupted", Exit.CAVEATS)
    except Exception as error:
        if "polars" not in sys.modules or not isinstance(error, sys.modules["polars"].exceptions.PolarsError):
            raise
        told = str(error).splitlines()[0] if str(error) else type(error).__name__
        return _fail(f"error: a table of results cannot be read ({told}); run the scenario again", Exit.BAD_INPUT)
    return result if isinstance(result, int) else Exit.OK


def _show_traceback(error: UsageError) -> None:
    """What a function of the user's raised, with its lines."""
    if error.__cause__ is not None:
        from backwater.extend.faults import user_traceback

        sys.stderr.write(user_traceback(error))


def _without_reader() -> int:
    with suppress(OSError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return Exit.OK


def _fail(message: str, code: Exit) -> int:
    print(message, file=sys.stderr)
    return code


if __name__ == "__main__":
    sys.exit(main())
