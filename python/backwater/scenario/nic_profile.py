"""A fitted profile of a NIC as keys of a scenario, and as a file for `host.nic.profile`."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping

#: By table, `host` or `host.nic`, its keys with their values.
Values = Mapping[str, Mapping[str, str]]


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
