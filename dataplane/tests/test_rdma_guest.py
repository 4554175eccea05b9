"""What a guest of `make testbed-rdma` says of a measurement: its own part of the script, with a client that fails."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

INIT = Path(__file__).resolve().parents[1] / "rdma/init"


def told(role: str, failures: int) -> str:
    """What is printed of a program that fails so many times, with 3, before it succeeds."""
    found = re.search(r"^measure\(\) \{$.*?^\}$", INIT.read_text(), re.MULTILINE | re.DOTALL)
    assert found
    program = f"calls=0; bw() {{ calls=$((calls + 1)); [ $calls -gt {failures} ] || return 3; }}; sleep() {{ :; }}"
    script = f"{program}\nrole={role}\n{found[0]}\nmeasure bw"
    return subprocess.run(["sh", "-c", script], capture_output=True, text=True, check=True).stdout


@pytest.mark.parametrize(
    ("role", "failures", "ended"),
    [("client", 0, 0), ("client", 4, 0), ("client", 10, 3), ("server", 0, 0), ("server", 1, 3)],
)
def test_the_exit_code_is_that_of_the_last_attempt(role: str, failures: int, ended: int) -> None:
    assert told(role, failures) == f"BACKWATER ended bw {ended}\n"
