from collections.abc import Callable
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

class Progress(TypedDict):
    """How far a run is."""

    sim_time_ps: int
    #: When the run ends or, where it ends with its last flow, when the last flow starts; 0 if that is not known.
    expected_end_ps: int
    flows: int
    #: What the run may write, in a sentence; None if it writes nothing.
    plan: str | None

#: Controllers as (address, events, rate at first, words), the detector as (address, words), and JSON for run.json.
_Functions = tuple[list[tuple[int, int, float, list[int]]], tuple[int, list[int]] | None, str]

def validate(text: str, origin: str, base_dir: str, overrides: list[str]) -> str: ...
def topology(text: str, origin: str, base_dir: str, overrides: list[str]) -> str: ...
def user_functions(text: str, origin: str, base_dir: str, overrides: list[str]) -> str: ...
def read_input(path: str | PathLike[str], most: int) -> bytes: ...
def abi() -> tuple[int, int, int, int, int, int]: ...
def run(
    text: str,
    origin: str,
    base_dir: str,
    overrides: list[str],
    out_dir: str | None,
    threads: int | None,
    seed: int | None,
    progress: Callable[[Progress], None] | None,
    functions: _Functions | None = None,
) -> str: ...
def schema() -> str: ...
def profile_defaults() -> str: ...
def codes() -> str: ...
def dictionary() -> str: ...
def least_values(percent: int) -> int: ...
def write_capture(
    out: str,
    interfaces: list[str],
    frames: list[tuple[int, int, int, str, int, int, int, int, int, int, int]],
    snap: int,
) -> int: ...
def import_vef(text: str, origin: str) -> tuple[str, str, list[str]]: ...
def import_workload(format_: str, files: list[bytes], origin: str) -> tuple[str, str, list[str]]: ...
def max_ton(rate: str, delay: str, mtu: str, epsilon: float, gap: str | None) -> str: ...
def max_ton_authors(rate: str, delay: str, gap: str, epsilon: float) -> int: ...
def max_ton_credits(period: str) -> str: ...
def feasibility(
    rate: str, delay: str, mtu: str, frame: str, period: str | None, buffer: str | None, lanes: str
) -> str: ...
def headroom(rate: str, delay: str, mtu: str, frame: str, response: str) -> str: ...
def algorithms() -> str: ...
def build_facts() -> str: ...
def outlook(text: str, origin: str, base_dir: str, overrides: list[str]) -> str: ...
def prefixes(
    text: str,
    origin: str,
    base_dir: str,
    overrides: list[str],
    times_ps: list[int],
    functions: _Functions | None = None,
) -> str: ...
def arrivals(
    text: str,
    origin: str,
    base_dir: str,
    overrides: list[str],
    from_ps: int,
    to_ps: int,
    functions: _Functions | None = None,
) -> str: ...
