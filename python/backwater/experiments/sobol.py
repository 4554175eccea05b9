"""Scrambled Sobol points: of every 2^k of them each 2^k-th of every axis has one, and pairs of axes are as even.

The directions are those of Joe and Kuo, "Constructing Sobol sequences with better two-dimensional projections" (SIAM
Journal on Scientific Computing 30(5), 2008), the scrambling is Matoušek's, "On the L2-discrepancy for anchored boxes"
(Journal of Complexity 14(4), 1998): a random lower triangular matrix and a random shift per axis. The same seed gives
the same points on any machine, and the first of many are those of few.
"""

from __future__ import annotations

from backwater.common.late import NDArray, np
from backwater.errors import UsageError

#: Coefficients a of the primitive polynomial and first directions m of each axis after the first (new-joe-kuo-6).
_AXES: tuple[tuple[int, tuple[int, ...]], ...] = (
    (0, (1,)),
    (1, (1, 3)),
    (1, (1, 3, 1)),
    (2, (1, 1, 1)),
    (1, (1, 1, 3, 3)),
    (4, (1, 3, 5, 13)),
    (2, (1, 1, 5, 5, 17)),
    (4, (1, 1, 5, 5, 5)),
    (7, (1, 1, 7, 11, 19)),
    (11, (1, 1, 5, 1, 1)),
    (13, (1, 1, 1, 3, 11)),
    (14, (1, 3, 5, 5, 31)),
    (1, (1, 3, 3, 9, 7, 49)),
    (13, (1, 1, 1, 15, 21, 21)),
    (16, (1, 3, 1, 13, 27, 49)),
    (19, (1, 1, 1, 15, 7, 5)),
    (22, (1, 3, 1, 15, 13, 25)),
    (25, (1, 1, 5, 5, 19, 61)),
    (1, (1, 3, 7, 11, 23, 15, 103)),
    (4, (1, 3, 7, 13, 13, 15, 69)),
    (7, (1, 1, 3, 13, 7, 35, 63)),
    (8, (1, 3, 5, 9, 1, 25, 53)),
    (14, (1, 3, 1, 13, 9, 35, 107)),
    (19, (1, 3, 1, 5, 27, 61, 31)),
    (21, (1, 1, 5, 11, 19, 41, 61)),
    (28, (1, 3, 5, 3, 3, 13, 69)),
    (31, (1, 1, 7, 13, 1, 19, 1)),
    (32, (1, 3, 7, 5, 13, 19, 59)),
    (37, (1, 1, 3, 9, 25, 29, 41)),
    (41, (1, 3, 5, 13, 23, 1, 55)),
    (42, (1, 3, 7, 3, 13, 59, 17)),
    (50, (1, 3, 1, 3, 5, 53, 69)),
    (55, (1, 1, 5, 5, 23, 33, 13)),
    (56, (1, 1, 7, 7, 1, 61, 123)),
    (59, (1, 1, 7, 9, 13, 61, 49)),
    (62, (1, 3, 3, 5, 3, 55, 33)),
    (14, (1, 3, 1, 15, 31, 13, 49, 245)),
    (21, (1, 3, 5, 15, 31, 59, 63, 97)),
    (22, (1, 3, 1, 11, 11, 11, 77, 249)),
    (38, (1, 3, 1, 11, 27, 43, 71, 9)),
    (47, (1, 1, 7, 15, 21, 11, 81, 45)),
    (49, (1, 3, 7, 3, 25, 31, 65, 79)),
    (50, (1, 3, 1, 1, 19, 11, 3, 205)),
    (52, (1, 1, 5, 9, 19, 21, 29, 157)),
    (56, (1, 3, 7, 11, 1, 33, 89, 185)),
    (67, (1, 3, 3, 3, 15, 9, 79, 71)),
    (70, (1, 3, 7, 11, 15, 39, 119, 27)),
)
#: So many axes there are directions for.
MOST_AXES = 1 + len(_AXES)
_BITS = 30


def points(axes: int, count: int, seed: int) -> NDArray[np.float64]:
    """The first `count` points, one a row, each coordinate from 0 to below 1; raises UsageError for too many axes."""
    if not 1 <= axes <= MOST_AXES:
        raise UsageError(f"{axes} axes: Sobol points have 1 to {MOST_AXES}; leave some out")
    random = np.random.Generator(np.random.PCG64(seed))
    found = np.empty((count, axes))
    index = np.arange(count)
    gray = index ^ (index >> 1)
    for axis in range(axes):
        lower = np.tril(random.integers(0, 2, (_BITS, _BITS)), -1) + np.eye(_BITS, dtype=np.int64)
        shift = int(random.integers(0, 1 << _BITS))
        whole = np.full(count, shift, dtype=np.int64)
        for bit, direction in enumerate(_scrambled(_directions(axis), lower)):
            whole ^= np.where(gray >> bit & 1, direction, 0)
        found[:, axis] = whole / (1 << _BITS)
    return found


def _directions(axis: int) -> list[int]:
    """The directions of an axis, as whole numbers of `_BITS` bits."""
    if axis == 0:
        return [1 << (_BITS - 1 - bit) for bit in range(_BITS)]
    coefficients, first = _AXES[axis - 1]
    degree = len(first)
    found = [one << (_BITS - 1 - bit) for bit, one in enumerate(first)]
    for bit in range(degree, _BITS):
        made = found[bit - degree] ^ (found[bit - degree] >> degree)
        for back in range(1, degree):
            if coefficients >> (degree - 1 - back) & 1:
                made ^= found[bit - back]
        found.append(made)
    return found


def _scrambled(directions: list[int], lower: NDArray[np.int64]) -> list[int]:
    """Each direction times the matrix, over the numbers 0 and 1; the highest bit is the first."""
    places = np.arange(_BITS - 1, -1, -1)
    bits = np.array(directions)[:, None] >> places & 1
    made = bits @ lower.T & 1
    return [int(row @ (1 << places)) for row in made]
