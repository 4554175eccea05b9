"""The bytes of a run inside the page: a JSON header and columns of numbers, gzipped, as viewer/FORMAT.md says."""

from __future__ import annotations

import base64
import gzip
import json
from dataclasses import dataclass, field
from typing import Any

from backwater.common.late import NDArray, np

#: Version of the format; the page refuses any other with a message.
FORMAT = 1
MAGIC = b"BWV\0"
#: Columns begin at multiples of this, so that the page can look at them in place.
ALIGNED = 8


@dataclass
class Columns:
    """Columns of numbers, each in the narrowest type that holds it or its differences."""

    placed: dict[str, dict[str, Any]] = field(default_factory=dict)
    _parts: list[bytes] = field(default_factory=list)
    _size: int = 0

    def add(self, name: str, values: NDArray[Any], *, delta: bool = False) -> None:
        """Add a column; with `delta`, whole numbers are kept as differences to the one before, the first to 0."""
        if name in self.placed:
            raise ValueError(f"two columns are called {name}")
        stored = _narrow(np.diff(values.astype(np.int64), prepend=0) if delta else values)
        kept = delta and np.issubdtype(stored.dtype, np.integer)
        if delta and not kept:
            stored = values.astype(np.float64)
        raw = stored.astype(stored.dtype.newbyteorder("<")).tobytes()
        kind = f"{stored.dtype.kind}{stored.dtype.itemsize * 8}"
        self.placed[name] = {"type": kind, "delta": bool(kept), "count": int(values.size), "at": self._size}
        padded = raw + bytes(-len(raw) % ALIGNED)
        self._parts.append(padded)
        self._size += len(padded)

    def blob(self) -> bytes:
        """The columns, one after the other."""
        return b"".join(self._parts)


def _narrow(values: NDArray[Any]) -> NDArray[Any]:
    if np.issubdtype(values.dtype, np.floating):
        return values.astype(np.float64 if values.dtype == np.float64 else np.float32)
    if not values.size:
        return values.astype(np.int8)
    low, high = int(values.min()), int(values.max())
    for kind in (np.int8, np.int16, np.int32):
        if np.iinfo(kind).min <= low and high <= np.iinfo(kind).max:
            return values.astype(kind)
    # A double holds whole numbers up to 2**53 exactly, as JavaScript does.
    return values.astype(np.float64)


def pack(header: dict[str, Any], columns: Columns) -> bytes:
    """One run as bytes, gzipped; equal runs give equal bytes."""
    whole = {"format": FORMAT, **header, "columns": columns.placed}
    text = json.dumps(whole, ensure_ascii=False, separators=(",", ":")).encode()
    # 8 bytes stand before the header.
    text += b" " * (-len(text) % ALIGNED)
    raw = MAGIC + len(text).to_bytes(4, "little") + text + columns.blob()
    return gzip.compress(raw, compresslevel=9, mtime=0)


def element(packed: bytes) -> str:
    """The element of the page that holds a run."""
    return f'<script type="application/x-backwater-run">{base64.b64encode(packed).decode()}</script>'
