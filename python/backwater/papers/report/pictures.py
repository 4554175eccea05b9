"""Pictures as parts of a page: with a palette of 256 colours, which plots do not exceed by anything that one sees."""

from __future__ import annotations

import base64
import io
from pathlib import Path

from PIL import Image, UnidentifiedImageError


def embedded(file: Path) -> str:
    """A picture as a data URI; in colours of a palette where that is smaller."""
    whole = file.read_bytes()
    if file.suffix == ".svg":
        return _uri("image/svg+xml", whole)
    small = _reduced(whole)
    return _uri("image/png", small if small is not None and len(small) < len(whole) else whole)


def _reduced(whole: bytes) -> bytes | None:
    try:
        with Image.open(io.BytesIO(whole)) as picture:
            plain = Image.new("RGB", picture.size, "white")
            plain.paste(picture.convert("RGB"), mask=picture.convert("RGBA").getchannel("A"))
            out = io.BytesIO()
            reduced = plain.quantize(256, method=Image.Quantize.FASTOCTREE, dither=Image.Dither.NONE)
            reduced.save(out, "PNG")
            return out.getvalue()
    except (UnidentifiedImageError, OSError):
        return None


def _uri(kind: str, data: bytes) -> str:
    return f"data:{kind};base64,{base64.b64encode(data).decode()}"
