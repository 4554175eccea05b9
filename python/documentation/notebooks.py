"""The notebooks of docs/tutorial: run without Jupyter, stored with what they print and draw, shown as pages.

A cell is Python, or what Jupyter adds to it: `%%writefile NAME` on the first line, and lines that begin with `!`.
"""

from __future__ import annotations

import ast
import base64
import contextlib
import io
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

Notebook = dict[str, Any]
FOLDER = Path(__file__).parents[2] / "docs" / "tutorial"
#: Dots per inch of stored pictures: enough for a page, small in the repository.
_DPI = 96


def load(file: Path) -> Notebook:
    """The notebook of a file."""
    made: Notebook = json.loads(file.read_text(encoding="utf-8"))
    return made


def store(file: Path, notebook: Notebook) -> None:
    """Write it as Jupyter does."""
    file.write_text(json.dumps(notebook, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def run(notebook: Notebook) -> Notebook:
    """The notebook with the outputs of its cells, run from top to bottom in the current folder."""
    names: dict[str, Any] = {"__name__": "notebook", "_shell": _shell}
    cells = []
    for number, cell in enumerate(notebook["cells"]):
        if cell["cell_type"] == "code":
            outputs = _run_cell("".join(cell["source"]), Path(f"cell_{number}.py"), names)
            cells.append(cell | {"outputs": outputs, "execution_count": None})
        else:
            cells.append(cell)
    return notebook | {"cells": cells}


def said(notebook: Notebook) -> list[str]:
    """What each cell prints and ends with, as text."""
    cells = (cell for cell in notebook["cells"] if cell["cell_type"] == "code")
    return ["".join(text for output in cell["outputs"] for text in _text(output)) for cell in cells]


def page(notebook: Notebook) -> str:
    """The notebook in Markdown."""
    parts = []
    for cell in notebook["cells"]:
        text = "".join(cell["source"]).strip()
        if cell["cell_type"] == "markdown":
            parts.append(text)
            continue
        parts.append(f"```python\n{text}\n```")
        for output in cell["outputs"]:
            if shown := "".join(_text(output)).rstrip():
                parts.append(f"```text\n{shown}\n```")
            if picture := output.get("data", {}).get("image/png"):
                # In one line: what is parted becomes paragraphs.
                parts.append(f'<img alt="what the cell draws" src="data:image/png;base64,{picture.strip()}">')
    return "\n\n".join(parts) + "\n"


def _text(output: dict[str, Any]) -> list[str]:
    texts = output.get("text") or output.get("data", {}).get("text/plain", [])
    return [] if "image/png" in output.get("data", {}) else texts


def _run_cell(source: str, file: Path, names: dict[str, Any]) -> list[dict[str, Any]]:
    if found := re.match(r"%%writefile (\S+)\n", source):
        Path(found[1]).write_text(source[found.end() :].rstrip("\n") + "\n", encoding="utf-8")
        return []
    code = re.sub(r"^!(.*)$", lambda line: f"_shell({line[1]!r})", source, flags=re.MULTILINE)
    # As a file: what compiles functions wants to know where they stand.
    file.write_text(code, encoding="utf-8")
    tree = ast.parse(code)
    last = tree.body[-1] if tree.body else None
    if isinstance(last, ast.Expr):
        tree.body.pop()
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(tree, str(file), "exec"), names)  # noqa: S102
        ends = compile(ast.Expression(last.value), str(file), "eval") if isinstance(last, ast.Expr) else None
        value = eval(ends, names) if ends else None  # noqa: S307
    outputs: list[dict[str, Any]] = []
    if text := printed.getvalue():
        outputs.append({"output_type": "stream", "name": "stdout", "text": text.splitlines(keepends=True)})
    if value is not None:
        data: dict[str, Any] = {"text/plain": repr(value).splitlines(keepends=True)}
        if (picture := _picture(value)) is not None:
            data = {"image/png": base64.b64encode(picture).decode(), "text/plain": ["a picture"]}
        outputs.append({"output_type": "execute_result", "execution_count": None, "metadata": {}, "data": data})
    return outputs


def _picture(value: object) -> bytes | None:
    """The PNG of a figure, or of what draws itself in Jupyter."""
    if isinstance(value, Figure):
        png = io.BytesIO()
        value.savefig(png, format="png", dpi=_DPI)
        return png.getvalue()
    drawn: bytes | None = getattr(value, "_repr_png_", lambda: None)()
    return drawn


def _shell(command: str) -> None:
    """What `!command` does, with the `backwater` of this Python; what goes to stderr is progress."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    env = os.environ | {"PATH": path, "COLUMNS": "100"}
    done = subprocess.run(command, shell=True, env=env, capture_output=True, text=True, check=False)  # noqa: S602
    if done.returncode not in (0, 4):
        raise RuntimeError(f"{command}: exit code {done.returncode}\n{done.stdout}{done.stderr}")
    print(done.stdout, end="")


if __name__ == "__main__":
    # `make tutorial`: in a folder of its own, since cells write files.
    for one in sorted(FOLDER.glob("*.ipynb")):
        with tempfile.TemporaryDirectory() as place, contextlib.chdir(place):
            made = run(load(one))
        store(one, made)
