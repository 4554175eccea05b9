"""The independent simulations in tests/endpoint and tests/ranks: Rust tests compare with what they write now."""

import subprocess
import sys
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[2] / "tests"


@pytest.mark.parametrize(
    ("oracle", "module", "data"),
    [
        ("endpoint", "cases", ""),
        ("ranks", "cases", "programs"),
        ("ranks", "scripts", "throttle"),
        ("ranks", "stars", "stars"),
    ],
)
def test_what_the_fabric_is_compared_with_is_what_the_independent_simulation_writes(
    oracle: str, module: str, data: str, tmp_path: Path
) -> None:
    code = f"import pathlib, {module}; {module}.write(pathlib.Path({str(tmp_path)!r}))"
    subprocess.run([sys.executable, "-c", code], cwd=TESTS / oracle / "oracle", check=True)  # noqa: S603
    written = {file.name: file.read_text() for file in tmp_path.iterdir()}
    kept = {file.name: file.read_text() for file in (TESTS / oracle / "data" / data).iterdir() if file.is_file()}
    assert written.keys() == kept.keys()
    assert [name for name in sorted(kept) if kept[name] != written[name]] == []
