"""Reads the data of a page by viewer/FORMAT.md, with nothing of what wrote it."""

from __future__ import annotations

import base64
import gzip
import json
import re
import struct
from dataclasses import dataclass
from typing import Any

_CODES = {"i8": "b", "i16": "h", "i32": "i", "f32": "f", "f64": "d"}


@dataclass(frozen=True)
class Shown:
    header: dict[str, Any]
    columns: dict[str, list[float]]

    def table(self, name: str) -> list[dict[str, float]]:
        found = {key.split(".")[1]: values for key, values in self.columns.items() if key.split(".")[0] == name}
        return [dict(zip(found, row, strict=True)) for row in zip(*found.values(), strict=True)]

    def label(self, port: float) -> str:
        return str(self.header["ports"][int(port)])


def read(packed: bytes) -> Shown:
    raw = gzip.decompress(packed)
    assert raw[:4] == b"BWV\0"
    (length,) = struct.unpack_from("<I", raw, 4)
    header = json.loads(raw[8 : 8 + length])
    base = 8 + length
    assert base % 8 == 0
    columns = {}
    for name, place in header.pop("columns").items():
        assert place["at"] % 8 == 0
        values = list(struct.unpack_from(f"<{place['count']}{_CODES[place['type']]}", raw, base + place["at"]))
        if place["delta"]:
            for index in range(1, len(values)):
                values[index] += values[index - 1]
        columns[name] = values
    return Shown(header, columns)


def runs(page: str) -> list[Shown]:
    found = re.findall(r'<script type="application/x-backwater-run">([^<]*)</script>', page)
    return [read(base64.b64decode(text)) for text in found]
