"""``backwater import vef``: VEF traces as trace files."""

from pathlib import Path

import pytest
from backwater.cli import main
from backwater.errors import Exit

VEF = """VEF3 3 2 1 1 0 TRUE
C0 0 1 2
0 0 1 4096 0 100 0
1 1 2 10 2 500 0
G0 0 0 0 0 0 1 0 0
G0 0 0 1 0 0 1 0 1
G0 0 0 2 0 0 2 0 1
"""


def test_a_vef_trace_becomes_a_trace_file_and_the_user_is_told_what_is_not_certain(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    vef, out = tmp_path / "app.vef", tmp_path / "made"
    vef.write_text(VEF)
    assert main(["import", "vef", str(vef), "--out", str(out)]) == Exit.OK
    assert (out / "app.trace").read_text().splitlines() == [
        "backwater-trace 1",
        "ranks 3",
        "message 0 from 0 to 1 bytes 4096 delay 100000ps",
        "message 1 from 1 to 2 bytes 10 after received 0 delay 500000ps",
        "collective 0 barrier bytes 1 algorithm dissemination",
        "join 0 rank 0 after sent 0",
        "join 0 rank 1 after sent 1",
        "join 0 rank 2 after received 1",
    ]
    shown = capsys.readouterr()
    # two messages, and two rounds of three
    assert "3 ranks, 2 messages and 1 collectives: 8 flows" in shown.out
    assert "not verified" in shown.err


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        ("0 0 1 4096", "0 0 7 4096", "line 3: there is no rank 7; the 3 ranks are 0 to 2"),
        ("1 1 2 10 2 500 0", "1 1 2 10 2 500 9", "line 4: there is no message 9"),
        ("VEF3", "OTF2", "line 1: the first line must be"),
    ],
)
def test_what_is_wrong_with_a_vef_trace_is_said_with_its_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], before: str, after: str, message: str
) -> None:
    vef, out = tmp_path / "app.vef", tmp_path / "made"
    vef.write_text(VEF.replace(before, after))
    assert main(["import", "vef", str(vef), "--out", str(out)]) == Exit.BAD_INPUT
    told = capsys.readouterr().err
    assert message in told
    assert "app.vef" in told
    assert "Traceback" not in told
    assert not out.exists()


def test_a_file_that_is_not_there_is_said_to_be_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["import", "vef", str(tmp_path / "no.vef"), "--out", str(tmp_path / "x")]) == Exit.BAD_INPUT
    assert "no.vef" in capsys.readouterr().err
