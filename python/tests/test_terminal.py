"""Tables on a narrow terminal: names of rows and numbers stay in one piece."""

import io

import pytest
from backwater.common.terminal import _Console
from rich.table import Table


def printed(width: int, *, words: str) -> list[str]:
    table = Table()
    table.add_column("port")
    table.add_column("meaning of it")
    table.add_column("largest queue ever", justify="right")
    table.add_row("edge-12-3->aggregation-7", words, "14 800 KB")
    out = io.StringIO()
    _Console(file=out, width=width, force_terminal=True, color_system=None).print(table)
    return out.getvalue().splitlines()


@pytest.mark.parametrize("width", [60, 80, 100])
def test_a_table_that_is_too_wide_breaks_its_sentences_but_no_name_and_no_number(width: int) -> None:
    lines = printed(width, words="a long sentence that goes on " * 5)
    assert max(map(len, lines)) <= width
    assert any("edge-12-3->aggregation-7" in line and "14 800 KB" in line for line in lines)


def test_a_table_that_cannot_be_narrowed_is_printed_as_wide_as_in_a_pipe() -> None:
    words = "a long sentence that goes on"
    lines = printed(40, words=words)
    assert any("edge-12-3->aggregation-7" in line and words in line and "14 800 KB" in line for line in lines)


def test_a_table_that_fits_is_left_as_it_is() -> None:
    assert printed(120, words="short") == printed(200, words="short")
