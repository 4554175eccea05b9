"""The independent simulation of PUT streams in tests/endpoint/oracle: Rust tests compare with what it writes now."""

import subprocess
import sys
from pathlib import Path

ENDPOINT = Path(__file__).parents[2] / "tests" / "endpoint"


def test_the_traces_that_the_fabric_is_compared_with_are_those_of_the_independent_simulation(tmp_path: Path) -> None:
    code = f"import pathlib, cases; cases.write(pathlib.Path({str(tmp_path)!r}))"
    subprocess.run([sys.executable, "-c", code], cwd=ENDPOINT / "oracle", check=True)  # noqa: S603
    written = {file.name: file.read_text() for file in tmp_path.iterdir()}
    kept = {file.name: file.read_text() for file in (ENDPOINT / "data").iterdir()}
    assert written.keys() == kept.keys()
    assert [name for name in sorted(kept) if kept[name] != written[name]] == []
