"""How quantities are printed: three significant digits and a unit, the same everywhere."""

from __future__ import annotations

import re
from fractions import Fraction

#: How much one of each unit is: of picoseconds, bytes and bit/s; a percent and what has no unit are themselves.
UNITS = {
    "s": 1e12,
    "ms": 1e9,
    "µs": 1e6,
    "ns": 1e3,
    "ps": 1.0,
    "GB": 1e9,
    "MB": 1e6,
    "KB": 1e3,
    "B": 1.0,
    "Tbps": 1e12,
    "Gbps": 1e9,
    "Mbps": 1e6,
    "kbps": 1e3,
    "bps": 1.0,
    "%": 1.0,
    "": 1.0,
}


def parted(text: str) -> tuple[str, str]:
    """The number and the unit of a quantity as it is printed.

    >>> parted("9.5 µs"), parted("14 800")
    (('9.5', 'µs'), ('14800', ''))
    """
    number, _, unit = text.rpartition(" ") if not text[-1].isdigit() else (text, "", "")
    return number.replace(" ", ""), unit


def _scaled(value: float, steps: list[tuple[float, str]], like: float | None) -> str:
    if like:
        size, unit = next(((size, unit) for size, unit in steps if abs(like) >= size * 0.9995), steps[-1])
        return f"{three_digits(value / size)} {unit}"
    if value == 0:
        return f"0 {steps[-1][1]}"
    for size, unit in steps:
        if abs(value) >= size * 0.9995:
            return f"{three_digits(value / size)} {unit}"
    size, unit = steps[-1]
    return f"{three_digits(value / size)} {unit}"


def three_digits(value: float) -> str:
    """A number with three significant digits, without an exponent.

    >>> three_digits(12.345), three_digits(0.5), three_digits(1234567.0)
    ('12.3', '0.500', '1234567')
    """
    if value == 0:
        return "0"
    magnitude = abs(value)
    if magnitude >= 99.95:
        return f"{value:.0f}"
    if magnitude >= 9.995:
        return f"{value:.1f}"
    if magnitude >= 0.9995:
        return f"{value:.2f}"
    return f"{value:.3g}" if magnitude < 0.0995 else f"{value:.3f}"


def time(ps: float, like: float | None = None) -> str:
    """A time in picoseconds, in the largest unit that leaves at least one: of `like`, if given.

    >>> time(97_000_000), time(1_611_000_000), time(0)
    ('97.0 µs', '1.61 ms', '0 ps')
    """
    return _scaled(ps, [(1e12, "s"), (1e9, "ms"), (1e6, "µs"), (1e3, "ns"), (1, "ps")], like)


def size(count: float, like: float | None = None) -> str:
    """A number of bytes; a KB is 1000 bytes, as in the papers.

    >>> size(743_000), size(64)
    ('743 KB', '64.0 B')
    """
    return _scaled(count, [(1e9, "GB"), (1e6, "MB"), (1e3, "KB"), (1, "B")], like)


def round_size(count: float) -> str:
    """A number of bytes that is meant exactly, such as a bound.

    >>> round_size(80_000), round_size(1_500_000), round_size(0), round_size(512 * 1024)
    ('80 KB', '1.5 MB', '0 B', '512 KiB')
    """
    if count and count % 1024 == 0 and count % 1000:
        power, name = next((p, n) for p, n in ((2**30, "GiB"), (2**20, "MiB"), (2**10, "KiB")) if count % p == 0)
        return f"{count // power:.0f} {name}"
    size, unit = next(((s, u) for s, u in ((1e9, "GB"), (1e6, "MB"), (1e3, "KB")) if count >= s), (1, "B"))
    return f"{count / size:.12g} {unit}"


def parse_size(text: str) -> int:
    """A number of bytes from a text such as ``80KB``: a KB is 1000 bytes, a KiB 1024. Raises ValueError otherwise.

    >>> parse_size("80KB"), parse_size(" 1.5 MB "), parse_size("64"), parse_size("2KiB")
    (80000, 1500000, 64, 2048)
    """
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([GMK]i?B|B)?\s*", text)
    if match is None:
        raise ValueError(f"{text!r} is not a size; write a number with B, KB, MB, GB, KiB, MiB or GiB, such as 80KB")
    units = {"B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30, None: 1}
    value = Fraction(match[1]) * units[match[2]]
    if value.denominator != 1:
        raise ValueError(f"{text!r} is not a whole number of bytes")
    return int(value)


def parse_time(text: str) -> int:
    """A time in picoseconds from a text such as ``100us``. Raises ValueError with what is accepted.

    >>> parse_time("100us"), parse_time("1.5 ms")
    (100000000, 1500000000)
    """
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*(s|ms|us|µs|ns|ps)\s*", text)
    if match is None:
        raise ValueError(f"{text!r} is not a time; write a number with ns, us, ms or s, such as 100us")
    units = {"s": 10**12, "ms": 10**9, "us": 10**6, "µs": 10**6, "ns": 10**3, "ps": 1}
    value = Fraction(match[1]) * units[match[2]]
    if value.denominator != 1:
        raise ValueError(f"{text!r} is not a whole number of picoseconds")
    return int(value)


def rate(bps: float, like: float | None = None) -> str:
    """A rate in bit/s.

    >>> rate(10.04e9)
    '10.0 Gbps'
    """
    return _scaled(bps, [(1e12, "Tbps"), (1e9, "Gbps"), (1e6, "Mbps"), (1e3, "kbps"), (1, "bps")], like)


def parse_rate(text: str) -> int:
    """A rate in bit/s from a text such as ``400Gbps``. Raises ValueError with what is accepted.

    >>> parse_rate("400Gbps"), parse_rate("12.8 Tbps")
    (400000000000, 12800000000000)
    """
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*(Tbps|Gbps|Mbps|Kbps|bps)\s*", text)
    if match is None:
        raise ValueError(f"{text!r} is not a rate; write a number with Mbps, Gbps or Tbps, such as 400Gbps")
    units = {"Tbps": 10**12, "Gbps": 10**9, "Mbps": 10**6, "Kbps": 10**3, "bps": 1}
    value = Fraction(match[1]) * units[match[2]]
    if value.denominator != 1:
        raise ValueError(f"{text!r} is not a whole number of bit/s")
    return int(value)


def count(value: float) -> str:
    """A count with its thousands apart.

    >>> count(14800)
    '14 800'
    """
    return f"{value:,.0f}".replace(",", " ")


def counted(value: int, word: str) -> str:
    """A count of something, in the singular if it is one.

    >>> counted(1, "run"), counted(14800, "run")
    ('1 run', '14 800 runs')
    """
    return f"{count(value)} {word}{'' if value == 1 else 's'}"
