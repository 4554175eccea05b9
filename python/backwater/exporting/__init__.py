"""Results in the formats of other tools: HPCC's text files, CSV, Perfetto, pcapng."""

from __future__ import annotations

from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from backwater.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@contextmanager
def written(out: Path) -> Iterator[Path]:
    """A place to write to, which becomes `out` at the end of the block: a file is there whole or not at all."""
    made = out.with_name(f".{out.name}.part")
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        yield made
        made.replace(out)
    except OSError as error:
        raise UsageError(f"{out} cannot be written ({error.strerror}); name another place with --out") from None
    finally:
        with suppress(OSError):
            made.unlink()
