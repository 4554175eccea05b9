"""DCQCN of NVIDIA's NICs: what `/sys/class/net/<if>/ecn`, `mlxconfig query` and `mlnx_qos -i` say.

Names, units and ranges: NVIDIA, DOCA 3.4, DCQCN CC Parameters; for what that page lacks the help texts of `mlxconfig`
(mstflint). The gain: alpha becomes (dce_tcp_g · alpha + 1024 − dce_tcp_g) / 1024 at a CNP, so g of the DCQCN paper is
(1024 − dce_tcp_g) / 1024. An older help text has dce_tcp_g / 1024, with a default of 64.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from backwater.io.importing.became import Fate, Line, Settings, near, shown
from backwater.io.importing.config_db import lossless

#: What has no mantissa of its own: 10 bits of fraction.
_ONE = 1024
#: What a time may be, in microseconds: a second; what a rate may be, in Mbps.
_SECOND, _RATE = 10**6, 10**8

#: Of each parameter the least and the most that it may be, and its unit.
PARAMETERS: dict[str, tuple[int, int, str]] = {
    "rpg_ai_rate": (0, _RATE, "Mbps"),
    "rpg_hai_rate": (0, _RATE, "Mbps"),
    "rpg_min_rate": (1, _RATE, "Mbps"),
    "rpg_max_rate": (0, _RATE, "Mbps"),
    "rate_to_set_on_first_cnp": (0, _RATE, "Mbps"),
    "rpg_time_reset": (1, _SECOND, "microseconds"),
    "dce_tcp_rtt": (1, _SECOND, "microseconds"),
    "rate_reduce_monitor_period": (1, _SECOND, "microseconds"),
    "min_time_between_cnps": (0, _SECOND, "microseconds"),
    "rpg_byte_reset": (0, 10**12, "bytes"),
    "rpg_threshold": (0, 31, ""),
    "rpg_gd": (0, 15, ""),
    "rpg_min_dec_fac": (0, 100, "percent"),
    "dce_tcp_g": (0, 1023, "1024ths"),
    "initial_alpha_value": (0, 1023, "1024ths"),
    "clamp_tgt_rate": (0, 1, ""),
    "clamp_tgt_rate_after_time_inc": (0, 1, ""),
    "cnp_dscp": (0, 63, ""),
    "cnp_802p_prio": (0, 7, ""),
    "roce_cc_prio_mask": (0, 255, ""),
}
#: Parameters that become a key whatever the variant of DCQCN: the key, and its value.
_KEYS: dict[str, tuple[str, Callable[[int], str | int | float | bool]]] = {
    "rpg_ai_rate": ("cc.dcqcn.rate-ai", lambda value: f"{value}Mbps"),
    "rpg_hai_rate": ("cc.dcqcn.rate-hai", lambda value: f"{value}Mbps"),
    "rpg_min_rate": ("cc.min-rate", lambda value: f"{value}Mbps"),
    "rpg_time_reset": ("cc.dcqcn.rate-timer", lambda value: f"{value}us"),
    "rpg_threshold": ("cc.dcqcn.fast-recovery", int),
    "dce_tcp_rtt": ("cc.dcqcn.alpha-timer", lambda value: f"{value}us"),
    "dce_tcp_g": ("cc.dcqcn.g", lambda value: (_ONE - value) / _ONE),
    "initial_alpha_value": ("cc.dcqcn.alpha-initial", lambda value: value / _ONE),
    "clamp_tgt_rate": ("cc.dcqcn.clamp-target", bool),
}
#: What `mlnx_qos -i` and `mlxconfig query` print besides parameters: headings, which say nothing, and other lines by
#: how they begin, with the reason why they have no key.
_HEADINGS = re.compile(
    r"[-=\s]*|(PCI )?[Dd]evice[ :].*|Name:.*|Description:.*|Configurations:.*|dscp2prio mapping:|PFC configuration:"
    r"|priority(\s+\d)+"
)
_TURNS = "NICs serve queue pairs in turn here (host.nic.scheduler)"
_OWN = "traffic of a scenario names its priority itself (traffic.priority)"
_OTHER = "it is not about congestion control"
_REASONS = {
    "Priority trust state": _OWN,
    "prio:": _OWN,
    "default priority": _OWN,
    "priority:": _TURNS,
    "DCBX mode": _OTHER,
    "Cable len": "headroom follows the links of the network here",
    "Receive buffer size": "hosts take what comes at once, or as host.queue says",
    "buffer": "hosts take what comes at once, or as host.queue says",
    "max_buffer_size": "hosts take what comes at once, or as host.queue says",
}


@dataclass
class Nic:
    """The lines of a file of a NIC."""

    origin: str
    variant: str
    lossless: list[int]
    classes: Callable[[int], set[int]]
    settings: Settings
    lines: list[Line]

    def apply(self, text: str) -> None:
        """Make the settings of a text."""
        seen: dict[str, Line] = {}
        for number, raw in enumerate(text.splitlines(), 1):
            words = raw.strip().removeprefix("*").strip()
            if not words or words.startswith("#"):
                continue
            if self._qos(words, number):
                continue
            found = re.fullmatch(r"(?:\S*/)?([A-Za-z][A-Za-z0-9_]*)(?:\s*[=:]\s*|\s+)(\S.*)", words)
            enabled = re.fullmatch(r"\S*/roce_(?:rp|np)/enable/([0-7])\s*[=:\s]\s*([01])", words)
            if enabled:
                self._enabled(Line(("enable", enabled[1]), number, enabled[2]))
            elif found:
                self._parameter(found[1], found[2], number, seen)
            else:
                self._line(words, "", number).become(Fate.UNKNOWN, "write a parameter of DCQCN and its value in a line")
        if not self.lines:
            self.settings.problems.append(f"{self.origin} has no parameters; write lines such as rpg_ai_rate = 5")

    def _line(self, name: str, value: str, number: int) -> Line:
        self.lines.append(Line((name,), number, value))
        return self.lines[-1]

    def _parameter(self, written: str, value: str, number: int, seen: dict[str, Line]) -> None:
        name = re.sub(r"_p[12]$", "", written.lower())
        # mlxconfig writes False(0), and the value of the next boot last.
        last = re.sub(r"^\w+\((\d+)\)$", r"\1", value.split()[-1])
        line = self._line(written, last, number)
        if name not in PARAMETERS:
            known = near(name, PARAMETERS)
            if known or not written.isupper():
                line.become(Fate.UNKNOWN, f"no parameter of DCQCN is called so{known}")
            else:
                line.become(Fate.NONE, _OTHER)
            return
        last = {"true": "1", "false": "0"}.get(last.lower(), last)
        if len(value.split()) > 1 and not written.isupper():
            last = value
        checked = Line(line.place, number, last)
        found = self.settings.number(self.origin, checked, *PARAMETERS[name])
        if found is None:
            return
        if name in seen and seen[name].value != last:
            line.become(
                Fate.AGAINST, f"line {seen[name].number} has {shown(seen[name].value)}; all NICs are alike here"
            )
            return
        seen.setdefault(name, checked)
        self._become(name, found, line)

    def _become(self, name: str, value: int, line: Line) -> None:
        if name in _KEYS:
            key, made = _KEYS[name]
            why = "a packet of 4 KB takes 33 ms at it" if name == "rpg_min_rate" and value == 1 else ""
            self.settings.take(line, key, made(value), why)
            return
        by_bytes = self.variant == "byte-counter"
        echoed = "with cc.dcqcn.variant = decrease-check marks come back in ACKs"
        if name == "rpg_byte_reset" and by_bytes and value:
            self.settings.take(line, "cc.dcqcn.byte-counter", f"{value}B")
        elif name == "rpg_byte_reset":
            why = "0 is off" if by_bytes else "with cc.dcqcn.variant = decrease-check the rate grows by time alone"
            line.become(Fate.NONE, why)
        elif name == "rate_reduce_monitor_period" and not by_bytes:
            self.settings.take(line, "cc.dcqcn.decrease-interval", f"{value}us")
        elif name == "rate_reduce_monitor_period":
            line.become(Fate.NONE, "with cc.dcqcn.variant = byte-counter every CNP cuts the rate")
        elif name == "min_time_between_cnps" and by_bytes and value:
            self.settings.take(line, "cc.cnp-interval", f"{value}us", "for each flow here, for a port there")
        elif name == "min_time_between_cnps":
            line.become(Fate.NONE, "0 is no limit; here there is one (cc.cnp-interval)" if by_bytes else echoed)
        elif name == "rpg_gd":
            self._cut(value, line, by_bytes=by_bytes)
        elif name == "rpg_min_dec_fac":
            half = "with cc.dcqcn.variant = decrease-check a cut is by at most half of the rate"
            line.become(
                *((Fate.SAME, half) if value <= 50 and not by_bytes else (Fate.NONE, "cuts have no floor here"))
            )
        elif name in ("rpg_max_rate", "rate_to_set_on_first_cnp"):
            full = "0 is the rate of the link" if name == "rpg_max_rate" else "0 is the rate that a flow has"
            line.become(*((Fate.SAME, full) if value == 0 else (Fate.NONE, "only 0 is as here")))
        elif name == "clamp_tgt_rate_after_time_inc":
            time = "with cc.dcqcn.variant = decrease-check an increase by time has the next cut set the target"
            same = value and not by_bytes
            line.become(*((Fate.SAME, time) if same else (Fate.NONE, "cc.dcqcn.clamp-target alone says it here")))
        elif name == "roce_cc_prio_mask":
            off = [priority for priority in self.lossless if not value >> priority & 1]
            self._off(off, line)
        else:
            self._notifications(name, value, line)

    def _cut(self, gd: int, line: Line, *, by_bytes: bool) -> None:
        # A cut is by alpha / 2^gd, with alpha in 1024ths.
        cut = 2.0 ** (10 - gd)
        if not by_bytes:
            fate = Fate.SAME if gd == 11 else Fate.NONE
            line.become(fate, "a cut is by alpha / 2 with cc.dcqcn.variant = decrease-check")
        elif cut <= 2:
            self.settings.take(line, "cc.dcqcn.cut", cut, "2^(10 − rpg_gd)")
        else:
            line.become(Fate.NONE, f"a cut by {cut:g} alpha is more than there is; cc.dcqcn.cut is at most 2")

    def _notifications(self, name: str, value: int, line: Line) -> None:
        """The priority of CNPs, by the switch's map if it goes by DSCP."""
        classes = self.classes(value) if name == "cnp_dscp" else {value}
        if not classes:
            line.become(Fate.NONE, "the switch has no map of DSCPs; cnp_802p_prio says the priority of CNPs")
        elif classes & set(self.lossless):
            line.become(Fate.AGAINST, f"PFC may hold CNPs, as it holds priority {min(classes)}; here it never does")
        elif len(classes) == 1:
            self.settings.take(line, "switch.control-priority", min(classes), "here it goes strictly first")
        else:
            line.become(Fate.NONE, "ports of the switch give it several classes")

    def _enabled(self, line: Line) -> None:
        self.lines.append(line)
        self._off([int(line.place[1])] if line.value == "0" and int(line.place[1]) in self.lossless else [], line)

    def _off(self, off: list[int], line: Line) -> None:
        if off:
            told = ", ".join(map(str, off))
            line.become(Fate.AGAINST, f"DCQCN is off for priority {told}, which is lossless; cc.kind = none has none")
        else:
            line.become(Fate.SAME, "DCQCN is on for every lossless priority")

    def _qos(self, words: str, number: int) -> bool:
        """A line that `mlnx_qos -i` or `mlxconfig` prints besides parameters; whether it is one."""
        row = re.fullmatch(r"enabled((?:\s+[01]){8})", words)
        if row:
            self._pfc([priority for priority, on in enumerate(row[1].split()) if on == "1"], row[1].strip(), number)
        elif limit := re.match(r"tc:\s*(\d+)\s+ratelimit:\s*([^,]+),\s*tsa:\s*([^,]+)(.*)", words):
            line = self._line(f"tc {limit[1]} ratelimit", limit[2], number)
            free = limit[2].strip() == "unlimited"
            line.become(*((Fate.SAME, "classes have no limit") if free else (Fate.NONE, "classes have no limit here")))
            self._line(f"tc {limit[1]} tsa", limit[3].strip() + limit[4], number).become(Fate.NONE, _TURNS)
        elif why := next((why for begin, why in _REASONS.items() if words.startswith(begin)), None):
            name, _, value = words.partition(":")
            self._line(name, value.strip(), number).become(Fate.NONE, why)
        else:
            return _HEADINGS.fullmatch(words) is not None
        return True

    def _pfc(self, enabled: list[int], value: str, number: int) -> None:
        line = self._line("PFC enabled", value, number)
        told = ", ".join(map(str, enabled)) or "none"
        if not self.lossless and enabled:
            self.lossless += lossless(enabled, self.settings)
            self.settings.take(line, "switch.pfc.priorities", list(self.lossless))
        elif sorted(enabled) == self.lossless:
            line.become(Fate.SAME, "the switch has the same priorities")
        else:
            has = ", ".join(map(str, self.lossless)) or "none"
            line.become(
                Fate.AGAINST, f"the NIC has PFC for {told}, the switch for {has}; a scenario has that of the switch"
            )
