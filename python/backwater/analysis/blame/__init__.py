"""Who is to blame: congestion roots, the branches they hold back, the flows that feed them, victims and what they lost.

It is computed from what the simulation knows and no detector sees: the chain of PAUSEs or of missing credits. So any
detector can be scored against it. docs/ground-truth.md defines every word.

::

    pauses, holds ─▶ gates.py       OFF intervals, held periods
    crowds        ─▶ release.py     until when a port is held after its gate opened
    holds         ─▶ starvation.py  what a hold proves under credits
                     chain.py       OFF intervals to roots
    crowds        ─▶ crowding.py    flows that feed the roots
    waits, flows  ─▶ losses.py      what each flow lost; victims
    marks         ─▶ scoring.py     precision and recall of a detector
    closures      ─▶ own_gates.py   gates of less than a priority, with the others as one set
                     held.py        precision and recall of what was held back
"""

from __future__ import annotations

from backwater.analysis.blame.analysis import NEEDED, Blame
from backwater.analysis.blame.scoring import Score
from backwater.results import Results

__all__ = ["NEEDED", "Blame", "Score", "score_of"]


def score_of(results: Results) -> Score | None:
    """The score of a run's marks; None if it recorded no ground truth or no marks, or there was nothing to mark."""
    if not all(results.has(name) for name in (*NEEDED, "marks")):
        return None
    return Blame(results).brief
