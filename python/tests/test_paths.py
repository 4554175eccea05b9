"""Names of files and folders that a shell, a glob or a terminal would take for something else."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from backwater import cli, errors
from backwater.api import experiment
from backwater.common import standard_streams

SCENARIOS = Path(__file__).parents[2] / "scenarios"
_SWEEP = """
scenario = "{}"
seeds = 1
measures = ["mean_fct_ps"]

[axes]
"traffic.incast.size" = ["10KB"]
"""


@pytest.fixture(autouse=True)
def _room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("BACKWATER_CACHE", str(tmp_path / "cache"))


def scene(name: str, size: str = "10KB") -> Path:
    """incast.toml with flows of another size, in a file of that name."""
    text = (SCENARIOS / "incast.toml").read_text(encoding="utf-8").replace('size = "1MB"', f'size = "{size}"')
    assert size in text
    file = Path(f"{name}.toml")
    file.write_text(text, encoding="utf-8")
    return file


@pytest.mark.parametrize("name", ["a*", "a?", "[ab]b", "{ab,a}", "a**"])
def test_a_run_whose_name_is_a_pattern_is_that_run_alone(name: str) -> None:
    # Each of these patterns means the other run, too.
    scene("ab", "20KB")
    run = experiment.run(scene(name), out=f"results/{name}-s1")
    other = experiment.run("ab.toml")
    assert (run.folder.name, other.folder.name) == (f"{name}-s1", "ab-s1")
    for results, size in ((run, 10_000), (other, 20_000)):
        flows = results.flows.collect()
        assert (flows.height, set(flows["size_bytes"])) == (32, {size})
        results.check("flows")


def test_every_command_takes_names_that_are_patterns(capsys: pytest.CaptureFixture[str]) -> None:
    file, other = str(scene("a*[1]")), str(scene("ab1", "20KB"))
    out = Path("exp[1]?").absolute()
    assert cli.main(["run", other, "--out", str(out)]) in (0, 4)
    assert cli.main(["run", file, "--out", str(out)]) in (0, 4)
    folder = str(out / "a*[1]-s1")
    assert "32" in capsys.readouterr().out
    for command in (["describe"], ["blame"], ["export", "csv"], ["export", "perfetto"], ["export", "fct"]):
        place = ["--out", str(out / "exported" / command[-1])] if command[0] == "export" else []
        tables = ["flows"] if command[-1] == "csv" else []
        assert cli.main([*command, folder, *tables, *place]) in (0, 4), (command, capsys.readouterr())
    assert cli.main(["compare", file, other, "--seeds", "1", "--out", str(out / "c*")]) == 2  # not the same flows
    assert "size" in capsys.readouterr().err
    shutil.copy(file, "b?.toml")
    assert cli.main(["compare", file, "b?.toml", "--seeds", "1", "--out", str(out / "c*")]) in (0, 4)
    assert len(list((out / "c*" / "runs").iterdir())) in (1, 2)
    Path("s[w].toml").write_text(_SWEEP.format(file), encoding="utf-8")
    assert cli.main(["sweep", "s[w].toml", "--out", str(out / "s*"), "--cache", "cache[*]"]) in (0, 4)
    assert cli.main(["sweep", "s[w].toml", "--out", str(out / "s*"), "--cache", "cache[*]"]) in (0, 4)
    assert "1 run: 1 from the cache" in capsys.readouterr().err


#: Of ASCII (ESC), of ISO 6429 (CSI), and one that turns the direction of writing.
_HOSTILE = "\x1b[31m", "\x9b31m", "\u202e"


def said(*words: str | bytes) -> tuple[int, bytes]:
    """Exit code and all that a command writes."""
    program = [sys.executable, "-m", "backwater"]
    environment = {**os.environ, "BACKWATER_TRACEBACK": ""}
    made = subprocess.run([*program, *words], capture_output=True, check=False, env=environment)  # noqa: S603
    return made.returncode, made.stdout + made.stderr


def test_control_characters_in_names_do_not_reach_the_terminal() -> None:
    scheme = "".join(_HOSTILE).encode("unicode_escape").decode().replace("\\x", "\\u00")
    text = (
        scene("plain").read_text(encoding="utf-8")
        + f"""
[[scheme]]
name = "red{scheme}"
set = ["cc.kind=none"]

[[scheme]]
name = "other"
set = []
"""
    )
    name = f"n{''.join(_HOSTILE)}.toml"
    Path(name).write_text(text, encoding="utf-8")
    seen = b""
    for words in (["run", name], ["compare", name, "--seeds", "1", "--out", "c"], ["run", name, "--set", "a=\x9b"]):
        code, told = said(*words)
        assert code in (0, 2, 4), told
        assert len(told) > 100
        for hostile in _HOSTILE:
            assert hostile.encode() not in told, told
        seen += told
        assert b"\x1b" not in told
    assert "\u241b".encode() in seen


def test_a_text_without_them_is_left_alone() -> None:
    assert standard_streams.printable("µs, 第一\t→\n") == "µs, 第一\t→\n"


def test_a_long_scheme_with_control_characters_is_drawn_without_warnings() -> None:
    scheme = "x" * 300 + "\\u001b"
    text = scene("plain").read_text(encoding="utf-8")
    for name in (scheme, "other"):
        text += f'\n[[scheme]]\nname = "{name}"\nset = []\n'
    Path("long.toml").write_text(text, encoding="utf-8")
    code, told = said("compare", "long.toml", "--seeds", "1", "--out", "c")
    assert code in (0, 4), told
    assert b"Warning" not in told, told


def test_a_name_that_is_no_text_is_bad_input() -> None:
    Path(os.fsdecode(b"\xff.toml")).write_bytes(scene("plain").read_bytes())
    for command in ("run", "describe", "blame", "topology"):
        code, told = said(command, b"\xff.toml")
        assert code == 2, told
        assert b"\\xff.toml: the name is not UTF-8; rename the file or the folder" in told
    with pytest.raises(errors.UsageError, match="is not UTF-8"):
        experiment.run(os.fsdecode(b"\xff.toml"))


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_full_disk_is_told_with_its_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    import polars as pl
    from backwater.common import atomic_files

    monkeypatch.setattr(atomic_files, "_name", lambda _: "full")
    Path("full.parquet").symlink_to("/dev/full")
    with pytest.raises(errors.UsageError) as told:
        atomic_files.write_asked(Path("runs.parquet"), pl.DataFrame({"a": list(range(100_000))}).write_parquet)
    assert "No space left on device" in str(told.value)
    assert "None" not in str(told.value)
