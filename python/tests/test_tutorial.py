"""The notebooks of docs/tutorial run as they stand, say what is known beforehand, and become pages."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib as mpl
import pytest
from documentation import notebooks

NOTEBOOKS = sorted(notebooks.FOLDER.glob("*.ipynb"))


def test_there_are_five_and_the_index_lists_them() -> None:
    index = (notebooks.FOLDER / "index.md").read_text(encoding="utf-8")
    assert [file.name[0] for file in NOTEBOOKS] == list("12345")
    assert all(f"]({file.name})" in index for file in NOTEBOOKS)


#: What is known beforehand: two languages do the same, 3.33 inches are 239.76 points, who is to blame.
FACTS = {
    "1": ["flows: 6 culprits, 1 victim, 0 unaffected"],
    "2": [" True\n"],
    "3": ["shard 1/2 is done", "shard 2/2 is done", "means over 20 seeds"],
    # All ten pairs of Wilcoxon's test point in one direction: p is 2 / 2^10, times 3 comparisons.
    "4": [
        "p = 0.0059)",
        "cdf.pdf 239.76 points wide",
        "compare.pdf 239.76 points wide",
        "@inproceedings{kumar2020swift,",
    ],
    "5": ["TCD-F12d, holds: ", "TCD-F12a, holds: ", "TCD-F12b, holds: ", "TCD-F12c, holds: "],
}


@pytest.mark.parametrize("file", NOTEBOOKS, ids=[file.stem for file in NOTEBOOKS])
def test_a_notebook_runs_and_says_what_is_known_beforehand(
    file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    mpl.use("agg")
    stored = notebooks.load(file)
    made = notebooks.run(stored)
    for fact in FACTS[file.name[0]]:
        assert any(fact in text for text in notebooks.said(made)), fact
    # Whatever has an output in the repository has one of the same kind now.
    assert [_kinds(cell) for cell in made["cells"]] == [_kinds(cell) for cell in stored["cells"]]


def _kinds(cell: dict[str, Any]) -> list[tuple[str, ...]]:
    return [(output["output_type"], *sorted(output.get("data", {}))) for output in cell.get("outputs", [])]


@pytest.mark.parametrize("file", NOTEBOOKS, ids=[file.stem for file in NOTEBOOKS])
def test_a_notebook_is_small_and_becomes_a_page_with_its_cells_and_pictures(file: Path) -> None:
    assert file.stat().st_size < 200_000
    notebook = notebooks.load(file)
    page = notebooks.page(notebook)
    assert page.startswith(f"# {file.name[0]}. ")
    pictures = [
        one for cell in notebook["cells"] for one in cell.get("outputs", []) if "image/png" in one.get("data", {})
    ]
    assert page.count("<img ") == len(pictures) >= 1
    for cell in notebook["cells"]:
        assert "".join(cell["source"]).strip() in page
