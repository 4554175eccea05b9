"""A fitted profile of a NIC as keys of a scenario, and as a file for `host.nic.profile`."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from typing import Protocol

#: By table, `host` or `host.nic`, its keys with their values.
Values = Mapping[str, Mapping[str, str]]


class Fitted(Protocol):
    """What a fit has found; see :class:`backwater.analysis.nic_fit.Nic`."""

    @property
    def gap(self) -> float: ...
    @property
    def drain(self) -> float: ...
    @property
    def cached(self) -> float: ...
    @property
    def start(self) -> float: ...
    @property
    def start_packets(self) -> int: ...


def values_of(nic: Fitted, post_delay: float, payload: int) -> Values:
    """The keys of a fitted profile, in steps of 1 ns, 10 Mbps and 1 KiB."""
    host: dict[str, str] = {}
    if math.isfinite(nic.drain):
        host["drain"] = f"{round(nic.drain * 100) * 10}Mbps"
        if nic.cached >= 1024:
            host["cached"] = f"{round(nic.cached / 1024)}KiB"
        elif nic.cached > 0:
            host["cached"] = f"{round(nic.cached)}B"
    own = {"post-delay": f"{round(post_delay)}ns"}
    if nic.gap > 0:
        own["message-gap"] = f"{round(nic.gap)}ns"
    if nic.start_packets:
        own["start-bytes"] = f"{nic.start_packets * payload}B"
        own["start-rate"] = f"{round(nic.start * 100) * 10}Mbps"
    return {"host": host, "host.nic": own} if host else {"host.nic": own}


def tables(values: Values, prefix: str = "") -> Iterator[str]:
    """The lines of the tables."""
    for table, keys in values.items():
        yield f"[{prefix}{table}]"
        yield from (f"{key} = {json.dumps(value)}" for key, value in keys.items())


def file(values: Values, *, name: str, port: str, source: str, about: str, missing: Mapping[str, str]) -> str:
    """The text of a file that `host.nic.profile` names."""
    lines = [f"# {line}" for line in about.splitlines()]
    lines += ["[device]", f"name = {json.dumps(name)}", f"port = {json.dumps(port)}", ""]
    lines += [*tables(values, "values."), "", "[sources]", f"device = {json.dumps(source)}"]
    lines += [f"{json.dumps(table)} = {json.dumps(source)}" for table in values]
    if missing:
        lines += ["", "[not-set]", *(f"{json.dumps(key)} = {json.dumps(why)}" for key, why in missing.items())]
    return "\n".join(lines) + "\n"
