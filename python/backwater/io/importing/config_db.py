"""SONiC's CONFIG_DB: the ports of a switch, and the settings of a scenario that its queues and buffers make.

What the fields mean is in sonic-yang-models (commit 086b03b) and in saibuffer.h and saiwred.h of the Switch Abstraction
Interface, to which SONiC hands them:

```text
priority group   size │ shared, up to static_th, or 2^dynamic_th of what is free of the pool │ xoff, after the PAUSE
                 RESUME at or below max(xon, limit − xon_offset)
queue            no mark up to green_min_threshold, green_drop_probability just below green_max_threshold, then always
                 if it is lossy, up to 2^dynamic_th of what is free of its pool; STRICT before all that have a weight
watchdog         a queue that is paused for detection_time, until restoration_time without PAUSE: drop, or forward
```
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TypeVar

from backwater.io.importing.became import Fate, Line, Settings, near, printable, shown
from backwater.io.importing.located_json import Document, Row
from backwater.io.importing.sonic_schema import BY_PORT, FIELDS, FREE, MAPS, READ, REASONS, REFERENCES, TABLES
from backwater.scenario.presets import Preset, presets
from backwater.scenario.toml_writer import value_text

_T = TypeVar("_T")

#: Modes of `ecn` that mark green packets: no meter here gives another colour.
_GREEN = frozenset({"ecn_green", "ecn_green_yellow", "ecn_green_red", "ecn_all"})
#: What a RoCE packet has within the MTU besides its payload: IPv4 20 B, UDP 8 B, BTH 12 B, RETH 16 B, ICRC 4 B.
_WITHIN_MTU = 60
#: Path MTUs of the InfiniBand specification.
_PAYLOADS = (4096, 2048, 1024, 512, 256)
#: The control priority, if the file does not need another one (`switch.control-priority`).
_CONTROL = 7
#: The longest `switch.pfc.watchdog.restore`.
_LONGEST_RESTORE = "1000s"
#: The least `dynamic_th` that `switch.lossy.alpha` has; SONiC's least is one less.
_LEAST_EXPONENT = -7
#: The weight that stands for STRICT: before all that have one.
_STRICT = 0
#: A profile of a priority group whose numbers SONiC computes itself.
_COMPUTED = "NULL"


@dataclass
class Port:
    """A front port that is up."""

    name: str
    speed: Line
    mbps: int
    length: Line | None


@dataclass(frozen=True)
class _Curve:
    """When a queue marks."""

    kmin: int
    kmax: int
    pmax: float


class ConfigDb:
    """What a document makes of `settings`."""

    def __init__(self, document: Document, settings: Settings) -> None:
        self._document, self._settings = document, settings
        self._numbers: dict[Line, int] = {}
        #: Keys and tables that SONiC does not have and that have no fields.
        self._extra: list[Line] = []
        self._check()
        #: Front ports that are up, as the file has them.
        self.ports = list(self._front())
        self._speed = {port.name: port.mbps for port in self.ports}
        for lengths in self._document.rows("CABLE_LENGTH").values():
            for name, line in lengths.fields.items():
                if not self._counts(name):
                    line.become(Fate.NONE, "the port is not a front port that is up")
        self._qos = self._by_port("PORT_QOS_MAP")
        #: The lossless priorities.
        self.lossless: list[int] = []
        #: What has become the memory of lossless priorities.
        self._buffer: Line | None = None

    # --- what is wrong ---

    def _wrong(self, line: Line, what: str) -> None:
        self._settings.wrong(self._document.origin, line, what)

    def _check(self) -> None:
        """Keep what is wrong with values, names and thresholds."""
        other = []
        for table, rows in self._document.tables.items():
            if table not in TABLES:
                self._unknown(table, rows)
            elif table not in READ:
                other.append(table)
            else:
                for line in (line for row in rows.values() for line in row.fields.values()):
                    self._value(line)
        for line in self._document.odd:
            if line.place[0] in READ:
                self._wrong(line, "stands where an object of keys or fields is expected")
        if other:
            self._settings.notes.append(f"tables that have nothing to do with congestion: {', '.join(sorted(other))}")
        self._references()
        self._keys()
        self._thresholds()

    def _unknown(self, table: str, rows: dict[str, Row]) -> None:
        """Say of every line of a table that SONiC does not have it."""
        why = f"SONiC has no table of this name{near(table, TABLES)}"
        lines = [line for row in rows.values() for line in row.fields.values()]
        lines += [Line((table, key), row.line, "") for key, row in rows.items() if not row.fields]
        odd = [line for line in self._document.odd if line.place[0] == table]
        if not lines and not odd:
            lines = [Line((table,), self._document.lines[table], "")]
        for line in lines + odd:
            line.become(Fate.UNKNOWN, why)
        self._extra += [line for line in lines if len(line.place) < 3]

    def _value(self, line: Line) -> None:
        table, _, name = line.place
        origin = self._document.origin
        if table in MAPS:
            most, to = MAPS[table]
            if not re.fullmatch("[0-9]{1,3}", name) or int(name) > most:
                self._wrong(line, f"is of {shown(name)}, which is not a number from 0 to {most}")
            self._keep(line, self._settings.number(origin, line, 0, to, ""))
        elif table == "CABLE_LENGTH":
            if not re.fullmatch("[0-9]{1,6}m", line.value):
                self._wrong(line, "is not a length in metres such as 40m, from 0m to 999999m")
        elif table not in FREE and name in FIELDS[table]:
            takes = FIELDS[table][name]
            if isinstance(takes, tuple):
                unit = "Mbps" if name == "speed" else "bytes" if takes[1] >= 10**9 else ""
                self._keep(line, self._settings.number(origin, line, *takes, unit))
            elif takes is not None and line.value not in takes:
                self._wrong(line, f"is not one of {', '.join(sorted(takes))}{near(line.value, takes)}")

    def _keep(self, line: Line, number: int | None) -> None:
        if number is not None:
            self._numbers[line] = number

    def _references(self) -> None:
        for (table, name), other in REFERENCES.items():
            for row in self._document.rows(table).values():
                for line in (line for line in (row.fields.get(name),) if line is not None):
                    for named in self._named(line):
                        missing = named not in self._document.rows(other)
                        if missing and not (table == "BUFFER_PG" and named == _COMPUTED):
                            known = self._document.rows(other)
                            hint = near(named, known) or (f"; there are {_some(known)}" if known else "")
                            self._wrong(line, f"names no row of {other}{hint}")

    def _named(self, line: Line) -> list[str]:
        """The rows that a value names, written `x` or as SONiC did until 2021, `[BUFFER_PROFILE|x]`."""
        other = REFERENCES[line.place[0], line.place[2]]
        words = [word.strip() for word in line.value.split(",")] if "_list" in line.place[2] else [line.value]
        names = []
        for word in words:
            old = re.fullmatch(r"\[([^|\]]*)\|([^\]]*)\]", word)
            if old and old[1] != other:
                self._wrong(line, f"names a row of {printable(old[1])}; a row of {other} belongs here")
            elif word:
                names.append(old[2] if old else word)
        return names

    def _keys(self) -> None:
        """Ports that keys name and that PORT does not have, and ranges that are none."""
        known = self._document.rows("PORT")
        for table in sorted(BY_PORT & self._document.tables.keys()):
            for key, row in self._document.rows(table).items():
                parts = key.split("|")
                ranged = table in ("BUFFER_PG", "BUFFER_QUEUE", "QUEUE")
                place = Line((table, key), row.line, "")
                if ranged and (len(parts) < 2 or _range(parts[-1]) is None):
                    self._wrong(place, "names no queue or priority group; write Ethernet0|3 or Ethernet0|3-4")
                    continue
                names = list(row.fields) if table == "CABLE_LENGTH" else parts[-2 if ranged else -1].split(",")
                for name in names:
                    if known and name not in known and name not in ("global", "GLOBAL", "CPU") and len(parts) < 3:
                        self._wrong(place, f"names {shown(name)}, which PORT does not have{near(name, known)}")

    def _thresholds(self) -> None:
        """Thresholds in the wrong order, and headroom that no pool has."""
        for row in self._document.rows("WRED_PROFILE").values():
            for colour in ("green", "yellow", "red"):
                least, most = (row.fields.get(f"{colour}_{end}_threshold") for end in ("min", "max"))
                if least and most and self._numbers.get(least, 0) > self._numbers.get(most, 10**13):
                    self._wrong(least, f"is above {most.place[2]}, {shown(most.value)} (line {most.number}); swap them")
        pools = self._document.rows("BUFFER_POOL")
        for row in self._document.rows("BUFFER_PROFILE").values():
            xoff, named = row.fields.get("xoff"), row.fields.get("pool")
            if xoff is None or not self._numbers.get(xoff):
                continue
            if named is None:
                if "headroom_type" not in row.fields:
                    self._wrong(xoff, "is headroom of no pool; give the profile the pool of lossless traffic")
                continue
            pool = next((pools[name] for name in self._named(named) if name in pools), None)
            kind = pool.fields.get("type") if pool else None
            size = self._numbers.get(pool.fields["size"]) if pool and "size" in pool.fields else None
            if kind and kind.value == "egress":
                self._wrong(xoff, f"is headroom of an egress pool, {shown(named.value)}; name the ingress pool")
            elif size is not None and self._numbers[xoff] > size:
                self._wrong(xoff, f"is more than its pool {shown(named.value)} has, {size} bytes; lower it")
            elif "lossy" in named.value and not any("lossless" in name for name in self._named(named)):
                xoff.become(Fate.AGAINST, f"a profile with headroom is lossless, and its pool is {shown(named.value)}")

    # --- ports ---

    def _front(self) -> Iterator[Port]:
        rows = self._document.rows("PORT")
        lengths = {
            name: line for row in self._document.rows("CABLE_LENGTH").values() for name, line in row.fields.items()
        }
        told = any("admin_status" in row.fields for row in rows.values())
        if rows and not told:
            self._settings.notes.append("no port has admin_status: all are taken as up")
        for name, row in rows.items():
            speed = row.fields.get("speed")
            if speed is None:
                self._wrong(Line(("PORT", name), row.line, ""), "has no speed; write it in Mbps")
                continue
            role = row.fields.get("role")
            up = row.fields.get("admin_status")
            if role is not None and role.value != "Ext":
                speed.become(Fate.NONE, f"the port's role is {printable(role.value)}; only front ports get a host")
            elif told and (up is None or up.value != "up"):
                speed.become(Fate.NONE, "the port is down")
            elif speed in self._numbers:
                yield Port(name, speed, self._numbers[speed], lengths.get(name))

    def _counts(self, name: str) -> bool:
        """Whether what is said of a port counts: it is up, or the file does not say."""
        return name in self._speed or not self._document.rows("PORT")

    def _by_port(self, table: str) -> dict[str, Row]:
        """The row of each port that counts, of a table whose keys are ports; `global` is for those without one."""
        rows: dict[str, Row] = {}
        for key, row in self._document.rows(table).items():
            rows.update(dict.fromkeys((name for name in key.split(",") if self._counts(name)), row))
        whole = rows.pop("global", self._document.rows(table).get("global"))
        return (dict.fromkeys(self._speed, whole) if whole else {}) | rows

    def _spots(self, table: str, name: str) -> dict[tuple[str, int], Line]:
        """A field by port and number, of a table whose keys are ports and numbers."""
        found = {}
        for key, row in self._document.rows(table).items():
            *_, ports, numbers = key.split("|") if "|" in key else ("", key, "")
            line = row.fields.get(name)
            if line is not None:
                found.update(
                    {
                        (port, number): line
                        for port in ports.split(",")
                        if self._counts(port)
                        for number in _range(numbers) or ()
                    }
                )
        return found

    # --- settings ---

    def apply(self) -> None:
        """Make the settings."""
        self._device()
        self._priorities()
        self._groups()
        self._queues()
        self._watchdog()
        self._mtu()

    def apply_others(self) -> None:
        """Make the settings that go by the control priority, which NICs may name."""
        self._lossy()
        self._schedulers()

    def rest(self) -> None:
        """Say of all other lines why they are nothing."""
        for line in self._document.all():
            table, name = line.place[0], line.place[-1]
            if table not in READ:
                continue
            if table in FREE or name in FIELDS[table]:
                line.become(Fate.NONE, REASONS.get((table, name), REASONS[table]))
            else:
                line.become(Fate.UNKNOWN, f"SONiC's {table} has no such field{near(name, FIELDS[table])}")

    def lines(self) -> list[Line]:
        """What is said line by line: all but tables of SONiC that are not read."""
        read = [line for line in self._document.all() if line.place[0] in READ or line.place[0] not in TABLES]
        return read + self._extra

    def device(self, name: str) -> Line | None:
        """What is said of the switch itself."""
        row = self._document.rows("DEVICE_METADATA").get("localhost")
        return row.fields.get(name) if row else None

    def _device(self) -> None:
        line = self.device("hwsku")
        if line is None:
            return
        found = [preset.name for preset in presets() if preset.key == "switch.preset" and _is(preset, line.value)]
        if len(found) == 1:
            self._settings.take(line, "switch.preset", found[0], "it has what the file lacks")
        else:
            line.become(Fate.NONE, "no preset is of this device; docs/reference/presets.md has them")

    def _priorities(self) -> None:
        lines = {row.fields["pfc_enable"] for row in self._qos.values() if "pfc_enable" in row.fields}
        votes: Counter[tuple[int, ...]] = Counter()
        meant: dict[Line, tuple[int, ...]] = {}
        for line in sorted(lines, key=lambda line: line.number):
            if not re.fullmatch("([0-7](,[0-7])*)?", line.value):
                self._wrong(line, "is not a list of priorities from 0 to 7, such as 3,4")
                continue
            meant[line] = tuple(sorted({int(word) for word in line.value.split(",") if word}))
            votes[meant[line]] += sum(row.fields.get("pfc_enable") is line for row in self._qos.values())
        chosen = _most({value: count for value, count in votes.items() if value})
        if chosen is None:
            if votes:
                first = min(meant, key=lambda line: line.number)
                self._wrong(first, "leaves no port a lossless priority; RoCE sends nothing twice here: write 3,4")
            return
        self.lossless = lossless(chosen, self._settings)
        for line, value in meant.items():
            if value == chosen:
                self._settings.take(line, "switch.pfc.priorities", self.lossless)
            else:
                most = f"{votes[chosen]} of {sum(votes.values())} ports have {','.join(map(str, chosen))}"
                line.become(Fate.AGAINST, f"{most}; a scenario has all ports alike")

    def _map(self, port: str, name: str) -> dict[int, int] | None:
        """A map of a port, None if it has none."""
        said = (self._qos.get(port), self._document.rows("PORT_QOS_MAP").get("global"))
        line = next((row.fields[name] for row in said if row and name in row.fields), None)
        if line is None or (named := next(iter(self._named(line)), None)) is None:
            return None
        rows = self._document.rows(REFERENCES["PORT_QOS_MAP", name])
        if named not in rows:
            return None
        fields = rows[named].fields.values()
        return {
            int(one.place[2]): self._numbers[one] for one in fields if one in self._numbers and one.place[2].isdecimal()
        }

    def _lossless_queues(self, port: str) -> set[int]:
        to = self._map(port, "pfc_to_queue_map")
        return {priority if to is None else to.get(priority, priority) for priority in self.lossless}

    def _lossless_groups(self, port: str) -> set[int]:
        direct = self._map(port, "pfc_to_pg_map")
        if direct is not None:
            return {direct.get(priority, priority) for priority in self.lossless}
        queues = self._lossless_queues(port)
        to_queue, to_group = self._map(port, "tc_to_queue_map"), self._map(port, "tc_to_pg_map")
        classes = [tc for tc in range(16) if (tc if to_queue is None else to_queue.get(tc)) in queues]
        return {tc if to_group is None else to_group.get(tc, tc) for tc in classes}

    def classes(self, dscp: int) -> set[int]:
        """The traffic classes that ports give a DSCP: none if none has a map of it."""
        maps = [self._map(port, "dscp_to_tc_map") for port in self._qos]
        return {found[dscp] for found in maps if found and dscp in found}

    # --- buffers ---

    def _groups(self) -> None:
        spots = self._spots("BUFFER_PG", "profile")
        profiles = self._document.rows("BUFFER_PROFILE")
        used: Counter[str] = Counter()
        lines: dict[Line, str] = {}
        for port in dict.fromkeys(name for name, _ in spots):
            for group in sorted(self._lossless_groups(port)):
                line = spots.get((port, group))
                if line is None:
                    place = f"BUFFER_PG has none for {printable(port)}|{group}"
                    self._settings.notes.append(f"a lossless priority needs a profile with headroom, and {place}")
                    continue
                name = next(iter(self._named(line)), "")
                row = profiles.get(name)
                if name != _COMPUTED and row is None:
                    continue
                if row and not self._of(row, "xoff") and row.fields.get("headroom_type") is None:
                    line.become(
                        Fate.AGAINST, "PFC is on for this priority group, and its profile has no headroom (xoff)"
                    )
                    continue
                used[name] += 1
                lines[line] = name
        main = _most(used)
        if main is None:
            return
        for line, name in lines.items():
            if name == main:
                line.become(
                    Fate.TAKEN, f"{printable(name)} makes [switch.pfc]" if name != _COMPUTED else "SONiC computes it"
                )
            else:
                most = f"{used[main]} of {used.total()} lossless priority groups have {printable(main)}"
                line.become(Fate.AGAINST, f"{most}; a scenario has all alike")
        self._computed()
        if main != _COMPUTED:
            self._buffers(profiles[main], [profiles[name] for name in used if name not in (main, _COMPUTED)])

    def _of(self, row: Row, name: str) -> int | None:
        line = row.fields.get(name)
        return self._numbers.get(line) if line is not None else None

    def _computed(self) -> None:
        """What SONiC takes where it computes headroom: the threshold; the model computes headroom, too."""
        for row in self._document.rows("DEFAULT_LOSSLESS_BUFFER_PARAMETER").values():
            line = row.fields.get("default_dynamic_th")
            if line in self._numbers and line is not None and "switch.pfc.alpha" not in self._settings.keys:
                self._dynamic(line)

    def _buffers(self, row: Row, others: list[Row]) -> None:
        """`[switch.pfc]` and the memory of a lossless profile; other profiles may say the same or contradict it."""
        fields = row.fields
        size, xoff = self._of(row, "size") or 0, self._of(row, "xoff") or 0
        inside = size >= xoff > 0
        reserve = size - xoff if inside else size
        where = "size less xoff, which is within it" if inside else "size"
        dynamic, static = fields.get("dynamic_th"), fields.get("static_th")
        if dynamic is not None and static is not None:
            static.become(Fate.AGAINST, f"dynamic_th (line {dynamic.number}) is given, too; a profile has one of them")
        if dynamic in self._numbers and dynamic is not None:
            self._settings.keys.pop("switch.pfc.alpha", None)
            self._dynamic(dynamic)
        if "switch.pfc.alpha" in self._settings.keys:
            if "size" in fields:
                self._settings.take(fields["size"], "switch.pfc.reserve", f"{reserve}B", where)
            self._headroom(row, [self._of(other, "xoff") for other in others])
            self._resume(row, reserve)
        elif static in self._numbers and static is not None:
            self._static(row, static, reserve)
        self._memory(row)
        for other in others:
            for name, line in other.fields.items():
                own = fields.get(name)
                same = own is not None and own.value == line.value
                if own is not None and name == "pool":
                    same = self._named(own) == self._named(line)
                if own is not None and same:
                    line.become(own.fate or Fate.SAME, own.why, own.key)
                elif line.fate is None:
                    has = shown(own.value) if own else "none"
                    line.become(Fate.AGAINST, f"most lossless priority groups have {has}; a scenario has all alike")

    def _dynamic(self, line: Line) -> None:
        exponent = self._numbers[line]
        why = f"2^{exponent} of what is free"
        if exponent > 0:
            why = f"SONiC's alpha is 2^{exponent} = {2**exponent}; here it is at most 1"
        elif len(set(self._speed.values())) > 1:
            why += "; here it doubles with the rate of a port above that of the slowest host, up to 1"
        self._settings.take(line, "switch.pfc.alpha", min(2.0**exponent, 1.0), why)
        self._settings.keys["switch.pfc.threshold"] = "dynamic"

    def _headroom(self, row: Row, others: list[int | None]) -> None:
        """Headroom of a port: of each lossless priority, and at least its part of the pool that all share."""
        line = row.fields.get("xoff")
        if line is None or line not in self._numbers:
            return
        if any(other != self._numbers[line] for other in others):
            self._settings.keys["switch.pfc.headroom"] = "802.1qbb"
            for one in (each.fields.get("xoff") for each in self._document.rows("BUFFER_PROFILE").values()):
                if one is not None:
                    one.become(Fate.NONE, "it differs by port; 802.1qbb counts it by rate and delay of each link here")
            return
        each = self._numbers[line] * max(1, len(self.lossless))
        pool = self._pool(row)
        shared = self._of(pool, "xoff") if pool else None
        part = (shared or 0) // len(self.ports) if self.ports else 0
        why = f"xoff of {max(1, len(self.lossless))} lossless priorities"
        if part > each:
            why = (
                f"a port's part of the {shared} bytes of headroom that the pool's xoff has for {len(self.ports)} ports"
            )
        if pool and "xoff" in pool.fields and shared:
            if part > each:
                pool.fields["xoff"].become(Fate.TAKEN, "divided by the ports", f'switch.pfc.headroom = "{part}B"')
            else:
                lost = each * max(1, len(self.ports)) - shared
                pool.fields["xoff"].become(
                    Fate.NONE, f"ports do not share headroom here: they have {lost} bytes more than this together"
                )
        self._settings.take(line, "switch.pfc.headroom", f"{max(part, each)}B", why)

    def _resume(self, row: Row, reserve: int) -> None:
        offset, xon = row.fields.get("xon_offset"), row.fields.get("xon")
        if offset is not None and offset in self._numbers:
            self._settings.take(offset, "switch.pfc.hysteresis", f"{self._numbers[offset]}B")
        else:
            self._settings.keys["switch.pfc.hysteresis"] = "0B"
            self._settings.notes.append(
                "a lossless profile without xon_offset sends RESUME as soon as its use is within the threshold again"
                " (0 is SONiC's default): switch.pfc.hysteresis = 0B"
            )
        if xon is not None and xon in self._numbers:
            if self._numbers[xon] <= reserve:
                xon.become(Fate.SAME, "at or below what is set apart RESUME is sent in any case")
            else:
                xon.become(Fate.NONE, f"here RESUME is sent in any case at {reserve} bytes, what is set apart")

    def _static(self, row: Row, line: Line, reserve: int) -> None:
        if self._numbers[line] == 0:
            self._wrong(line, "means no threshold, and so no PAUSE; write the bytes above which PAUSE is sent, from 1")
            return
        limit = reserve + self._numbers[line]
        self._settings.keys["switch.pfc.threshold"] = "static"
        self._settings.take(line, "switch.pfc.xoff", f"{limit}B", f"and {reserve} bytes that are set apart")
        xon = max(self._of(row, "xon") or 0, limit - (self._of(row, "xon_offset") or 0))
        told = next((row.fields[name] for name in ("xon_offset", "xon") if name in row.fields), line)
        if xon > limit:
            self._wrong(told, f"puts RESUME above PAUSE, which is at {limit} bytes; lower it")
            return
        self._settings.keys["switch.pfc.xon"] = f"{xon}B"
        for name in ("xon_offset", "xon"):
            if name in row.fields:
                row.fields[name].become(Fate.TAKEN, "max(xon, limit − xon_offset)", f'switch.pfc.xon = "{xon}B"')
        for name, why in (
            ("size", "counted in switch.pfc.xoff"),
            ("xoff", "behind a fixed threshold all free memory is headroom here"),
        ):
            if name in row.fields:
                row.fields[name].become(Fate.TAKEN if name == "size" else Fate.NONE, why)

    def _pool(self, row: Row) -> Row | None:
        line = row.fields.get("pool")
        names = self._named(line) if line is not None else []
        return next((found for name in names if (found := self._document.rows("BUFFER_POOL").get(name))), None)

    def _memory(self, row: Row) -> None:
        pool = self._pool(row)
        if pool is None:
            return
        row.fields["pool"].become(Fate.TAKEN, "its size is the memory")
        line = pool.fields.get("size")
        if line is not None and line in self._numbers:
            self._settings.take(line, "switch.buffer", f"{self._numbers[line]}B", "headroom included")
            self._buffer = line

    def _lossy(self) -> None:
        """The pool of lossy queues and the part of it that one of them may take; what most of them have counts."""
        profiles = self._document.rows("BUFFER_PROFILE")
        used: Counter[str] = Counter()
        lines: dict[Line, str] = {}
        others: dict[Line, str] = {}
        for (port, queue), line in self._spots("BUFFER_QUEUE", "profile").items():
            priority, name = self._priority(port, queue), next(iter(self._named(line)), "")
            if priority in self.lossless:
                others[line] = "a lossless queue has no limit here: its memory is counted at the ingress"
            elif priority == self._control:
                others[line] = f"priority {priority} is the control priority here, which has no limit"
            elif priority is not None and name in profiles:
                used[name] += 1
                lines[line] = name
        main = _most(used)
        if main is not None:
            self._pooled(main, lines, used)
        for line, why in others.items():
            line.become(Fate.NONE, why)

    def _pooled(self, main: str, lines: dict[Line, str], used: Counter[str]) -> None:
        """`[switch.lossy]` of a profile of lossy queues."""
        row = self._document.rows("BUFFER_PROFILE")[main]
        pool, threshold = self._pool(row), row.fields.get("dynamic_th")
        size = pool.fields.get("size") if pool else None
        lacking = ""
        if threshold is None:
            lacking = "the profile has no dynamic_th, and a lossy queue here has a share of a pool"
        elif size is None:
            lacking = "the size of its pool is not in the file"
        elif self._buffer is None:
            lacking = "the memory of lossless priorities is not in the file"
        if lacking or threshold not in self._numbers or size not in self._numbers or not (threshold and size):
            for line in (*lines, *row.fields.values()):
                line.become(Fate.NONE, f"{lacking}; write [switch.lossy] yourself")
            return
        for line, name in lines.items():
            if name == main:
                line.become(Fate.TAKEN, f"{printable(main)} makes [switch.lossy]", 'switch.overflow = "drop-lossy"')
            else:
                most = f"{used[main]} of {used.total()} lossy queues have {printable(main)}"
                line.become(Fate.AGAINST, f"{most}; a scenario has all alike")
        self._settings.keys["switch.overflow"] = "drop-lossy"
        exponent = max(self._numbers[threshold], _LEAST_EXPONENT)
        self._settings.take(threshold, "switch.lossy.alpha", 2.0**exponent, f"2^{exponent} of what is free of the pool")
        row.fields["pool"].become(Fate.TAKEN, "its size is the pool")
        if "size" in row.fields:
            row.fields["size"].become(Fate.NONE, "a lossy queue has nothing set apart for itself here")
        self._settings.take(size, "switch.lossy.pool", f"{self._numbers[size]}B")
        self._beside(self._numbers[size])
        self._early()

    def _early(self) -> None:
        """`[switch.lossy.red]` of the WRED profiles of lossy queues; what most of them have counts."""
        profiles = self._document.rows("WRED_PROFILE")
        used: Counter[str] = Counter()
        lines: dict[Line, str] = {}
        for (port, queue), line in self._spots("QUEUE", "wred_profile").items():
            priority, name = self._priority(port, queue), next(iter(self._named(line)), "")
            if priority is not None and priority not in (*self.lossless, self._control) and name in profiles:
                used[name] += 1
                lines[line] = name
        main = _most(used)
        if main is None:
            return
        row = profiles[main]
        enabled, ecn = row.fields.get("wred_green_enable"), row.fields.get("ecn")
        if enabled is None or enabled.value != "true":
            for line in (*lines, *row.fields.values()):
                line.become(Fate.NONE, "without wred_green_enable no green packet of a lossy queue is dropped early")
            return
        drops = "not-capable" if ecn is not None and ecn.value in _GREEN else "all"
        for line in (enabled, *([ecn] if ecn else [])):
            self._settings.take(line, "switch.lossy.red.drops", drops)
        curve = self._curve(row, "switch.lossy.red")
        for key, value in _keys(curve).items() if curve else ():
            self._settings.keys[f"switch.lossy.red.{key}"] = value
        for line, name in lines.items():
            if name == main:
                line.become(Fate.TAKEN, f"{printable(main)} makes [switch.lossy.red]")
            else:
                line.become(Fate.AGAINST, f"most lossy queues have {printable(main)}; a scenario has all alike")

    def _beside(self, lossy: int) -> None:
        """Pools do not overlap here: the memory is that of lossless priorities and the pool of the lossy ones."""
        line = self._buffer
        if line is None:
            return
        own = self._numbers[line]
        self._settings.keys["switch.buffer"] = f"{own + lossy}B"
        line.key, line.why = f'switch.buffer = "{own + lossy}B"', "headroom included, and the pool of lossy queues"
        self._settings.notes.append(
            f"pools do not overlap here: lossless priorities have {own} bytes and lossy queues {lossy} beside them. A "
            "switch that counts both in one memory has less for each while both are in use"
        )

    # --- marks ---

    def _queues(self) -> None:
        profiles = self._document.rows("WRED_PROFILE")
        spots = self._spots("QUEUE", "wred_profile")
        used: Counter[str] = Counter()
        by_speed: dict[int, Counter[str]] = {}
        lines: dict[Line, tuple[str, int]] = {}
        for port in self._speed or dict.fromkeys(name for name, _ in spots):
            for queue in sorted(self._lossless_queues(port)):
                line = spots.get((port, queue))
                name = next(iter(self._named(line)), "") if line is not None else ""
                if line is not None and name in profiles:
                    speed = self._speed.get(port, 0)
                    used[name] += 1
                    by_speed.setdefault(speed, Counter())[name] += 1
                    lines[line] = (name, speed)
        main = _most(used)
        if main is None:
            if self._document.rows("QUEUE") and self.lossless:
                self._settings.keys["switch.detector.kind"] = "none"
                self._settings.notes.append(
                    "no lossless queue has a wred_profile: nothing marks, switch.detector.kind = none"
                )
            return
        chosen = {speed: _most(found) or main for speed, found in by_speed.items()}
        for line, (name, speed) in lines.items():
            if name == chosen[speed]:
                line.become(Fate.TAKEN, f"{printable(name)} makes [switch.detector]")
            else:
                line.become(
                    Fate.AGAINST, f"most queues of this speed have {printable(chosen[speed])}; a scenario has all alike"
                )
        self._marks(profiles, main, chosen)

    def _marks(self, profiles: dict[str, Row], main: str, chosen: dict[int, str]) -> None:
        ecn = profiles[main].fields.get("ecn")
        if ecn is None or ecn.value not in _GREEN:
            self._settings.keys["switch.detector.kind"] = "none"
            why = "green packets are not marked, and none is dropped early here: switch.detector.kind = none"
            for line in profiles[main].fields.values():
                line.become(Fate.NONE, why)
            self._settings.notes.append(
                f"{printable(main)} marks no green packets: nothing marks, switch.detector.kind = none"
            )
            return
        self._settings.take(ecn, "switch.detector.kind", "red", "it marks where WRED would drop")
        curve = self._curve(profiles[main], "switch.detector")
        for key, value in _keys(curve).items() if curve else ():
            self._settings.keys.setdefault(f"switch.detector.{key}", value)
        others = []
        for speed, name in sorted(chosen.items()):
            row = profiles[name]
            marks = row.fields.get("ecn")
            if name == main or not speed:
                continue
            if marks is None or marks.value not in _GREEN:
                place = marks or next(iter(row.fields.values()))
                place.become(Fate.AGAINST, f"queues of {speed} Mbps do not mark, the others do; here all do")
            elif own := self._curve(row, f"switch.detector.by-rate.{rate_text(speed)}"):
                marks.become(Fate.TAKEN, "it marks where WRED would drop", 'switch.detector.kind = "red"')
                others.append({"rate": rate_text(speed), **_keys(own)})
        if others:
            self._settings.keys["switch.detector.by-rate"] = others

    def _curve(self, row: Row, key: str) -> _Curve | None:
        """The curve of a profile; `key` is what its lines become."""
        missing = [name for name in ("green_min_threshold", "green_max_threshold") if name not in row.fields]
        if missing:
            place = row.fields.get("ecn") or next(iter(row.fields.values()))
            self._wrong(place, f"needs {' and '.join(missing)}, in bytes, which the profile lacks")
            return None
        least, most = row.fields["green_min_threshold"], row.fields["green_max_threshold"]
        share = row.fields.get("green_drop_probability")
        if least not in self._numbers or most not in self._numbers or (share and share not in self._numbers):
            return None
        curve = _Curve(self._numbers[least], self._numbers[most], self._numbers[share] / 100 if share else 1.0)
        for line, (name, value) in zip((least, most, share), _keys(curve).items(), strict=True):
            if line is not None:
                line.become(Fate.TAKEN, "", f"{key}.{name} = {value_text(value)}")
        for name, line in row.fields.items():
            if name == "wred_green_enable":
                line.become(Fate.SAME, "it is about drops; ecn has the packets marked instead")
            elif name.partition("_")[0] in ("yellow", "red") or name in ("wred_yellow_enable", "wred_red_enable"):
                line.become(Fate.NONE, "all packets are green here: no meter colours them")
        return curve

    # --- storms ---

    def _watchdog(self) -> None:
        """`[switch.pfc.watchdog]`: what most ports have, or that they have none."""
        rows = {name: row for name, row in self._by_port("PFC_WD").items() if name != "GLOBAL"}
        if not rows:
            return
        started: dict[str, Row] = {}
        for name, row in rows.items():
            if "detection_time" in row.fields:
                started[name] = row
                continue
            for line in row.fields.values():
                line.become(Fate.NONE, "SONiC starts no watchdog without detection_time")

        def has(row: Row | None) -> tuple[str, int, int] | None:
            if row is None:
                return None
            action = row.fields.get("action")
            times = [self._of(row, name) or 0 for name in ("detection_time", "restoration_time")]
            return action.value if action else "drop", times[0], times[1]

        votes = Counter(has(started.get(name)) for name in self._speed or rows)
        main = _most(votes)
        for row in started.values():
            if main is None:
                self._become(row, Fate.AGAINST, f"{votes[None]} ports have no watchdog; a scenario has all alike")
            elif has(row) != main:
                self._become(row, Fate.AGAINST, "most ports have another watchdog; a scenario has all alike")
            elif main[0] == "alert":
                self._become(row, Fate.NONE, "it reports a storm, and lets it last")
            else:
                self._guard(row, main)
        if main is not None and main[0] != "alert" and not main[2]:
            self._settings.notes.append(
                "PFC_WD without restoration_time: SONiC's watchdog then never obeys PAUSEs again. Here it does after "
                f"the longest time that there is (switch.pfc.watchdog.restore = {_LONGEST_RESTORE})"
            )
        if main is not None and main[0] != "alert":
            self._settings.keys["transport.reliability"] = "go-back-n"
            drops = "drops" if main[0] == "drop" else "forwards into switches that drop what they have no room for"
            self._settings.notes.append(
                f"the watchdog {drops}: queue pairs send again what is lost, as those of RoCE NICs do "
                "(transport.reliability = go-back-n)"
            )

    def _guard(self, row: Row, main: tuple[str, int, int]) -> None:
        action, detect, restore = main
        key = "switch.pfc.watchdog"
        if "action" in row.fields:
            self._settings.take(row.fields["action"], f"{key}.action", action)
        self._settings.keys[f"{key}.action"] = action
        self._settings.take(row.fields["detection_time"], f"{key}.detect", f"{detect}ms")
        if restore:
            self._settings.take(row.fields["restoration_time"], f"{key}.restore", f"{restore}ms")
        else:
            self._settings.keys[f"{key}.restore"] = _LONGEST_RESTORE

    @staticmethod
    def _become(row: Row, fate: Fate, why: str) -> None:
        for name in ("action", "detection_time", "restoration_time"):
            if name in row.fields:
                row.fields[name].become(fate, why)

    # --- shares ---

    @property
    def _control(self) -> int:
        """The control priority."""
        return int(self._settings.keys.get("switch.control-priority", _CONTROL))

    def _schedulers(self) -> None:
        """Which priorities go strictly first, and shares of the others by weight; what most ports have counts."""
        rows = self._document.rows("SCHEDULER")
        votes: dict[int, Counter[int]] = {}
        meant: dict[Line, list[tuple[int, int, Row]]] = {}
        first: list[tuple[Line, Row]] = []
        for (port, queue), line in self._spots("QUEUE", "scheduler").items():
            row = rows.get(next(iter(self._named(line)), ""))
            priority = self._priority(port, queue)
            if row is None or priority is None:
                continue
            if priority == self._control:
                first.append((line, row))
                continue
            weight = _STRICT if _is_strict(row) else self._of(row, "weight") or 1
            votes.setdefault(priority, Counter())[weight] += 1
            meant.setdefault(line, []).append((priority, weight, row))
        chosen = {priority: _most(found) or _STRICT for priority, found in sorted(votes.items(), reverse=True)}
        strict = [priority for priority, weight in chosen.items() if weight == _STRICT]
        without = [priority for priority in self.lossless if priority not in chosen]
        if without or (not strict and len(set(chosen.values())) <= 1):
            fate, why = Fate.SAME, "equal weights: priorities are served in turn (switch.arbiter)"
            if without:
                fate, why = Fate.NONE, f"the lossless priority {without[0]} has no scheduler: all are served in turn"
            for line, found in meant.items():
                line.become(fate, why)
                for _, _, row in found:
                    _say(row, fate, why)
        else:
            self._shares(chosen, strict, meant)
        for line, row in first:
            fate = Fate.SAME if _is_strict(row) else Fate.NONE
            why = f"priority {self._control} is the control priority here, which goes first"
            line.become(fate, why)
            _say(row, fate, why)

    def _shares(self, chosen: dict[int, int], strict: list[int], meant: dict[Line, list[tuple[int, int, Row]]]) -> None:
        """`switch.strict` and `switch.shares`."""
        self._settings.keys["switch.arbiter"] = "deficit"
        if strict:
            self._settings.keys["switch.strict"] = strict
        shares = [{"priority": priority, "weight": weight} for priority, weight in chosen.items() if weight != _STRICT]
        if shares:
            self._settings.keys["switch.shares"] = shares
        for line, found in meant.items():
            same = all(chosen[priority] == weight for priority, weight, _ in found)
            for priority, weight, row in found:
                if chosen[priority] != weight:
                    _say(row, Fate.AGAINST, "most ports have another one for the priority; a scenario has all alike")
                elif weight == _STRICT:
                    _say(row, Fate.TAKEN, "of the priorities of its queues", f"switch.strict = {value_text(strict)}")
                else:
                    _say(row, Fate.TAKEN, "of the priorities of its queues", f"switch.shares, weight = {weight}")
            if same:
                line.become(Fate.TAKEN, "strictly first, or a share of the link (switch.arbiter = deficit)")
            else:
                line.become(Fate.AGAINST, "most ports have another one for the priority; a scenario has all alike")

    def _priority(self, port: str, queue: int) -> int | None:
        """The priority of a queue: the lossless one that PFC has there, else that of its number."""
        to = self._map(port, "pfc_to_queue_map")
        own = [priority for priority in self.lossless if (priority if to is None else to.get(priority)) == queue]
        return own[0] if own else queue if queue < 8 and queue not in self.lossless else None

    def _mtu(self) -> None:
        least = None
        for port in self.ports:
            line = self._document.rows("PORT")[port.name].fields.get("mtu")
            if (
                line is not None
                and line in self._numbers
                and (least is None or self._numbers[line] < self._numbers[least])
            ):
                least = line
        if least is None:
            return
        payload = next((size for size in _PAYLOADS if size + _WITHIN_MTU <= self._numbers[least]), None)
        if payload is None or payload == _PAYLOADS[0]:
            for port in self.ports:
                line = self._document.rows("PORT")[port.name].fields.get("mtu")
                if line is not None:
                    line.become(Fate.SAME, "a RoCE packet of 4096 bytes fits" if payload else "no RoCE packet fits")
        else:
            self._settings.take(least, "packet.payload", f"{payload}B", "the largest RoCE path MTU that fits")


def _is_strict(row: Row) -> bool:
    kind = row.fields.get("type")
    return kind is not None and kind.value == "STRICT"


def _say(row: Row, fate: Fate, why: str, key: str = "") -> None:
    """Of a scheduler: its type if it is strict, else its weight."""
    line = row.fields.get("type" if _is_strict(row) else "weight")
    if line is not None:
        line.become(fate, why, key)


def lossless(enabled: Iterable[int], settings: Settings) -> list[int]:
    """The lossless priorities of those with PFC; one is left for CNPs, which are under no flow control here."""
    chosen = sorted(enabled)
    free = set(range(8)) - set(chosen)
    if not free:
        settings.notes.append("PFC of all 8 priorities: CNPs need one without, and so 7 is not lossless here")
        return chosen[:-1]
    if 7 in chosen:
        settings.keys["switch.control-priority"] = max(free)
    return chosen


def _keys(curve: _Curve) -> dict[str, str | float]:
    return {"kmin": f"{curve.kmin}B", "kmax": f"{curve.kmax}B", "pmax": curve.pmax}


def rate_text(mbps: int) -> str:
    """A speed as a scenario has it."""
    return f"{mbps // 1000}Gbps" if mbps % 1000 == 0 else f"{mbps}Mbps"


def _most(votes: Mapping[_T, int]) -> _T | None:
    """What most have; of several the first."""
    return max(votes, key=lambda one: votes[one]) if votes else None


def _range(text: str) -> range | None:
    """`3` or `3-4`."""
    found = re.fullmatch("([0-9]{1,2})(?:-([0-9]{1,2}))?", text)
    if not found:
        return None
    first, last = int(found[1]), int(found[2] or found[1])
    return range(first, last + 1) if first <= last else None


def _some(names: dict[str, Row]) -> str:
    told = [printable(name) for name in list(names)[:5]]
    return ", ".join(told) + (" and others" if len(names) > len(told) else "")


def _is(preset: Preset, hwsku: str) -> bool:
    """Whether a preset is of a device: its own folder in SONiC, or another one of the same model."""
    device = preset.sources.get("device", "")
    model = re.search(r", as in (?:[A-Z]\w+'s |the )?([\w -]*\d[\w-]*)", preset.title)

    def plain(text: str) -> str:
        return re.sub("[^a-z0-9]", "", text.lower())

    own = len(hwsku) > 5 and re.search(rf"(?<![\w-]){re.escape(hwsku)}(?![\w-])", device) is not None
    return own or (model is not None and len(plain(model[1])) > 4 and plain(model[1]) in plain(hwsku))
