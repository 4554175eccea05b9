"""Count the lines of product code of a commit: Rust, Python, C and the page, without tests, comments and blank lines.

`python tests/measures/product_lines.py [COMMIT ...]` compares with the first commit; HEAD if none is given.
"""

from __future__ import annotations

import ast
import io
import re
import subprocess
import sys
import tokenize
from collections import Counter

#: Where product code is, and what is no product there.
_ROOMS = ("crates/", "python/backwater/", "papers/", "dataplane/", "viewer/src/")
_NOT = re.compile(r"(^|/)(tests?|fuzz|examples)/|_test\.|\.test\.|(^|/)(tests?|conftest)\.(rs|py)$|page\.html$")
_KINDS = {"rs": "Rust", "py": "Python", "c": "C", "h": "C", "ts": "page", "svelte": "page"}
_COMMENT = re.compile(r'("(?:\\.|[^"\\])*")|//[^\n]*|/\*.*?\*/', re.DOTALL)


def _git(*arguments: str) -> str:
    return subprocess.run(["git", *arguments], capture_output=True, check=True, text=True).stdout  # noqa: S603, S607


def _braced(text: str) -> str:
    """Without comments and modules of tests."""
    text = _COMMENT.sub(lambda found: found[1] or "", text)
    while found := re.search(r"#\[cfg\(test\)\]\s*mod \w+ \{", text):
        depth, end = 1, found.end()
        while depth and end < len(text):
            depth += {"{": 1, "}": -1}.get(text[end], 0)
            end += 1
        text = text[: found.start()] + text[end:]
    return text


def _python(text: str) -> int:
    """Lines with code, docstrings left out."""
    documented = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            first = node.body[0] if node.body else None
            if (
                isinstance(first, ast.Expr)
                and isinstance(first.value, ast.Constant)
                and isinstance(first.value.value, str)
            ):
                documented |= set(range(first.lineno, (first.end_lineno or first.lineno) + 1))
    blank = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER}
    lines: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in blank:
            lines |= set(range(token.start[0], token.end[0] + 1))
    return len(lines - documented)


def lines(commit: str) -> Counter[str]:
    """By language."""
    found: Counter[str] = Counter()
    for name in _git("ls-tree", "-r", "--name-only", commit).splitlines():
        kind = _KINDS.get(name.rpartition(".")[2])
        if kind is None or not name.startswith(_ROOMS) or _NOT.search(name):
            continue
        text = _git("show", f"{commit}:{name}")
        found[kind] += (
            _python(text) if kind == "Python" else sum(bool(line.strip()) for line in _braced(text).splitlines())
        )
    return found


def main() -> None:
    """Print a line per commit."""
    first = None
    for commit in sys.argv[1:] or ["HEAD"]:
        found = lines(commit)
        total = found.total()
        first = first or total
        parts = ", ".join(f"{kind} {count}" for kind, count in sorted(found.items()))
        change = f"{100 * (total / first - 1):+.1f} %"
        print(f"{_git('rev-parse', '--short', commit).strip()}  {total} lines ({change}): {parts}")


if __name__ == "__main__":
    main()
