"""Results in the formats of other tools: HPCC's text files, CSV, Perfetto, pcapng."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from backwater.common import atomic_files
from backwater.errors import UsageError, reason


@contextmanager
def written(out: Path) -> Iterator[Path]:
    """A place to write to, which becomes `out` at the end of the block: a file is there whole or not at all."""
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        with atomic_files.whole(out) as made:
            yield made
    except OSError as error:
        raise UsageError(f"{out} cannot be written ({reason(error)}); name another place with --out") from None
