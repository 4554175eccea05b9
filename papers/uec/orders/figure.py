"""Orders between rows: more paths, more spines, a failure, one scheme or the other."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise
from pathlib import Path

from backwater.papers import Family, Measurements, Runs, Seeds
from backwater.papers.uec_rows import Row

from papers.uec import family

ROWS: tuple[Row, ...] = ()

#: Of the files of 8192 hosts: three rows of a size, with 32, 64 and 128 paths, by size in MB.
SIZES = (1, 2, 4, 8, 16, 32, 64, 100)
PATHS = (32, 64, 128)
OVER = ("", "_4_to_1", "_8_to_1")
KINDS = ("400g_nscc{}", "400g_nscc{}_2", "400g_rccc{}")


def row(stem: str, size: int, paths: int) -> str:
    """The name of a row of 8192 hosts.

    >>> row("400g_nscc", 2, 64)
    '400g_nscc-5'
    """
    return f"{stem}-{1 + 3 * SIZES.index(size) + PATHS.index(paths)}"


def ratios(runs: Runs, pairs: Iterable[tuple[str, str, str]]) -> Family:
    """Of pairs of rows, with a name for each: the first one's time over the second one's."""
    found: Family = {}
    for name, one, other in pairs:
        if one in runs and other in runs:
            first, second = family.tail_us(runs[one]), family.tail_us(runs[other])
            found[name] = None if first is None or second is None else first / second
    return found


def _stems(form: str, failed: str) -> list[str]:
    """The files of 1:1, 4:1 and 8:1 of a scheme."""
    return [form.format(f"{over}{failed}") for over in OVER]


def pairs(kind: str) -> list[tuple[str, str, str]]:
    """What a claim compares, among the files of 8192 hosts."""
    found = []
    for form in KINDS:
        for size in SIZES:
            for paths in PATHS:
                for failed in ("", "_fail1"):
                    stems = _stems(form, failed)
                    at = [row(stem, size, paths) for stem in stems]
                    name = f"{stems[0]} {size}MB {paths}"
                    later = SIZES.index(size) + 1
                    match kind:
                        case "paths" if paths < PATHS[-1] and size > 1 and not failed:
                            more = PATHS[PATHS.index(paths) + 1]
                            found.append((name, row(stems[0], size, more), at[0]))
                        case "over":
                            found += [(f"{name} 1:1", at[0], at[1]), (f"{name} 4:1", at[1], at[2])]
                        case "failed" if failed:
                            found += [
                                (f"{stem} {size}MB {paths}", row(stem, size, paths), slow)
                                for stem, slow in zip(_stems(form, ""), at, strict=True)
                                if (stem, size, paths) != ("400g_nscc_2", 8, 128)
                            ]
                        case "size" if later < len(SIZES):
                            found += [
                                (f"{stem} {size}MB {paths}", here, row(stem, SIZES[later], paths))
                                for stem, here in zip(stems, at, strict=True)
                            ]
    return found


def schemes(over: str, least: int, failures: tuple[str, ...]) -> list[tuple[str, str, str]]:
    """RCCC and NSCC, from a size on."""
    return [
        (
            f"{size}MB {paths}{failed}",
            row(f"400g_rccc{over}{failed}", size, paths),
            row(f"400g_nscc{over}{failed}", size, paths),
        )
        for size in SIZES
        for paths in PATHS
        for failed in failures
        if size >= least
    ]


#: Rows of validate_load_balancing_snd, with queues of 1 BDP: what spreads packets.
_OBLIVIOUS, _BITMAP, _REPS, _REPS_4, _MIXED, _MIXED_4 = (
    f"validate_load_balancing_snd-{n}" for n in (1, 3, 5, 7, 8, 10)
)
_SLOW = "validate_load_balancing_failed_{}-{}"
_SAME = (("snd", 5, 6), ("snd", 8, 9), ("rcv", 3, 9), ("rcv", 5, 10))
_ONE_PATH = ("validate_uec_sender-13", "validate_uec_both-13", "validate_uec_rcv-13")


def metrics(runs: Runs) -> Measurements:
    slower = [("REPS", _REPS), ("bitmap", _BITMAP), ("REPS 4", _REPS_4), ("mixed 4", _MIXED_4), ("mixed", _MIXED)]
    rows = [f"validate_load_balancing_{way}-{{}}" for way, *_ in _SAME]
    return {
        "more paths over fewer": ratios(runs, pairs("paths")),
        "less oversubscribed over more": ratios(runs, pairs("over")),
        "without a failure over with one": ratios(runs, pairs("failed")),
        "RCCC over NSCC, 1:1": ratios(runs, schemes("", 16, ("", "_fail1"))),
        "RCCC over NSCC, 8:1": ratios(runs, schemes("_8_to_1", 4, ("",))),
        "a size over the next": ratios(runs, pairs("size")),
        "mixed over REPS, NSCC": ratios(runs, [("mixed", _MIXED, _REPS)]),
        "others over oblivious, NSCC": ratios(runs, [(name, one, _OBLIVIOUS) for name, one in slower]),
        "REPS over oblivious, eight slow links": ratios(
            runs, [("NSCC", _SLOW.format("snd", 5), _SLOW.format("snd", 1))]
        ),
        "oblivious, short queues over long ones": ratios(
            runs, [(way, _SLOW.format(way, 1), _SLOW.format(way, 2)) for way in ("snd", "rcv")]
        ),
        "one path, next over": ratios(runs, [(one, one, other) for one, other in pairwise(_ONE_PATH)]),
        "long queues over short ones": ratios(
            runs,
            [
                (f"{way} {short}", name.format(long), name.format(short))
                for name, (way, short, long) in zip(rows, _SAME, strict=True)
            ],
        ),
    }


def draw(seeds: Seeds, file: Path) -> None:
    family.draw(ROWS, seeds, file, "Rows that are put in order")
