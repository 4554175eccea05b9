"""The page that shows runs: `page.html` of the viewer with the data of one run or two in it.

::

    results folder ─▶ collect.py ─▶ encode.py ─▶ bytes ┐
    page.html ─────────────────────────────────────────┴▶ page.py ─▶ one HTML file ─▶ serve.py, --out, a notebook
"""

from __future__ import annotations

from backwater.view.page import NAME, View, find

__all__ = ["NAME", "View", "find"]
