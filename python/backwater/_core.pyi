from collections.abc import Callable, Sequence
from os import PathLike
from typing import TypedDict

__version__: str
#: Most bytes of a text that people write, and of a file of data.
MOST_WRITTEN: int
MOST_DATA: int

class ScenarioError(ValueError):
    """A scenario that cannot run; str() is the whole diagnostic with file, line, value, range and fix."""

class InvariantError(RuntimeError):
    """The model broke a promise, such as losslessness; str() explains the arithmetic."""

    #: The code of the promise, for `backwater explain`.
    code: str

class UserFunctionError(RuntimeError):
    """A function of the user's failed; str() is JSON that `backwater.extend.faults` explains."""

class Look(TypedDict):
    """How a run stands, as of a moment in its last second."""

    sim_time_ps: int
    packet_hops: int
    #: Flows that have arrived whole.
    flows_done: int
    #: The ports with the longest queues: name, bytes that wait, whether a gate is closed, for how many ps one was.
    ports: list[tuple[str, int, bool, int]]

class Progress(TypedDict):
    """How far a run is."""

    sim_time_ps: int
    #: When the run ends or, where it ends with its last flow, when the last flow starts; 0 if that is not known.
    expected_end_ps: int
    flows: int
    #: What the run may write, in a sentence; None if it writes nothing.
    plan: str | None
    #: Only of a run that is looked at (`live`), from its first half second on.
    look: Look | None

#: Controllers as (address, events, rate at first, words), the detector as (address, words), and JSON for run.json.
_Functions = tuple[list[tuple[int, int, float, list[int]]], tuple[int, list[int]] | None, str]

class Scenario:
    """A scenario that has been read, with its overrides; wrong ones raise ScenarioError. Answers are JSON."""

    def __init__(self, text: str, origin: str, base_dir: str | PathLike[str], overrides: Sequence[str]) -> None: ...
    def resolved(self) -> str: ...
    def topology(self) -> str: ...
    def estimate(self) -> str: ...
    def functions(self) -> str | None: ...
    def run(
        self,
        out_dir: str | PathLike[str] | None = None,
        progress: Callable[[Progress], None] | None = None,
        functions: _Functions | None = None,
        live: bool = False,
    ) -> str: ...
    def prefixes(self, times_ps: Sequence[int], functions: _Functions | None = None) -> str: ...
    def arrivals(self, from_ps: int, to_ps: int, functions: _Functions | None = None) -> str: ...

def read_input(path: str | PathLike[str], most: int) -> bytes: ...
def abi() -> tuple[int, int, int, int, int, int]: ...
def schema() -> str: ...
def profile_defaults() -> str: ...
def presets() -> str: ...
def codes() -> str: ...
def dictionary() -> str: ...
def least_values(percent: int) -> int: ...
def write_capture(
    out: str,
    interfaces: list[str],
    frames: list[tuple[int, int, int, str, int, int, int, int, int, int, int]],
    snap: int,
) -> int: ...
def import_workload(format_: str, files: list[bytes], origin: str) -> tuple[str, str, list[str]]: ...
def import_subnet(
    topology: tuple[str, str], tables: tuple[str, str] | None
) -> tuple[list[str], list[str], list[tuple[str, str, int]], str | None, list[str]]: ...
def max_ton(rate: str, delay: str, mtu: str, epsilon: float, gap: str | None) -> str: ...
def max_ton_authors(rate: str, delay: str, gap: str, epsilon: float) -> str: ...
def max_ton_credits(period: str) -> str: ...
def feasibility(
    rate: str, delay: str, mtu: str, frame: str, period: str | None, buffer: str | None, lanes: str
) -> str: ...
def headroom(rate: str, delay: str, mtu: str, frame: str, response: str) -> str: ...
def algorithms() -> str: ...
def build_facts() -> str: ...
