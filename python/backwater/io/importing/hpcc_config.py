"""The keys of a `config.txt` of the HPCC simulator (ns-3): read once, asked for one by one, each with its line."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import NoReturn

from backwater.errors import UsageError

#: Flows of that simulator's generators start at 2 s, and times of faults count from then.
ORIGIN_S = 2.0


@dataclass
class Value:
    """What stands behind a key."""

    line: int
    words: list[str]


@dataclass
class Config:
    """The keys of the file `origin`; `used` are those that have been asked for."""

    origin: str
    values: dict[str, Value]
    used: set[str] = field(default_factory=set)

    @classmethod
    def read(cls, text: str, origin: str) -> Config:
        """The keys of a text. Raises UsageError for what is no key with a value."""
        values: dict[str, Value] = {}
        for number, raw in enumerate(text.splitlines(), 1):
            words = raw.split()
            if not words:
                continue
            if not words[0].replace("_", "").isalnum() or not words[0].isupper() or len(words[0]) > 60:
                raise UsageError(f"{origin}: line {number}: {words[0][:40]!r} is no key such as CC_MODE")
            if len(words) == 1:
                raise UsageError(f"{origin}: line {number}: {words[0]} has no value")
            values[words[0]] = Value(number, words[1:])
        if not values:
            raise UsageError(f"{origin} has no keys such as CC_MODE")
        return cls(origin, values)

    def refuse(self, key: str, why: str) -> NoReturn:
        """Raise UsageError at the line of `key`, or without one if the file does not have it."""
        place = f"line {self.values[key].line}: " if key in self.values else ""
        raise UsageError(f"{self.origin}: {place}{why}")

    def file(self, key: str, what: str) -> Path:
        """The file that `key` names, looked for beside the configuration and in the working folder."""
        self.used.add(key)
        if key not in self.values:
            raise UsageError(f"{self.origin}: {key} is missing; it names the {what} file")
        config, name = Path(self.origin), Path(self.values[key].words[0])
        # The simulator is started one folder above its mix/ folder, and names files from there.
        places = (config.parent / name, Path.cwd() / name, config.parent.parent / name, config.parent / name.name)
        found = next((place for place in places if place.is_file()), None)
        if found is None:
            self.refuse(key, f"{key} {name} was not found beside the file or in the working folder")
        return found

    def number(self, key: str) -> float | None:
        """The number of a key, from 0; None if the file does not have it."""
        if key not in self.values:
            return None
        self.used.add(key)
        words = self.values[key].words
        try:
            number = float(words[0])
        except ValueError:
            number = float("nan")
        if not 0 <= number < 1e15 or len(words) > 1:
            self.refuse(key, f"{key} {' '.join(words)[:40]!r} is not one number from 0")
        return number

    def mbps(self, key: str) -> float | None:
        """A rate such as `50Mb/s`, or a plain number of Mbit/s; None if the file does not have it."""
        if key not in self.values:
            return None
        words = self.values[key].words
        for ending, factor in (("Mb/s", 1.0), ("Gb/s", 1000.0), ("Mbps", 1.0), ("Gbps", 1000.0)):
            if words[0].endswith(ending):
                self.used.add(key)
                try:
                    number = float(words[0].removesuffix(ending)) * factor
                except ValueError:
                    number = -1.0
                if 0 <= number < 1e9 and len(words) == 1:
                    return number
                self.refuse(key, f"{key} {words[0][:40]!r} is not a rate such as 50Mb/s")
        return self.number(key)

    def by_rate(self, key: str) -> dict[float, float]:
        """A map by link rate: `n rate value rate value ...`."""
        if key not in self.values:
            return {}
        self.used.add(key)
        try:
            numbers = [float(word) for word in self.values[key].words]
        except ValueError:
            numbers = [-1.0]
        if not all(0 <= number < 1e15 for number in numbers) or len(numbers) != 1 + 2 * numbers[0]:
            self.refuse(key, f"{key} is not `n rate value rate value ...` with n pairs")
        return dict(zip(numbers[1::2], numbers[2::2], strict=True))
